"""Failures, calling off, rolling back: who decides, what is taken back, and where a lane ends."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.core.decide import Ask, Next, apply_ruling, decide
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.errors import IllegalTransition
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from tests.core.builders import (
    ACTIVATE,
    CHECK,
    COMPLETE,
    DEMOTE,
    DRAIN,
    T0,
    a_lane,
    a_plan,
    a_transaction,
    after,
    all_events,
    asked,
    kinds,
    listing,
    proving,
    role,
    see,
    unread,
)

PLAN = a_plan(CHECK, DEMOTE, DRAIN, COMPLETE, ACTIVATE)
ABORT = ev.AbortAsked(by="ann", reason="the change was called off")
ANN = {"reason": "I looked", "by": "ann"}


def failed(**changes: Any) -> Lane:
    return a_lane(**{"stage": Stage.FAILED, "failure": "the reason", **changes})


def gate_of(plan: ev.Plan, lane: Lane, attended: bool = True) -> tuple[ev.GateOpened, Lane]:
    move = decide(plan, lane, T0, attended=attended)
    (gate,) = move.events
    assert isinstance(gate, ev.GateOpened)
    return gate, after(lane, move, T0)


# --- a step failed -------------------------------------------------------------------------------------------------


def test_after_a_change_somebody_decides() -> None:
    """A failed step of a lane that changed something opens a gate: retry, revert or stop; unattended it reverts."""
    gate, lane = gate_of(PLAN, failed(step=4, changed=True, undo=("demote",)))
    assert (gate.gate, gate.choices, gate.unattended) == ("step-failed", ("retry", "revert", "stop"), "revert")
    assert gate.why == "the reason"
    assert list(decide(PLAN, lane, T0, attended=True).requests) == [Ask("Trading", gate)]
    assert [one.kind for one in all_events(PLAN, lane, T0)][:2] == ["gate.decided", "revert.started"]


@pytest.mark.parametrize("status", ["committed", "escalating"])
def test_past_the_point_of_no_return_it_stops(status: str) -> None:
    """Past the point of no return there is no way back: retry or stop; unattended it stops and needs an operator."""
    gate, lane = gate_of(PLAN, failed(step=4, status=status, changed=True, undo=("demote",)))
    assert (gate.choices, gate.unattended) == (("retry", "stop"), "stop")
    decided, ended = decide(PLAN, lane, T0, attended=False).events
    assert ended == ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR, reason="the reason")
    assert decided.kind == "gate.decided"


@pytest.mark.parametrize(
    ("effect", "disproved", "refused"),
    [
        (Effect.REJECTED, False, True),
        (Effect.NOT_SENT, False, True),
        (Effect.DOUBTFUL, True, True),
        (Effect.DOUBTFUL, False, False),
        (Effect.ACCEPTED, False, False),
    ],
)
def test_refused_means_that_nothing_was_changed(effect: Effect, disproved: bool, refused: bool) -> None:
    """``refused`` is said only if no action can have been obeyed: a doubt that is not resolved is a change."""
    intent = Intent(1, "set_role", 1, None, T0, effect=effect, disproved=disproved)
    move = decide(PLAN, failed(step=1, intents=(intent,)), T0, attended=False)
    assert kinds(move) == (["lane.ended"] if refused else ["gate.opened"])


def test_retry_begins_the_step_again() -> None:
    """A "retry" reads the preconditions of the failed step anew."""
    gate, lane = gate_of(PLAN, failed(step=4, changed=True))
    ruling = ev.Ruling(choice="retry", **ANN)
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, gate, ruling)), T0)
    assert (lane.stage, lane.failure, lane.gates) == (Stage.REQUIRE, "", ())
    assert asked(decide(PLAN, lane, T0, attended=True)) == [("source", "replication"), ("target", "replication")]


def test_stop_is_resumable() -> None:
    """A "stop" ends the lane as ``needs-operator``; a resume goes on with the step that failed."""
    gate, lane = gate_of(PLAN, failed(step=4, changed=True))
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, gate, ev.Ruling(choice="stop", **ANN))), T0)
    assert (lane.status, lane.settled) == ("needs-operator", False)
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert (lane.status, lane.step, lane.stage, lane.outcome) == ("running", 4, Stage.REQUIRE, None)


# --- turning back --------------------------------------------------------------------------------------------------


def test_the_last_change_is_taken_back_first() -> None:
    """Undos run in reverse order, each with its own precondition, action and proof."""
    second = {**DEMOTE, "id": "demote-more"}
    plan = a_plan(DEMOTE, second, CHECK)
    lane = failed(step=2, changed=True, undo=("demote", "demote-more"), status="reverting", stage=Stage.REQUIRE)
    assert asked(decide(plan, lane, T0, attended=False)) == [("target", "replication")]
    lane = see(lane, role("target", "standby"))
    (intent,) = decide(plan, lane, T0, attended=False).events
    assert isinstance(intent, ev.ActionIntended)
    assert (intent.step, intent.undo, intent.args) == ("demote-more", True, {"role": "active"})


def test_every_undo_is_proven() -> None:
    """An undo is done when its ``expect`` was read as true; with none left the lane is ``reverted``."""
    lane = proving(Effect.ACCEPTED, status="reverting", undo=("demote",), step=2)
    assert asked(decide(PLAN, lane, T0, attended=False)) == [("source", "replication")]
    lane = see(lane, role("source", "active"))
    move = decide(PLAN, lane, T0, attended=False)
    assert move.events == (ev.UndoDone(step="demote"),)
    ended = decide(PLAN, after(lane, move, T0), T0, attended=False)
    assert ended.events == (ev.LaneEnded(outcome=ev.Outcome.REVERTED),)


def test_no_undo_that_could_make_two_active_sites() -> None:
    """Promise 1 on the way back: the source is not activated while the target is not confirmed standby."""
    lane = a_lane(status="reverting", undo=("demote",), step=2)
    assert kinds(decide(PLAN, see(lane, role("target", "active")), T0, attended=False)) == ["step.failed"]
    assert kinds(decide(PLAN, see(lane, unread("target", "replication")), T0, attended=False)) == []


def test_an_undo_that_fails_has_its_own_end() -> None:
    """A failed undo is retried by a person or ends ``stuck``; unattended it is ``stuck``, never ``reverted``."""
    gate, lane = gate_of(PLAN, failed(status="reverting", undo=("demote",), step=2))
    assert (gate.gate, gate.choices, gate.unattended) == ("undo-failed", ("retry", "stop"), "stop")
    _, ended = decide(PLAN, lane, T0, attended=False).events
    assert ended == ev.LaneEnded(outcome=ev.Outcome.STUCK, reason="the reason")


def test_an_undo_that_fails_says_what_to_do() -> None:
    """Law: the remedy of the condition that stops a rollback is recorded with the failure and with the question, with the
    names of the run. It does not replace the remedy of what is rolled back."""
    undo = DEMOTE["undo"]
    [standby] = undo["require"]
    demote = {
        **DEMOTE,
        "undo": undo | {"require": [standby | {"remedy": "close TARGET, then run `failover resume`"}]},
    }
    plan = a_plan(CHECK, demote, DRAIN, COMPLETE, ACTIVATE)
    lane = see(
        a_lane(status="reverting", undo=("demote",), step=2, remedy="start the bridge"), role("target", "active")
    )
    move = decide(plan, lane, T0, attended=True)
    [failure] = move.events
    assert isinstance(failure, ev.StepFailed)
    assert failure.remedy == "close nj, then run `failover resume`"
    gate, lane = gate_of(plan, after(lane, move, T0))
    assert (gate.gate, gate.remedy) == ("undo-failed", failure.remedy)
    lane = after(lane, Next(events=apply_ruling(plan, lane, gate, ev.Ruling(choice="stop", **ANN))), T0)
    assert (lane.outcome, lane.undo_remedy, lane.remedy) == (ev.Outcome.STUCK, failure.remedy, "start the bridge")
    resumed = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert (resumed.undo_remedy, resumed.remedy) == ("", "start the bridge")


def test_a_failed_step_says_what_to_do() -> None:
    """Law: the question after a failed step has the remedy of the step."""
    gate, _ = gate_of(PLAN, failed(step=4, changed=True, undo=("demote",), remedy="start the bridge"))
    assert (gate.gate, gate.remedy) == ("step-failed", "start the bridge")


def test_a_stuck_lane_can_be_resumed() -> None:
    """``stuck`` is resumable: it goes on taking back where it stopped."""
    gate, lane = gate_of(PLAN, failed(status="reverting", undo=("demote",), step=2))
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, gate, ev.Ruling(choice="stop", **ANN))), T0)
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert (lane.status, lane.undo, lane.outcome) == ("reverting", ("demote",), None)
    assert asked(decide(PLAN, lane, T0 + 60, attended=True)) == [("target", "replication")]


def test_a_step_in_doubt_is_taken_back_as_well() -> None:
    """Turning back takes back the present step too if its action may have been obeyed."""
    for effect, undo in ((Effect.DOUBTFUL, ("demote",)), (Effect.REJECTED, ())):
        intent = Intent(1, "set_role", 1, None, T0, effect=effect)
        lane = failed(step=1, changed=True, intents=(intent,))
        gate, lane = gate_of(PLAN, lane)
        lane = after(lane, Next(events=apply_ruling(PLAN, lane, gate, ev.Ruling(choice="revert", **ANN))), T0)
        (revert,) = decide(PLAN, lane, T0, attended=False).events
        assert isinstance(revert, ev.RevertStarted)
        assert revert.undo == undo


# --- calling off ---------------------------------------------------------------------------------------------------


def test_called_off_before_it_began() -> None:
    """A ready lane that is called off is refused: nothing was changed."""
    lane = Lane("Trading", abort=ABORT)
    assert decide(PLAN, lane, T0, attended=False).events == (
        ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason="aborted by ann: the change was called off"),
    )


@pytest.mark.parametrize("stage", [Stage.BETWEEN, Stage.REQUIRE, Stage.MAIN, Stage.FAILED])
def test_called_off_in_any_stage_with_nothing_changed(stage: Stage) -> None:
    """Called off before anything was changed, the lane is refused."""
    move = decide(PLAN, a_lane(stage=stage, abort=ABORT), T0, attended=True)
    assert [event.outcome for event in move.events if isinstance(event, ev.LaneEnded)] == [ev.Outcome.REFUSED]


@pytest.mark.parametrize("stage", [Stage.BETWEEN, Stage.REQUIRE, Stage.MAIN, Stage.FAILED])
def test_called_off_in_any_stage_after_a_change(stage: Stage) -> None:
    """Called off after a change and before the point of no return, the lane turns back."""
    lane = a_lane(stage=stage, step=2, abort=ABORT, changed=True, undo=("demote",))
    (revert,) = decide(PLAN, lane, T0, attended=True).events
    assert isinstance(revert, ev.RevertStarted)
    assert revert.undo == ("demote",)


def test_called_off_while_an_action_is_under_way() -> None:
    """Nothing is decided before the outcome is known, and in doubt not before a reading shows what it did."""
    under_way = after(a_lane(step=1), decide(PLAN, a_lane(step=1), T0, attended=False), T0)
    assert decide(PLAN, after(under_way, Next(events=(ABORT,)), T0), T0, attended=False) == Next()
    for effect in (Effect.ACCEPTED, Effect.DOUBTFUL):
        lane = proving(effect, step=1, abort=ABORT)
        assert asked(decide(PLAN, lane, T0, attended=False)) == [("source", "replication")]


@pytest.mark.parametrize("effect", [Effect.NOT_SENT, Effect.REJECTED])
def test_called_off_nothing_new_is_sent(effect: Effect) -> None:
    """An action that did not happen is not tried again once the lane is called off."""
    move = decide(PLAN, proving(effect, step=1, abort=ABORT), T0 + 60, attended=False)
    assert kinds(move) == ["lane.ended"]


def test_called_off_a_doubt_without_proof_is_not_sent_again() -> None:
    """An action that no reading can prove is not repeated once the lane is called off: its undo is owed instead."""
    blind = {**DEMOTE, "expect": []}
    move = decide(a_plan(blind), proving(Effect.DOUBTFUL, abort=ABORT), T0 + 60, attended=False)
    (revert,) = move.events
    assert isinstance(revert, ev.RevertStarted)
    assert revert.undo == ("demote",)


def test_called_off_a_disproved_doubt_is_not_sent_again() -> None:
    """Once a reading showed that the doubtful action had no effect, a lane that was called off does not repeat it."""
    lane = see(proving(Effect.DOUBTFUL, step=1, abort=ABORT), role("source", "active", T0 + 5), at=T0 + 5)
    move = decide(PLAN, lane, T0 + 5, attended=False)
    assert kinds(move) == ["doubt.resolved"]
    assert kinds(decide(PLAN, after(lane, move, T0 + 5), T0 + 60, attended=False)) == ["lane.ended"]


def test_called_off_no_further_item_is_touched() -> None:
    """A lane that is called off between two items turns back; it does not decide or complete the next one."""
    done = Intent(1, "complete_transaction", 1, "1-a-a", T0, effect=Effect.ACCEPTED, ended_at=T0)
    rulings = {("transactions", "1-a-b"): ev.Ruling(choice="commit", **ANN)}
    lane = a_lane(
        step=3,
        stage=Stage.PROVE,
        intents=(done,),
        rulings=rulings,
        abort=ABORT,
        changed=True,
        undo=("demote",),
    )
    move = decide(PLAN, see(lane, listing(a_transaction("1-a-b"))), T0, attended=True)
    assert kinds(move) == ["revert.started"]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("reverting", "the rollback has already started"),
        ("committed", "the run is past the point of no return"),
        ("escalating", "the run is past the point of no return"),
    ],
)
@pytest.mark.parametrize("stage", [Stage.BETWEEN, Stage.REQUIRE, Stage.MAIN, Stage.FAILED])
def test_called_off_too_late(status: str, why: str, stage: Stage) -> None:
    """A lane that turns back already, or is past its point of no return, says that it cannot be aborted."""
    lane = a_lane(status=status, stage=stage, step=4, abort=ABORT, changed=True, undo=("demote",))
    move = decide(PLAN, lane, T0, attended=True)
    assert move.events == (ev.AbortDeclined(reason=why),)
    assert after(lane, move, T0).abort is None


@pytest.mark.parametrize(("status", "outcome"), [("reverting", "stuck"), ("committed", "needs-operator")])
def test_what_cannot_be_rolled_back_is_left_for_good(status: str, outcome: str) -> None:
    """Left by name where it is: it says where, and no resume continues it. A lane that can be rolled back is."""
    leave = ABORT.model_copy(update={"leave": True})
    lane = a_lane(status=status, stage=Stage.FAILED, step=4, abort=leave, changed=True, undo=("demote",))
    move = decide(PLAN, lane, T0, attended=True)
    assert kinds(move) == ["abort.declined", "lane.ended"]
    ended = move.events[-1]
    assert isinstance(ended, ev.LaneEnded)
    title = PLAN.runbook.steps[4 if status == "committed" else PLAN.runbook.index_of("demote")].title
    assert (ended.outcome, ended.left) == (outcome, True)
    where = f"at the step: {title}"
    assert ended.reason == f"the service was left as it is, {where}; aborted by ann: the change was called off"
    lane = after(lane, move, T0)
    assert lane.settled
    with pytest.raises(IllegalTransition):
        after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0)
    turning = a_lane(stage=Stage.BETWEEN, step=2, abort=leave, changed=True, undo=("demote",))
    assert kinds(decide(PLAN, turning, T0, attended=True)) == ["revert.started"]


def test_an_activation_in_doubt_is_not_called_off_blindly() -> None:
    """A lane called off with its activation in doubt waits for the reading: taken effect, it goes forward."""
    was = (role("target", "standby"),)
    lane = see(proving(Effect.DOUBTFUL, step=4, abort=ABORT, changed=True, before=was), role("target", "active"))
    move = decide(PLAN, lane, T0, attended=False)
    assert kinds(move) == ["point-of-no-return", "step.done"]
    lane = after(lane, move, T0)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["abort.declined"]


DOUBT_AT_THE_POINT: dict[str, Any] = {
    "step": 4,
    "changed": True,
    "undo": ("demote",),
    "intents": (Intent(1, "set_role", 1, None, T0, effect=Effect.DOUBTFUL, ended_at=T0),),
}


def test_no_way_back_while_the_point_of_no_return_is_in_doubt() -> None:
    """Whether the target was activated is not known: it can be tried again or left, but not called reverted."""
    gate, lane = gate_of(PLAN, failed(**DOUBT_AT_THE_POINT, failure_unknown=True))
    assert (gate.choices, gate.unattended) == (("retry", "stop"), "stop")
    (_, end) = decide(PLAN, lane, T0, attended=False).events
    assert isinstance(end, ev.LaneEnded)
    assert end.outcome is ev.Outcome.NEEDS_OPERATOR


def test_called_off_while_the_point_of_no_return_is_in_doubt() -> None:
    """Nobody could read what the activation did: it is not called off, so it does not end as if it had not been."""
    (declined,) = decide(PLAN, failed(**DOUBT_AT_THE_POINT, abort=ABORT), T0, attended=False).events
    assert declined == ev.AbortDeclined(
        reason="the run may be past the point of no return, and readings do not show it"
    )


def test_a_disproved_activation_can_be_called_off() -> None:
    """A reading showed that the activation had no effect: the way back is open again."""
    intent = Intent(1, "set_role", 1, None, T0, effect=Effect.DOUBTFUL, ended_at=T0, disproved=True)
    lane = failed(**{**DOUBT_AT_THE_POINT, "intents": (intent,)}, abort=ABORT)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["revert.started"]


def test_a_refused_first_change_is_a_question_where_an_operator_is() -> None:
    """Law: a device that refuses may want something else first, such as a message spool that is ready. Its answer is
    shown, and the operator says when to try again; without one, and after `stop`, the lane is refused as before."""
    refused = Intent(1, "set_role", 1, None, T0, effect=Effect.REJECTED, ended_at=T0, detail="not now")
    lane = failed(step=1, intents=(refused,), intended=1, failure="ny refused: not now")
    gate, asked_lane = gate_of(PLAN, lane)
    assert (gate.gate, gate.choices, gate.unattended, gate.why) == (
        "step-failed",
        ("retry", "stop"),
        "stop",
        "ny refused: not now",
    )
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["lane.ended"]
    *_, ended = decide(PLAN, asked_lane, T0, attended=False).events  # the terminal is gone
    assert ended == ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason="ny refused: not now")
    again = apply_ruling(PLAN, asked_lane, gate, ev.Ruling(choice="retry", **ANN))
    assert again[-1] == ev.StepRetried(step="demote")


def test_a_lane_is_left_only_once_its_command_can_have_no_effect() -> None:
    """Leaving gives up what the lane opens of a site. A command in doubt may still land within ``settle`` and would undo
    what another service did there since."""
    abort = ev.AbortAsked(by="ann", reason="done by hand", leave=True)
    lane = proving(
        Effect.DOUBTFUL, status="reverting", stage=Stage.FAILED, undo=("demote",), changed=True, abort=abort
    )
    settle = PLAN.runbook.steps[PLAN.runbook.index_of("demote")].settle
    early = decide(PLAN, lane, T0 + 0.1, attended=True)
    assert (early.events, early.wake) == ((), T0 + settle)
    *_, ended = decide(PLAN, lane, T0 + settle, attended=True).events
    assert isinstance(ended, ev.LaneEnded)
    assert (ended.outcome, ended.left) == (ev.Outcome.STUCK, True)
