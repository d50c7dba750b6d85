"""The decision on the next move of a lane. Pure: from plan, lane and time to events, readings and questions.

The safety argument in prose, before the code:

- Every attempt of a step's action is intended only after every ``require`` was read as true under the present mark, in
  a round that is no older than ``max_age``. At the point of no return the round also reads again the results of earlier
  waits (``reconfirm``). Only an escalation waives them.
- A thing of a whole site is changed under a claim, and rolled back only once no other service relies on the thing.
- A step is done only after every ``expect`` was read as true *after* the action ended. The device's answer is not enough.
- A doubtful action is sent again only after a reading showed, later than ``settle``, that it had no effect.
- A wait ends only when ``until`` and ``guard`` were read as true in the same round.
- An aborted lane sends no new command. It rolls back once the effects of the commands that it sent are known.
- Unknown is never true. An unknown value is read again for ``patience``, and then the step fails.
- While nothing is changed, a failed step refuses the lane. After a change an operator decides; unattended, the lane
  reverts. Past the point of no return, and while it is in doubt whether the lane passed that point, the lane stops.
- Unattended, a lane is refused, before it gives anything up, if it is certain to reach a question without an answer.
- ``reverted`` means that every change was undone, or was left by a person's decision. A lane with a change that has no
  undo ends ``stuck``.

``decide`` returns either events to record, or requests and a time to wait for. It never returns both, so that every
decision depends on recorded facts. After it returned events it is called again.
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

KEPT = "the run continued without its guarantee, so data that only the source has stays at the source"

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
    """The next move inside a step, by the stage of the lane and then by the kind of step."""
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
    """Has the step changed nothing yet, and is its action next? After a resume the step may no longer apply."""
    if lane.stage is Stage.PROVE:
        return not any(one.may_have_obeyed for one in lane.intents)
    return lane.stage is Stage.REQUIRE


def _before(step: Step) -> tuple[Check, ...]:
    """The checks that hold if the step had no effect: the state that its undo leads to."""
    return () if step.undo is None else step.undo.expect


def _to_be_proven(plan: ev.Plan, lane: Lane) -> bool:
    """Has an action ended that may have had an effect, and must a reading still show the effect?"""
    if lane.status != "running" or lane.stage is not Stage.PROVE:
        return False
    last = lane.intents[-1]
    if last.item is not None or last.disproved or not last.may_have_obeyed:
        return False
    return last.effect is Effect.ACCEPTED or bool(plan.runbook.steps[lane.step].expect)
