"""Waits: goal and guard in one round, the grace of a broken guard, and who answers its question."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.core.decide import Ask, Next, apply_ruling, decide
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from tests.core.builders import (
    ACTIVATE,
    DEMOTE,
    DRAIN,
    T0,
    a_plan,
    after,
    all_events,
    asked,
    bridge,
    depth,
    kinds,
    see,
    unread,
    wait_of,
)
from tests.core.waits import PLAN, round_of, steadily, waiting


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


def test_a_goal_that_stays_unknown_ends_though_its_number_is_read() -> None:
    """Law: the number that a wait follows was read in each round and does not move; what else the goal needs is unknown.
    The wait ends after ``patience``, and does not wait for ever."""
    unknown = {"on": "target", "reading": "replication", "where": {"queue_bound": True}}
    plan = a_plan(DEMOTE, {**DRAIN, "until": [*DRAIN["until"], unknown]}, ACTIVATE)
    _, move, now = steadily(waiting(), plan, 0, "bound", until=T0 + 100)
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
    decided, revert = all_events(plan, lane, now)
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
        decided, *events = all_events(plan, lane, now, attended=attended)
        assert isinstance(decided, ev.GateDecided)
        assert (decided.ruling.choice, decided.ruling.by) == (choice, "policy")
        follows = {"wait": [], "revert": ["revert.started"], "escalate": ["lane.escalated"]}
        assert [one.kind for one in events][: len(follows[choice])] == follows[choice]


def test_a_policy_that_does_not_fit_the_gate_is_not_followed() -> None:
    """A choice that the gate does not offer is not made; what holds unattended is."""
    plan, lane, now = at_the_gate(False, ev.Policy(on_gate={"bridge-lost": "commit"}))
    assert [one.kind for one in all_events(plan, lane, now)] == ["gate.decided", "revert.started"]


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
    lane = after(lane, Next(events=apply_ruling(plan, lane, lane.gates[0], ruling)), now)
    assert lane.gates == ()
    _, move, later = steadily(lane, plan, 40, "down", start=now + 1, until=now + 200, attended=True)
    assert "gate.opened" in kinds(move)
    assert 60.0 <= later - now <= 62.0


def test_a_person_escalates() -> None:
    """Promise 3: an escalation is a recorded decision with its reason and the number of messages at risk."""
    plan, lane, now = at_the_gate()
    ruling = ev.Ruling(choice="escalate", reason="the source's site is flooded", by="ann")
    decided, escalated = apply_ruling(plan, lane, lane.gates[0], ruling)
    assert escalated == ev.Escalated(step="drain", at_risk=40, ruling=ruling)
    lane = after(lane, Next(events=(decided, escalated)), now)
    assert (lane.status, lane.step, lane.escalated_at_risk) == ("escalating", 2, 40)


NO_WAY_BACK = [("escalating", ("wait", "escalate", "stop")), ("committed", ("wait", "stop"))]


@pytest.mark.parametrize(("status", "choices"), NO_WAY_BACK)
def test_where_there_is_no_way_back_none_is_offered(status: str, choices: tuple[str, ...]) -> None:
    """Law: after an escalation, and past the point of no return, no gate of a later step offers to roll back, and an
    unattended run stops. Only an escalated lane may escalate again."""
    lane, move, now = steadily(waiting(status=status), PLAN, 40, "down", until=T0 + 100)
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.choices, gate.unattended) == (choices, "stop")
    end = decide(PLAN, after(lane, move, now), now, attended=False).events[-1]
    assert isinstance(end, ev.LaneEnded)
    assert end.outcome is ev.Outcome.NEEDS_OPERATOR


@pytest.mark.parametrize(("status", "choices"), NO_WAY_BACK)
def test_no_way_back_when_it_is_stalled_either(status: str, choices: tuple[str, ...]) -> None:
    """Law: the same holds at a gate that opens because nothing moves."""
    _, move, _ = steadily(waiting(status=status, stalled=True), PLAN, 40, "bound", until=T0 + 300)
    (gate,) = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert (gate.gate, gate.choices, gate.unattended) == ("drain-stalled", choices, "stop")


@pytest.mark.parametrize(("earlier", "at_risk"), [(70, 70), (10, 40), (None, None)])
def test_an_escalated_lane_escalates_again(earlier: int | None, at_risk: int | None) -> None:
    """Law: a second wait can be given up too. The larger number is at risk, and an unknown number stays unknown."""
    lane, move, now = steadily(
        waiting(status="escalating", escalated_at_risk=earlier), PLAN, 40, "down", until=T0 + 100
    )
    lane = after(lane, move, now)
    ruling = ev.Ruling(choice="escalate", reason="the source's site is flooded", by="ann")
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], ruling)), now)
    assert (lane.status, lane.step, lane.escalated_at_risk) == ("escalating", 2, at_risk)


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
    assert [one.kind for one in all_events(plan, late, T0 + 531)] == ["gate.decided", "revert.started"]
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
