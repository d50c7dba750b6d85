"""Waits: goal and guard in one round, the grace of a broken guard, stalls, and who answers their questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import events as ev
from orchestrator.decide import Ask, Next, decide, follow
from orchestrator.state import Lane, Stage
from tests.core.builders import (
    ACTIVATE,
    DEMOTE,
    DRAIN,
    T0,
    a_lane,
    a_plan,
    after,
    asked,
    bridge,
    depth,
    kinds,
    see,
    unread,
    wait_of,
)

PLAN = a_plan(DEMOTE, DRAIN, ACTIVATE)


def waiting(**changes: Any) -> Lane:
    """A lane that waits for its queue to drain; the source was demoted before."""
    return a_lane(**{"step": 1, "stage": Stage.MAIN, "undo": ("demote",), "changed": True, **changes})


def round_of(lane: Lane, messages: int | None, link: str | None, at: float) -> Lane:
    """One round: what the queue held and how the bridge stood."""
    return see(
        lane, depth(messages, at), bridge(link, at), at=at, gauge=None if messages is None else float(messages)
    )


def steadily(
    lane: Lane,
    plan: ev.Plan,
    messages: int | None,
    link: str | None,
    *,
    until: float,
    start: float = T0,
    attended: bool = False,
) -> tuple[Lane, Next, float]:
    """Go on with the same readings until a decision wants something recorded after ``until``, at most."""
    now = start
    while True:
        lane = round_of(lane, messages, link, now)
        for _ in range(50):
            move = decide(plan, lane, now, attended=attended)
            if not move.events:
                break
            if any(event.kind in ("step.failed", "gate.opened", "step.done") for event in move.events):
                return lane, move, now
            lane = after(lane, move, now)
        else:
            raise AssertionError(f"decisions go in a circle: {kinds(move)}")
        if now >= until:
            return lane, move, now
        assert move.wake is not None
        assert move.wake > now
        now = move.wake


def test_goal_and_guard_are_read_together() -> None:
    """What a wait reads is its goal and its guard, in one round."""
    lane = waiting()
    assert asked(decide(PLAN, lane, T0, attended=False)) == [
        ("source", "replication_queue"),
        ("target", "replication"),
    ]


def test_goal_and_guard_true_in_one_round_end_the_wait() -> None:
    """A wait ends when ``until`` and ``guard`` were read as true in one and the same round."""
    assert decide(PLAN, round_of(waiting(), 0, "bound", T0), T0, attended=False).events == (
        ev.StepDone(step="drain"),
    )


@pytest.mark.parametrize("link", ["unbound", "down", None])
def test_drained_behind_a_lost_bridge_is_not_drained(link: str | None) -> None:
    """Promise 2: a depth of 0 counts only with the bridge bound in the same round; unknown is not bound."""
    assert kinds(decide(PLAN, round_of(waiting(), 0, link, T0), T0, attended=False)) == ["guard.broke"]


def test_the_goal_of_one_round_and_the_guard_of_another_do_not_add_up() -> None:
    """Drained with the bridge lost, then bound with messages left: the wait goes on."""
    lane = round_of(waiting(), 0, "down", T0)
    lane = after(lane, decide(PLAN, lane, T0, attended=False), T0)
    lane = round_of(lane, 3, "bound", T0 + 1)
    move = decide(PLAN, lane, T0 + 1, attended=False)
    assert kinds(move) == ["guard.healed"]
    assert kinds(decide(PLAN, after(lane, move, T0 + 1), T0 + 1, attended=False)) == []


@pytest.mark.parametrize("failing", [depth(None), unread("source", "replication_queue")])
def test_an_unknown_depth_is_not_zero_and_patience_ends(failing: ev.Seen) -> None:
    """Promise 2: an error or an empty answer is not "drained"; it is asked again for ``patience``, then it failed."""
    lane, now = waiting(), T0
    while True:
        lane = see(lane, failing.model_copy(update={"asked_at": now}), bridge("bound", now), at=now)
        move = decide(PLAN, lane, now, attended=False)
        if move.events:
            break
        assert move.wake is not None
        now = move.wake
    assert kinds(move) == ["step.failed"]
    assert 30.0 <= now - T0 <= 32.0


def test_patience_counts_from_the_last_known_depth() -> None:
    """An unknown depth in the middle of a long drain has the whole ``patience`` before the step fails."""
    lane = round_of(waiting(), 50, "bound", T0 + 600)
    lane = round_of(lane, None, "bound", T0 + 601)
    assert kinds(decide(PLAN, lane, T0 + 601, attended=False)) == []


# --- the guard ----------------------------------------------------------------------------------------------------


def test_within_grace_nothing_is_asked() -> None:
    """A broken guard is only noted until ``grace`` (60s) is over; then the gate opens with the messages at risk."""
    _, move, now = steadily(waiting(), PLAN, 40, "down", until=T0 + 100, attended=True)
    assert 60.0 <= now - T0 <= 61.5
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.gate, gate.choices, gate.unattended, gate.at_risk) == (
        "bridge-lost",
        ("wait", "revert", "escalate"),
        "revert",
        40,
    )


def test_at_risk_is_unknown_when_the_depth_never_was_read() -> None:
    """The messages at risk are said only if they were read; unknown is never 0."""
    _, move, _ = steadily(waiting(), PLAN, None, "down", until=T0 + 100)
    assert [event.at_risk for event in move.events if isinstance(event, ev.GateOpened)] == [None]


@pytest.mark.parametrize(("reading", "field"), [("clients", "count"), ("links", "behind_s")])
def test_what_is_no_number_of_messages_is_never_said_to_be_at_risk(reading: str, field: str) -> None:
    """Clients still connected, or seconds behind, are followed too: how many messages are at risk is unknown then."""
    drain = {**DRAIN, "progress": {"on": "source", "reading": reading, "field": field}}
    plan = a_plan(DEMOTE, drain, ACTIVATE)
    _, move, _ = steadily(waiting(), plan, 40, "down", until=T0 + 100)
    assert [event.at_risk for event in move.events if isinstance(event, ev.GateOpened)] == [None]


def test_a_guard_that_heals_in_time_is_forgotten() -> None:
    """A bridge that comes back within the grace closes the matter; the next break has a whole grace again."""
    lane, _, now = steadily(waiting(), PLAN, 40, "down", until=T0 + 50)
    lane = round_of(lane, 40, "bound", now + 1)
    lane = after(lane, decide(PLAN, lane, now + 1, attended=False), now + 1)
    assert lane.guard_broke_at is None
    _, _, again = steadily(lane, PLAN, 40, "down", start=now + 2, until=now + 200)
    assert again - (now + 2) >= 60.0


def test_the_gate_opens_on_a_reading_never_on_an_old_one() -> None:
    """Grace is over when a reading says after it that the guard is still broken, not when time has merely passed."""
    lane = round_of(waiting(guard_broke_at=T0), 40, "down", T0 + 59)
    move = decide(PLAN, lane, T0 + 75, attended=False)
    assert (kinds(move), asked(move)) == ([], [("source", "replication_queue"), ("target", "replication")])


def at_the_gate(attended: bool = True, policy: ev.Policy | None = None) -> tuple[ev.Plan, Lane, float]:
    plan = PLAN.model_copy(update={"policy": policy or ev.Policy()})
    lane, move, now = steadily(waiting(), plan, 40, "down", until=T0 + 100, attended=attended)
    return plan, after(lane, move, now), now


def test_unattended_it_reverts() -> None:
    """Promise 3: with nobody to ask, a lane that lost its guarantee turns back, and says why."""
    plan, lane, now = at_the_gate(attended=False)
    decided, revert = decide(plan, lane, now, attended=False).events
    assert isinstance(decided, ev.GateDecided)
    assert (decided.ruling.choice, decided.ruling.by) == ("revert", "policy")
    assert isinstance(revert, ev.RevertStarted)
    assert (revert.undo, "bridge is lost" in revert.why) == (("demote",), True)


@pytest.mark.parametrize("choice", ["wait", "revert", "escalate"])
def test_the_policy_decides_beforehand(choice: Any) -> None:
    """What the policy says of a gate is done without asking, attended or not, and is recorded as the policy's."""
    policy = ev.Policy(on_gate={"bridge-lost": choice})
    for attended in (True, False):
        plan, lane, now = at_the_gate(attended, policy)
        move = decide(plan, lane, now, attended=attended)
        decided = move.events[0]
        assert isinstance(decided, ev.GateDecided)
        assert (decided.ruling.choice, decided.ruling.by) == (choice, "policy")
        follows = {"wait": [], "revert": ["revert.started"], "escalate": ["lane.escalated"]}
        assert kinds(move)[1:] == follows[choice]


