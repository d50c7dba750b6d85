"""The rules for the course of a run: the order of its steps and ends, aborts, the starts of its lanes, and approvals."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, Plain
from proof.promises.passage import Passage

_FORWARD = frozenset({"step.started", "action.intended", "step.ready", "step.applies"})


def judge_course(case: Case, lane: Passage, event: Plain, at: float) -> Iterator[Broken]:
    """Every promise that this event of a lane breaks. ``lane`` does not contain the event yet."""
    kind = event["kind"]
    if kind in _FORWARD and not event.get("undo"):
        yield from _goes_on_though_called_off(lane, event)
        if case.is_overdue and not lane.abort_at and not lane.has_declined:
            yield Broken(12, f"{lane.service}: {event['kind']} {event['step']}, after the time of the run was over")
    if lane.must_resume and kind not in ("action.ended", "lane.resumed", "abort.declined"):
        yield Broken(5, f"{lane.service}: {kind} by a process that has not resumed this lane")
    match kind:
        case "lane.started":
            yield from _not_its_turn(case, lane)
            yield from _unapproved(case)
        case "step.started":
            yield from _out_of_turn(case, lane, event)
        case "revert.started":
            yield from _turned_back(case, lane, event)
        case "abort.declined":
            yield from _declined(case, lane)
        case "lane.ended":
            yield from _ended(case, lane, event)
        case "gate.decided":
            yield from _decided(case, lane, event)
    yield from judge_fail_fast(case, lane, event)


def _goes_on_though_called_off(lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 12: a lane that is aborted starts nothing new."""
    if lane.abort_at and not lane.is_reverting:
        yield Broken(12, f"{lane.service}: {event['kind']} {event['step']}, after it was aborted")


