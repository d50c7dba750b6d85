"""Checks and waits: goal and guard are read together until both hold in one round. Pure."""

from __future__ import annotations

from orchestrator.core.decide.decision import Next, Observe, emit
from orchestrator.core.decide.evaluate import (
    Verdict,
    is_current,
    judge,
    known_at,
    observe,
    patience,
    poll_again,
    remedy_of,
    what_is_wrong,
)
from orchestrator.core.decide.gates import answer, opened, with_questions
from orchestrator.core.drain_estimate import next_look
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.readings import counts_at_risk
from orchestrator.model.runbook import GuardBreak, Stall, Step


def only_if(plan: ev.Plan, lane: Lane, step: Step, now: float) -> Next:
    """Decide whether this step applies. Unknown does not mean no."""
    request = observe(lane, step.only_if)
    if not is_current(lane):
        return Next(requests=(request,))
    verdict = judge(plan, lane, step.only_if)
    if verdict.holds is None:
        return patience(lane, step, verdict, request, now, undo=False)
    if verdict.holds is False:
        return emit(ev.StepSkipped(step=step.id, why=verdict.why))
    return emit(ev.ConditionMet(step=step.id))


def require(plan: ev.Plan, lane: Lane, step: Step, now: float) -> Next:
    """A check, or the preconditions of a step that is not an action. A ``for_each`` step reads its preconditions later,
    and only if there are items."""
    if step.require and not step.for_each:
        # A step that waits, asks, compares or foresees reads the report in a later round.
        is_last = not (step.until or step.ask or step.compare or step.foresee)
        request = observe(lane, step.require, report=step.report if is_last else ())
        if not is_current(lane):
            return Next(requests=(request,))
        verdict = judge(plan, lane, step.require)
        if verdict.holds is None and not lane.waived:
            return patience(lane, step, verdict, request, now, undo=False)
        if verdict.holds is False:
            return emit(ev.StepFailed(step=step.id, why=verdict.why, remedy=verdict.remedy))
    if step.until or step.for_each or step.ask or step.compare or step.foresee:
        return emit(ev.RequirementsMet(step=step.id))
    return emit(ev.StepDone(step=step.id))


