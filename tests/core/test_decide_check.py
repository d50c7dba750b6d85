"""Checks: what counts as true, false and unknown, and what follows from each before anything was changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.reading import Bounds
from orchestrator.model.runbook import Check
from tests.core.builders import (
    CHECK,
    DRAIN,
    T0,
    a_lane,
    a_plan,
    after,
    asked,
    bridge,
    depth,
    kinds,
    role,
    see,
    unread,
    wait_of,
)

PLAN = a_plan(CHECK)
BOTH = [("source", "replication"), ("target", "replication")]


def look(lane: Lane, *seen: ev.Seen, at: float = T0) -> Next:
    return decide(PLAN, see(lane, *seen, at=at), at, attended=False)


def good(at: float = T0) -> tuple[ev.Seen, ev.Seen]:
    return role("source", "active", at, queue_bound=True), bridge("bound", at)


def test_a_lane_begins_by_itself() -> None:
    """A ready lane starts, starts its first step, and only then wants something read."""
    lane = Lane("Trading")
    first = decide(PLAN, lane, T0, attended=False)
    assert kinds(first) == ["lane.started"]
    lane = after(lane, first, T0)
    second = decide(PLAN, lane, T0, attended=False)
    assert kinds(second) == ["step.started"]
    assert asked(decide(PLAN, after(lane, second, T0), T0, attended=False)) == BOTH


def test_all_checks_of_a_step_are_read_in_one_round() -> None:
    """A step's checks are judged on readings taken together, each reading once."""
    plan = a_plan({**CHECK, "require": [*CHECK["require"], CHECK["require"][0]]})
    assert asked(decide(plan, a_lane(), T0, attended=False)) == BOTH


def test_every_require_true_and_the_check_is_done() -> None:
    """A check step is done when every ``require`` was read as true."""
    assert look(a_lane(), *good()).events == (ev.StepDone(step="bridge-bound"),)


def test_one_false_and_the_step_has_failed() -> None:
    """A ``require`` that was read as false fails the step at once, and the reason says site and values found."""
    move = look(a_lane(), good()[0], bridge("unbound"))
    assert move.events == (ev.StepFailed(step="bridge-bound", why="nj: role standby, bridge unbound"),)


def test_say_is_part_of_the_reason() -> None:
    """What the runbook says a check means for a person comes first in the reason."""
    checked = {**CHECK, "require": [{**CHECK["require"][1], "say": "the bridge is not bound"}]}
    move = decide(a_plan(checked), see(a_lane(), bridge("down")), T0, attended=False)
    assert move.events[0].why == "nj: the bridge is not bound (role standby, bridge down)"  # type: ignore[union-attr]


def test_a_failed_check_refuses_while_nothing_was_changed() -> None:
    """Before anything was changed a failed step refuses the lane, with the failure as its reason."""
    failed = after(a_lane(), Next(events=(ev.StepFailed(step="bridge-bound", why="no"),)), T0)
    move = decide(PLAN, failed, T0, attended=True)
    assert move.events == (ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason="no"),)


def test_false_outweighs_unknown() -> None:
    """With one check unknown and another false, the step fails at once: no patience can make it hold."""
    assert kinds(look(a_lane(), unread("source", "replication"), bridge("unbound"))) == ["step.failed"]


@pytest.mark.parametrize("value", [None, "failure"])
def test_unknown_is_never_true(value: str | None) -> None:
    """An unknown value and a failed reading are not true: the check is read again."""
    other = bridge(None) if value is None else unread("target", "replication")
    move = look(a_lane(), good()[0], other)
    assert (kinds(move), asked(move)) == ([], [])
    assert wait_of(move, T0) == 0.05


@pytest.mark.parametrize(
    "second", [unread("target", "replication"), bridge(None)], ids=["a failed reading", "an unknown value"]
)
def test_patience_ends(second: ev.Seen) -> None:
    """Unknown is asked again for ``patience`` (30s), whatever makes it unknown, and then the step has failed."""
    lane, now = a_lane(), T0
    for _ in range(1000):
        asked_now = good(now)[0], second.model_copy(update={"asked_at": now})
        lane = see(lane, *asked_now, at=now)
        move = decide(PLAN, lane, now, attended=False)
        if move.events:
            break
        assert move.wake is not None
        now = move.wake
    assert kinds(move) == ["step.failed"]
    assert 30.0 <= now - T0 <= 32.0


def test_asking_again_slows_down() -> None:
    """The longer a reading is unknown, the rarer it is asked: at first soon, at most every two seconds."""
    lane, now, pauses = a_lane(), T0, []
    while now - T0 < 20:
        lane = see(lane, good(now)[0], unread("target", "replication", now), at=now)
        wake = decide(PLAN, lane, now, attended=False).wake
        assert wake is not None
        pauses.append(wake - now)
        now = wake
    assert pauses[0] == pytest.approx(0.05)
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(2.0)


@pytest.mark.parametrize("kind", ["AuthenticationFailed", "HostKeyRejected", "Forbidden", "NoSuchService"])
def test_no_patience_for_what_patience_cannot_mend(kind: str) -> None:
    """A definite answer (wrong password, wrong host key, no such service) fails the step at once."""
    move = look(a_lane(), good()[0], unread("target", "replication", kind=kind))
    assert kinds(move) == ["step.failed"]


def test_stale_readings_are_no_arguments() -> None:
    """A round that was asked under an older mark decides nothing: the checks are read anew."""
    lane = a_lane(mark=5)
    stale = ev.Observed(mark=4, seen=good())
    move = decide(PLAN, after(lane, Next(events=(stale,)), T0), T0, attended=False)
    assert asked(move) == BOTH


@pytest.mark.parametrize(
    ("found", "holds"),
    [(0, True), (10, True), (11, False), (None, None)],
)
def test_a_range_includes_its_ends(found: int | None, holds: bool | None) -> None:
    """``at_least`` and ``at_most`` both belong to the range; unknown stays unknown."""
    from orchestrator.core.decide.evaluate import judge

    check = Check(on="source", reading="replication_queue", where={"messages": Bounds(at_least=0, at_most=10)})
    assert judge(PLAN, see(a_lane(), depth(found)), (check,)).holds is holds


def test_a_reading_that_was_not_taken_is_unknown() -> None:
    """A check on a reading that the round does not hold is unknown, never true."""
    from orchestrator.core.decide.evaluate import judge

    checks: Sequence[Check] = a_plan(DRAIN).runbook.steps[0].until
    verdict = judge(PLAN, see(a_lane(), bridge("bound")), checks)
    assert (verdict.holds, verdict.why) == (None, "ny: replication_queue has not been read")


def test_nothing_is_decided_for_an_ended_lane() -> None:
    """A lane that has ended, and one whose action is under way, want nothing."""
    for lane in (a_lane(status="done"), a_lane(status="needs-operator"), a_lane(status="stuck")):
        assert decide(PLAN, lane, T0, attended=True) == Next()


def test_the_last_step_done_ends_the_lane() -> None:
    """After the last step the lane is ``done``; one that was escalated is ``escalated``."""
    for status, outcome in (("running", "done"), ("committed", "done"), ("escalating", "escalated")):
        lane = a_lane(status=status, step=1, stage=Stage.BETWEEN)
        assert decide(PLAN, lane, T0, attended=False).events == (ev.LaneEnded(outcome=ev.Outcome(outcome)),)
