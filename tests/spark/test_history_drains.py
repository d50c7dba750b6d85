"""What a record tells of drains and of steps: how many messages, how long, when. None of this needs Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.model import events as ev
from orchestrator.reports.report import LaneReport, build
from pipeline.history.facts import Fact, facts_of_run
from tests.core.builders import CHECK, DRAIN, T0, a_plan, created

OTHER = {
    **{key: value for key, value in DRAIN.items() if key != "progress"},
    "id": "gone",
    "until": [{"on": "source", "reading": "clients", "where": {"gone": True}}],
}
# Where each wait stands: what is counted, and what a look at it found.
Wait = tuple[str, str, list[tuple[float, float | None]]]


def waited(*waits: Wait, then: Callable[[float], list[tuple[float, ev.Event]]] = lambda _: []) -> list[ev.Record]:
    """The records of a run that begins at ``T0`` with a check, and then waits; ``then`` adds to what follows the second
    look of the last one."""
    steps: list[Any] = [CHECK]
    for number, (reading, field, _) in enumerate(waits):
        followed = {"on": "source", "reading": reading, "field": field}
        base = DRAIN if (reading, field) == ("replication_queue", "messages") else OTHER
        steps.append({**base, "id": f"wait-{number}", "progress": followed})
    told: list[tuple[float, str | None, ev.Event]] = [(T0, None, created(a_plan(*steps)))]
    lane: list[tuple[float, ev.Event]] = [(T0, ev.LaneStarted()), (T0, ev.StepStarted(step="bridge-bound"))]
    lane.append((T0 + 1, ev.StepDone(step="bridge-bound", note="")))
    for number, (_, _, looks) in enumerate(waits):
        begun, ended = looks[0][0] - 2.0, looks[-1][0]
        lane.append((begun, ev.StepStarted(step=f"wait-{number}")))
        seen = [(at, ev.Observed(mark=1, seen=(), gauge=gauge)) for at, gauge in looks]
        more = then(looks[0][0]) if number == len(waits) - 1 else []
        lane += sorted([*seen, *more], key=lambda one: one[0])
        lane.append((ended, ev.StepDone(step=f"wait-{number}", note="")))
    told += [(at, "Trading", event) for at, event in lane]
    return [ev.Record(run="R", seq=n, at=at, lane=lane, event=event) for n, (at, lane, event) in enumerate(told, 1)]


def drains(records: list[ev.Record]) -> list[tuple[str | None, float, float | None, float | None]]:
    """Name, moment from ``T0``, messages and seconds of each."""
    facts: list[Fact] = [one for one in facts_of_run(records) if one.kind == "drain"]
    return [(one.name, one.at - T0, one.amount, one.seconds) for one in facts]


def lane_of(records: list[ev.Record]) -> LaneReport:
    [lane] = build(records).lanes
    return lane


DRAINED: Wait = ("replication_queue", "messages", [(4_000.0 + T0, 900.0), (4_010.0 + T0, 400.0), (4_030.0 + T0, 0.0)])


def test_a_drain_has_a_time_of_its_own() -> None:
    """Law: a drain begins with the first look at its queue, however long ago its run did, and ends with its wait."""
    records = waited(DRAINED)
    assert drains(records) == [("wait-0", 4_000.0, 900.0, 30.0)]
    assert lane_of(records).drained_messages == 900


def test_only_messages_are_drained() -> None:
    """Law: clients that go, seconds that a link is behind and messages of queues are no replication queue: they are in
    no drain, and no report calls them messages that were drained."""
    others: list[Wait] = [
        ("clients", "count", [(T0 + 10, 12.0), (T0 + 20, 0.0)]),
        ("links", "behind_s", [(T0 + 30, 40.0), (T0 + 50, 0.0)]),
        ("queues", "owned", [(T0 + 60, 7.0), (T0 + 70, 0.0)]),
    ]
    assert drains(waited(*others)) == []
    assert lane_of(waited(*others)).drained_messages is None
    records = waited(*others, DRAINED)
    assert drains(records) == [("wait-3", 4_000.0, 900.0, 30.0)]
    assert lane_of(records).drained_messages == 900


def test_each_wait_has_its_own_messages() -> None:
    """Law: a second drain of one run is not counted with the messages of the first."""
    second: Wait = ("replication_queue", "messages", [(5_000.0 + T0, 50.0), (5_005.0 + T0, 0.0)])
    found = drains(waited(DRAINED, second))
    assert found == [("wait-0", 4_000.0, 900.0, 30.0), ("wait-1", 5_000.0, 50.0, 5.0)]


def test_the_time_in_which_nobody_looked_is_no_drain() -> None:
    """Law: where its process died, and was resumed an hour later, a drain is what was seen of it from then on."""
    looks = [(T0 + 10, 900.0), (T0 + 3_700, None), (T0 + 3_701, 300.0), (T0 + 3_711, 0.0)]
    records = waited(
        ("replication_queue", "messages", looks), then=lambda first: [(first + 3_600, ev.LaneResumed(by="ann"))]
    )
    assert drains(records) == [("wait-0", 3_701.0, 300.0, 10.0)]
    assert lane_of(records).drained_messages == 900


def test_what_was_empty_at_once_tells_no_rate() -> None:
    """Law: a queue that was empty when it was first read, or that never told, was not seen to drain."""
    told_nothing: list[list[tuple[float, float | None]]] = [
        [(T0 + 10, 0.0)],
        [(T0 + 10, None), (T0 + 20, 0.0)],
        [(T0 + 10, None)],
    ]
    for looks in told_nothing:
        assert drains(waited(("replication_queue", "messages", looks))) == []


def asked(at: float, item: str | None = None) -> tuple[float, ev.Event]:
    """A question of the wait."""
    opened = ev.GateOpened(
        gate="drain-stalled",
        step="wait-0",
        choices=("wait", "revert"),
        unattended="revert",
        why="nothing moves",
        item=item,
    )
    return T0 + at, opened


def answered(at: float, item: str | None = None) -> tuple[float, ev.Event]:
    """Somebody's answer to it."""
    ruling = ev.Ruling(choice="wait", by="ann", reason="it will move")
    return T0 + at, ev.GateDecided(gate="drain-stalled", step="wait-0", ruling=ruling, item=item)