def test_a_policy_that_does_not_fit_the_gate_is_not_followed() -> None:
    """A choice that the gate does not offer is not made; what holds unattended is."""
    plan, lane, now = at_the_gate(False, ev.Policy(on_gate={"bridge-lost": "commit"}))
    assert kinds(decide(plan, lane, now, attended=False)) == ["gate.decided", "revert.started"]


def test_a_person_is_asked_and_reading_goes_on() -> None:
    """Attended, the question is put to a person, and the readings go on meanwhile."""
    plan, lane, now = at_the_gate()
    move = decide(plan, lane, now, attended=True)
    assert [request.gate.gate for request in move.requests if isinstance(request, Ask)] == ["bridge-lost"]
    assert move.wake is not None


def test_a_question_answers_itself() -> None:
    """A bridge that comes back while a person thinks withdraws the question, and the drain goes on."""
    plan, lane, now = at_the_gate()
    lane = round_of(lane, 40, "bound", now + 1)
    assert kinds(decide(plan, lane, now + 1, attended=True)) == ["gate.withdrawn", "guard.healed"]


def test_a_person_says_wait() -> None:
    """A "wait" gives the bridge another whole grace, and then the question is asked again."""
    plan, lane, now = at_the_gate()
    ruling = ev.Ruling(choice="wait", reason="the network is being mended", by="ann")
    lane = after(lane, Next(events=follow(plan, lane, lane.gates[0], ruling)), now)
    assert lane.gates == ()
    _, move, later = steadily(lane, plan, 40, "down", start=now + 1, until=now + 200, attended=True)
    assert "gate.opened" in kinds(move)
    assert 60.0 <= later - now <= 62.0


