"""Steps that work through items: list them, get a decision for each, act, list again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import assert_never

from orchestrator.core.decide.act import Task, attempts_left, backoff, exhausted, intend
from orchestrator.core.decide.decision import Next, Observe, emit
from orchestrator.core.decide.evaluate import (
    SLOWEST_LOOK,
    Verdict,
    is_current,
    judge,
    judge_one,
    observe,
    outdated,
    patience,
    poll_again,
)
from orchestrator.core.decide.gates import answer, with_questions
from orchestrator.core.run import Lane
from orchestrator.counting import counted
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.reading import Item, describe, items_of, matches
from orchestrator.model.runbook import Check, Decide, Do, ForEach, Step

# Longest time between two listings while others may still handle the items, seconds.
_SLOWEST_LISTING = 5.0
# How many items a note names at most.
_NAMED = 5


def each(plan: ev.Plan, lane: Lane, step: Step, each: ForEach, now: float, attended: bool) -> Next:
    """List the items, wait for the step's ``delay`` while others may handle them, get a decision for each, act, list
    again.

    The preconditions of the step are read only if there are items: most moves have none, and each round of readings
    makes the outage longer.
    """
    assert step.do is not None  # the runbook's model checks it
    listing = Check(on=each.on, reading=each.reading, where=each.where)
    request = observe(lane, (listing,))
    if not is_current(lane):
        return Next(requests=(request,))
    items = listed(plan, lane, each)
    if isinstance(items, Verdict):
        seen = lane.reading(each.on, each.reading)
        if lane.waived and (seen is None or seen.value is None):
            return emit(ev.StepDone(step=step.id, note="waived: the items could not be listed"))
        return patience(lane, step, items, request, now, undo=False)
    if not items:
        return emit(*_withdraw(lane, set()), ev.StepDone(step=step.id, note=_count(lane, each)))
    delay = plan.delay_of(step)
    left = lane.left_at + delay - lane.seen_at  # by the time of the listing: a new one is made when the delay is over
    if left > 0:
        return poll_again(lane, request, now, min(_SLOWEST_LISTING, delay / 5, left))
    if step.decide is not None:
        waiting = _decide_items(plan, lane, step, step.decide, items, now, attended, request)
        if waiting is not None:
            return waiting
    request = observe(lane, (listing, *step.require))
    if any(lane.reading(check.on, check.reading) is None for check in step.require):
        return Next(requests=(request,))
    allowed = judge(plan, lane, step.require)
    if allowed.holds is None and not lane.waived:
        return patience(lane, step, allowed, request, now, undo=False)
    if allowed.holds is False:
        failed = ev.StepFailed(step=step.id, why=allowed.why, remedy=allowed.remedy)
        return outdated(lane, step, now) or emit(failed)
    return _act_on_items(lane, step, step.do, items, request, now)


def listed(plan: ev.Plan, lane: Lane, each: ForEach) -> list[Item] | Verdict:
    """The items that the step has to work through, from the present round; or a verdict that says why they are
    unknown."""
    seen = lane.reading(each.on, each.reading)
    found = None if seen is None else items_of(seen.value)
    if found is None:
        return judge_one(plan, lane, Check(on=each.on, reading=each.reading, where=each.where))
    mine = [item for item in found if _concerns(lane, each, item)]
    unclear = next((item for item in mine if matches(item, each.where) is None), None)
    if unclear is not None:
        why = f"{plan.site_name(each.on)}: {unclear.key}: {describe(unclear, list(each.where))}"
        return Verdict(None, why, final=True)
    return [item for item in mine if matches(item, each.where)]


def _concerns(lane: Lane, each: ForEach, item: Item) -> bool:
    return each.decided_in is None or (each.decided_in, item.key) in lane.rulings


def _count(lane: Lane, each: ForEach) -> str:
    last = {intent.item: intent.effect for intent in lane.intents if intent.item is not None}
    unsure = [item for item, effect in last.items() if effect is not Effect.ACCEPTED]
    words = f"{len(last)} of them" if last else "there are none"
    if unsure:
        words += f"; no longer listed, but it is unknown whether this run did that: {_some(unsure)}"
    left = passed_over(lane, each)
    if not left:
        return words
    return f"{words}; the step did not change {len(left)} in the same state: {_some(left)}"


def _some(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return f"{', '.join(keys[:_NAMED])}{more}"


def passed_over(lane: Lane, each: ForEach) -> list[str]:
    """The keys of items in the wanted state that the step leaves as they are. Another condition excludes them (for
    example, they are not replicated), or this run did not decide on them."""
    seen, state = lane.reading(each.on, each.reading), each.where.get("state")
    found = None if seen is None else items_of(seen.value)
    if found is None or state is None:
        return []
    alike = [item for item in found if matches(item, {"state": state})]
    return [item.key for item in alike if not (_concerns(lane, each, item) and matches(item, each.where))]


def _withdraw(lane: Lane, listed: set[str]) -> list[ev.GateWithdrawn]:
    """The events that withdraw questions about items that are no longer listed."""
    gone = [gate for gate in lane.gates if gate.item is not None and gate.item not in listed]
    return [ev.GateWithdrawn(gate=gate.gate, why="the item is no longer listed", item=gate.item) for gate in gone]


def _decide_items(
    plan: ev.Plan,
    lane: Lane,
    step: Step,
    rule: Decide,
    items: Sequence[Item],
    now: float,
    attended: bool,
    request: Observe,
) -> Next | None:
    """None once every item has its ruling."""
    gone = _withdraw(lane, {item.key for item in items})
    undecided = [item for item in items if (step.id, item.key) not in lane.rulings]
    if not undecided:
        return emit(*gone) if gone else None
    chosen = plan.policy.on_gate.get(rule.gate)
    asks = attended and chosen not in ("stop", "revert")
    events: list[ev.Event] = list(gone)
    for item in undecided:
        ruling = plan.policy.transactions.get(item.key)
        if ruling is not None and ruling.choice in rule.choices:
            events.append(ev.GateDecided(gate=rule.gate, step=step.id, ruling=ruling, item=item.key))
        elif asks and lane.open_gate(rule.gate, item.key) is None:
            events.append(_item_gate(plan, lane, step, rule, item))
    if events:
        return emit(*events)
    if not asks:
        why = without_decision(item.key for item in undecided)
        if (chosen or rule.unattended) == "revert" and lane.status == "running":
            return _roll_back(plan, lane, step, rule, why)
        return emit(ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR, reason=why))
    return with_questions(lane, poll_again(lane, request, now, SLOWEST_LOOK), attended)


def _roll_back(plan: ev.Plan, lane: Lane, step: Step, rule: Decide, why: str) -> Next:
    """Roll the lane back, since no operator can be asked and no site is active. The lane opens a gate for this, which is
    answered with ``revert``."""
    gate = lane.open_gate(rule.gate)
    if gate is not None:
        return answer(plan, lane, gate, attended=False)
    return emit(ev.GateOpened(gate=rule.gate, step=step.id, choices=("revert", "stop"), unattended="revert", why=why))


def without_decision(items: Iterable[str]) -> str:
    """The reason why a lane stops if it cannot ask about ``items``."""
    keys = list(items)
    what = counted(len(keys), "prepared transaction needs", "prepared transactions need")
    return f"{what} a decision: {', '.join(keys)}"


def _item_gate(plan: ev.Plan, lane: Lane, step: Step, rule: Decide, item: Item) -> ev.GateOpened:
    assert step.for_each is not None  # only such a step decides on items
    about = describe(item, item.shown)
    return ev.GateOpened(
        gate=rule.gate,
        step=step.id,
        choices=(*rule.choices, "stop"),
        unattended=rule.unattended if lane.status == "running" else "stop",
        why=f"{item.key} at {plan.site_name(step.for_each.on)}: {about}",
        item=item.key,
    )


def _act_on_items(lane: Lane, step: Step, do: Do, items: Sequence[Item], request: Observe, now: float) -> Next:
    """Every listed item has its decision. Act on each item for which an attempt is due, and wait for the others."""
    task = Task(step.id, (), do, (), step, undo=False)
    events: list[ev.Event] = []
    due: list[float] = []
    for item in items:
        standing = _stand(lane, task, item, now)
        match standing:
            case ev.StepFailed():
                return emit(standing)
            case ev.DoubtResolved():
                events.append(standing)
            case float():
                due.append(standing)
            case None:
                ahead = sum(isinstance(event, ev.ActionIntended) for event in events)
                events.append(intend(lane, task, _item_args(lane, step, do, item), item.key, ahead=ahead))
            case _:
                assert_never(standing)
    if any(isinstance(event, ev.ActionIntended) for event in events):
        return outdated(lane, step, now) or emit(*events)
    if events:
        return emit(*events)
    return poll_again(lane, request, now, max(0.0, min(due) - lane.seen_at))


def _stand(lane: Lane, task: Task, item: Item, now: float) -> ev.StepFailed | ev.DoubtResolved | float | None:
    """The state of an item that is still listed, by its last attempt: failed, no effect, the time to wait for, or None
    (act now)."""
    last = next((intent for intent in reversed(lane.intents) if intent.item == item.key), None)
    if last is None:
        return None
    # After a retry by a person, an action that may have had an effect still gets its time to show that effect.
    retried = last not in lane.intents[lane.attempts_from :]
    failed = partial(ev.StepFailed, step=task.step)
    if last.disproved or last.effect is Effect.NOT_SENT:
        if retried:
            return None
        if not attempts_left(lane, task, item.key):
            return failed(why=f"{item.key}: {exhausted(last)}")
        due = last.ended_at + backoff(last.attempt)
        return due if now < due else None
    if last.effect is Effect.REJECTED:
        return None if retried else failed(why=f"the action on {item.key} was refused: {last.detail}")
    limit = task.limits.within if last.effect is Effect.ACCEPTED else task.limits.settle
    due = last.ended_at + limit
    if lane.seen_at < due:
        return due if last.effect is Effect.DOUBTFUL else min(lane.seen_at + 0.5, due)
    if last.effect is Effect.ACCEPTED:
        return None if retried else failed(why=f"{item.key} is still listed {limit:g}s after the accepted action")
    return ev.DoubtResolved(intent=last.number, evidence=f"{item.key} is still listed without a change")


def _item_args(lane: Lane, step: Step, do: Do, item: Item) -> Mapping[str, str]:
    """The arguments from the runbook, the item's key and, if this step decides, the choice."""
    args = {**do.args, item.argument: item.key}
    if step.decide is not None:
        args["outcome"] = lane.rulings[(step.id, item.key)].choice
    return args
