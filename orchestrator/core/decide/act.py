"""An action and its proof: preconditions, intent, outcome, and a reading that shows the effect. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from orchestrator.core.decide.claims import claims_of, may_undo, may_wait, wait_for_others
from orchestrator.core.decide.decision import Next, Observe, emit
from orchestrator.core.decide.evaluate import (
    FIRST_LOOK,
    Verdict,
    held_before,
    is_current,
    judge,
    observe,
    outdated,
    patience,
    poll_again,
    was_otherwise,
)
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.counting import counted
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Check, Do, Step

# An action that the permit refused is not an attempt, but it is not repeated forever.
_WITHHELD_MAX = 20


@dataclass(frozen=True, slots=True)
class Task:
    """The action of a step, or of its undo, with its proof. ``before``: the checks that hold if the action had no effect
    at all. ``reconfirm``: the results of earlier waits that the action depends on."""

    step: str
    require: tuple[Check, ...]
    do: Do
    expect: tuple[Check, ...]
    limits: Step
    undo: bool
    before: tuple[Check, ...] = ()
    reconfirm: tuple[Check, ...] = ()


# Gives the next move when a result of an earlier wait no longer holds. Arguments: the verdict, and the round to read
# again.
WhenBroken = Callable[[Verdict, Observe], Next]


def act(plan: ev.Plan, lane: Lane, task: Task, now: float, when_broken: WhenBroken | None = None) -> Next:
    """An action: claims, preconditions, intent, and then the proof. Another attempt starts with all of them again.

    ``when_broken`` is needed by a task that reconfirms something.
    """
    last = lane.intents[-1] if lane.intents else None
    if last is not None and lane.stage is Stage.PROVE and not _had_no_effect(task, last):
        return _prove(plan, lane, task, last, now)
    # A resumed lane first checks whether its step applies, so it comes here without a proof.
    if last is not None and not attempts_left(lane, task):
        return emit(ev.StepFailed(step=task.step, why=exhausted(last), undo=task.undo))
    if last is not None and lane.stage is Stage.PROVE:
        due = last.ended_at + backoff(last.attempt)
        if now < due:
            return Next(wake=due)
    return _start(plan, lane, task, now, when_broken)


def _start(plan: ev.Plan, lane: Lane, task: Task, now: float, when_broken: WhenBroken | None) -> Next:
    """Check everything that an attempt depends on, and then record its intent."""
    claiming = claims_of(plan, lane, task.limits, now, undo=task.undo)
    if claiming is not None:
        return claiming
    is_hold = task.limits.claim == "hold" and not task.undo
    stands_on = (*task.require, *task.reconfirm, *(task.expect if is_hold else ()))
    if stands_on:
        request = observe(lane, stands_on, task.limits.progress if task.reconfirm else None)
        if any(lane.reading(on, reading) is None for on, reading in request.asks):
            return Next(requests=(request,))
        obstacle = _required(plan, lane, task, request, now)
        obstacle = obstacle or _reconfirmed(plan, lane, task, request, when_broken)
        obstacle = obstacle or outdated(lane, task.limits, now, undo=task.undo)
        if obstacle is not None:
            return obstacle
        if is_hold and judge(plan, lane, task.expect).holds:
            # An earlier command had this effect already. Only the run that sent that command may undo it.
            return emit(
                *_passed(lane, task),
                ev.StepDone(step=task.step, note="the wanted state was there already, so nothing was sent"),
            )
    return emit(intend(lane, task, task.do.args))


def _required(plan: ev.Plan, lane: Lane, task: Task, request: Observe, now: float) -> Next | None:
    """None once every precondition was read as true. A precondition that was read as false long ago is read again
    first."""
    verdict = judge(plan, lane, task.require)
    if verdict.holds is None and not lane.waived:
        return patience(lane, task.limits, verdict, request, now, task.undo)
    if verdict.holds is False and may_wait(lane, task.limits, now, undo=task.undo):
        return wait_for_others(lane, task.limits, request, verdict.why, now)
    if verdict.holds is False:
        failed = ev.StepFailed(step=task.step, why=verdict.why, remedy=verdict.remedy, undo=task.undo)
        return outdated(lane, task.limits, now, undo=task.undo) or emit(failed)
    return None


def _reconfirmed(
    plan: ev.Plan, lane: Lane, task: Task, request: Observe, when_broken: WhenBroken | None
) -> Next | None:
    """None once every result of earlier waits was read as true again, in the round that the action depends on."""
    if not task.reconfirm:
        return None
    assert when_broken is not None  # the caller of ``act`` gives it with such a task
    verdict = judge(plan, lane, task.reconfirm)
    if not verdict.holds:  # unknown is not proven
        return when_broken(verdict, request)
    if lane.guard_broke_at is not None:
        healed = [ev.GateWithdrawn(gate=gate.gate, why="the condition holds again") for gate in lane.gates]
        return emit(*healed, ev.GuardHealed(step=task.step))
    return None


def intend(lane: Lane, task: Task, args: Mapping[str, str], item: str | None = None, ahead: int = 0) -> ev.Event:
    attempt = 1 + sum(1 for intent in lane.intents if intent.item == item)
    return ev.ActionIntended(
        intent=lane.intended + 1 + ahead,
        step=task.step,
        on=task.do.on,
        action=task.do.action,
        args=args,
        attempt=attempt,
        item=item,
        undo=task.undo,
    )


def attempts_left(lane: Lane, task: Task, item: str | None = None) -> bool:
    """May the action be tried once more? A withheld action is not an attempt, but withheld actions have their own limit:
    a permit that always refuses must not be asked forever."""
    tried = [intent for intent in lane.intents[lane.attempts_from :] if intent.item == item]
    withheld = sum(intent.withheld for intent in tried)
    return len(tried) - withheld < task.limits.attempts and withheld < _WITHHELD_MAX


def _had_no_effect(task: Task, last: Intent) -> bool:
    """Had the action no effect, so that it may be sent again? Without a proof a doubtful outcome counts as no effect:
    lint allows an action without a proof only if it is idempotent."""
    return last.disproved or last.effect is Effect.NOT_SENT or (last.effect is Effect.DOUBTFUL and not task.expect)


def _prove(plan: ev.Plan, lane: Lane, task: Task, last: Intent, now: float) -> Next:
    """The next move after an action has ended, with any outcome. Only a reading shows its effect."""
    if task.limits.point_of_no_return and last.effect is Effect.ACCEPTED and lane.status == "running":
        return emit(ev.PointOfNoReturnPassed(step=task.step))
    if not task.expect:
        return _conclude_blind(plan, lane, task, last)
    # The step failed without the effect, and a person retries the step or resumes the lane. The device may have lost the
    # effect, for example in a restart. Then a reading decides whether the action is sent again, as for a doubtful one.
    is_tried_again = last.repeatable and len(lane.intents) == lane.attempts_from
    may_be_disproved = last.effect is Effect.DOUBTFUL or is_tried_again
    checks = (*task.expect, *task.before) if may_be_disproved else task.expect
    request = observe(lane, checks, report=() if task.undo else task.limits.report)
    if not is_current(lane):
        return Next(requests=(request,))
    verdict = judge(plan, lane, task.expect)
    age = lane.seen_at - lane.stage_at  # when the reading was asked for, not when the lane decides
    may_land = last.effect is Effect.DOUBTFUL and age < task.limits.settle
    if verdict.holds:
        # A check that held already when the action was intended proves nothing. The command may still take effect, and
        # would then undo a later command.
        if may_land and not was_otherwise(plan, lane, task.expect, last):
            return poll_again(lane, request, now, task.limits.settle - age)
        return emit(*_proven(plan, lane, task, last))
    if verdict.holds is None:
        if (
            may_land
        ):  # the lane does not fail before ``settle``: the late command would undo the command that rolls back
            return poll_again(lane, request, now, task.limits.settle - age if verdict.final else None)
        if last.effect is Effect.REJECTED:  # the device's answer explains more than a failed reading
            verdict = replace(verdict, why=f"{_refused(plan, task, last)}; {verdict.why}")
        return patience(lane, task.limits, verdict, request, now, task.undo)
    if last.effect is Effect.REJECTED:
        return emit(ev.StepFailed(step=task.step, why=_refused(plan, task, last), undo=task.undo))
    if may_be_disproved and age >= task.limits.settle:
        partly = _is_partly_done(plan, lane, task, last)
        return emit(ev.DoubtResolved(intent=last.number, evidence=verdict.why, partly=partly))
    if last.effect is Effect.ACCEPTED and not is_tried_again and age >= task.limits.within:
        why = f"the action was accepted, but its effect did not appear within {task.limits.within:g}s: {verdict.why}"
        return emit(ev.StepFailed(step=task.step, why=why, undo=task.undo))
    return poll_again(lane, request, now, first=min(FIRST_LOOK, task.limits.poll.min))


def _refused(plan: ev.Plan, task: Task, last: Intent) -> str:
    return f"{plan.site_name(task.do.on)} refused: {last.detail}"


def _is_partly_done(plan: ev.Plan, lane: Lane, task: Task, last: Intent) -> bool:
    """Has the action taken effect in part? With several nodes, or several expectations, an action that is not done may
    still have changed something. A step without an undo does not define the state before. Then the action is partly done
    if the nodes of a reading differ, or if an expectation holds now and was not read to hold before."""
    if task.before:
        return not judge(plan, lane, task.before).holds
    seen = (lane.reading(check.on, check.reading) for check in task.expect)
    if any(one is not None and one.value is not None and one.value.is_mixed() for one in seen):
        return True
    each = [
        (check.model_copy(update={"where": {name: wanted}}),)
        for check in task.expect
        for name, wanted in check.where.items()
    ]
    return any(judge(plan, lane, one).holds and not held_before(plan, lane, one, last) for one in each)


def _proven(plan: ev.Plan, lane: Lane, task: Task, last: Intent) -> Iterator[ev.Event]:
    note = (
        ""
        if last.effect is Effect.ACCEPTED
        else f"a reading confirmed the effect, although the action itself was {last.effect}"
    )
    if task.undo:
        yield ev.UndoDone(step=task.step)
        return
    yield from _passed(lane, task)
    yield ev.StepDone(step=task.step, reversible=may_undo(plan, lane, task.limits), note=note)


def _passed(lane: Lane, task: Task) -> Iterator[ev.Event]:
    """The event of the point of no return, if this step is that point and the event is not recorded yet."""
    if task.limits.point_of_no_return and lane.status == "running":
        yield ev.PointOfNoReturnPassed(step=task.step)


def _conclude_blind(plan: ev.Plan, lane: Lane, task: Task, last: Intent) -> Next:
    """The end of an idempotent action without a proof: only the device's answer decides."""
    if last.effect is Effect.ACCEPTED:
        return emit(*_proven(plan, lane, task, last))
    return emit(ev.StepFailed(step=task.step, why=last.detail, undo=task.undo))


def exhausted(last: Intent) -> str:
    return f"gave up after {counted(last.attempt, 'attempt')}: {last.detail or 'no effect was seen'}"


def backoff(attempt: int) -> float:
    return float(min(0.2 * 2**attempt, 5.0))
