"""The rarer words of a runbook: only_if, never, hold, ask, compare, and waiving what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.solace.reading_models import EndpointDepth, Endpoints
from orchestrator.core.decide import Ask, Next, apply_ruling, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.plan import Outage
from tests.core.builders import (
    ACTIVATE,
    CHECK,
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
    proving,
    role,
    see,
    seen,
    unread,
    wait_of,
)

ANN = {"reason": "I looked", "by": "ann"}
BOUND = {"on": "target", "reading": "replication", "where": {"bridge": "bound"}}
ONLY_IF_BOUND = {**DEMOTE, "only_if": [BOUND]}
HELD = {
    "id": "settled",
    "title": "The queue stays empty",
    "until": DRAIN["until"],
    "guard": DRAIN["guard"],
    "when_guard_breaks": DRAIN["when_guard_breaks"],
    "hold": "10s",
    "never": [{"on": "source", "reading": "replication", "where": {"role": "active"}, "say": "the source is active"}],
}


def resumed(lane: Lane, at: float) -> Lane:
    return after(lane, Next(events=(ev.LaneResumed(by="ann"),)), at)


# --- only_if -------------------------------------------------------------------------------------------------------


def test_a_step_that_does_not_apply_is_skipped() -> None:
    """An ``only_if`` that was read as false leaves the step out, and says why."""
    plan = a_plan(ONLY_IF_BOUND, ACTIVATE)
    assert asked(decide(plan, a_lane(), T0, attended=False)) == [("target", "replication")]
    lane = see(a_lane(), bridge("down"))
    move = decide(plan, lane, T0, attended=False)
    assert move.events == (ev.StepSkipped(step="demote", why="nj: bridge down"),)
    lane = after(lane, move, T0)
    assert (lane.step, lane.stage, lane.changed, lane.undo) == (1, Stage.BETWEEN, False, ())


@pytest.mark.parametrize(("status", "first"), [("escalating", "step.skipped"), ("committed", "action.intended")])
def test_what_would_drop_what_was_given_up_is_left_out(status: str, first: str) -> None:
    """After an escalation a step that would drop what the source alone has is left out, without a reading."""
    plan = a_plan({**DEMOTE, "unless_escalated": True}, ACTIVATE)
    lane = see(a_lane(status=status), bridge("bound"))
    assert kinds(decide(plan, lane, T0, attended=False)) == [first]


def test_a_step_that_applies_begins() -> None:
    """An ``only_if`` that was read as true lets the step begin; its preconditions are read anew after it."""
    lane = see(a_lane(), bridge("bound"))
    move = decide(a_plan(ONLY_IF_BOUND), lane, T0, attended=False)
    assert move.events == (ev.ConditionMet(step="demote"),)
    assert kinds(decide(a_plan(ONLY_IF_BOUND), after(lane, move, T0), T0, attended=False)) == ["action.intended"]


@pytest.mark.parametrize("unknown", [bridge(None), unread("target", "replication")])
def test_unknown_is_not_no(unknown: ev.Seen) -> None:
    """A condition that cannot be read neither skips the step nor lets it begin; patience ends in failure."""
    plan = a_plan(ONLY_IF_BOUND)
    assert kinds(decide(plan, see(a_lane(), unknown), T0, attended=False)) == []
    late = see(a_lane(), unknown.model_copy(update={"asked_at": T0 + 30}), at=T0 + 30)
    (failed,) = decide(plan, late, T0 + 30, attended=False).events
    assert isinstance(failed, ev.StepFailed)
    assert failed.unknown


@pytest.mark.parametrize("event", [ev.StepRetried(step="demote"), ev.LaneResumed(by="ann")])
def test_a_condition_is_read_again_after_an_interruption(event: ev.Event) -> None:
    """Whether a step applies is not remembered across a retry or a resume: the world may have changed."""
    lane = a_lane(condition_met=True, stage=Stage.FAILED, failure="no", changed=True)
    if isinstance(event, ev.LaneResumed):
        lane = after(lane, Next(events=(ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR),)), T0)
    lane = after(lane, Next(events=(event,)), T0)
    assert asked(decide(a_plan(ONLY_IF_BOUND), lane, T0, attended=True)) == [("target", "replication")]


@pytest.mark.parametrize("effect", [Effect.DOUBTFUL, Effect.REJECTED])
def test_a_resumed_step_that_changed_nothing_may_apply_no_more(effect: Effect) -> None:
    """Whether a step applies is read again before its action is sent again by who resumed the run: it may be hours
    later. A doubt is settled first."""
    plan, lane = a_plan(ONLY_IF_BOUND, ACTIVATE), resumed(proving(effect, condition_met=True), T0)
    if effect is Effect.DOUBTFUL:
        assert asked(decide(plan, lane, T0, attended=True)) == [("source", "replication")]
        lane = after(lane, Next(events=(ev.DoubtResolved(intent=1, evidence="ny: role active"),)), T0)
    move = decide(plan, lane, T0, attended=True)
    assert (kinds(move), asked(move)) == ([], [("target", "replication")])
    skipped = decide(plan, see(lane, bridge("down")), T0, attended=True)
    assert kinds(skipped) == ["step.skipped"]


def test_attempts_are_counted_across_a_resume() -> None:
    """Promise 4: that a resumed run reads again whether its step applies gives an action no further attempt."""
    once = a_plan({**ONLY_IF_BOUND, "attempts": 1}, ACTIVATE)
    lane = resumed(proving(Effect.DOUBTFUL, condition_met=True), T0)
    lane = after(lane, Next(events=(ev.DoubtResolved(intent=1, evidence="ny: role active"),)), T0)
    lane = see(lane, bridge("bound"))
    lane = after(lane, decide(once, lane, T0, attended=True), T0)
    assert lane.condition_met
    assert kinds(decide(once, lane, T0, attended=True)) == ["step.failed"]


@pytest.mark.parametrize(("link", "told"), [("down", "nj: "), (None, "nj: perhaps ")])
def test_what_is_not_known_is_not_said_to_be_so(link: str | None, told: str) -> None:
    """The runbook's sentence for what is wrong is true only of what was read; of the unknown it says ``perhaps``."""
    checked = {**CHECK, "require": [{**BOUND, "say": "its bridge is lost"}]}
    late = see(a_lane(), bridge(link).model_copy(update={"asked_at": T0 + 30}), at=T0 + 30)
    (failed,) = decide(a_plan(checked), late, T0 + 30, attended=False).events
    assert isinstance(failed, ev.StepFailed)
    assert failed.why == f"{told}its bridge is lost (bridge {link or 'unknown'})"


