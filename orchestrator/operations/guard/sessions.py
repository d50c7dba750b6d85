"""The read-only sessions of a guard with both sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from orchestrator.family.contract import Adapter
from orchestrator.family.guard import GuardTarget
from orchestrator.family.reachability import probe
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.plan import ReadBefore
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools


class ReadOnlySessions:
    """See ``orchestrator.family.guard.GuardSessions``. No device is asked before the first ``ask``."""

    def __init__(self, tools: Tools, target: GuardTarget, stack: ExitStack) -> None:
        sites = target.inventory.sites
        self._clock, self._services = tools.clock, frozenset(target.services)
        self._adapters: dict[Side, Adapter] = {
            "source": stack.enter_context(reading_only(tools, sites[target.site])),
            "target": stack.enter_context(reading_only(tools, sites[target.mate])),
        }
        self._read: list[ReadBefore] = []

    @property
    def read(self) -> Sequence[ReadBefore]:
        """See ``GuardSessions``."""
        return self._read

    def start(self) -> None:
        """See ``GuardSessions``."""
        self._read = []

    def ask(self, side: Side, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``GuardSessions``."""
        at = self._clock.now()
        found = probe(self._adapters[side], reading, services)
        self._read += [
            ReadBefore(service=name, seen=ev.Seen(on=side, reading=reading, asked_at=at, value=value))
            for name, value in found.items()
            if name in self._services and not isinstance(value, Failure)
        ]
        return found
