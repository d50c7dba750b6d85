"""Checks each decision of a lane against the readings before it: those an action depends on, and those that show it is
done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proof.promises.checks import fits_all
from proof.promises.durations import seconds
from proof.promises.facts import Broken, Case, Plain
from proof.promises.passage import NEAR_S, Checks, Passage

# Choices by which a person takes responsibility for a whole step.
_ANSWERS = frozenset({"attest", "waive", "later", "accept"})
_NO_CHANGE = frozenset({"rejected", "not-sent"})
# Default of ``max_age``: the readings that an action depends on are at most this many seconds old.
MAX_AGE_S = 30.0


def judge_reading(case: Case, lane: Passage, event: Plain, at: float) -> Iterator[Broken]:
    """Every promise that this event breaks, judged by the readings. ``lane`` does not contain the event yet."""
    step = case.steps.get(event.get("step") or lane.step)
    if step is None:
        return
    match event["kind"]:
        case "action.intended":
            yield from _stands_on_nothing(lane, step, event, at)
            yield from _does_not_apply(lane, step, event)
            yield from _drops_what_was_given_up(lane, step, event)
            yield from _tried_too_often(lane, step, event)
            yield from _sent_before_proof(lane, step, event)
        case "step.done":
            yield from _not_shown(lane, step, step, event["kind"])
            if not lane.tried and not (lane.applied and not step["do"]):
                yield from _does_not_apply(lane, step, event)
            yield from _unmarked(lane, step)
        case "undo.done" if not event["skipped"]:
            yield from _not_shown(lane, step, step["undo"], event["kind"])
        case "step.skipped":
            yield from _left_out(lane, step)
        case "doubt.resolved":
            yield from _settled_too_soon(lane, step, event)
        case "step.waived":
            yield from _waived_though_known(lane, step)


def task_of(step: Plain, *, undo: bool) -> Plain:
    """The step itself, or the task that undoes it."""
    found: Plain = step["undo"] if undo else step
    return found


def _stands_on_nothing(lane: Passage, step: Plain, event: Plain, at: float) -> Iterator[Broken]:
    """Promise 15: an action depends on readings of one recent round, which was asked after the lane last moved."""
    reconfirm = () if event["undo"] or lane.is_escalated else step.get("reconfirm", ())
    require: Checks = (*task_of(step, undo=event["undo"])["require"], *reconfirm)
    what = f"{lane.service}: {step['id']} is {'rolled back' if event['undo'] else 'done'}"
    if not require:
        return
    if lane.round is None:
        yield Broken(15, f"{what}, and nothing was read since the lane moved last")
        return
    stands = lane.round.holds(require)
    if stands is not True and not (stands is None and lane.is_waived):
        yield Broken(15, f"{what}, and what it requires was read as {_word(stands)}")
    age, allowed = at - lane.round.asked, seconds(step.get("max_age"), MAX_AGE_S)
    if age > allowed + NEAR_S:
        yield Broken(15, f"{what}, on readings that are {_about(age)} old")


def _word(stands: bool | None) -> str:
    return "unknown" if stands is None else "false"


def _about(age: float) -> str:
    """The age in rough words, so that one defect gives one sentence."""
    return next(
        (words for limit, words in ((120.0, "more than half a minute"), (3_600.0, "minutes")) if age < limit), "hours"
    )


def _does_not_apply(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 17: a conditional step is done only after its condition was read, since the step was started. For a step
    that changes a device, the condition is also read since the run was resumed. A step that has already changed a part is
    exempt, because that partial change cannot stay."""
    is_partly = lane.last is not None and lane.last.is_partly
    if step["only_if"] and not is_partly and not lane.applies and not event.get("undo"):
        yield Broken(
            17, f"{lane.service}: {step['id']} is done, and whether it applies was not read since it started"
        )


