"""Readings as the basis of decisions: which are needed, whether they are fresh, whether a check holds. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.characters import typed
from orchestrator.core.decide.decision import ClaimSite, Next, Observe, emit
from orchestrator.core.drain_estimate import value_elsewhere
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.reading import describe, matches
from orchestrator.model.runbook import Check, Look, Progress, Step

# A reading of an absent device fails at once. Frequent polling does not help then.
FIRST_LOOK = 0.05
SLOWEST_LOOK = 2.0
# How many rounds in a row may be too old by the time the last device has answered.
_EXPIRED_MAX = 3
# Failures that another reading cannot fix: the device, or this program, gave a definite answer.
_FINAL_FAILURES = frozenset({"AuthenticationFailed", "HostKeyRejected", "Forbidden", "NoSuchService"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of some checks in a round: True, False, or None for unknown. ``why`` names the first that is not
    true, and ``remedy`` what an operator does about it."""

    holds: bool | None
    why: str = ""
    final: bool = False
    remedy: str = ""


_HOLDS = Verdict(True)


def observe(
    lane: Lane, checks: Sequence[Check], gauge: Progress | None = None, report: Sequence[Look] = ()
) -> Observe:
    """The round of readings that ``checks`` and ``gauge`` need. The readings of ``report`` are taken in the same
    round."""
    asks = dict.fromkeys((one.on, one.reading) for one in (*checks, *report))
    compared = {(one.on, one.reading): one.elsewhere for one in checks if one.elsewhere}
    if gauge is not None:
        asks.setdefault((gauge.on, gauge.reading))
        if gauge.up_to is not None:
            compared[gauge.on, gauge.reading] = (*compared.get((gauge.on, gauge.reading), ()), gauge.up_to)
    asks |= dict.fromkeys((other.on, other.reading) for others in compared.values() for other in others)
    return Observe(lane.service, lane.mark, tuple(asks), gauge, frozenset(compared))


def is_current(lane: Lane) -> bool:
    return lane.seen_mark == lane.mark


def outdated(lane: Lane, step: Step, now: float, *, undo: bool = False) -> Next | None:
    """None while the readings are young enough for a decision. Otherwise they are taken again. If the devices are too
    slow for that, the step fails."""
    age = now - lane.seen_at
    if age <= step.max_age:
        return None
    is_slow = lane.seen_took > step.max_age
    if not is_slow or lane.expired < _EXPIRED_MAX:
        return emit(ev.ReadingsExpired(step=step.id, age_s=round(age, 3), is_slow=is_slow))
    why = f"the readings took {age:.0f}s, but a command needs readings that are at most {step.max_age:g}s old"
    return emit(ev.StepFailed(step=step.id, why=why, undo=undo, unknown=True))


def poll_again(
    lane: Lane, request: Observe | ClaimSite, now: float, interval: float | None = None, first: float = FIRST_LOOK
) -> Next:
    """Take the same readings again, when they are due. Without ``interval``, the interval grows with the age of the
    stage, and is at least ``first`` seconds."""
    if interval is None:
        interval = min(max(first, (lane.seen_at - lane.stage_at) / 2), SLOWEST_LOOK)
    due = lane.seen_at + interval
    return Next(requests=(request,)) if now >= due else Next(wake=due)


def judge(plan: ev.Plan, lane: Lane, checks: Sequence[Check]) -> Verdict:
    """The verdict on all ``checks`` together. A false check outweighs an unknown one."""
    unknown: Verdict | None = None
    for check in checks:
        verdict = judge_one(plan, lane, check)
        if verdict.holds is False:
            return verdict
        if verdict.holds is None and (unknown is None or verdict.final):
            unknown = verdict
    return unknown or _HOLDS


def judge_one(plan: ev.Plan, lane: Lane, check: Check) -> Verdict:
    site = plan.site_name(check.on)
    seen = lane.reading(check.on, check.reading)
    if seen is None:
        return Verdict(None, f"{site}: {check.reading} has not been read")
    if seen.value is None:
        text = seen.failure.text if seen.failure else "no answer"
        final = seen.failure is not None and seen.failure.kind in _FINAL_FAILURES
        remedy = seen.failure.remedy(site) if seen.failure else ""
        return Verdict(None, f"{site}: {check.reading} is unknown: {text}", final, remedy)
    told = {(one.on, one.reading): one for one in lane.seen} if check.elsewhere else {}
    holds = matches(seen.value, check.where, lambda other: value_elsewhere(other, told, (check.on, check.reading)))
    if holds:
        return _HOLDS
    found = describe(seen.value, list(check.where))
    for other in check.elsewhere:
        there = told.get((other.on, other.reading))
        value = None if there is None or there.value is None else describe(there.value, [other.field])
        found += f"; {plan.site_name(other.on)}: {value or f'{other.reading} is unknown'}"
    perhaps = "perhaps " if holds is None else ""
    why = f"{site}: {perhaps}{check.say} ({found})" if check.say else f"{site}: {found}"
    return Verdict(holds, why, remedy=remedy_of(plan, lane, check))


def remedy_of(plan: ev.Plan, lane: Lane, check: Check) -> str:
    """What an operator does if the check does not hold, with names in place of the words in capitals."""
    names = {"SERVICE": typed(lane.service), "SOURCE": plan.source, "TARGET": plan.target}
    return re.sub("|".join(rf"\b{word}\b" for word in names), lambda found: names[found[0]], check.remedy)


def what_is_wrong(plan: ev.Plan, lane: Lane, check: Check) -> str:
    """The sentence for a state that must never occur and was read: the runbook's own sentence, or else the values
    read."""
    site, seen = plan.site_name(check.on), lane.reading(check.on, check.reading)
    if check.say or seen is None or seen.value is None:
        return f"{site}: {check.say}"
    return f"{site}: {describe(seen.value, list(check.where))}"


def patience(lane: Lane, step: Step, verdict: Verdict, request: Observe | ClaimSite, now: float, undo: bool) -> Next:
    """A reading, or a value in it, is unknown: read again until the patience of the step ends, then fail the step."""
    if verdict.final or now - known_at(lane) >= step.patience:
        failed = ev.StepFailed(step=step.id, why=verdict.why, remedy=verdict.remedy, undo=undo, unknown=True)
        return emit(failed)
    return poll_again(lane, request, now)


def known_at(lane: Lane) -> float:
    """Since when a value is unknown, as far as the lane records it."""
    if any(one.failure for one in lane.seen):
        return lane.known_at
    # Every device answered, but left a value out. The patience of a wait starts again while the number that it follows
    # falls. A number that stays the same does not extend the patience, or the wait would have no end.
    follows = lane.gauge and lane.stage is Stage.MAIN
    return max(lane.stage_at, min(lane.gauge[-1][0], lane.moved_at)) if follows else lane.stage_at


def was_otherwise(plan: ev.Plan, lane: Lane, checks: Sequence[Check], intent: Intent) -> bool:
    """Did the readings right before an action was intended show that ``checks`` do not hold? False if unknown."""
    return held_before(plan, lane, checks, intent) is False


def held_before(plan: ev.Plan, lane: Lane, checks: Sequence[Check], intent: Intent) -> bool | None:
    """Did ``checks`` hold, by the readings right before an action was intended? None: unknown."""
    return judge(plan, replace(lane, seen=intent.before, seen_mark=lane.mark), checks).holds
