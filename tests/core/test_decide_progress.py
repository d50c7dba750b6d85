"""Waits: slow is not stalled, and a stall is asked about."""

from __future__ import annotations

import pytest

from orchestrator.core.decide import decide
from orchestrator.model import events as ev
from tests.core.builders import DEMOTE, DRAIN, T0, a_plan, after, all_events, kinds, wait_of
from tests.core.waits import PLAN, round_of, steadily, waiting


def test_it_looks_again_when_the_queue_should_be_empty() -> None:
    """From the drain rate it computes when the queue is empty and reads then, within the bounds of ``poll``."""
    lane = round_of(waiting(), 100, "bound", T0)
    lane = round_of(lane, 50, "bound", T0 + 0.5)
    assert wait_of(decide(PLAN, lane, T0 + 0.5, attended=False), T0 + 0.5) == 0.5


def test_no_progress_is_stalled_and_then_asked_about() -> None:
    """A queue that does not shrink for ``after`` (2m) though the bridge holds is stalled; unattended it reverts."""
    lane, move, now = steadily(waiting(), PLAN, 70, "bound", until=T0 + 300)
    assert 120.0 <= now - T0 <= 122.0
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.gate, gate.at_risk) == ("drain-stalled", 70)
    # Without its number, which is beside it: many services that stall ask in the same words.
    assert gate.why == "the wait made no progress for 120s; its guard condition still holds"
    assert lane.stalled
    lane = after(lane, move, now)
    assert [one.kind for one in all_events(PLAN, lane, now)] == ["gate.decided", "revert.started"]


def test_slow_is_not_stalled() -> None:
    """One message in each 100 seconds is progress: no question, however long it takes."""
    lane, now = waiting(), T0
    for left in range(50, 40, -1):
        lane, move, now = steadily(lane, PLAN, left, "bound", start=now + 1, until=now + 100)
        assert kinds(move) == []


def test_a_depth_that_only_wavers_is_stalled() -> None:
    """70, 71, 70, 71 … is no progress: only a depth lower than all the last ones is."""
    lane, now = waiting(), T0
    while now < T0 + 130 and not lane.stalled:
        lane = round_of(lane, 70 + int(now - T0) % 2, "bound", now)
        lane = after(lane, decide(PLAN, lane, now, attended=True), now)
        now += 1
    assert lane.stalled


@pytest.mark.parametrize("rounds", [5, 15, 40])
def test_a_slow_wave_is_stalled_too(rounds: int) -> None:
    """Law: only a depth lower than every one before it in this wait is progress, however long ago that was read: what
    rises and falls between the same two depths is stalled, whatever the length of its wave."""
    lane, now = waiting(), T0
    while now < T0 + 300 and not lane.stalled:
        at = int(now - T0) % (2 * rounds)
        lane = round_of(lane, 70 + min(at, 2 * rounds - at), "bound", now)
        lane = after(lane, decide(PLAN, lane, now, attended=True), now)
        now += 1
    assert (lane.stalled, now - T0 <= 125) == (True, True)


def test_progress_ends_the_stall() -> None:
    """A stalled drain that moves again is not stalled any more, and the question is withdrawn once it is drained."""
    lane, move, now = steadily(waiting(), PLAN, 70, "bound", until=T0 + 300, attended=True)
    lane = after(lane, move, now)
    lane = round_of(lane, 60, "bound", now + 1)
    assert not lane.stalled
    lane = round_of(lane, 0, "bound", now + 2)
    assert kinds(decide(PLAN, lane, now + 2, attended=True)) == ["gate.withdrawn", "step.done"]


def test_a_stall_of_zero_seconds_is_no_circle() -> None:
    """A stall limit of 0 with a policy that waits is decided on once for each round of readings."""
    rule = {**DRAIN["when_stalled"], "after": "0s"}
    plan = a_plan(DEMOTE, {**DRAIN, "when_stalled": rule}, policy=ev.Policy(on_gate={"drain-stalled": "wait"}))
    _, move, _ = steadily(waiting(), plan, 40, "bound", until=T0 + 5)
    assert "gate.opened" in kinds(move)


def test_the_bridge_outweighs_the_stall() -> None:
    """While the question about a stall is open, a lost bridge replaces it after its grace."""
    lane, move, now = steadily(waiting(), PLAN, 70, "bound", until=T0 + 300, attended=True)
    lane = after(lane, move, now)
    _, move, _ = steadily(lane, PLAN, 70, "down", start=now + 1, until=now + 100, attended=True)
    assert kinds(move) == ["gate.withdrawn", "gate.opened"]