def test_a_person_escalates() -> None:
    """Promise 3: an escalation is a recorded decision with its reason and the number of messages at risk."""
    plan, lane, now = at_the_gate()
    ruling = ev.Ruling(choice="escalate", reason="the source's site is flooded", by="ann")
    decided, escalated = follow(plan, lane, lane.gates[0], ruling)
    assert escalated == ev.Escalated(step="drain", at_risk=40, ruling=ruling)
    lane = after(lane, Next(events=(decided, escalated)), now)
    assert (lane.status, lane.step, lane.escalated_at_risk) == ("escalating", 2, 40)


@pytest.mark.parametrize("status", ["escalating", "committed"])
def test_where_there_is_no_way_back_none_is_offered(status: str) -> None:
    """A lane that went on without its guarantee, or past the point of no return, neither turns back nor gives up once
    more: no gate of a later step offers it, and unattended it stops."""
    lane, move, now = steadily(waiting(status=status), PLAN, 40, "down", until=T0 + 100)
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.choices, gate.unattended) == (("wait", "stop"), "stop")
    end = decide(PLAN, after(lane, move, now), now, attended=False).events[-1]
    assert isinstance(end, ev.LaneEnded)
    assert end.outcome is ev.Outcome.NEEDS_OPERATOR


@pytest.mark.parametrize("status", ["escalating", "committed"])
def test_no_way_back_when_it_is_stalled_either(status: str) -> None:
    """The same at a gate that opens because nothing moves."""
    _, move, _ = steadily(waiting(status=status, stalled=True), PLAN, 40, "bound", until=T0 + 300)
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.gate, gate.choices, gate.unattended) == ("drain-stalled", ("wait", "stop"), "stop")


