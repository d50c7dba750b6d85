"""Claims on things of a whole site: which services rely on a thing, and which service may undo it. Pure.

A fence or an interface is one thing for all services of a site, but each service is decided separately. So a step that
changes such a thing declares a ``claim``. The journal keeps the claims across lanes, runs and machines:

- ``hold``: the service relies on the thing from now on. Granted unless another service is rolling the thing back.
- ``release``: the service no longer relies on the thing, and the action rolls it back. Granted once no other service
  relies on the thing. The undo of a step that holds is a release too.
- ``leave``: only asks whether a release would be granted. If not, the lane must not start to roll back.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.core.decide.decision import SITE_CLAIMS, ClaimSite, Next, Observe, emit
from orchestrator.core.decide.evaluate import Verdict, patience, poll_again, was_otherwise
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Claim, Side, Step


def claims_of(plan: ev.Plan, lane: Lane, step: Step, now: float, *, undo: bool) -> Next | None:
    """None once every claim that the action needs is granted for this attempt.

    At the point of no return the lane claims again every thing that it relies on. The lane may have asked to give a thing
    up for a rollback that was then not done. Another service may have rolled that thing back since.
    """
    wanted: list[tuple[Side, str, Claim]] = []
    if step.claim is not None and step.do is not None:
        wanted.append((step.do.on, step.do.action, "release" if undo else step.claim))
    if step.point_of_no_return and not undo:
        wanted += [(on, thing, "hold") for on, thing in lane.holds]
    missing = next((one for one in wanted if (one[1], one[2]) not in lane.claimed), None)
    if missing is None:
        return None
    on, thing, claim = missing
    request = ClaimSite(lane.service, lane.mark, on, thing, claim)
    answer = _answered(lane, request)
    if answer is None:
        return Next(requests=(request,))
    if answer.granted:
        return emit(ev.SiteClaimed(step=step.id, on=on, thing=thing, claim=claim))
    why = in_the_way(plan, request, answer)
    if claim == "hold":
        return patience(lane, step, Verdict(None, why), request, now, undo)
    if not (answer.is_waiting or may_wait(lane, step, now, undo=undo)):
        return emit(ev.StepFailed(step=step.id, why=why, undo=undo))
    return wait_for_others(lane, step, request, why, now)


def may_leave(plan: ev.Plan, lane: Lane, undo: Sequence[str], now: float) -> Next | str | None:
    """May the lane undo the steps ``undo``, as far as they changed things of whole sites? None: yes. A text: no, with the
    reason. A ``Next``: the answer is not known yet, and these are the next events or requests."""
    steps = (plan.runbook.steps[plan.runbook.index_of(step)] for step in undo)
    for do in [step.do for step in steps if step.claim == "hold" and step.do is not None]:
        request = ClaimSite(lane.service, lane.mark, do.on, do.action, "leave")
        answer = _answered(lane, request)
        if answer is None:
            return Next(requests=(request,))
        if answer.is_waiting:
            why = in_the_way(plan, request, answer)
            return wait_for_others(lane, plan.runbook.steps[lane.step], request, why, now)
        if not answer.granted:
            return in_the_way(plan, request, answer)
    return None


def may_undo(plan: ev.Plan, lane: Lane, step: Step) -> bool:
    """May this run undo the change of the present step? A change of a thing of a whole site may be undone only if this
    run read the thing in another state before. So an interface that may have been shut already is not opened."""
    if step.undo is None:
        return step.leaves_nothing
    return step.claim != "hold" or any(was_otherwise(plan, lane, step.expect, intent) for intent in lane.intents)


def wait_for_others(lane: Lane, step: Step, request: Observe | ClaimSite, why: str, now: float) -> Next:
    """Ask again later. The first time, record the reason for the wait."""
    return poll_again(lane, request, now) if lane.is_waiting else emit(ev.StepWaiting(step=step.id, why=why))


def in_the_way(plan: ev.Plan, request: ClaimSite, answer: SiteClaims) -> str:
    """Why a claim is not granted, as a text for people."""
    site, others = plan.site_name(request.on), ", ".join(answer.others)
    if request.wish == "hold":
        return f"{site}: {request.thing} is being rolled back for {others}"
    return f"{site}: {request.thing} cannot be rolled back, because {others} relies on it"


def may_wait(lane: Lane, step: Step, now: float, *, undo: bool) -> bool:
    """May the step wait for other services? A step that releases a claim waits until its timeout. An undo does not
    wait."""
    is_release = step.claim == "release" and not undo
    return is_release and step.timeout is not None and now - lane.step_at < step.timeout


def _answered(lane: Lane, request: ClaimSite) -> SiteClaims | None:
    seen = lane.reading(request.on, SITE_CLAIMS)
    if seen is None or not isinstance(seen.value, SiteClaims) or seen.value.wish != request.wish:
        return None
    return seen.value if seen.value.thing == request.thing else None
