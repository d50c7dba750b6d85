"""The lines that a dry run shows: the commands of each reading and action, each with its device and prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.family.contract import EVERY_NODE, ActionSpec, Adapter, Call, ReadingSpec, SessionLines, Typed
from orchestrator.family.reachability import probe, with_made_readings
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Do, Side

Purpose = Literal["read", "change"]
# The part of a step: its preconditions, its work, or its proof.
Phase = Literal["before", "work", "proof"]
_PERHAPS = "if needed"


class ReadOnly:
    """An adapter that can only read: it has no ``apply``."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.readings: Mapping[str, ReadingSpec] = with_made_readings(adapter.readings)
        self.actions: Mapping[str, ActionSpec] = adapter.actions

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """Like ``reachability.probe``."""
        return probe(self._adapter, reading, services)


@dataclass(frozen=True, slots=True)
class CommandAhead:
    """One line that would be sent to a device. ``when``: the condition under which the line is sent, such as a decision;
    empty: always. ``prompt``: the prompt of the device before the line."""

    site: str
    device: str
    line: str
    purpose: Purpose
    phase: Phase
    when: str = ""
    prompt: str = ""

    @property
    def typed(self) -> str:
        """The line after its prompt."""
        return f"{self.prompt or f'{self.device}>'} {self.line}"


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines that are sent for one service, in order. ``devices``: by side, the device that gets the commands.
    ``sessions``: each session so far, since the prompt of a line depends on the lines before it."""

    plan: ev.Plan
    adapters: Mapping[Side, ReadOnly]
    devices: Mapping[Side, str]
    sessions: dict[str, SessionLines] = field(default_factory=dict)

    def reads(
        self, asks: Iterable[tuple[Side, str]], phase: Phase, *, is_sure: bool = True
    ) -> Iterator[CommandAhead]:
        """The lines of these readings, each with its prompt. If not ``is_sure``, the lines are marked "if needed"."""
        for side, reading in asks:
            spec = self.adapters[side].readings.get(reading)
            if spec is None:  # a comparison whose reading is not offered: its gate asks instead
                continue
            site, device = self._where(side, spec.place)
            session = self._session(spec.dialogue, site, device)
            for lines, when in (
                (spec.commands(self.plan.services), "" if is_sure else _PERHAPS),
                (spec.perhaps(self.plan.services), _PERHAPS),
            ):
                typed = session.read(lines) if session and lines else [Typed("", line, False) for line in lines]
                yield from (CommandAhead(site, device, one.line, "read", phase, when, one.prompt) for one in typed)

    def sends(self, service: str, do: Do, args: Mapping[str, str], when: str = "") -> Iterator[CommandAhead]:
        """The lines that an action sends for ``service``, and the lines of the readings right before the action."""
        spec = self.adapters[do.on].actions[do.action]
        site, device = self._where(do.on, spec.place)
        session = self._session(spec.dialogue, site, device)
        lines = spec.commands(Call(service, args))
        typed = (
            session.change(lines, asks_who_serves=not spec.place)
            if session
            else [Typed("", line, True) for line in lines]
        )
        for one in typed:
            purpose: Purpose = "change" if one.changes else "read"
            yield CommandAhead(site, device, one.line, purpose, "work", when, one.prompt)

    def _where(self, side: Side, place: str) -> tuple[str, str]:
        """Site and device of a command. At a site with one node, ``every node`` means that node."""
        site = self.plan.inventory.sites[self.plan.site_name(side)]
        is_one = not place or (place == EVERY_NODE and len(site.devices) == 1)
        return site.name, self.devices[side] if is_one else place

    def _session(self, dialogue: Callable[[str], SessionLines] | None, site: str, device: str) -> SessionLines | None:
        """The session with ``device`` so far; None if each line is a separate request."""
        if dialogue is None:
            return None
        key = f"{site}/{device}"
        if key not in self.sessions:
            known = {one.name: one.router_name for one in self.plan.inventory.sites[site].devices}
            self.sessions[key] = dialogue(known.get(device) or device)
        return self.sessions[key]
