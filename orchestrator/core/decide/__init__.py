"""What a lane does next. Pure: from plan, lane and moment to events, readings to take, and questions to ask.

The safety argument in prose, before the code:

- Every attempt of a step's action is intended only after every ``require`` was read as true under the present mark, in
  a round that is no older than ``max_age``. What waits have proven (``reconfirm``) is part of that round at the point of
  no return; only an escalation waives it.
- What belongs to a whole site is changed under a claim, and rolled back only once no other service relies on it.
- A step is done only after every ``expect`` was read as true *after* the action ended, whatever the device answered.
- A doubtful action is sent again only after a reading showed, later than ``settle``, that it had no effect.
- A wait ends only when ``until`` and ``guard`` were read as true in one and the same round.
- A lane that is aborted sends nothing new, and rolls back once what it sent is known.
- Unknown is never true. It is asked again for ``patience``, and then the step has failed.
- Before anything was changed a failed step refuses the lane; after that an operator decides, and unattended it reverts;
  past the point of no return, and while it is in doubt whether that is passed, it stops.
- Unattended, nothing is given up on the way to a question that is known in advance and has no answer: the lane refuses.
- ``reverted`` means that every change was undone, or left by a person's decision. What has no undo ends ``stuck``.

``decide`` returns either events to record (then it is asked again), or what to wait for. It never does both, so that
every decision depends on recorded facts.
"""

from __future__ import annotations

from functools import partial

from orchestrator.core.decide.act import Task, act
from orchestrator.core.decide.approve import approve, compare
from orchestrator.core.decide.decision import IDLE, Ask, ClaimSite, Next, Observe, Request, emit
from orchestrator.core.decide.for_each import each
from orchestrator.core.decide.foresee import foresee, unanswered
from orchestrator.core.decide.gates import aborted, after_failure, apply_ruling, on_abort, revert, roll_back
from orchestrator.core.decide.wait import guard_broken, only_if, require, wait
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Check, Step

KEPT = "the guarantee was given up, so what the source alone has stays there"

__all__ = ["IDLE", "Ask", "ClaimSite", "Next", "Observe", "Request", "apply_ruling", "decide"]


def decide(plan: ev.Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """The next move of ``lane``. ``attended``: a person can be asked."""
    if lane.ended or lane.outstanding:
        return IDLE
    if lane.status == "ready":
        if lane.abort is not None:
            return emit(ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=aborted(lane.abort)))
        refusal = "" if attended else unanswered(plan)
        return emit(ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=refusal) if refusal else ev.LaneStarted())
    if lane.abort is not None and not _to_be_proven(plan, lane):
        return on_abort(plan, lane, lane.abort, now)
    if lane.turning and lane.status == "running":
        return roll_back(plan, lane, now)
    if lane.status == "reverting":
        return revert(plan, lane, now, attended)
    if lane.step >= len(plan.runbook.steps):
        escalated = lane.status == "escalating"
        return emit(ev.LaneEnded(outcome=ev.Outcome.ESCALATED if escalated else ev.Outcome.DONE))
    return _in_step(plan, lane, plan.runbook.steps[lane.step], now, attended)


def _in_step(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next:
    """The next move inside a step, by its stage and then by its shape."""
    if lane.stage is Stage.BETWEEN:
        return emit(ev.StepStarted(step=step.id))
    if lane.stage is Stage.FAILED:
        return after_failure(plan, lane, step.id, attended)
    if step.unless_escalated and lane.status == "escalating" and _is_untouched(lane):
        return emit(ev.StepSkipped(step=step.id, why=KEPT))
    if step.only_if and not lane.condition_met and _is_untouched(lane):
        return only_if(plan, lane, step, now)
    if step.do is not None and step.for_each is None:
        reconfirm = () if lane.status == "escalating" else step.reconfirm
        task = Task(
            step.id, step.require, step.do, step.expect, step, undo=False, before=_before(step), reconfirm=reconfirm
        )
        when_broken = partial(guard_broken, plan, lane, step, now=now, attended=attended)
        return act(plan, lane, task, now, when_broken)
    if lane.stage is Stage.REQUIRE:
        return require(plan, lane, step, now)
    if step.for_each is not None:
        return each(plan, lane, step, step.for_each, now, attended)
    if step.foresee is not None:
        return foresee(plan, lane, step, step.foresee, now, attended)
    if step.ask is not None:
        return approve(plan, lane, step, step.ask, attended)
    if step.compare is not None:
        return compare(plan, lane, step, now, attended)
    return wait(plan, lane, step, now, attended)


def _is_untouched(lane: Lane) -> bool:
    """Has the step changed nothing yet, and is it about to? After a resume it may apply no more."""
    if lane.stage is Stage.PROVE:
        return not any(one.may_have_obeyed for one in lane.intents)
    return lane.stage is Stage.REQUIRE


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