def withdrawn(at: float) -> tuple[float, ev.Event]:
    """It answered itself."""
    return T0 + at, ev.GateWithdrawn(gate="drain-stalled", why="it moves again")


@pytest.mark.parametrize(
    ("told", "waited_for"),
    [
        ([], 0.0),
        ([asked(4_005), answered(4_015)], 10.0),
        ([asked(4_005), answered(4_015), asked(4_020), answered(4_021)], 11.0),
        ([asked(4_005, "a"), asked(4_008, "b"), answered(4_010, "a"), answered(4_015, "b")], 10.0),
        ([asked(4_005, "a"), asked(4_008, "b"), answered(4_009, "b"), answered(4_015, "a")], 10.0),
        ([asked(4_005), withdrawn(4_015)], 0.0),
        ([answered(4_005)], 0.0),
        ([asked(4_005), withdrawn(4_006), asked(4_012), answered(4_015)], 3.0),
    ],
)
def test_a_step_took_no_time_while_people_thought(told: list[tuple[float, ev.Event]], waited_for: float) -> None:
    """Law: the seconds of a step leave out those from a question to its answer, once where several were open; a question
    that answered itself, and an answer that was given beforehand, kept nothing waiting. Other steps are as reported."""
    records = waited(DRAINED, then=lambda _: told)
    took = {one.name: one.seconds for one in facts_of_run(records) if one.kind == "step"}
    reported = {step.id: step.seconds for step in lane_of(records).steps}
    assert reported["wait-0"] == 32.0
    assert took == reported | {"wait-0": 32.0 - waited_for}