# --- hold and never ------------------------------------------------------------------------------------------------


def held(
    lane: Lane, at: float, messages: int | None = 0, link: str = "bound", source: str | None = "standby"
) -> Lane:
    status = role("source", source, at) if source else unread("source", "replication", at)
    return see(lane, depth(messages, at), bridge(link, at), status, at=at)


def onward(lane: Lane, at: float) -> Lane:
    return after(lane, decide(a_plan(HELD), lane, at, attended=True), at)


def test_a_goal_has_to_hold() -> None:
    """With ``hold`` the goal must be read as true for that long; only then is the step done."""
    lane = onward(held(a_lane(stage=Stage.MAIN), T0), T0)
    assert lane.goal_since == T0
    for second in (1, 5, 9):
        lane = held(lane, T0 + second)
        assert kinds(decide(a_plan(HELD), lane, T0 + second, attended=True)) == []
    lane = held(lane, T0 + 10)
    assert kinds(decide(a_plan(HELD), lane, T0 + 10, attended=True)) == ["step.done"]


@pytest.mark.parametrize("messages", [3, None])
def test_a_break_begins_the_hold_anew(messages: int | None) -> None:
    """A goal that was read as false, or not read, in between has to hold for the whole time again."""
    lane = onward(held(a_lane(stage=Stage.MAIN), T0), T0)
    lane = held(lane, T0 + 5, messages)
    assert kinds(decide(a_plan(HELD), lane, T0 + 5, attended=True)) == ["goal.lost"]
    lane = onward(lane, T0 + 5)
    lane = onward(held(lane, T0 + 6), T0 + 6)
    lane = held(lane, T0 + 11)
    assert kinds(decide(a_plan(HELD), lane, T0 + 11, attended=True)) == []


def test_a_broken_guard_begins_the_hold_anew() -> None:
    """While the guard is broken the goal proves nothing: it has to hold again after it."""
    lane = onward(held(a_lane(stage=Stage.MAIN), T0), T0)
    lane = onward(held(lane, T0 + 5, link="down"), T0 + 5)
    lane = onward(held(lane, T0 + 11), T0 + 11)
    assert lane.guard_broke_at is None
    assert kinds(decide(a_plan(HELD), held(lane, T0 + 12), T0 + 12, attended=True)) == ["goal.reached"]