def test_a_question_that_nothing_read_can_answer_is_answered() -> None:
    """A wait is stalled and the question is open; the process dies, and after the resume the source is never read again.
    Unattended that ends after ``patience`` (30s) as the question says; a person goes on being asked."""
    rule = DRAIN["when_stalled"]
    plan = a_plan(DEMOTE, {key: value for key, value in DRAIN.items() if key not in ("guard", "when_guard_breaks")})
    gate = ev.GateOpened(
        gate=rule["gate"], step="drain", choices=rule["choices"], unattended=rule["unattended"], why="no progress"
    )
    lane = after(waiting(stalled=True, gates=(gate,)), Next(events=(ev.LaneResumed(by="ann"),)), T0 + 500)
    early = see(lane, unread("source", "replication_queue", at=T0 + 520), at=T0 + 520)
    assert kinds(decide(plan, early, T0 + 520, attended=False)) == []
    late = see(lane, unread("source", "replication_queue", at=T0 + 531), at=T0 + 531)
    assert kinds(decide(plan, late, T0 + 531, attended=False)) == ["gate.decided", "revert.started"]
    asked_for = decide(plan, late, T0 + 531, attended=True).requests
    assert [one.gate.gate for one in asked_for if isinstance(one, Ask)] == [rule["gate"]]


def test_a_grace_of_zero_needs_a_second_reading_and_no_circle() -> None:
    """Without grace, and with a policy that waits, each round of readings is decided on once."""
    rule = {**DRAIN["when_guard_breaks"], "grace": "0s"}
    plan = a_plan(DEMOTE, {**DRAIN, "when_guard_breaks": rule}, policy=ev.Policy(on_gate={"bridge-lost": "wait"}))
    lane, move, now = steadily(waiting(), plan, 40, "down", until=T0 + 5)
    assert "gate.opened" in kinds(move)
    lane = after(lane, move, now)
    lane = after(lane, decide(plan, lane, now, attended=False), now)
    assert wait_of(decide(plan, lane, now, attended=False), now) == 1.0


# --- progress -----------------------------------------------------------------------------------------------------


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
    assert lane.stalled
    lane = after(lane, move, now)
    assert kinds(decide(PLAN, lane, now, attended=False)) == ["gate.decided", "revert.started"]


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


# --- time-outs and resuming ---------------------------------------------------------------------------------------


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
            decided = decide(plan, lane, now, attended=attended)
            lane = after(lane, decided, now)
            if lane.status != "running":
                return lane, decided, now


def test_a_timeout_ends_the_wait_for_a_guard() -> None:
    """The ``timeout`` of a wait holds while its guard is broken too: who decided beforehand to wait waits no longer."""
    plan = a_plan(DEMOTE, {**DRAIN, "timeout": "10m"}, policy=ev.Policy(on_gate={"bridge-lost": "wait"}))
    lane, move, now = until_it_ends(plan, "down")
    assert (kinds(move), 600.0 <= now - T0 <= 601.5) == (["step.failed"], True)
    assert lane.failure.startswith("not reached within 600s: ")
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
    """``wait`` decided beforehand holds for ``wait_at_most`` (1h) without anything getting better; then it is as if
    nothing had been decided: unattended it reverts, and says why."""
    lane, move, now = until_it_ends(a_plan(DEMOTE, DRAIN, policy=WAITS), link)
    assert 3600.0 <= now - T0 <= 3600.0 + 250.0
    decided, revert = move.events
    assert isinstance(decided, ev.GateDecided)
    assert (decided.gate, decided.ruling.choice, decided.ruling.by) == (gate, "revert", "policy")
    assert decided.ruling.reason == "it was waited for 1h, as decided beforehand, and nobody could be asked"
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
    """A queue that got shorter gives a wait decided beforehand its whole time again. A bridge that was back does only
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
    the lane stops, whether or not the same was decided beforehand; nobody is there who could choose anything else."""
    drain = {**DRAIN, key: {**DRAIN[key], "unattended": "wait"}}
    lane, events, took_s = played(a_plan(DEMOTE, drain, policy=ev.Policy(on_gate=decided)), lambda second: link)
    assert 3600.0 <= took_s <= 3600.0 + 250.0
    assert lane.outcome is ev.Outcome.NEEDS_OPERATOR
    beforehand = "as decided beforehand, " if decided else ""
    assert last_ruling(events) == (gate, "stop", f"it was waited for 1h, {beforehand}and nobody could be asked")


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
