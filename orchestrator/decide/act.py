"""An action and its proof: preconditions, intent, outcome, and a reading that shows what it did. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from orchestrator import events as ev
from orchestrator.contract import Effect
from orchestrator.counting import counted
from orchestrator.decide.judge import again, fresh, judge, observe, patience
from orchestrator.decide.moves import Next, say
from orchestrator.runbook import Check, Do, Step
from orchestrator.state import Intent, Lane, Stage


@dataclass(frozen=True, slots=True)
class Task:
    """An action with its proof: a step's own, or its undo. ``before``: what holds if it had no effect at all."""

    step: str
    require: tuple[Check, ...]
    do: Do
    expect: tuple[Check, ...]
    limits: Step
    undo: bool
    before: tuple[Check, ...] = ()


def act(plan: ev.Plan, lane: Lane, task: Task, now: float) -> Next:
    """An action: preconditions, intent, and then the proof. Another attempt begins with its preconditions again."""
    if lane.stage is Stage.PROVE:
        last = lane.intents[-1]
        if not _had_no_effect(task, last):
            return _prove(plan, lane, task, last, now)
        if not attempts_left(lane, task):
            return say(ev.StepFailed(step=task.step, why=exhausted(last), undo=task.undo))
        due = last.ended_at + backoff(last.attempt)
        if now < due:
            return Next(wake=due)
    if task.require:
        request = observe(lane, task.require)
        if any(lane.reading(on, reading) is None for on, reading in request.asks):
            return Next(requests=(request,))
        verdict = judge(plan, lane, task.require)
        if verdict.holds is None and not lane.waived:
            return patience(lane, task.limits, verdict, request, now, task.undo)
        if verdict.holds is False:
            return say(ev.StepFailed(step=task.step, why=verdict.why, undo=task.undo))
    return say(intend(lane, task, task.do.args))


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
    counted = [intent for intent in lane.intents[lane.attempts_from :] if intent.item == item]
    return len(counted) < task.limits.attempts


def _had_no_effect(task: Task, last: Intent) -> bool:
    """May it be sent again? Without a proof a doubt is as good as that: lint allows it for idempotent actions only."""
    return last.disproved or last.effect is Effect.NOT_SENT or (last.effect is Effect.DOUBTFUL and not task.expect)


def _prove(plan: ev.Plan, lane: Lane, task: Task, last: Intent, now: float) -> Next:
    """The action ended, somehow. Only a reading says what it did."""
    if task.limits.point_of_no_return and last.effect is Effect.ACCEPTED and lane.status == "running":
        return say(ev.PointOfNoReturnPassed(step=task.step))
    if not task.expect:
        return _conclude_blind(lane, task, last)
    request = observe(lane, (*task.expect, *task.before) if last.effect is Effect.DOUBTFUL else task.expect)
    if not fresh(lane):
        return Next(requests=(request,))
    verdict = judge(plan, lane, task.expect)
    age = lane.seen_at - lane.stage_at  # of the reading, not of the decision
    may_land = last.effect is Effect.DOUBTFUL and age < task.limits.settle
    if verdict.holds:
        if may_land and not _was_otherwise(plan, lane, task, last):
            return again(lane, request, now, task.limits.settle - age)
        return say(*_proven(lane, task, last))
    if verdict.holds is None:
        if may_land:  # nobody gives up before: it would undo the opposite, sent by then to turn back
            return again(lane, request, now, task.limits.settle - age if verdict.final else None)
        return patience(lane, task.limits, verdict, request, now, task.undo)
    if last.effect is Effect.REJECTED:
        why = f"{plan.site_name(task.do.on)} refused: {last.detail}"
        return say(ev.StepFailed(step=task.step, why=why, undo=task.undo))
    if last.effect is Effect.DOUBTFUL and age >= task.limits.settle:
        partly = _is_partly_done(plan, lane, task)
        return say(ev.DoubtResolved(intent=last.number, evidence=verdict.why, partly=partly))
    if last.effect is Effect.ACCEPTED and age >= task.limits.within:
        why = f"the action was accepted and its effect did not show within {task.limits.within:g}s: {verdict.why}"
        return say(ev.StepFailed(step=task.step, why=why, undo=task.undo))
    return again(lane, request, now)


def _was_otherwise(plan: ev.Plan, lane: Lane, task: Task, last: Intent) -> bool:
    """Did what the action was to do not hold yet when it was intended? Else that it holds now shows nothing: the command
    may still be on its way, and would undo whatever is sent after it."""
    return judge(plan, replace(lane, seen=last.before, seen_mark=lane.mark), task.expect).holds is False


def _is_partly_done(plan: ev.Plan, lane: Lane, task: Task) -> bool:
    """Several nodes, or several expectations: not done is not yet as it was. A step that is never taken back does not
    say how it was; then the reading says whether its parts differ."""
    if task.before:
        return not judge(plan, lane, task.before).holds
    seen = (lane.reading(check.on, check.reading) for check in task.expect)
    return any(one is not None and one.value is not None and one.value.is_mixed() for one in seen)


def _proven(lane: Lane, task: Task, last: Intent) -> Iterator[ev.Event]:
    note = "" if last.effect is Effect.ACCEPTED else f"confirmed by reading; the action itself was {last.effect}"
    if task.undo:
        yield ev.UndoDone(step=task.step)
        return
    if task.limits.point_of_no_return and lane.status == "running":
        yield ev.PointOfNoReturnPassed(step=task.step)
    yield ev.StepDone(step=task.step, reversible=task.limits.undo is not None, note=note)


def _conclude_blind(lane: Lane, task: Task, last: Intent) -> Next:
    """An idempotent action without a proof: its own answer has to do."""
    if last.effect is Effect.ACCEPTED:
        return say(*_proven(lane, task, last))
    return say(ev.StepFailed(step=task.step, why=last.detail, undo=task.undo))


def exhausted(last: Intent) -> str:
    return f"gave up after {counted(last.attempt, 'attempt')}: {last.detail or 'no effect was seen'}"


def backoff(attempt: int) -> float:
    return float(min(0.2 * 2**attempt, 5.0))