def _drops_what_was_given_up(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 3: messages that an escalation put at risk stay where they are. A step that would drop them is left out."""
    if step.get("unless_escalated") and lane.is_escalated and not event.get("undo"):
        yield Broken(
            3, f"{lane.service}: {step['id']} is done after an escalation, and drops what the source alone has"
        )


def _tried_too_often(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 4: an action is tried at most as often as the runbook says, regardless of the number of resumes."""
    if lane.attempts(event["item"], undo=event["undo"]) >= step["attempts"]:
        yield Broken(4, f"{lane.service}: {step['id']} is tried more often than {step['attempts']} times")


def _sent_before_proof(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 4: a command that may have been obeyed is proven, or disproved, before it is sent again."""
    last = lane.last
    if last is None or last.item is not None or event["item"] is not None or last.undo is not event["undo"]:
        return
    if not task_of(step, undo=event["undo"])["expect"] or last.is_disproved or last.effect in _NO_CHANGE:
        return
    yield Broken(4, f"{lane.service}: {step['id']} is sent again, and the last attempt may have been obeyed")


def _not_shown(lane: Passage, step: Plain, task: Plain, kind: str) -> Iterator[Broken]:
    """Promise 17: a step counts as done or undone only after a later reading showed it, or if a person answers for it."""
    said = lane.previous
    if said.get("kind") == "gate.decided" and said["ruling"]["choice"] in _ANSWERS and kind == "step.done":
        return
    what = f"{lane.service}: {step['id']} counts as {'done' if kind == 'step.done' else 'rolled back'}"
    if task.get("for_each"):
        yield from _left_on_the_list(lane, step, what)
        return
    if task.get("ask"):
        yield Broken(17, f"{what}, and no one has answered")
        return
    checks = tuple(task["expect"]) if task["do"] else (*task["until"], *task["guard"]) or tuple(task["require"])
    if not checks:
        return
    shown = None if lane.round is None else lane.round.holds(checks)
    is_waived = lane.is_waived and shown is None and not task["do"]
    if shown is not True and not is_waived:
        yield Broken(17, f"{what}, and what shows it was read as {_word(shown)} since")
        return
    if task["do"]:
        yield from _held_before(lane, step, what)


def _held_before(lane: Passage, step: Plain, what: str) -> Iterator[Broken]:
    """Promise 4: a state that held before a doubtful action proves nothing about that action until its effect can no
    longer come."""
    last = lane.last
    if last is None or lane.round is None or last.effect != "doubtful" or last.before is False:
        return
    if lane.round.asked - last.ended_at < seconds(step["settle"]) - NEAR_S:
        yield Broken(4, f"{what}, and that was so before; the effect of the doubtful action may still come")


def _left_on_the_list(lane: Passage, step: Plain, what: str) -> Iterator[Broken]:
    """Promise 7: items are worked through until a list shows none of them."""
    each = step["for_each"]
    value = None if lane.round is None else lane.round.values.get((each["on"], each["reading"]))
    if value is None:
        if not lane.is_waived:
            yield Broken(7, f"{what}, and no list was read since")
        return
    for item in value["items"]:
        concerns = each["decided_in"] is None or (each["decided_in"], item["xid"]) in lane.ruled
        if concerns and fits_all(item, each["where"]) is not False:
            yield Broken(7, f"{what}, and {item['xid']} is on its list")
            return


def _unmarked(lane: Passage, step: Plain) -> Iterator[Broken]:
    """Promise 12: a lane that passes the point of no return records that."""
    if step["point_of_no_return"] and step["do"] and not (lane.is_past or lane.is_escalated):
        yield Broken(12, f"{lane.service}: {step['id']} is done, and its point of no return is not on record")


def _left_out(lane: Passage, step: Plain) -> Iterator[Broken]:
    """Promise 17: a step is left out only if a reading showed that it does not apply, or if it would drop messages given
    up."""
    if step.get("unless_escalated") and lane.is_escalated:
        return
    if lane.round is None or lane.round.holds(step["only_if"]) is not False:
        yield Broken(17, f"{lane.service}: {step['id']} is left out, and that it does not apply was not read")


def _settled_too_soon(lane: Passage, step: Plain, event: Plain) -> Iterator[Broken]:
    """Promise 4: only a reading can show that a doubtful action had no effect. It must be asked when the effect can no
    longer come. A partial effect is an effect. For an accepted action this is asked only if it may be repeated, and after
    a person lets the step be tried again, or resumes the run."""
    tried = next((one for one in lane.tried if one.number == event["intent"]), None)
    what = f"{lane.service}: intent {event['intent']} is said to have had no effect"
    is_tried_again = tried in lane.tried[: lane.counted_from]
    if tried is None or not (tried.effect == "doubtful" or (tried.is_repeatable and is_tried_again)):
        yield Broken(4, f"{what}, and was in no doubt")
        return
    if lane.round is None or lane.round.asked - tried.ended_at < seconds(step["settle"]) - NEAR_S:
        yield Broken(4, f"{what}, and nothing was read since its effect could have come")
        return
    task = task_of(step, undo=tried.undo)
    if tried.item is None and lane.round.holds(task["expect"]) is not False:
        yield Broken(4, f"{what}, and no reading shows that")
    before = () if tried.undo or not step["undo"] else step["undo"]["expect"]
    if tried.item is None and before and not event["partly"] and lane.round.holds(before) is not True:
        yield Broken(4, f"{what} at all, and it is not as it was")


def _waived_though_known(lane: Passage, step: Plain) -> Iterator[Broken]:
    """Promise 3: a check that was read as false cannot be waived. Only an escalated lane may waive an unknown check."""
    if not lane.is_escalated or not lane.failed_unknown:
        yield Broken(3, f"{lane.service}: {step['id']} is waived, and that it failed is no mere silence")


def stood_before(lane: Passage, step: Plain, event: Plain) -> bool | None:
    """Did the action's expected effect already hold in the round that the action depends on?"""
    checks: Any = task_of(step, undo=event["undo"])["expect"]
    return None if lane.round is None or not checks else lane.round.holds(checks)
