"""Gates: who decides, and what follows from a decision. Also rollback, which is one of the answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.core.decide.act import Task, act
from orchestrator.core.decide.claims import may_leave, may_undo
from orchestrator.core.decide.decision import IDLE, Ask, Next, emit
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Approval, Choice, GuardBreak, Stall, Step, format_duration

FAILURE_GATE = "step-failed"
UNDO_GATE = "undo-failed"
LEFT_GATE = "left-changed"
# The choices that a lane in this status cannot take. An escalated lane may escalate again, because a later wait may need
# what was given up.
_CLOSED: Mapping[str, tuple[Choice, ...]] = {"running": (), "escalating": ("revert",)}
Opening = GuardBreak | Stall | Approval


def opened(lane: Lane, rule: Opening, step: str, *, why: str, at_risk: int | None = None) -> ev.GateOpened:
    """The gate of ``rule``. Once the lane cannot be rolled back, the gate does not offer ``revert``. Past the point of no
    return it does not offer ``escalate`` either."""
    closed = _CLOSED.get(lane.status, ("revert", "escalate"))
    choices = tuple(choice for choice in rule.choices if choice not in closed)
    unattended = "stop" if rule.unattended in closed else rule.unattended
    choices = choices if unattended in choices else (*choices, unattended)
    return ev.GateOpened(gate=rule.gate, step=step, choices=choices, unattended=unattended, why=why, at_risk=at_risk)


def answer(
    plan: ev.Plan,
    lane: Lane,
    gate: ev.GateOpened,
    attended: bool,
    meanwhile: Next = IDLE,
    *,
    waited_s: float | None = None,
) -> Next:
    """The next move at an open gate: the policy's choice, a question to a person, or the unattended choice.

    ``waited_s``: the lane has waited for so many seconds, and the time for waiting is over. If the unattended choice is
    also to wait, the lane stops.
    """
    chosen = plan.policy.on_gate.get(gate.gate)
    if chosen is not None and chosen in gate.choices and waited_s is None:
        reason = plan.policy.why(gate.gate) or "decided in advance"
        return emit(*apply_ruling(plan, lane, gate, ev.Ruling(choice=chosen, reason=reason, by="policy")))
    if attended:
        return with_questions(lane, meanwhile, attended)
    choice, before = gate.unattended, ""
    if waited_s is not None:
        choice = "stop" if choice == "wait" else choice
        decided = "as decided in advance, " if chosen is not None else ""
        before = f"the run waited for {format_duration(waited_s)}, {decided}and "
    ruling = ev.Ruling(choice=choice, reason=f"{before}no operator could be asked", by="policy")
    return emit(*apply_ruling(plan, lane, gate, ruling))


def with_questions(lane: Lane, polling: Next, attended: bool) -> Next:
    """Ask the open questions, and continue to read meanwhile: many questions end by themselves."""
    if not attended or not lane.gates:
        return polling
    questions = tuple(Ask(lane.service, gate) for gate in lane.gates)
    return Next(requests=(*questions, *polling.requests), wake=polling.wake)


def apply_ruling(plan: ev.Plan, lane: Lane, gate: ev.GateOpened, ruling: ev.Ruling) -> tuple[ev.Event, ...]:
    """The events of ``ruling`` on the open ``gate`` of ``lane``."""
    decided = ev.GateDecided(gate=gate.gate, step=gate.step, ruling=ruling, item=gate.item)
    match ruling.choice:
        case "stop":
            return (decided, _halt(lane, gate))
        case "waive" if gate.gate == FAILURE_GATE:
            return (decided, ev.StepWaived(step=gate.step))
        case "accept" if gate.gate == LEFT_GATE:
            return (decided,)
        case "waive" | "attest" | "later" | "accept":
            return (decided, ev.StepDone(step=gate.step, note=f"{ruling.choice}, by {ruling.by}: {ruling.reason}"))
        case "escalate":
            stays = plan.runbook.steps[lane.step].changes
            return (decided, ev.Escalated(step=gate.step, at_risk=gate.at_risk, ruling=ruling, stays=stays))
        case "retry":
            return (decided, ev.StepRetried(step=gate.step))
        case _:
            return (decided,)


def stopped(lane: Lane, why: str) -> ev.LaneEnded:
    """The event with which the lane stops at its present step. The lane can be resumed."""
    outcome = ev.Outcome.STUCK if lane.status == "reverting" else ev.Outcome.NEEDS_OPERATOR
    return ev.LaneEnded(outcome=outcome, reason=why)


def _halt(lane: Lane, gate: ev.GateOpened) -> ev.LaneEnded:
    """The end after the choice ``stop``. A lane that has changed nothing is refused, unless the gate is about one item.
    Any other lane stops and can be resumed."""
    if lane.status == "running" and gate.item is None and not _may_have_changed(lane):
        return ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=gate.why)
    return stopped(lane, gate.why)


def after_failure(plan: ev.Plan, lane: Lane, step: str, attended: bool) -> Next:
    """A step failed. If nothing was changed, the lane is refused. Otherwise a person decides."""
    if lane.status == "running" and not _may_have_changed(lane):
        # A device may refuse because something is missing, such as a ready message spool. An operator can fix that.
        is_refused = bool(lane.intents) and lane.intents[-1].effect is Effect.REJECTED
        if is_refused and (attended or lane.open_gate(FAILURE_GATE) is not None):
            return _failure_gate(plan, lane, step, ("retry", "stop"), "stop", attended)
        return emit(ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=lane.failure))
    if lane.status == "running" and not _perhaps_past(plan, lane):
        return _failure_gate(plan, lane, step, ("retry", "revert", "stop"), "revert", attended)
    # After an escalation the source may be lost. So a failed reading of it may be waived, by name, but only once. If the
    # step fails again, a second waiver cannot help, and a decision in advance would waive forever.
    may_waive = lane.status == "escalating" and lane.failure_unknown and not lane.waived
    waive: tuple[Choice, ...] = ("waive",) if may_waive else ()
    return _failure_gate(plan, lane, step, ("retry", *waive, "stop"), "stop", attended)


def _failure_gate(
    plan: ev.Plan, lane: Lane, step: str, choices: tuple[Choice, ...], unattended: Choice, attended: bool
) -> Next:
    name = UNDO_GATE if lane.status == "reverting" else FAILURE_GATE
    gate = lane.open_gate(name)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    remedy = lane.undo_remedy if name == UNDO_GATE else lane.remedy
    return emit(
        ev.GateOpened(gate=name, step=step, choices=choices, unattended=unattended, why=lane.failure, remedy=remedy)
    )


def _may_have_changed(lane: Lane) -> bool:
    return lane.changed or any(intent.may_have_obeyed for intent in lane.intents)


def _perhaps_past(plan: ev.Plan, lane: Lane) -> bool:
    """Is the action of the point of no return in doubt? The action may still take effect, and a rollback now could undo
    the conditions that it depends on."""
    step = plan.runbook.steps[lane.step]
    return step.point_of_no_return and any(intent.may_have_obeyed for intent in lane.intents)


def aborted(abort: ev.AbortAsked) -> str:
    """The reason with which an aborted lane ends."""
    return f"aborted by {abort.by}: {abort.reason}" if abort.reason else f"aborted by {abort.by}"


def on_abort(plan: ev.Plan, lane: Lane, abort: ev.AbortAsked, now: float) -> Next:
    """Roll the lane back if that is still possible. Otherwise decline the abort. If the request says ``leave``, the lane
    then ends as it is."""
    if lane.status != "running":
        return _declined(
            plan,
            lane,
            "the rollback has already started"
            if lane.status == "reverting"
            else "the run is past the point of no return",
            now,
        )
    if not _may_have_changed(lane):
        return emit(ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=aborted(abort)))
    if lane.step < len(plan.runbook.steps) and _perhaps_past(plan, lane):
        return _declined(plan, lane, "the run may be past the point of no return, and readings do not show it", now)
    undo, left = _to_undo(plan, lane)
    obstacle = may_leave(plan, lane, undo, now)
    if isinstance(obstacle, Next):
        return obstacle
    if obstacle is not None:
        return _declined(plan, lane, obstacle, now)
    return emit(ev.RevertStarted(why=aborted(abort), undo=undo, left=left))


def _declined(plan: ev.Plan, lane: Lane, why: str, now: float) -> Next:
    declined = ev.AbortDeclined(reason=why)
    if lane.abort is None or not lane.abort.leave:
        return emit(declined)
    steps = plan.runbook.steps
    number = plan.runbook.index_of(lane.undo[-1]) if lane.status == "reverting" and lane.undo else lane.step
    settled = _settled_at(lane, steps[number]) if number < len(steps) else now
    if now < settled:
        return Next(wake=settled)
    where = "after its last step" if number >= len(steps) else f"at the step: {steps[number].title}"
    ended = stopped(lane, f"the service was left as it is, {where}; {aborted(lane.abort)}")
    return emit(declined, ended.model_copy(update={"left": True}))


def _settled_at(lane: Lane, step: Step) -> float:
    """The time from which no command in doubt can take effect any more. The lane is not left before that time. A lane
    that is left gives up its claim on the thing of the site that it opens, and another service may close that thing at
    once."""
    in_doubt = [one for one in lane.intents if one.effect is Effect.DOUBTFUL and not one.disproved]
    return max((max(one.at, one.ended_at) + step.settle for one in in_doubt), default=0.0)


def roll_back(plan: ev.Plan, lane: Lane, now: float) -> Next:
    """Start to revert, as was decided. If another service relies on a thing of a whole site that the lane changed, the
    lane cannot undo that change. The lane then stops instead of reverting, and can still continue forward."""
    undo, left = _to_undo(plan, lane)
    obstacle = may_leave(plan, lane, undo, now)
    if isinstance(obstacle, Next):
        return obstacle
    if obstacle is not None:
        return emit(stopped(lane, f"{lane.turning}; but {obstacle}"))
    return emit(ev.RevertStarted(why=lane.turning, undo=undo, left=left))


def _to_undo(plan: ev.Plan, lane: Lane) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps to undo, and the steps that stay changed. The present step is included if its action may have had an
    effect."""
    undo, left = lane.undo, lane.left
    if lane.step < len(plan.runbook.steps):
        step = plan.runbook.steps[lane.step]
        if any(intent.may_have_obeyed and intent.item is None for intent in lane.intents):
            undo, left = ((*undo, step.id), left) if may_undo(plan, lane, step) else (undo, (*left, step.id))
    return undo, left


