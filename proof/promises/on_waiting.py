"""Checks waits and questions against the times in the runbook: none comes too soon, and none is forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.durations import seconds
from proof.promises.facts import Broken, Case, Plain
from proof.promises.on_reading import task_of
from proof.promises.passage import NEAR_S, Passage, Round

# The readings that a wait may follow and that count messages.
_MESSAGES = frozenset({("replication_queue", "messages"), ("queues", "owned")})
_WAYS_OUT = frozenset({"revert", "escalate"})
_FAILED = frozenset({"step-failed", "undo-failed"})
# A deadline counts as forgotten if this many rounds of readings were asked after it. Processes sleep, and devices are
# slow.
_ROUNDS_LATE = 4


def judge_waiting(case: Case, lane: Passage, event: Plain, at: float) -> Iterator[Broken]:
    """Every promise that this event breaks by its time. ``lane`` does not contain the event yet."""
    step = case.steps.get(event.get("step") or lane.step)
    if step is None:
        return
    match event["kind"]:
        case "step.done" if step["until"]:
            yield from _not_held(lane, step)
        case "action.intended" if seconds(step["delay"]) and not event["undo"]:
            yield from _taken_from_others(case, lane, step)
        case "gate.opened":
            yield from _asked_too_soon(lane, step, event)
            yield from _way_back_offered(lane, step, event)
            yield from _asked_for_no_reason(lane, event)
            yield from _wrong_number(lane, step, event)


def _not_held(lane: Passage, step: Plain) -> Iterator[Broken]:
    """Promise 2: a goal that has to hold for some time was read as true for that time, without a break. No ``never``
    check was read as true, and the guard held at the end."""
    what = f"{lane.service}: {step['id']} counts as reached"
    if lane.round is None or lane.is_waived or lane.previous.get("kind") == "gate.decided":
        return
    hold = seconds(step["hold"])
    held = 0.0 if lane.goal_since is None else lane.round.asked - lane.goal_since
    if held < hold - NEAR_S:
        yield Broken(2, f"{what}, and did not hold for {step['hold']}")
    if any(lane.round.holds((check,)) for check in step["never"]):
        yield Broken(2, f"{what}, beside what must never be")


def _taken_from_others(case: Case, lane: Passage, step: Plain) -> Iterator[Broken]:
    """Promise 7: if items are first left to others, the others get the whole waiting time. After it, the items are listed
    again."""
    pairs = case.plan.get("inventory", {}).get("pairs", ())
    wanted = next((one.get("transaction_wait") for one in pairs if one["name"] == case.plan["pair"]), None)
    wanted = wanted or step["delay"]
    had = 0.0 if lane.round is None else lane.round.asked - lane.left_at
    if had < seconds(wanted) - NEAR_S:
        yield Broken(7, f"{lane.service}: {step['id']} acts after {had:.0f}s on what others have {wanted} for")


def _asked_too_soon(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 3: a guard that breaks for a moment, or a queue that pauses for a moment, does not cause a question yet."""
    what = f"{lane.service}: {event['gate']} is asked"
    if lane.round is None:
        return
    asked, early = lane.round.asked, []
    guard, stall = step["when_guard_breaks"], step["when_stalled"]
    if guard is not None and guard["gate"] == event["gate"]:
        is_early = lane.broke_at is None or asked - lane.broke_at <= seconds(guard["grace"]) - NEAR_S
        early.append(f"the guard was not broken for longer than {guard['grace']}" if is_early else "")
    if stall is not None and stall["gate"] == event["gate"]:
        is_early = asked - lane.low_at <= seconds(stall["after"]) - NEAR_S
        early.append(f"it fell within the last {stall['after']}" if is_early else "")
    # The guard and the stall may open the same gate. One reason is enough.
    if early and all(early):
        yield Broken(3, f"{what}, and {' and '.join(early)}")


