"""Readings as arguments: which are needed, whether they are fresh, what they say of a check. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orchestrator.core.decide.decision import ClaimSite, Next, Observe, emit
from orchestrator.core.drain_estimate import value_elsewhere
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.reading import describe, matches
from orchestrator.model.runbook import Check, Look, Progress, Step

# A device that is not there says so at once; asking it again too often helps no one.
FIRST_LOOK = 0.05
SLOWEST_LOOK = 2.0
# So often in a row what was read may be too old by the time the last device has answered.
_EXPIRED_MAX = 3
# Failures that no patience fixes: the device (or we) gave a definite answer.
_FINAL_FAILURES = frozenset({"AuthenticationFailed", "HostKeyRejected", "Forbidden", "NoSuchService"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a round says of some checks: True, False, or None for unknown; ``why`` names the first not true."""

    holds: bool | None
    why: str = ""
    final: bool = False


_HOLDS = Verdict(True)


def observe(
    lane: Lane, checks: Sequence[Check], gauge: Progress | None = None, report: Sequence[Look] = ()
) -> Observe:
    """The round of readings that ``checks`` and ``gauge`` need; ``report`` is read along."""
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
    """None while what was read is young enough to conclude from. Otherwise it is read again; where devices are too slow
    for that, the step fails."""
    age = now - lane.seen_at
    if age <= step.max_age:
        return None
    is_slow = lane.seen_took > step.max_age
    if not is_slow or lane.expired < _EXPIRED_MAX:
        return emit(ev.ReadingsExpired(step=step.id, age_s=round(age, 3), is_slow=is_slow))
    why = f"it took {age:.0f}s to read everything, and a command may use readings of {step.max_age:g}s at most"
    return emit(ev.StepFailed(step=step.id, why=why, undo=undo, unknown=True))


def poll_again(
    lane: Lane, request: Observe | ClaimSite, now: float, interval: float | None = None, first: float = FIRST_LOOK
) -> Next:
    """The same readings once more, when they are due. Without ``interval``, the longer it lasts the slower: after
    ``first`` seconds at the soonest."""
    if interval is None:
        interval = min(max(first, (lane.seen_at - lane.stage_at) / 2), SLOWEST_LOOK)
    due = lane.seen_at + interval
    return Next(requests=(request,)) if now >= due else Next(wake=due)


def judge(plan: ev.Plan, lane: Lane, checks: Sequence[Check]) -> Verdict:
    """All ``checks`` together: one that is false outweighs one that is unknown."""
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
        return Verdict(None, f"{site}: {check.reading} is unknown: {text}", final)
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
    return Verdict(holds, f"{site}: {perhaps}{check.say} ({found})" if check.say else f"{site}: {found}")


def what_is_wrong(plan: ev.Plan, lane: Lane, check: Check) -> str:
    """The sentence for what must never be, and was read: the runbook's own, else what was read."""
    site, seen = plan.site_name(check.on), lane.reading(check.on, check.reading)
    if check.say or seen is None or seen.value is None:
        return f"{site}: {check.say}"
    return f"{site}: {describe(seen.value, list(check.where))}"


def patience(lane: Lane, step: Step, verdict: Verdict, request: Observe | ClaimSite, now: float, undo: bool) -> Next:
    """Something unknown, a reading or a value in it: ask again until patience ends."""
    if verdict.final or now - known_at(lane) >= step.patience:
        return emit(ev.StepFailed(step=step.id, why=verdict.why, undo=undo, unknown=True))
    return poll_again(lane, request, now)


def known_at(lane: Lane) -> float:
    """Since when something is unknown, as far as the lane tells."""
    if any(one.failure for one in lane.seen):
        return lane.known_at
    # Every device answered, and left a value out. A wait has time while what it follows moves: a number that stays would
    # let it wait without an end, however often it is read.
    follows = lane.gauge and lane.stage is Stage.MAIN
    return max(lane.stage_at, min(lane.gauge[-1][0], lane.moved_at)) if follows else lane.stage_at


def was_otherwise(plan: ev.Plan, lane: Lane, checks: Sequence[Check], intent: Intent) -> bool:
    """Was it read, right before an action was intended, that ``checks`` do not hold? Unknown is not that."""
    return held_before(plan, lane, checks, intent) is False


def held_before(plan: ev.Plan, lane: Lane, checks: Sequence[Check], intent: Intent) -> bool | None:
    """Did ``checks`` hold, as far as it was read right before an action was intended?"""
    return judge(plan, replace(lane, seen=intent.before, seen_mark=lane.mark), checks).holds