def wait(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next:
    """Read goal and guard together until both hold in one round."""
    request = observe(lane, (*step.until, *step.guard, *step.never), step.progress, step.report)
    if not is_current(lane):
        return Next(requests=(request,))
    wrong = next((check for check in step.never if judge(plan, lane, (check,)).holds), None)
    if wrong is not None:
        return emit(
            ev.StepFailed(step=step.id, why=what_is_wrong(plan, lane, wrong), remedy=remedy_of(plan, lane, wrong))
        )
    guard = judge(plan, lane, step.guard)
    if not guard.holds:
        return guard_broken(plan, lane, step, guard, request, now=now, attended=attended)
    if lane.guard_broke_at is not None:
        healed = [ev.GateWithdrawn(gate=gate.gate, why="the condition holds again") for gate in lane.gates]
        return emit(*healed, ev.GuardHealed(step=step.id))
    goal = judge(plan, lane, step.until)
    if goal.holds:
        return _reached(lane, step, request, now)
    if lane.goal_since is not None:
        return emit(ev.GoalLost(step=step.id, why=goal.why))
    return _not_yet(plan, lane, step, goal, request, now, attended)


def _reached(lane: Lane, step: Step, request: Observe, now: float) -> Next:
    """The goal was read as true. The step is done, unless the goal must hold for some time (``hold``)."""
    if step.hold and lane.goal_since is None:
        return emit(ev.GoalReached(step=step.id))
    due = lane.seen_at if lane.goal_since is None else lane.goal_since + step.hold
    if lane.seen_at < due:
        return poll_again(lane, request, now, min(step.poll.max, due - lane.seen_at))
    withdrawn = [ev.GateWithdrawn(gate=gate.gate, why="the goal was reached") for gate in lane.gates]
    return emit(*withdrawn, ev.StepDone(step=step.id))


def _not_yet(
    plan: ev.Plan, lane: Lane, step: Step, goal: Verdict, request: Observe, now: float, attended: bool
) -> Next:
    if _is_over(step, lane, now):
        return _not_within(step, goal)
    if goal.holds is None and lane.waived:
        return emit(ev.StepDone(step=step.id, note=f"waived without a proof: {goal.why}"))
    if goal.holds is None and not lane.gates:
        return patience(lane, step, goal, request, now, undo=False)
    moved = _on_stall(plan, lane, step, now, attended)
    if moved is not None:
        return moved
    interval = next_look(lane.gauge, shortest=step.poll.min, longest=step.poll.max)
    return with_questions(lane, poll_again(lane, request, now, interval), attended)


def guard_broken(
    plan: ev.Plan, lane: Lane, step: Step, guard: Verdict, request: Observe, *, now: float, attended: bool
) -> Next:
    """The guard of a wait does not hold, or a ``reconfirm`` check of an action no longer holds. The guard may recover
    within ``grace``. After that an operator decides, or the policy."""
    rule = step.when_guard_breaks
    assert rule is not None  # the runbook's model requires a rule with every guard
    if lane.guard_broke_at is None:
        return emit(ev.GuardBroke(step=step.id, why=guard.why))
    gate = lane.open_gate(rule.gate)
    if _is_over(step, lane, now) and not (attended and gate is not None):  # an open question to a person stays open
        return _not_within(step, guard)
    polling = poll_again(lane, request, now, step.poll.max)
    # Only a reading taken after the grace shows that the guard is still broken.
    if lane.seen_at - lane.guard_broke_at <= rule.grace:
        return with_questions(lane, polling, attended)
    if gate is None:
        return emit(
            *(ev.GateWithdrawn(gate=other.gate, why=guard.why) for other in lane.gates),
            opened(lane, rule, step.id, why=guard.why, at_risk=_at_risk(plan, lane, step)),
        )
    return _answer(plan, lane, rule, gate, now, attended, polling)


def _on_stall(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next | None:
    """None while the gauge moves, or while it is unknown whether it moves."""
    rule = step.when_stalled
    if rule is None:
        return None
    if not lane.gauge:
        return _on_silence(plan, lane, step, rule, now, attended)
    if lane.seen_at - lane.moved_at <= rule.after:
        return None
    if not lane.stalled:
        return emit(ev.Stalled(step=step.id, gauge=lane.gauge[-1][1]))
    gate = lane.open_gate(rule.gate)
    if gate is None:
        # The text has no numbers of the lane, because equal questions of many services are asked once.
        why = f"the wait made no progress for {rule.after:.0f}s; its guard condition still holds"
        return emit(opened(lane, rule, step.id, why=why, at_risk=_at_risk(plan, lane, step)))
    return _answer(plan, lane, rule, gate, now, attended, _looking_on(lane, step, now))


def _on_silence(plan: ev.Plan, lane: Lane, step: Step, rule: Stall, now: float, attended: bool) -> Next | None:
    """The gauge was not read since a person resumed the lane. A question that was open then stays open. After
    ``patience`` the lane no longer expects a reading to end the question, and continues with ``_answer``."""
    gate = lane.open_gate(rule.gate)
    if gate is None or now - known_at(lane) < step.patience:
        return None
    return _answer(plan, lane, rule, gate, now, attended, _looking_on(lane, step, now))


def _answer(
    plan: ev.Plan,
    lane: Lane,
    rule: GuardBreak | Stall,
    gate: ev.GateOpened,
    now: float,
    attended: bool,
    meanwhile: Next,
) -> Next:
    """The next move at the gate. A wait that was decided in advance, or that is the unattended choice, has a limit too:
    if nothing improves, it ends after ``wait_at_most`` of the rule."""
    is_waiting = plan.policy.on_gate.get(gate.gate, gate.unattended) == "wait"
    since = lane.waiting_since if is_waiting else None
    is_over = since is not None and now - since >= rule.wait_at_most
    return answer(plan, lane, gate, attended, meanwhile, waited_s=rule.wait_at_most if is_over else None)


def _is_over(step: Step, lane: Lane, now: float) -> bool:
    return step.timeout is not None and now - lane.step_at >= step.timeout


def _not_within(step: Step, verdict: Verdict) -> Next:
    assert step.timeout is not None  # the callers check
    why = f"the goal was not reached within {step.timeout:g}s: {verdict.why}"
    return emit(ev.StepFailed(step=step.id, why=why, remedy=verdict.remedy))


def _looking_on(lane: Lane, step: Step, now: float) -> Next:
    request = observe(lane, (*step.until, *step.guard, *step.never), step.progress, step.report)
    return poll_again(lane, request, now, step.poll.max)


def _at_risk(plan: ev.Plan, lane: Lane, step: Step) -> int | None:
    """The number of messages at risk. None: unknown, since connected clients or seconds of delay give no such number."""
    followed = step.progress
    if not lane.gauge or followed is None:
        return None
    if not counts_at_risk(followed.reading, followed.field, plan.runbook.family):
        return None
    return int(lane.gauge[-1][1])