def _way_back_offered(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 1: if the target may be active already, no way back is offered. After an escalation, a later wait may still
    be escalated."""
    closed = {"revert"} if lane.is_escalated and not lane.is_past else _WAYS_OUT
    offered = closed.intersection(event["choices"])
    in_doubt = step["point_of_no_return"] and any(one.may_have_obeyed for one in lane.tried)
    if (
        offered
        and event["item"] is None
        and (lane.is_past or lane.is_escalated or (in_doubt and not lane.is_reverting))
    ):
        yield Broken(
            1, f"{lane.service}: {event['gate']} offers {', '.join(sorted(offered))} behind the point of no return"
        )


def _asked_for_no_reason(lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 3: the question about a failed step is asked only after a failure, and the one about a failed undo only in
    a rollback."""
    if event["gate"] not in _FAILED:
        return
    if not lane.has_failed:
        yield Broken(3, f"{lane.service}: {event['gate']} is asked, and nothing failed")
    if (event["gate"] == "undo-failed") is not lane.is_reverting:
        yield Broken(3, f"{lane.service}: {event['gate']} is asked of a lane that does something else")


def _wrong_number(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 3: the number said to be at risk is the number that was read last."""
    follows = step["progress"]
    counts = follows is not None and (follows["reading"], follows["field"]) in _MESSAGES
    if counts and event["at_risk"] is not None and event["at_risk"] != lane.gauge:
        yield Broken(
            3, f"{lane.service}: {event['gate']} says {event['at_risk']} messages, and another number was read"
        )


def judge_overdue(case: Case, lane: Passage, seen: Round) -> Iterator[Broken]:
    """Promise 4: a lane acts when a deadline has passed, and does not only watch for ever. ``lane`` contains ``seen``
    already."""
    step = case.steps.get(lane.step)
    if step is None:
        return
    for name, due in _deadlines(case, lane, step, seen):
        if seen.asked > due + NEAR_S:
            lane.overdue[name] = lane.overdue.get(name, 0) + 1
            if lane.overdue[name] == _ROUNDS_LATE:
                yield Broken(4, f"{lane.service}: {step['id']} continues after its {name} has passed")


def _is_known(step: Plain, seen: Round) -> bool:
    """Is the goal known to be unreached? Other rules judge an unknown goal."""
    return seen.holds(step["until"]) is False


def _deadlines(case: Case, lane: Passage, step: Plain, seen: Round) -> Iterator[tuple[str, float]]:
    guard, stall = step["when_guard_breaks"], step["when_stalled"]
    is_asked = lane.is_asked
    if guard is not None and lane.broke_at is not None and not is_asked:
        yield "guard", lane.broke_at + seconds(guard["grace"])
    if (
        stall is not None
        and lane.gauge is not None
        and lane.broke_at is None
        and not is_asked
        and _is_known(step, seen)
    ):
        yield "stall", lane.low_at + seconds(stall["after"])
    # A lane that slept past its timeout and then reads the goal as true has reached it.
    is_reached = seen.holds(step["until"]) is True
    if step["timeout"] is not None and step["until"] and not is_asked and not is_reached:
        yield "timeout", lane.step_at + seconds(step["timeout"])
    waits = guard if lane.broke_at is not None else stall
    if lane.waiting_since is not None and waits is not None and not case.is_attended:
        grace = seconds(waits.get("grace") or waits.get("after"))
        due = max(lane.waiting_since + seconds(waits["wait_at_most"]), lane.told_to_wait_at)
        yield "wait_at_most", due + grace
    last = lane.last
    is_obeyed = last is not None and last.item is None and last.effect == "accepted" and not last.is_disproved
    if step["do"] and last is not None and is_obeyed and seen.holds(task_of(step, undo=last.undo)["expect"]) is False:
        # An action that may be sent again is read until it can no longer take effect.
        is_again = last.is_repeatable and len(lane.tried) == lane.counted_from
        yield "within", lane.began_at + max(seconds(step["within"]), seconds(step["settle"]) if is_again else 0.0)