@pytest.mark.parametrize("event", [ev.StepRetried(step="settled"), ev.LaneResumed(by="ann")])
def test_nobody_looked_during_an_interruption(event: ev.Event) -> None:
    """After a retry or a resume the goal has to hold for the whole time again."""
    lane = onward(held(a_lane(stage=Stage.MAIN), T0), T0)
    assert after(lane, Next(events=(event,)), T0 + 3600).goal_since is None


@pytest.mark.parametrize("hold", ["100ms", "300ms", "1100ms"])
@pytest.mark.parametrize("start", [T0 + 0.1, T0 + 0.7, T0 + 1 / 3])
def test_the_hold_ends_on_any_clock(hold: str, start: float) -> None:
    """Looking exactly when the time is over is enough, however the numbers are rounded."""
    plan = a_plan({**HELD, "hold": hold})
    lane, now = a_lane(stage=Stage.MAIN), start
    for _ in range(10):
        lane = held(lane, now)
        move = decide(plan, lane, now, attended=False)
        if kinds(move) == ["goal.reached"]:
            lane = after(lane, move, now)
            move = decide(plan, lane, now, attended=False)
        if move.events:
            break
        assert move.wake is not None
        assert move.wake > now
        now = move.wake
    assert kinds(move) == ["step.done"]


def test_what_must_never_be_ends_the_wait() -> None:
    """A ``never`` that is read as true fails the step at once; one that cannot be read does not."""
    lane = held(a_lane(stage=Stage.MAIN), T0, source="active")
    (failed,) = decide(a_plan(HELD), lane, T0, attended=True).events
    assert failed == ev.StepFailed(step="settled", why="ny: the source is active")
    assert kinds(decide(a_plan(HELD), held(a_lane(stage=Stage.MAIN), T0, source=None), T0, attended=True)) == [
        "goal.reached"
    ]


# --- ask -----------------------------------------------------------------------------------------------------------

APPROVAL = {
    "id": "approve",
    "title": "Somebody agrees",
    "ask": {
        "gate": "go",
        "text": "The source is dark for good.",
        "choices": ["accept", "stop"],
        "unattended": "stop",
    },
}


def asking(**changes: Any) -> Lane:
    return a_lane(**{"stage": Stage.MAIN, **changes})


def test_a_question_is_put_once() -> None:
    """An ``ask`` opens its gate with the text of the runbook, and waits for a person."""
    move = decide(a_plan(APPROVAL), asking(), T0, attended=True)
    (gate,) = move.events
    assert isinstance(gate, ev.GateOpened)
    assert (gate.gate, gate.why, gate.choices) == ("go", "The source is dark for good.", ("accept", "stop"))
    assert decide(a_plan(APPROVAL), after(asking(), move, T0), T0, attended=True).requests == (Ask("Trading", gate),)


@pytest.mark.parametrize(
    ("choice", "changed", "expected"),
    [
        ("accept", False, ["gate.decided", "step.done"]),
        ("stop", False, ["gate.decided", "lane.ended"]),
        ("stop", True, ["gate.decided", "lane.ended"]),
    ],
)
def test_an_answer_is_followed(choice: str, changed: bool, expected: list[str]) -> None:
    """Accepted, the lane goes on, with name and reason; stopped, it is refused, or needs an operator."""
    lane = asking(changed=changed)
    lane = after(lane, decide(a_plan(APPROVAL), lane, T0, attended=True), T0)
    ruling = ev.Ruling.model_validate({"choice": choice, **ANN})
    move = Next(events=apply_ruling(a_plan(APPROVAL), lane, lane.gates[0], ruling))
    assert kinds(move) == expected
    ended = after(lane, move, T0)
    wanted = "running" if choice == "accept" else "needs-operator" if changed else "refused"
    assert ended.status == wanted


@pytest.mark.parametrize("choice", ["accept", "stop"])
def test_a_question_decided_beforehand(choice: Any) -> None:
    """A policy answers with the reason given for this question, and with no other's; unattended, without a policy,
    what the runbook says holds."""
    policy = ev.Policy(on_gate={"go": choice}, reasons={"go": "agreed on the phone"})
    plan = a_plan(APPROVAL, policy=policy)
    lane = after(asking(), decide(plan, asking(), T0, attended=False), T0)
    decided = decide(plan, lane, T0, attended=False).events[0]
    assert isinstance(decided, ev.GateDecided)
    assert decided.ruling == ev.Ruling(choice=choice, reason="agreed on the phone", by="policy")
    elsewhere = ev.Policy(
        on_gate={"go": choice, "bridge-lost": "wait"}, reasons={"bridge-lost": "it is known to flap"}
    )
    unsaid = decide(a_plan(APPROVAL, policy=elsewhere), lane, T0, attended=False).events[0]
    assert isinstance(unsaid, ev.GateDecided)
    assert unsaid.ruling == ev.Ruling(choice=choice, reason="decided in advance", by="policy")
    unattended = decide(a_plan(APPROVAL), lane, T0, attended=False).events[0]
    assert isinstance(unattended, ev.GateDecided)
    assert (unattended.ruling.choice, unattended.ruling.reason) == ("stop", "no operator could be asked")