def revert(plan: ev.Plan, lane: Lane, now: float, attended: bool) -> Next:
    """Undo the last change first. Each undo has its own precondition and proof. Steps without an undo come last, so that
    they do not block the undo of other steps."""
    if not lane.undo and lane.left:
        return _left(plan, lane, attended)
    if not lane.undo:
        return emit(ev.LaneEnded(outcome=ev.Outcome.REVERTED, reason=_with_completed(lane)))
    step = plan.runbook.steps[plan.runbook.index_of(lane.undo[-1])]
    if lane.stage is Stage.FAILED:
        return _failure_gate(plan, lane, step.id, ("retry", "stop"), "stop", attended)
    if step.undo is None:  # also for a record of version 0.1.0, which skipped steps without an undo
        why = "there is nothing to roll back" if step.leaves_nothing else "this step has no undo"
        return emit(ev.UndoDone(step=step.id, skipped=why))
    task = Task(step.id, step.undo.require, step.undo.do, step.undo.expect, step, undo=True)
    return act(plan, lane, task, now)


def _with_completed(lane: Lane) -> str:
    """Why the lane was reverted, and which items were completed: these are final, so they are named and not undone."""
    if not lane.completed:
        return lane.reason
    choices = {item: ruling.choice for (_, item), ruling in lane.rulings.items()}
    completed = ", ".join(f"{item} ({choices.get(item, 'undecided')})" for item in lane.completed)
    return f"{lane.reason}; these transactions were completed and are final: {completed}"


def _left(plan: ev.Plan, lane: Lane, attended: bool) -> Next:
    """Some steps are not undone. The lane does not count as reverted unless a person accepts these steps by name."""
    gate = lane.open_gate(LEFT_GATE)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    steps = [plan.runbook.steps[plan.runbook.index_of(step)] for step in lane.left]
    what = "; ".join(f"{step.id} ({step.leaves or _in_words(plan, step)})" for step in steps)
    why = f"the changes of these steps are not undone: {what}"
    return emit(
        ev.GateOpened(
            gate=LEFT_GATE,
            step=lane.left[-1],
            choices=("accept", "stop"),
            unattended="stop",
            why=f"{lane.reason}; {why}",
        )
    )


def _in_words(plan: ev.Plan, step: Step) -> str:
    assert step.do is not None  # only a step with an action changes something
    words = f"{plan.site_name(step.do.on)}: {step.do.action} {' '.join(step.do.args.values())}".rstrip()
    return words if step.undo is None else f"{words}; no reading from before this run shows another state"
