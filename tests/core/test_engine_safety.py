"""Rivals, a journal that fails, the order of a turn, and clocks: what must hold whatever happens around a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, ClassVar

import pytest

from orchestrator.core.run import Run
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.errors import IllegalTransition, JournalUnavailable, LeaseHeld, LeaseLost
from orchestrator.family.contract import Adapter, Call, Permit, Result
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import LEASE_SECONDS, is_led, take
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from tests.core.killing import judge_safety
from tests.core.leading import RUN, Lead, When, asking, folded, lost_bridge, pausing
from tests.core.scripted import ScriptedSite

COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
HAPPY = ["source set_role standby", "target set_role active"]
BACK = ["source set_role standby", "source set_role active"]


# --- rivals --------------------------------------------------------------------------------------------------------


def steal(lead: Lead) -> Any:
    """Somebody else takes the run, as after a long sleep of ours, and our clock does not know it yet."""

    def take_over(*_: object) -> None:
        with lead.journal.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE runs SET expires_at = 0")
        with closing(Journal(lead.journal.url)) as theirs:
            take(theirs, lead.pair.clock, RUN, {})

    return take_over


@pytest.mark.parametrize("kind", [ev.StepStarted, ev.Observed, ev.ActionIntended, ev.ActionEnded])
@pytest.mark.parametrize("nth", [1, 2])
def test_whoever_lost_the_lease_sends_nothing_more(lead: Lead, kind: type, nth: int) -> None:
    """Promise 5: from the first append after somebody took over nothing is written and nothing is sent."""
    with pytest.raises(LeaseLost):
        lead.start(observers=[When(kind, steal(lead), nth=nth)])
    intended = [f"{one.on} {one.action} {one.args['role']}" for one in lead.events(ev.ActionIntended)]
    assert lead.told() == intended[: len(lead.told())]
    assert sorted(lead.pair.closed) == ["source", "target"]
    written = len(lead.events())
    lead.pair.clock.advance(LEASE_SECONDS + 1)
    lead.resume()
    assert (folded(lead).outcome, lead.told(), judge_safety(lead.pair, Outcome.DONE)) == (Outcome.DONE, HAPPY, [])
    assert len(lead.events()) > written


def test_a_sleeper_wakes_up_powerless(lead: Lead) -> None:
    """Promise 5: a process that slept through its lease, with an action ready to leave, does not send it."""

    class Sleepy:
        """Falls asleep right before it sends; meanwhile somebody else takes the run, acts, and ends it."""

        readings: ClassVar = ScriptedSite.readings
        actions: ClassVar = ScriptedSite.actions
        simulated: ClassVar = True

        def __init__(self, inner: Adapter) -> None:
            self.inner = inner

        def open(self) -> None:
            self.inner.open()

        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            return self.inner.probe(reading, services)

        def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
            lead.pair.clock.advance(LEASE_SECONDS + 1)
            rival = Lead(lead.pair, Journal(lead.journal.url))
            rival.resume()
            assert folded(rival).outcome is Outcome.DONE
            rival.journal.close()
            yield from self.inner.apply(action, calls, permit)

        def close(self) -> None:
            self.inner.close()

    lead.wrap = Sleepy
    with pytest.raises(LeaseLost):
        lead.start()
    assert (lead.told(), folded(lead).outcome) == (HAPPY, Outcome.DONE)


def test_two_cannot_lead_at_once(lead: Lead) -> None:
    """Promise 5: while a run is led, a second process does not get it."""
    refused: list[LeaseHeld] = []

    def try_it(*_: object) -> None:
        with closing(Journal(lead.journal.url)) as theirs, pytest.raises(LeaseHeld) as error:
            take(theirs, lead.pair.clock, RUN, {})
        refused.append(error.value)

    lead.start(observers=[When(ev.ActionEnded, try_it)])
    assert (folded(lead).outcome, len(refused)) == (Outcome.DONE, 1)


# --- the journal fails ---------------------------------------------------------------------------------------------


class Failing(Journal):
    """A journal whose disk is full from the ``left``-th append on."""

    left = 0

    def append(self, writer: Writer, at: float, events: Any, *, taken: Sequence[int] = ()) -> Writer:
        self.left -= 1
        if self.left < 0:
            raise JournalUnavailable("the journal could not be written: database or disk is full")
        return super().append(writer, at, events, taken=taken)


@pytest.mark.parametrize("left", range(12))
def test_what_cannot_be_recorded_is_not_sent(lead: Lead, left: int) -> None:
    """With the disk full the run stops at once; every action that reached the pair has its intent on record."""
    path = lead.journal.url
    failing = Failing(path)
    failing.left = left
    lead.journal = failing
    with pytest.raises(JournalUnavailable):
        lead.start()
    intended = [f"{one.on} {one.action} {one.args['role']}" for one in lead.events(ev.ActionIntended)]
    assert lead.told() == intended
    lead.pair.clock.advance(LEASE_SECONDS + 1)
    lead.resume(journal=Journal(path))
    assert (folded(lead).outcome, lead.told()) == (Outcome.DONE, HAPPY)
    lead.journal.close()
    failing.close()


# --- order ---------------------------------------------------------------------------------------------------------


def test_legality_durability_memory_observers_perform(lead: Lead) -> None:
    """In each turn: checked, then on disk, then believed, then shown, and only then carried out."""
    order: list[str] = []

    class Recording(Journal):
        def append(self, writer: Writer, at: float, events: Any, *, taken: Sequence[int] = ()) -> Writer:
            assert lead.engine is not None
            believed = lead.engine.run_state.seq
            written = super().append(writer, at, events, taken=taken)
            assert (lead.engine.run_state.seq, believed) == (writer.seq, writer.seq)
            if any(isinstance(event, ev.ActionIntended) for _, event in events):
                order.append("written")
            return written

    def watch(record: ev.Record, run: Run) -> None:
        if isinstance(record.event, ev.ActionIntended):
            assert record.lane is not None
            assert run.lanes[record.lane].outstanding
            order.append("shown")

    class Noting(InlineFleet):
        def submit(self, commands: Sequence[Any]) -> None:
            order.extend("performed" for command in commands if hasattr(command, "intent"))
            super().submit(commands)

    journal = Recording(lead.journal.url)
    lead.journal = journal
    lead.fleet = Noting
    lead.start(observers=[watch])
    assert order == ["written", "shown", "performed"] * 2
    journal.close()


def test_an_illegal_event_is_never_written(lead: Lead) -> None:
    """Legality comes first: what the table forbids raises before anything is on disk."""

    class Confused(Engine):
        def _advance(self, draft: Any, service: str) -> Any:
            draft.add(service, ev.Escalated(step="drain", at_risk=0, ruling=COMMIT))
            return super()._advance(draft, service)

    lead.engine_type = Confused
    with pytest.raises(IllegalTransition):
        lead.start()
    assert lead.kinds() == ["run.created"]


# --- time ----------------------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back(lead: Lead) -> None:
    """A machine whose clock is behind the record's writes no record that lies before the last one."""
    lead.start(observers=[When(ev.ActionEnded, pausing(lead))])
    late = lead.pair.clock.now()
    lead.pair.clock = type(lead.pair.clock)(late - 3600)
    lead.resume()
    moments = [record.at for record in lead.journal.records(RUN)]
    assert moments == sorted(moments)


def test_the_lease_is_renewed_while_people_think(lead: Lead) -> None:
    """However long a question is open, the run stays led."""
    lost_bridge(lead)
    waiting: list[bool] = []

    def look(record: ev.Record, run: Run) -> None:
        waiting.append(is_led(lead.journal.row(RUN), lead.pair.clock.now()))

    lead.start(attended=True, observers=[look, When(ev.Observed, asking(lead, kind="abort"), nth=400)])
    assert all(waiting)
    assert lead.pair.clock.now() - 1_800_000_000.0 > 300