# --- compare -------------------------------------------------------------------------------------------------------

SAFE = {"id": "safe", "title": "It is safe to go back", "compare": "failback-safe"}
OUTAGE = Outage(at=T0 - 3600, suspended=False, skew=30)


def endpoints(on: Any, messages: int | None, oldest_at: float | None = None) -> ev.Seen:
    items = (EndpointDepth(endpoint="queue", name="q", messages=messages, oldest_at=oldest_at),)
    return seen(on, Endpoints(items=items))


@pytest.mark.parametrize(
    ("acting", "returning", "choices"),
    [
        (endpoints("source", 0), endpoints("target", 9), ()),
        (endpoints("source", 5), endpoints("target", 5), ()),
        (endpoints("source", 5, T0 - 60), endpoints("target", 9), ()),
        (endpoints("source", 5, T0 - 7200), endpoints("target", 9), ("accept", "stop")),
        (endpoints("source", 5, T0 - 3590), endpoints("target", 9), ("accept", "stop")),
        (endpoints("source", 5), endpoints("target", 9), ("accept", "attest", "stop")),
        (endpoints("source", None), endpoints("target", None), ("accept", "attest", "stop")),
        (endpoints("source", 5), endpoints("target", None), ("accept", "attest", "stop")),
    ],
)
def test_safe_to_go_back(acting: ev.Seen, returning: ev.Seen, choices: tuple[str, ...]) -> None:
    """Promise 9: equal counts, or every oldest message younger than the outage by more than the clocks may differ. What
    is unknown may be attested by a person; what is read as unsafe may not."""
    safe = not choices
    plan = a_plan(SAFE).model_copy(update={"outage": OUTAGE})
    assert asked(decide(plan, asking(), T0, attended=False)) == [("source", "endpoints"), ("target", "endpoints")]
    lane = see(asking(), acting, returning)
    move = decide(plan, lane, T0, attended=False)
    assert kinds(move) == (["step.done"] if safe else ["gate.opened"])
    if not safe:
        lane = after(lane, move, T0)
        assert (lane.gates[0].choices, lane.gates[0].unattended) == (choices, "stop")


def test_endpoints_that_no_adapter_reads_are_a_question() -> None:
    """Law: what asking again cannot tell is asked of a person at once; attested by name it is done, alone it stops."""
    plan = a_plan(SAFE).model_copy(update={"outage": OUTAGE})
    untold = unread("target", "endpoints", kind="NotOffered", text="the adapter does not offer the reading endpoints")
    lane = see(asking(), endpoints("source", 0), untold)
    lane = after(lane, decide(plan, lane, T0, attended=False), T0)
    assert lane.gates[0].choices == ("accept", "attest", "stop")
    assert "does not offer the reading endpoints" in lane.gates[0].why
    assert after(lane, decide(plan, lane, T0, attended=False), T0).status == "refused"
    policy = ev.Policy(on_gate={"unsafe-return": "attest"}, reasons={"unsafe-return": "counted, J. Doe"})
    said = plan.model_copy(update={"policy": policy})
    assert kinds(decide(said, lane, T0, attended=False)) == ["gate.decided", "step.done"]


def test_an_attestation_does_not_stand_against_a_reading() -> None:
    """Law: decided in advance, an attestation is no answer where a reading shows that it is not safe."""
    policy = ev.Policy(on_gate={"unsafe-return": "attest"}, reasons={"unsafe-return": "counted, J. Doe"})
    plan = a_plan(SAFE).model_copy(update={"outage": OUTAGE, "policy": policy})
    lane = see(asking(), endpoints("source", 5, T0 - 7200), endpoints("target", 9))
    lane = after(lane, decide(plan, lane, T0, attended=False), T0)
    assert after(lane, decide(plan, lane, T0, attended=False), T0).status == "refused"


