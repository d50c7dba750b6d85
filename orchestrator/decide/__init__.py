"""What a lane does next. Pure: from plan, lane and moment to events, readings to take, and questions to ask.

The safety argument in prose, before the code:

- Every attempt of a step's action is intended only after every ``require`` was read as true under the present mark.
- A step is done only after every ``expect`` was read as true *after* the action ended, whatever the device answered.
- A doubtful action is sent again only after a reading showed, later than ``settle``, that it had no effect.
- A wait ends only when ``until`` and ``guard`` were read as true in one and the same round.
- A lane that is called off sends nothing new, and turns back once what it sent is known.
- Unknown is never true. It is asked again for ``patience``, and then the step has failed.
- Before anything was changed a failed step refuses the lane; after that somebody decides, and unattended it reverts;
  past the point of no return, and while it is in doubt whether that is passed, it stops.

``decide`` returns either events to record (then it is asked again), or what to wait for. It never does both, so that
every decision stands on recorded facts.
"""

from __future__ import annotations

from orchestrator import events as ev
from orchestrator.contract import Effect
from orchestrator.decide.act import Task, act
from orchestrator.decide.approve import approve, compare
from orchestrator.decide.gates import aborted, after_failure, follow, on_abort, revert
from orchestrator.decide.items import each
from orchestrator.decide.moves import IDLE, Ask, Next, Observe, Request, say
from orchestrator.decide.wait import only_if, require, wait
from orchestrator.runbook import Check, Step
from orchestrator.state import Lane, Stage

__all__ = ["IDLE", "Ask", "Next", "Observe", "Request", "decide", "follow"]


def decide(plan: ev.Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """The next move of ``lane``. ``attended``: a person can be asked."""
    if lane.ended or lane.outstanding:
        return IDLE
    if lane.status == "ready":
        if lane.abort is not None:
            return say(ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=aborted(lane.abort)))
        return say(ev.LaneStarted())
    if lane.abort is not None and not _to_be_proven(plan, lane):
        return on_abort(plan, lane, lane.abort)
    if lane.status == "reverting":
        return revert(plan, lane, now, attended)
    if lane.step >= len(plan.runbook.steps):
        escalated = lane.status == "escalating"
        return say(ev.LaneEnded(outcome=ev.Outcome.ESCALATED if escalated else ev.Outcome.DONE))
    return _in_step(plan, lane, plan.runbook.steps[lane.step], now, attended)


def _in_step(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next:
    """The next move inside a step, by its stage and then by its shape."""
    if lane.stage is Stage.BETWEEN:
        return say(ev.StepStarted(step=step.id))
    if lane.stage is Stage.FAILED:
        return after_failure(plan, lane, step.id, attended)
    if step.only_if and not lane.condition_met and lane.stage is Stage.REQUIRE:
        return only_if(plan, lane, step, now)
    if step.do is not None and step.for_each is None:
        task = Task(step.id, step.require, step.do, step.expect, step, undo=False, before=_before(step))
        return act(plan, lane, task, now)
    if lane.stage is Stage.REQUIRE:
        return require(plan, lane, step, now)
    if step.for_each is not None:
        return each(plan, lane, step, step.for_each, now, attended)
    if step.ask is not None:
        return approve(plan, lane, step, step.ask, attended)
    if step.compare is not None:
        return compare(plan, lane, step, now, attended)
    return wait(plan, lane, step, now, attended)


def _before(step: Step) -> tuple[Check, ...]:
    """What holds if the step did nothing: what taking it back would lead to."""
    return () if step.undo is None else step.undo.expect


def _to_be_proven(plan: ev.Plan, lane: Lane) -> bool:
    """Did an action end that may have been obeyed, and a reading has yet to show what it did?"""
    if lane.status != "running" or lane.stage is not Stage.PROVE:
        return False
    last = lane.intents[-1]
    if last.item is not None or last.disproved or not last.may_have_obeyed:
        return False
    return last.effect is Effect.ACCEPTED or bool(plan.runbook.steps[lane.step].expect)
