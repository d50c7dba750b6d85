"""Waits: every one has an end, whoever decided to wait, and a resumed one begins its time anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from tests.core.builders import DEMOTE, DRAIN, T0, a_plan, after, all_events, kinds
from tests.core.waits import PLAN, round_of, steadily, waiting


def test_a_timeout_ends_the_wait() -> None:
    """A wait with a ``timeout`` fails after it, with what was last seen as the reason."""
    plan = a_plan(DEMOTE, {**DRAIN, "timeout": "10s"})
    _, move, now = steadily(waiting(), plan, 70, "bound", until=T0 + 100)
    assert (kinds(move), 10.0 <= now - T0 <= 11.0) == (["step.failed"], True)


def until_it_ends(plan: ev.Plan, link: str, *, attended: bool = False) -> tuple[Lane, Next, float]:
    """A depth of 70 and this bridge, with the questions decided as they come, until the wait itself is over."""
    lane, now = waiting(), T0
    while True:
        lane, move, now = steadily(lane, plan, 70, link, start=now, until=T0 + 10_000, attended=attended)
        lane = after(lane, move, now)
        if now >= T0 + 10_000 or "step.failed" in kinds(move) or lane.status != "running":
            return lane, move, now
        if attended and lane.gates and kinds(decide(plan, lane, now, attended=True)) == []:
            return lane, move, now
        if lane.gates:
            decided = Next(events=tuple(all_events(plan, lane, now, attended=attended)))
            lane = after(lane, decided, now)
            if lane.status != "running":
                return lane, decided, now


def test_a_timeout_ends_the_wait_for_a_guard() -> None:
    """The ``timeout`` of a wait holds while its guard is broken too: who decided in advance to wait waits no longer."""
    plan = a_plan(DEMOTE, {**DRAIN, "timeout": "10m"}, policy=ev.Policy(on_gate={"bridge-lost": "wait"}))
    lane, move, now = until_it_ends(plan, "down")
    assert (kinds(move), 600.0 <= now - T0 <= 601.5) == (["step.failed"], True)
    assert lane.failure.startswith("the goal was not reached within 600s: ")
    assert "bridge is lost" in lane.failure


def test_a_timeout_takes_no_question_from_a_person() -> None:
    """A question about a broken guard that a person thinks about stays theirs, with all its answers."""
    plan = a_plan(DEMOTE, {**DRAIN, "timeout": "90s"})
    lane, move, now = steadily(waiting(), plan, 70, "down", until=T0 + 100, attended=True)
    lane = after(lane, move, now)
    lane, move, now = steadily(lane, plan, 70, "down", start=now, until=T0 + 1000, attended=True)
    assert [gate.gate for gate in lane.gates] == ["bridge-lost"]


WAITS = ev.Policy(on_gate={"bridge-lost": "wait", "drain-stalled": "wait"})


@pytest.mark.parametrize(("link", "gate"), [("down", "bridge-lost"), ("bound", "drain-stalled")])
def test_a_wait_decided_beforehand_has_an_end(link: str, gate: str) -> None:
    """``wait`` decided in advance holds for ``wait_at_most`` (1h) without anything getting better; then it is as if
    nothing had been decided: unattended it reverts, and says why."""
    lane, move, now = until_it_ends(a_plan(DEMOTE, DRAIN, policy=WAITS), link)
    assert 3600.0 <= now - T0 <= 3600.0 + 250.0
    decided, revert = move.events
    assert isinstance(decided, ev.GateDecided)
    assert (decided.gate, decided.ruling.choice, decided.ruling.by) == (gate, "revert", "policy")
    assert decided.ruling.reason == "the run waited for 1h, as decided in advance, and no operator could be asked"
    assert revert.kind == "revert.started"
    assert lane.status == "reverting"


@pytest.mark.parametrize(("link", "gate"), [("down", "bridge-lost"), ("bound", "drain-stalled")])
def test_a_person_is_asked_after_a_wait_decided_beforehand(link: str, gate: str) -> None:
    """The same with somebody there: then they are asked."""
    lane, _, now = until_it_ends(a_plan(DEMOTE, DRAIN, policy=WAITS), link, attended=True)
    assert 3600.0 <= now - T0 <= 3600.0 + 250.0
    assert [one.gate for one in lane.gates] == [gate]


FOLLOWED = DRAIN
UNFOLLOWED = {key: value for key, value in DRAIN.items() if key not in ("progress", "when_stalled")}


@pytest.mark.parametrize(
    ("drain", "seen", "is_better"),
    [
        (FOLLOWED, (60, "down"), True),
        (FOLLOWED, (70, "bound"), False),
        (UNFOLLOWED, (None, "bound"), True),
    ],
)
def test_what_gets_better_is_waited_for_anew(
    drain: dict[str, Any], seen: tuple[int | None, str], is_better: bool
) -> None:
    """A queue that got shorter gives a wait decided in advance its whole time again. A bridge that was back does only
    where no number is followed: one that comes and goes, and lets no message through, makes nothing better."""
    plan = a_plan(DEMOTE, drain, policy=WAITS)
    lane, move, now = steadily(waiting(), plan, 70 if drain is FOLLOWED else None, "down", until=T0 + 100)
    lane = after(lane, move, now)
    lane = after(lane, decide(plan, lane, now, attended=False), now)
    assert lane.waiting_since is not None
    lane = round_of(lane, *seen, now + 1)
    lane = after(lane, decide(plan, lane, now + 1, attended=False), now + 1)
    assert (lane.waiting_since is None) is is_better


def played(plan: ev.Plan, link: Callable[[float], str]) -> tuple[Lane, list[ev.Event], float]:
    """No message leaves, nobody is there, and the bridge is as ``link`` says for the seconds since the beginning:
    until the lane turns back or ends, else for three hours. With all events, and the seconds that it took."""
    lane, events = waiting(), list[ev.Event]()
    for second in range(10_800):
        now = T0 + second
        lane = round_of(lane, 70, link(second), now)
        while (move := decide(plan, lane, now, attended=False)).events:
            lane = after(lane, move, now)
            events += move.events
            if lane.status != "running" or lane.ended:
                return lane, events, second
    raise AssertionError(f"it is still waited for: {lane}")


def flapping(holds_s: int, broken_s: int) -> Callable[[float], str]:
    """A bridge that comes and goes."""
    return lambda second: "bound" if second % (holds_s + broken_s) < holds_s else "down"


def last_ruling(events: list[ev.Event]) -> tuple[str, str, str]:
    """Of the gate that was decided last: its name, the choice and the reason."""
    decided = [event for event in events if isinstance(event, ev.GateDecided)][-1]
    return decided.gate, decided.ruling.choice, decided.ruling.reason


@pytest.mark.parametrize(("holds_s", "broken_s"), [(10, 10), (1, 10), (20, 50)])
def test_a_bridge_that_flaps_within_its_grace_is_a_stall(holds_s: int, broken_s: int) -> None:
    """No break is longer than the grace (60s), and no message leaves: the time in which the bridge held adds up to
    the stall limit (2m), however often it broke in between."""
    lane, events, took_s = played(PLAN, flapping(holds_s, broken_s))
    assert (last_ruling(events)[:2], lane.status) == (("drain-stalled", "revert"), "reverting")
    assert took_s <= (120 / holds_s + 2) * (holds_s + broken_s)


def test_a_bridge_that_flaps_does_not_make_a_stall_of_a_drain() -> None:
    """The time in which it was broken does not count: after it the drain has the whole of what was left to it."""
    lane, now = waiting(), T0
    for second in range(59 + 119):
        lane = round_of(lane, 70, "bound" if second < 60 or second >= 118 else "down", now + second)
        while (move := decide(PLAN, lane, now + second, attended=False)).events:
            assert not {"stalled", "gate.opened"} & set(kinds(move))
            lane = after(lane, move, now + second)
    assert not lane.stalled


@pytest.mark.parametrize(("holds_s", "broken_s"), [(10, 10), (10, 100)])
def test_a_wait_decided_beforehand_ends_though_the_bridge_flaps(holds_s: int, broken_s: int) -> None:
    """An hour in all, and not an hour after each time that the bridge was back for a moment."""
    lane, events, took_s = played(a_plan(DEMOTE, DRAIN, policy=WAITS), flapping(holds_s, broken_s))
    assert (last_ruling(events)[1], lane.status) == ("revert", "reverting")
    assert 3600.0 <= took_s <= 3600.0 + 500.0


@pytest.mark.parametrize("decided", [{}, {"bridge-lost": "wait", "drain-stalled": "wait"}])
@pytest.mark.parametrize(
    ("link", "key", "gate"),
    [("down", "when_guard_breaks", "bridge-lost"), ("bound", "when_stalled", "drain-stalled")],
)
def test_an_unattended_wait_has_an_end(link: str, key: str, gate: str, decided: dict[str, Any]) -> None:
    """What holds unattended is ``wait``, and the step has no ``timeout``: it goes on for ``wait_at_most`` (1h), then
    the lane stops, whether or not the same was decided in advance; nobody is there who could choose anything else."""
    drain = {**DRAIN, key: {**DRAIN[key], "unattended": "wait"}}
    lane, events, took_s = played(a_plan(DEMOTE, drain, policy=ev.Policy(on_gate=decided)), lambda second: link)
    assert 3600.0 <= took_s <= 3600.0 + 250.0
    assert lane.outcome is ev.Outcome.NEEDS_OPERATOR
    beforehand = "as decided in advance, " if decided else ""
    assert last_ruling(events) == (gate, "stop", f"the run waited for 1h, {beforehand}and no operator could be asked")


@pytest.mark.parametrize("event", [ev.StepRetried(step="drain"), ev.LaneResumed(by="ann")])
def test_a_retry_and_a_resume_begin_the_time_anew(event: ev.Event) -> None:
    """A wait that timed out and is retried or resumed has its whole time again, or trying again would be for show."""
    plan = a_plan(DEMOTE, {**DRAIN, "timeout": "10s"})
    lane, move, now = steadily(waiting(), plan, 70, "bound", until=T0 + 100)
    lane = after(lane, move, now)
    if isinstance(event, ev.LaneResumed):
        end = Next(events=(ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR, reason="stopped"),))
        lane = after(lane, end, now)
    lane = after(lane, Next(events=(event,)), now)
    lane = after(lane, decide(plan, lane, now, attended=True), now)
    lane = round_of(lane, 60, "bound", now + 1)
    assert kinds(decide(plan, lane, now + 1, attended=True)) == []


def test_a_resumed_wait_starts_its_grace_anew() -> None:
    """Time starts anew with a resume: nobody knows how long the bridge was lost while no process looked."""
    lane = after(waiting(guard_broke_at=T0 - 3600), Next(events=(ev.LaneResumed(by="ann"),)), T0)
    assert lane.guard_broke_at == T0
    assert replace(lane, guard_broke_at=None).guard_broke_at is None
