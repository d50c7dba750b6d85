"""The rules for an event that is on record, checked against the earlier events and the world."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain
from proof.promises.rules import Rules

_ENDS = frozenset({"done", "reverted", "escalated", "refused", "needs-operator", "stuck"})
# By severity. A run has the worst outcome of its lanes.
_WORST = ("done", "refused", "reverted", "escalated", "needs-operator", "stuck")


def judge_record(rules: Rules, case: Case, record: Plain, world: Plain | None) -> Iterator[Broken]:
    """Every promise that this event breaks. ``case`` does not contain the event yet."""
    event = record["event"]
    if record["seq"] != case.seq + 1:
        yield Broken(11, f"record {record['seq']} follows {case.seq}")
    if record["lane"] is None:
        if event["kind"] == "run.finished":
            yield from _misnamed(case, event)
        return
    lane = case.lanes[record["lane"]]
    yield from rules.record(case, lane, event, world)
    match event["kind"]:
        case "action.intended":
            yield from _out_of_order(case, lane, event)
        case "action.ended":
            yield from _ended_twice(lane, event)
        case "gate.decided":
            yield from _not_to_be_decided(case, lane, event)
        case "lane.escalated":
            yield from _escalated(lane, event)
        case "undo.done":
            yield from _undo_order(lane, event)
        case "revert.started":
            yield from _undo_unknown(lane, event)
        case "lane.ended" if event["outcome"] not in _ENDS:
            yield Broken(4, f"{lane.service}: ended {event['outcome']}, which is no end")


def _out_of_order(case: Case, lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 4: an action is intended only after the doubt about its last attempt is settled."""
    number = event["intent"]
    if number != max(lane.intents, default=0) + 1:
        yield Broken(4, f"{lane.service}: intent {number} follows {max(lane.intents, default=0)}")
    for earlier in lane.intents.values():
        said = earlier.event
        same = all(said[key] == event[key] for key in ("step", "on", "action", "args", "undo"))
        may_have_obeyed = earlier.effect == "doubtful" and not earlier.is_disproved
        if same and may_have_obeyed and case.steps[said["step"]].get("expect"):
            yield Broken(4, f"{lane.service}: intent {number} repeats {said['intent']}, which is in doubt")
    if event["undo"] and not lane.is_reverting:
        yield Broken(1, f"{lane.service}: {event['step']} is rolled back, and the lane is not reverting")
    if event["undo"] and (not lane.reversible or lane.reversible[-1] != event["step"]):
        yield Broken(1, f"{lane.service}: {event['step']} is rolled back before what was done after it")


def _ended_twice(lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 4: each outcome belongs to one intent that has no outcome yet."""
    intent = lane.intents.get(event["intent"])
    if intent is None or intent.effect is not None:
        yield Broken(4, f"{lane.service}: action {event['intent']} ends, and is not under way")


def _not_to_be_decided(case: Case, lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 3: a decision names a person and a reason, and is one of the offered choices. Without an operator, it
    follows the runbook or the policy."""
    ruling, gate = event["ruling"], event["gate"]
    if not ruling["by"] or not ruling["reason"]:
        yield Broken(3, f"{lane.service}: {gate} is decided by {ruling['by']!r} for {ruling['reason']!r}")
    opened = lane.gates.get((gate, event["item"]))
    policy = case.plan["policy"]
    if event["item"] is not None:
        beforehand = policy["transactions"].get(event["item"])
        if opened is None and (beforehand is None or beforehand["choice"] != ruling["choice"]):
            yield Broken(7, f"{lane.service}: {event['item']} is decided, and no question was asked")
        return
    if opened is None:
        yield Broken(3, f"{lane.service}: {gate} is decided, and was not open")
        return
    if ruling["choice"] not in opened["choices"]:
        yield Broken(3, f"{lane.service}: {gate} is decided {ruling['choice']}, which was not offered")
    if ruling["by"] == "policy" and ruling["choice"] not in (policy["on_gate"].get(gate), _alone(case, lane, opened)):
        yield Broken(3, f"{lane.service}: there was no operator, and {gate} was decided {ruling['choice']}")


def _alone(case: Case, lane: LaneFacts, opened: Plain) -> str:
    """The runbook's choice for an unattended run. For a question that is not in the runbook, the choice that was recorded
    with the question."""
    step = case.steps.get(opened["step"], {})
    for key in ("when_guard_breaks", "when_stalled", "ask"):
        rule = step.get(key)
        if rule and rule["gate"] == opened["gate"]:
            # A lane that can no longer roll back stops.
            forward = rule["unattended"] != "revert" or not (lane.is_committed or lane.escalated)
            return str(rule["unattended"]) if forward else "stop"
    return str(opened["unattended"])


def _escalated(lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 3: an escalation has a recorded decision."""
    decisions = [ruling for gate, ruling in lane.decided if ruling["choice"] == "escalate"]
    if not decisions or decisions[-1] != event["ruling"]:
        yield Broken(3, f"{lane.service}: escalated without a recorded decision")


def _undo_order(lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 1: the last change is undone first."""
    if not lane.reversible or lane.reversible[-1] != event["step"]:
        yield Broken(1, f"{lane.service}: {event['step']} is rolled back out of order")


def _undo_unknown(lane: LaneFacts, event: Plain) -> Iterator[Broken]:
    """Promise 1: a rollback lists all changes, in the order in which they were made. Past the point of no return, there
    is no rollback."""
    undo = list(event["undo"])
    if lane.is_committed:
        yield Broken(1, f"{lane.service}: rolls back after its point of no return")
    if undo[: len(lane.reversible)] != lane.reversible:
        yield Broken(1, f"{lane.service}: did {lane.reversible}, and intends to roll back {undo}")
    tried = {one.event["step"] for one in lane.intents.values() if one.effect not in ("rejected", "not-sent")}
    if any(step not in tried for step in undo[len(lane.reversible) :]):
        yield Broken(1, f"{lane.service}: intends to roll back {undo}, and did {lane.reversible}")


def _misnamed(case: Case, event: Plain) -> Iterator[Broken]:
    """Promise 12: the run's end is the worst of its lanes' ends."""
    ends = [lane.outcome for lane in case.lanes.values()]
    named = [end for end in ends if end is not None]
    if len(named) < len(ends):
        yield Broken(4, "the run is finished, and not all lanes have an end")
    elif event["outcome"] != max(named, key=_WORST.index):
        yield Broken(12, f"the run ended {event['outcome']}, its lanes {', '.join(named)}")
