"""One hook is told of one run: everything it wants, in order, at least once, and never at anybody else's cost."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import JournalUnavailable
from orchestrator.journal.database.schema import EVENTS
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import BATCH, Outbox
from orchestrator.model import events as ev
from orchestrator.model.inventory import Hook
from orchestrator.notifications.delivery import BACK_OFF_MAX, Courier, back_off
from orchestrator.notifications.message import Message
from tests.hooks.hooking import RUN, Died, Receiver, Recorded, a_courier, a_hook, always, plan_with, record

STEPS = [ev.StepDone(step=name) for name in ("bridge-bound", "demote", "drain", "activate")]


@pytest.fixture
def run(journal: Journal, clock: VirtualClock) -> Recorded:
    """A run with one hook, four steps of which are recorded as records 2 to 5."""
    recorded = record(journal, clock, plan_with(a_hook(on=["step.done"])))
    recorded.add(*STEPS)
    return recorded


@pytest.fixture
def hook() -> Hook:
    return a_hook(on=["step.done"])


def test_everything_wanted_is_told_in_order(run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock) -> None:
    """Law: a hook is told of each event that it wants, in the order of the record, and of no other."""
    receiver = Receiver()
    run.add(ev.GuardHealed(step="drain"), ev.StepDone(step="last"))
    courier = a_courier(hook, outbox, receiver, clock)
    assert courier.work(always)
    assert receiver.numbers == [2, 3, 4, 5, 7]
    assert [message.kind for message in receiver.taken] == ["step.done"] * 5


def test_nothing_is_told_twice_without_need(run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock) -> None:
    """Law: what was taken is not sent again: not by this courier, and not by the next one."""
    first, second = Receiver(), Receiver()
    courier = a_courier(hook, outbox, first, clock)
    assert courier.work(always) and courier.work(always)
    assert a_courier(hook, outbox, second, clock).work(always)
    assert (first.numbers, second.numbers) == ([2, 3, 4, 5], [])


def test_what_is_recorded_later_is_told_later(run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock) -> None:
    """Law: a courier goes on where it was."""
    receiver = Receiver()
    courier = a_courier(hook, outbox, receiver, clock)
    courier.work(always)
    run.add(ev.StepDone(step="last"))
    assert courier.work(always)
    assert receiver.numbers == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("dies_at", [2, 3, 4, 5])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_around_a_delivery(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock, path: Path, dies_at: int, moment: str
) -> None:
    """Law: killed before a delivery, or between it and the record of it, no event is lost; at most one is repeated."""

    def die(message: Message) -> None:
        if message.seq == dies_at:
            raise Died

    first = Receiver(before=die) if moment == "before" else Receiver(after=die)
    with pytest.raises(Died):
        a_courier(hook, outbox, first, clock).work(always)
    second, other = Receiver(), Outbox(Journal.at(path))
    assert a_courier(hook, other, second, clock).work(always)
    other.close()
    arrived = [message.id for message in first.seen + second.seen]
    assert sorted(set(arrived)) == [f"{RUN}/{seq}" for seq in (2, 3, 4, 5)]
    assert second.numbers == list(range(dies_at, 6))
    assert len(arrived) == (4 if moment == "before" else 5)


class _Hasty(Courier):
    """Broken on purpose: ticks an event off before it is delivered."""

    def _bring(self, line: Mapping[str, Any]) -> None:
        self._position = line["seq"]
        self._save()
        super()._bring(line)


def test_a_courier_that_ticks_off_first_is_caught(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock, path: Path
) -> None:
    """Negative control: a courier that saves before it delivers loses the event at which it is killed."""

    def die(message: Message) -> None:
        raise Died

    hasty = _Hasty(
        RUN,
        hook,
        outbox,
        Receiver(before=die),
        simulated=True,
        scrub=lambda data: data,
        clock=clock,
        chance=random.Random(1),
    )
    with pytest.raises(Died):
        hasty.work(always)
    second, other = Receiver(), Outbox(Journal.at(path))
    assert a_courier(hook, other, second, clock).work(always)
    other.close()
    assert second.numbers == [3, 4, 5]


def test_a_refused_event_holds_back_those_behind_it(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock
) -> None:
    """Law: order is kept: while one event is refused, none behind it is told, and none is given up."""
    receiver = Receiver(lambda message: "not now" if message.seq == 3 else None)
    courier = a_courier(hook, outbox, receiver, clock)
    for _ in range(5):
        assert not courier.work(always)
        clock.advance(BACK_OFF_MAX)
    assert receiver.numbers == [2]
    assert [message.seq for message in receiver.seen] == [2, 3, 3, 3, 3, 3]
    receiver.refuses = lambda message: None
    assert courier.work(always)
    assert receiver.numbers == [2, 3, 4, 5]
    assert courier.failure is None


def test_back_off_in_time(run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock) -> None:
    """Law: after a failure nothing is tried before its time, and then at once; a success begins anew."""
    receiver = Receiver(lambda message: "no")
    courier = a_courier(hook, outbox, receiver, clock)
    waits = []
    for _ in range(9):
        courier.work(always)
        waits.append(courier.due - clock.now())
        clock.advance(waits[-1] - 0.01)
        tried = len(receiver.seen)
        courier.work(always)
        assert len(receiver.seen) == tried
        clock.advance(0.01)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    receiver.refuses = lambda message: "no" if message.seq == 3 else None
    courier.work(always)
    assert courier.due - clock.now() == 1


def test_chance_only_shortens_a_pause() -> None:
    """Law: a pause is between half and all of its length, however many failures there were."""
    chance = random.Random(7)
    for failures in (1, 2, 5, 7, 100_000):
        longest = min(BACK_OFF_MAX, 2.0 ** min(failures - 1, 50))
        pauses = {back_off(failures, chance) for _ in range(100)}
        assert longest / 2 <= min(pauses) < max(pauses) <= longest


def test_a_failure_is_said_once_for_each_cause(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock
) -> None:
    """Law: who watches is told of each cause once, however often it is tried; the last failure is kept."""
    said = []
    causes = iter(["exit code 3", "exit code 3", "time-out", "exit code 3", "time-out"])
    receiver = Receiver(lambda message: next(causes))
    courier = a_courier(hook, outbox, receiver, clock, on_failure=lambda failure: said.append(str(failure)))
    kept = []
    for _ in range(5):
        courier.work(always)
        clock.advance(BACK_OFF_MAX)
        kept.append(outbox.behind(RUN)[0].failed)
    assert said == ["exit code 3", "time-out"]
    assert kept == ["exit code 3", "exit code 3", "time-out", "exit code 3", "time-out"]


def test_the_kept_failure_ends_with_the_next_success(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock
) -> None:
    """Law: what is shown as the reason for a backlog is the reason now."""
    refused = {2: "one", 4: "two"}
    receiver = Receiver(lambda message: refused.pop(message.seq, None))
    courier = a_courier(hook, outbox, receiver, clock)
    courier.work(always)
    assert (outbox.behind()[0].seq, outbox.behind()[0].failed) == (0, "one")
    clock.advance(BACK_OFF_MAX)
    courier.work(always)
    courier.settle()
    assert (outbox.behind()[0].seq, outbox.behind()[0].failed) == (3, "two")
    clock.advance(BACK_OFF_MAX)
    assert courier.work(always)
    assert outbox.behind() == []


def test_it_stops_when_it_may_not_go_on(run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock) -> None:
    """Law: a courier that is to end does so between two events, and keeps what it has not brought."""
    receiver = Receiver()
    assert not a_courier(hook, outbox, receiver, clock).work(lambda: len(receiver.taken) < 2)
    assert receiver.numbers == [2, 3]
    assert [one.seq for one in outbox.behind()] == [3]


def test_records_that_do_not_concern_it_are_passed_over(
    run: Recorded, hook: Hook, outbox: Outbox, clock: VirtualClock
) -> None:
    """Law: other events cost no write each, and a hook that has taken all it wants owes nothing in the end."""
    run.add(*[ev.GuardHealed(step="drain")] * (BATCH // 2))
    receiver = Receiver()
    courier = a_courier(hook, outbox, receiver, clock)
    assert courier.work(always)
    assert [one.seq for one in outbox.behind()] == [5]
    courier.settle()
    assert outbox.behind() == []
    run.add(*[ev.GuardHealed(step="drain")] * (BATCH * 2))
    assert courier.work(always)
    assert outbox.behind() == []


class _Flaky(Outbox):
    """An outbox whose database is away for the next calls of some methods."""

    away: list[str]

    def _maybe(self, what: str) -> None:
        if what in self.away:
            self.away.remove(what)
            raise JournalUnavailable("the journal could not be reached: database is locked")

    def cursor(self, run: str, hook: str) -> int:
        self._maybe("cursor")
        return super().cursor(run, hook)

    def after(self, run: str, seq: int) -> Sequence[Mapping[str, Any]]:
        self._maybe("after")
        return super().after(run, seq)

    def done_with(self, run: str, hook: str, seq: int, *, failed: str = "") -> None:
        self._maybe("done_with")
        super().done_with(run, hook, seq, failed=failed)

    def note_failure(self, run: str, hook: str, text: str) -> None:
        self._maybe("note_failure")
        super().note_failure(run, hook, text)


@pytest.mark.parametrize("what", ["cursor", "after", "done_with"])
def test_a_journal_that_is_away_is_a_failure_like_others(
    run: Recorded, hook: Hook, clock: VirtualClock, path: Path, what: str
) -> None:
    """Law: nothing is raised because of the journal, nothing is sent twice for it, and all is well once it is back."""
    outbox = _Flaky(Journal.at(path))
    outbox.away = [what, "note_failure"]
    receiver, said = Receiver(), []
    courier = a_courier(hook, outbox, receiver, clock, on_failure=lambda failure: said.append(failure.cause))
    assert not courier.work(always)
    assert said == ["JournalUnavailable"]
    clock.advance(BACK_OFF_MAX)
    assert courier.work(always)
    courier.settle()
    assert receiver.numbers == [2, 3, 4, 5]
    assert courier.failure is None and outbox.behind() == []
    outbox.close()


def test_a_forged_record_is_not_told(
    run: Recorded, hook: Hook, journal: Journal, outbox: Outbox, clock: VirtualClock
) -> None:
    """Promise 11: a record that does not prove itself leaves through no hook."""
    with journal.engine.begin() as connection:
        changed = STEPS[1].model_copy(update={"note": "forged"}).model_dump_json()
        connection.execute(sa.update(EVENTS).where(EVENTS.c.seq == 3).values(event=changed))
    receiver = Receiver()
    courier = a_courier(hook, outbox, receiver, clock)
    assert not courier.work(always)
    assert courier.failure is not None and courier.failure.cause == "JournalCorrupt"
    assert receiver.numbers == []


def test_a_cursor_never_falls(run: Recorded, hook: Hook, outbox: Outbox) -> None:
    """Law: two processes that deliver the same backlog repeat events, and never undo each other's progress."""
    outbox.done_with(RUN, "log", 4)
    outbox.done_with(RUN, "log", 2)
    assert outbox.cursor(RUN, "log") == 4


def test_a_new_run_owes_its_hooks_from_its_first_record(run: Recorded, outbox: Outbox) -> None:
    """Law: a process that dies right after it began a run has lost nothing: the debt is in that same transaction."""
    assert [(one.run, one.hook, one.seq) for one in outbox.behind()] == [(RUN, "log", 0)]
