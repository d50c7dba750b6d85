"""Broken on purpose: what is recorded, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orchestrator.engine.engine
import orchestrator.journal.hash_chain
import orchestrator.journal.lease
import proof.simulation.led
from orchestrator.core.run import SEVERITY
from orchestrator.engine.dispatch import Act, Completion, InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.errors import JournalUnavailable
from orchestrator.journal.hash_chain import Link
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from tests.proof.mutants.swapping import Mutant


class HastyFleet(InlineFleet):
    """Carries an action out as soon as it hears of it, as a worker thread may."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._early: list[Completion] = []

    def submit(self, commands: Sequence[Any]) -> None:
        super().submit(commands)
        self._early += super().collect(None)

    def collect(self, until: float | None) -> list[Completion]:
        early, self._early = self._early, []
        return early or super().collect(until)


class RepeatingFleet(InlineFleet):
    """Sends every action twice."""

    def submit(self, commands: Sequence[Any]) -> None:
        super().submit([*commands, *(command for command in commands if isinstance(command, Act))])


class PerformsFirst(Engine):
    """Acts before the intent is on disk."""

    def _turn(self, draft: Any, touched: Iterable[str]) -> None:
        requests: list[Any] = []
        for service in touched:
            requests.extend(self._advance(draft, service))
        self._perform(draft.acts, requests)
        self._record(draft)


class ForgetsDoubt(Engine):
    """Takes an action without a known outcome for one that was never sent."""

    def _opening(self, abort: Any, policy: Any) -> Any:
        draft = super()._opening(abort, policy)
        blind = self._draft()
        for service, event in draft.events:
            if isinstance(event, ev.ActionEnded):
                event = event.model_copy(update={"effect": Effect.NOT_SENT})
            if service is None:
                blind.add_own(event)
            else:
                blind.add(service, event)
        return blind


class GoesOnSilently(Engine):
    """Resumes without asking what became of the actions that were under way."""

    def _opening(self, abort: Any, policy: Any) -> Any:
        draft = super()._opening(abort, policy)
        silent = self._draft()
        for service, event in draft.events:
            if service is None:
                silent.add_own(event)
            elif not isinstance(event, ev.ActionEnded):
                silent.add(service, event)
        return silent


def _any_writer(append: Any) -> Any:
    """Whoever writes is taken for the one that may."""

    def append_anyway(journal: Journal, writer: Writer, *args: Any, **more: Any) -> Writer:
        written: Writer = append(journal, journal.writer(writer.run), *args, **more)
        return written

    return append_anyway


def _going_on(append: Any) -> Any:
    """A full disk is no reason to stop."""

    def append_or_not(journal: Journal, writer: Writer, *args: Any, **more: Any) -> Writer:
        try:
            written: Writer = append(journal, writer, *args, **more)
        except JournalUnavailable:
            return writer
        return written

    return append_or_not


def _best(_: Any) -> Any:
    return lambda outcomes: min(outcomes, key=SEVERITY.index)


RECORDING = (
    Mutant(
        "intent-after-effect",
        "a device hears of an action before the intent is on disk",
        (
            (proof.simulation.led, "Engine", lambda _: PerformsFirst),
            (proof.simulation.led, "InlineFleet", lambda _: HastyFleet),
        ),
    ),
    Mutant(
        "doubt-forgotten",
        "what was under way when a process died is taken for never sent",
        ((proof.simulation.led, "Engine", lambda _: ForgetsDoubt),),
    ),
    Mutant(
        "outcome-never-asked",
        "a resumed run never settles what was under way",
        ((proof.simulation.led, "Engine", lambda _: GoesOnSilently),),
    ),
    Mutant(
        "sent-twice",
        "every action is sent twice",
        ((proof.simulation.led, "InlineFleet", lambda _: RepeatingFleet),),
    ),
    Mutant(
        "epoch-unchecked",
        "a process that lost its lease still writes",
        ((Journal, "append", _any_writer),),
    ),
    Mutant(
        "permit-unchecked",
        "a process whose lease ran out still sends",
        ((Lease, "check", lambda _: lambda lease: None),),
    ),
    Mutant(
        "lease-taken-from-the-living",
        "the holder of a lease is taken for dead",
        ((orchestrator.journal.lease, "holder_is_dead", lambda _: lambda holder: True),),
    ),
    Mutant(
        "claims-ignored",
        "a second run may move the same services",
        ((orchestrator.journal.lease, "_claim", lambda _: lambda *args: None),),
    ),
    Mutant(
        "full-disk-ignored",
        "what cannot be recorded is done all the same",
        ((Journal, "append", _going_on),),
    ),
    Mutant(
        "chain-unchecked",
        "a record is believed without its hash",
        (
            (
                orchestrator.journal.hash_chain,
                "follow",
                lambda _: lambda rows, run, **more: (Link(*row) for row in rows),
            ),
        ),
    ),
    Mutant(
        "best-end",
        "a run is called by the best of its lanes",
        ((orchestrator.engine.engine, "worst", _best),),
    ),
)