def _out_of_turn(case: Case, lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 17: a step starts only after every earlier step is done, left out, or answered for by a person."""
    names = list(case.steps)
    wanted = names[len(lane.finished)] if len(lane.finished) < len(names) else "nothing"
    if event["step"] != wanted:
        yield Broken(17, f"{lane.service}: {event['step']} starts, and {wanted} is next")


def _turned_back(case: Case, lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promises 1, 3 and 4: a lane that rolls back was told to, knows which commands were obeyed, and cannot have passed
    the point of no return."""
    if not lane.told_to_revert and not lane.abort_at:
        yield Broken(3, f"{lane.service}: rolls back without a decision")
    step, last = case.steps.get(lane.step), lane.last
    if step is None or last is None or last.item is not None or not last.may_have_obeyed:
        return
    if step["point_of_no_return"]:
        yield Broken(1, f"{lane.service}: rolls back at {step['id']}, which the device may have obeyed")
    elif step["expect"] and not (last.is_disproved or lane.has_failed or lane.told_to_revert):
        yield Broken(4, f"{lane.service}: rolls back before a reading shows whether {step['id']} was obeyed")


def _declined(case: Case, lane: Passage) -> Iterator[Broken]:
    """Promise 12: after an abort, only a lane that can no longer roll back, or already does, continues."""
    step = case.steps.get(lane.step)
    in_doubt = step is not None and step["point_of_no_return"] and any(one.may_have_obeyed for one in lane.tried)
    if not (in_doubt or lane.is_past or lane.is_escalated or lane.is_reverting or lane.holds_for_others):
        yield Broken(12, f"{lane.service}: declines an abort, and could have rolled back")


def _ended(case: Case, lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 17: the name of an end matches what happened."""
    outcome = event["outcome"]
    what = f"{lane.service}: ended {outcome}"
    left = [name for name in case.steps if name not in lane.finished]
    if outcome in ("done", "escalated") and left:
        yield Broken(17, f"{what}, and {left[0]} is not done")
    if (outcome == "escalated") is not lane.is_escalated and outcome in ("done", "escalated"):
        yield Broken(17, f"{what}, and its guarantee was {'given up' if lane.is_escalated else 'kept'}")
    if (outcome in ("reverted", "stuck")) is not lane.is_reverting:
        yield Broken(17, f"{what}, and it was {'' if lane.is_reverting else 'not '}rolling back")
    if event.get("left") and not lane.may_leave:
        yield Broken(3, f"{what} and is left so permanently, which no one decided by name")
    facts = case.lanes[lane.service]
    if outcome == "reverted" and facts.reversible:
        yield Broken(17, f"{what}, and {facts.reversible[-1]} is not rolled back")
    if outcome == "refused" and (facts.reversible or any(one.may_have_obeyed for one in lane.tried)):
        yield Broken(17, f"{what}, and something may have been changed")


def _decided(case: Case, lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 3: a recorded answer of a person was given by that person, to that question. If a person is present, the
    policy does not decide instead."""
    ruling, gate = event["ruling"], event["gate"]
    opened = case.lanes[lane.service].gates.get((gate, event["item"]))
    beforehand = case.plan["policy"]["transactions"].get(event["item"])
    if event["item"] is not None and (opened is None or beforehand == ruling):
        return  # decided in advance
    why = "" if opened is None else opened["why"]
    if ruling["by"] != "policy":
        known = (lane.service, gate, event["item"], ruling["choice"], ruling["by"])
        if case.hearing.said.isdisjoint({(*known, why), (*known, None)}):
            yield Broken(
                3, f"{lane.service}: {gate} is decided {ruling['choice']} by {ruling['by']}, who said no such thing"
            )
    elif (
        case.is_attended
        and not case.hearing.has_left
        and ruling["choice"] != case.plan["policy"]["on_gate"].get(gate)
    ):
        yield Broken(3, f"{lane.service}: {gate} is decided {ruling['choice']} in the place of a person who is there")


def _not_its_turn(case: Case, lane: Passage) -> Iterator[Broken]:
    """Promise 4: lanes start wave after wave. After too many failures, no further lane starts."""
    waves = case.plan["waves"]
    if waves is None:
        return
    what = f"{lane.service} starts"
    lanes, canary = case.passages, waves["canary"]
    failed = [one for one in _failed(case) if one not in case.forgiven]
    if len(failed) >= waves["max_failed"] or canary in failed:
        yield Broken(4, f"{what}, after {len(failed)} others had failed")
    if canary in lanes and lane.service != canary and lanes[canary].outcome is None:
        yield Broken(4, f"{what}, before the canary has ended")
    rest = [name for name in lanes if name != canary]
    if lane.service == canary:
        return
    wave = rest.index(lane.service) // waves["size"]
    if any(lanes[name].outcome is None for name in rest[: wave * waves["size"]]):
        yield Broken(4, f"{what}, before the wave before it has ended")


def _failed(case: Case) -> list[str]:
    return [name for name, one in case.passages.items() if one.outcome not in (None, "done")]


def _unapproved(case: Case) -> Iterator[Broken]:
    """Promise 12: if a plan needs approval, enough other people have approved exactly this plan, each by name and in
    time."""
    rule = case.plan["approval"]
    if rule is None or case.is_approved:
        return
    case.is_approved = True
    words = case.hearing.words
    if any(one["choice"] == "break-glass" and one["reason"] for one in words) and rule["break_glass"]:
        return
    agreed = {
        one["by"]
        for one in words
        if one["choice"] == "approve"
        and one["plan"] == case.hearing.digest
        and one["by"] not in {rule["requester"], *case.changers}
    }
    if len(agreed) < rule["needed"]:
        yield Broken(12, f"the run starts, and {len(agreed)} of {rule['needed']} have agreed to its plan")


def judge_own(case: Case, event: Plain) -> Iterator[Broken]:
    """Like ``judge_course``, for an event of the run itself."""
    match event["kind"]:
        case "run.paused":
            for name, lane in case.lanes.items():
                if any(one.effect is None for one in lane.intents.values()):
                    yield Broken(4, f"{name}: the run pauses, and does not await what it has sent")
        # Only approvals up to here count: the next process may lead a plan with other decisions.
        case "gate.decided" if event["gate"] == "approval" and event["ruling"]["choice"] != "deny":
            yield from _unapproved(case)
        case "approval.given":
            words = case.hearing.words
            if not any(
                (one["by"], one["choice"], one["plan"]) == (event["by"], "approve", event["plan"]) for one in words
            ):
                yield Broken(12, f"an approval by {event['by']}, who did not approve this plan")


def judge_heard(case: Case) -> Iterator[Broken]:
    """Promise 12: an abort reaches every lane that can still receive it, exactly once. It does not reach a later start of
    the run."""
    for name, lane in case.passages.items():
        asked = case.hearing.called_off.get(name, 0)
        if lane.aborts > asked:
            yield Broken(12, f"{name}: aborted {lane.aborts} times, and that was requested {asked} times")
        if asked and not lane.aborts and name in (case.hearing.could_hear or ()):
            yield Broken(12, f"{name}: the run was aborted, and this lane was not")


def judge_fail_fast(case: Case, lane: Passage, event: Plain) -> Iterator[Broken]:
    """Promise 12: with fail-fast, once a lane has failed, the lanes that can roll back start no further step."""
    if not case.plan["policy"]["fail_fast"] or event["kind"] != "step.started" or lane.abort_at or lane.has_declined:
        return
    failed = [name for name in _failed(case) if case.ended_at[name] <= case.batch and name not in case.forgiven]
    if failed and not (lane.is_past or lane.is_escalated):
        yield Broken(12, f"{lane.service}: {event['step']} starts, after {failed[0]} had failed")