def test_a_risk_that_is_not_accepted_stops() -> None:
    """Promise 9: unattended, a return that is not shown to be safe is refused."""
    plan = a_plan(SAFE).model_copy(update={"outage": OUTAGE})
    lane = see(asking(), endpoints("source", 5), endpoints("target", 9))
    lane = after(lane, decide(plan, lane, T0, attended=False), T0)
    assert after(lane, decide(plan, lane, T0, attended=False), T0).status == "refused"


def test_endpoints_that_cannot_be_read_are_not_safe() -> None:
    """An unreadable side has patience and then fails; it never counts as empty."""
    plan = a_plan(SAFE).model_copy(update={"outage": OUTAGE})
    lane = see(asking(), endpoints("source", 0), unread("target", "endpoints"))
    assert kinds(decide(plan, lane, T0, attended=False)) == []
    lane = see(asking(), endpoints("source", 0), unread("target", "endpoints", T0 + 30), at=T0 + 30)
    assert kinds(decide(plan, lane, T0 + 30, attended=False)) == ["step.failed"]


# --- waive ---------------------------------------------------------------------------------------------------------

DARK = [unread("source", "replication"), role("target", "standby")]


def failed_in_the_dark(status: str = "escalating") -> tuple[ev.Plan, Lane]:
    plan = a_plan(CHECK, ACTIVATE)
    lane = a_lane(step=1, status=status, changed=True)
    late = [one.model_copy(update={"asked_at": T0 + 30}) for one in DARK]
    lane = see(lane, *late, at=T0 + 30)
    lane = after(lane, decide(plan, lane, T0 + 30, attended=True), T0 + 30)
    return plan, after(lane, decide(plan, lane, T0 + 30, attended=True), T0 + 30)


def test_what_cannot_be_read_may_be_waived_after_an_escalation() -> None:
    """A source that is dark for good does not hold up an escalated lane, if somebody says so by name."""
    plan, lane = failed_in_the_dark()
    assert lane.gates[0].choices == ("retry", "waive", "stop")
    ruling = ev.Ruling.model_validate({"choice": "waive", **ANN})
    lane = after(lane, Next(events=apply_ruling(plan, lane, lane.gates[0], ruling)), T0 + 31)
    lane = see(lane, unread("source", "replication", T0 + 31), role("target", "standby", T0 + 31))
    assert kinds(decide(plan, lane, T0 + 31, attended=True)) == ["action.intended"]


def test_what_is_read_as_wrong_cannot_be_waived() -> None:
    """Promise 1: a source that answers "active" stops the activation, waived or not."""
    plan, lane = failed_in_the_dark()
    ruling = ev.Ruling.model_validate({"choice": "waive", **ANN})
    lane = after(lane, Next(events=apply_ruling(plan, lane, lane.gates[0], ruling)), T0 + 31)
    lane = see(lane, role("source", "active", T0 + 31), role("target", "standby", T0 + 31))
    assert kinds(decide(plan, lane, T0 + 31, attended=True)) == ["step.failed"]


def test_what_was_waived_in_vain_is_not_waived_again() -> None:
    """Promise 4: decided in advance, it would be waived for ever. Whether a step applies cannot be waived at all."""
    plan = a_plan(CHECK, ACTIVATE).model_copy(update={"policy": ev.Policy(on_gate={"step-failed": "waive"})})
    why = "nj: transports is unknown"
    lane = a_lane(
        step=1, status="escalating", changed=True, waived=True, stage=Stage.FAILED, failure=why, failure_unknown=True
    )
    lane = after(lane, decide(plan, lane, T0, attended=False), T0)
    assert lane.gates[0].choices == ("retry", "stop")
    lane = after(lane, decide(plan, lane, T0, attended=False), T0)
    assert (lane.outcome, lane.reason) == (ev.Outcome.NEEDS_OPERATOR, why)


@pytest.mark.parametrize("status", ["running", "committed"])
def test_a_controlled_lane_cannot_waive(status: str) -> None:
    """Promises 1 and 2: without an escalation nothing is waived."""
    _, lane = failed_in_the_dark(status)
    assert "waive" not in lane.gates[0].choices


def test_a_waiver_ends_with_its_step() -> None:
    """What was waived in one step is not waived in the next."""
    lane = a_lane(status="escalating", waived=True)
    assert not after(lane, Next(events=(ev.StepDone(step="activate"),)), T0).waived


def test_nothing_to_wait_for_is_no_wake() -> None:
    """A lane that only waits for a person wants no wake-up."""
    plan, lane = failed_in_the_dark()
    assert wait_of(decide(plan, lane, T0 + 31, attended=True), T0) is None
