"""One lane as a fold of its events: how each event changes the lane, and which events are not allowed.

Pure: no time of its own, no I/O, no randomness, no decisions. A record that the lifecycle table does not allow raises
``IllegalTransition`` before anything else sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.core.lane import Intent, Lane, Stage
from orchestrator.core.lifecycle import END_TRIGGERS, LANE_REFEREE
from orchestrator.errors import IllegalTransition
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect

# Enough readings of the gauge to compute a rate despite noise, and few enough to follow a change of the rate.
GAUGE_SAMPLES = 12


def _with(lane: Lane, **changes: Any) -> Lane:
    """``dataclasses.replace`` without ``__init__``: a run of a thousand lanes spends most of its time here."""
    changed = object.__new__(Lane)
    object.__setattr__(changed, "__dict__", lane.__dict__ | changes)
    return changed


def fold_lane(lane: Lane, event: ev.Event, at: float) -> Lane:
    """The lane after ``event``, recorded at ``at``. Raises ``IllegalTransition``."""
    if lane.ended and not isinstance(event, ev.LaneResumed | ev.AbortDeclined | ev.Observed | ev.ActionEnded):
        raise IllegalTransition(f"{lane.service}: {event.kind} cannot follow the end of the lane ({lane.status})")
    fold = _LANE_FOLDS.get(type(event))
    if fold is None:
        raise IllegalTransition(f"{event.kind} is not an event of a lane")
    return fold(lane, event, at)


def _enter(lane: Lane, stage: Stage, at: float, **changes: Any) -> Lane:
    """A new stage: all earlier readings are stale from now on."""
    return _with(lane, stage=stage, stage_at=at, known_at=at, mark=lane.mark + 1, seen=(), seen_mark=-1, **changes)


# The fields that belong to one attempt of a step, with their values at the start of an attempt.
_NEW_ATTEMPT: Mapping[str, Any] = {
    "gates": (),
    "gauge": (),
    "low": None,
    "stalled": False,
    "guard_broke_at": None,
    "waiting_since": None,
    "goal_since": None,
    "condition_met": False,
    "expired": 0,
    "is_waiting": False,
    "claimed": frozenset(),
    "failure": "",
    "remedy": "",
    "undo_remedy": "",
}


def _next_step(lane: Lane, at: float, **changes: Any) -> Lane:
    step = lane.step + 1
    started = {**_NEW_ATTEMPT, "step": step, "intents": (), "attempts_from": 0, "waived": False} | changes
    return _enter(lane, Stage.BETWEEN, at, failure_unknown=False, **started)


def _move(lane: Lane, trigger: str) -> str:
    return LANE_REFEREE.next(lane.status, trigger)


def _lane_started(lane: Lane, event: ev.LaneStarted, at: float) -> Lane:
    return _enter(lane, Stage.BETWEEN, at, status=_move(lane, "start"))


def _lane_resumed(lane: Lane, event: ev.LaneResumed, at: float) -> Lane:
    if lane.given_up:
        raise IllegalTransition(
            f"{lane.service}: {event.kind} is not possible, because an operator left the service as it is"
        )
    status = _move(lane, f"resume_{lane.came_from}") if lane.ended else lane.status
    failed = lane.stage is Stage.FAILED
    kept: dict[str, Any] = {"guard_broke_at": None if lane.guard_broke_at is None else at}
    if status == "reverting":
        kept["remedy"] = lane.remedy
    if not failed and not lane.ended:
        kept["gates"] = lane.gates
    resumed = _enter(
        lane,
        Stage.REQUIRE if failed else lane.stage,
        at,
        status=status,
        step_at=at,
        # Keep the time for which the earlier process watched, by the clock of that process: this process may run on
        # another machine. Time without a process does not count.
        left_at=at - max(0.0, lane.seen_at - lane.left_at),
        seen_at=at,
        moved_at=at,
        outcome=None,
        reason="",
        attempts_from=len(lane.intents) if failed or lane.ended else lane.attempts_from,
        intents=tuple(_in_doubt_from(intent, at) for intent in lane.intents),
        **{**_NEW_ATTEMPT, **kept},
    )
    return _prove_doubts_first(resumed)


def _in_doubt_from(intent: Intent, at: float) -> Intent:
    """The intent for the process that resumes the run. The clock of this process may be ahead of the earlier one, so the
    settle time of a doubtful action starts again."""
    return replace(intent, ended_at=at) if intent.effect is Effect.DOUBTFUL and not intent.disproved else intent


def _prove_doubts_first(lane: Lane) -> Lane:
    """A step that failed while its action was in doubt starts again with the proof, never with the action."""
    in_doubt = lane.intents and lane.intents[-1].may_have_obeyed and lane.intents[-1].item is None
    return _with(lane, stage=Stage.PROVE) if lane.stage is Stage.REQUIRE and in_doubt else lane


def _abort_asked(lane: Lane, event: ev.AbortAsked, at: float) -> Lane:
    return _with(lane, abort=event)


def _abort_declined(lane: Lane, event: ev.AbortDeclined, at: float) -> Lane:
    # The lane may have asked the journal whether it could ``leave``. Other services may rely on that answer, so the lane
    # claims again everything that it relies on.
    return _with(lane, abort=None, claimed=frozenset())


def _step_started(lane: Lane, event: ev.StepStarted, at: float) -> Lane:
    return _enter(lane, Stage.REQUIRE, at, step_at=at, left_at=at, moved_at=at)


def _condition_met(lane: Lane, event: ev.ConditionMet, at: float) -> Lane:
    return _enter(lane, Stage.REQUIRE, at, condition_met=True)


def _step_skipped(lane: Lane, event: ev.StepSkipped, at: float) -> Lane:
    return _next_step(lane, at)


def _step_waived(lane: Lane, event: ev.StepWaived, at: float) -> Lane:
    return _with(_step_retried(lane, ev.StepRetried(step=event.step), at), waived=True)


def _goal_reached(lane: Lane, event: ev.GoalReached, at: float) -> Lane:
    return _with(lane, goal_since=lane.seen_at)


def _goal_lost(lane: Lane, event: ev.GoalLost, at: float) -> Lane:
    return _with(lane, goal_since=None)


def _requirements_met(lane: Lane, event: ev.RequirementsMet, at: float) -> Lane:
    return _enter(lane, Stage.MAIN, at, moved_at=at)


def _observed(lane: Lane, event: ev.Observed, at: float) -> Lane:
    if event.mark != lane.mark or lane.ended:
        return lane
    asked = min([one.asked_at for one in event.seen])
    known = lane.known_at if any(one.failure for one in event.seen) else asked
    changes: dict[str, Any] = {
        "seen": event.seen,
        "seen_mark": event.mark,
        "seen_at": asked,
        "seen_took": at - asked,
        "known_at": known,
    }
    if event.gauge is not None:
        changes["gauge"] = (*lane.gauge, (asked, event.gauge))[-GAUGE_SAMPLES:]
        # Only a new lowest number is progress. A number that goes up and down is not.
        if lane.low is None or event.gauge < lane.low:
            changes |= {"low": event.gauge, "moved_at": at, "stalled": False, "waiting_since": None}
    return _with(lane, **changes)


def _readings_expired(lane: Lane, event: ev.ReadingsExpired, at: float) -> Lane:
    # Only slow devices count. A process that was suspended, or lanes that wait, show nothing about the devices.
    expired = lane.expired + 1 if event.is_slow else 0
    return _enter(lane, lane.stage, at, expired=expired, goal_since=None)


def _step_waiting(lane: Lane, event: ev.StepWaiting, at: float) -> Lane:
    return _with(lane, is_waiting=True)


def _site_claimed(lane: Lane, event: ev.SiteClaimed, at: float) -> Lane:
    held = tuple(place for place in lane.holds if place != (event.on, event.thing))
    holds = (*held, (event.on, event.thing)) if event.claim == "hold" else held
    claimed = lane.claimed | {(event.thing, event.claim)}
    # A new stage: earlier readings may have become wrong before the claim was granted.
    return _enter(lane, lane.stage, at, holds=holds, claimed=claimed)


def _action_intended(lane: Lane, event: ev.ActionIntended, at: float) -> Lane:
    if event.intent != lane.intended + 1:
        raise IllegalTransition(
            f"{lane.service}: the intent of action {event.intent} must not follow action {lane.intended}"
        )
    intent = Intent(event.intent, event.action, event.attempt, event.item, at, before=lane.seen)
    return _enter(lane, Stage.ACT, at, intents=(*lane.intents, intent), intended=event.intent)


def _action_ended(lane: Lane, event: ev.ActionEnded, at: float) -> Lane:
    known = {intent.number: intent for intent in lane.intents}
    if event.intent not in known or known[event.intent].effect is not None:
        raise IllegalTransition(f"{lane.service}: action {event.intent} cannot end, because it is not under way")
    known[event.intent] = replace(
        known[event.intent],
        effect=event.effect,
        ended_at=at,
        detail=event.detail,
        withheld=event.withheld,
        repeatable=event.repeatable,
    )
    lane = _with(lane, intents=tuple(known.values()))
    if lane.outstanding:
        return lane
    changed = lane.changed or any(intent.effect is Effect.ACCEPTED for intent in lane.intents)
    items = [intent.item for intent in lane.intents if intent.item is not None and intent.may_have_obeyed]
    completed = tuple(dict.fromkeys((*lane.completed, *items)))
    return _enter(lane, Stage.PROVE, at, changed=changed, completed=completed)


def _doubt_resolved(lane: Lane, event: ev.DoubtResolved, at: float) -> Lane:
    intents = tuple(
        replace(intent, disproved=True, partly=event.partly) if intent.number == event.intent else intent
        for intent in lane.intents
    )
    return _with(lane, intents=intents)


def _point_of_no_return(lane: Lane, event: ev.PointOfNoReturnPassed, at: float) -> Lane:
    return _with(lane, status=_move(lane, "commit"))


def _step_done(lane: Lane, event: ev.StepDone, at: float) -> Lane:
    has_changed = any(intent.may_have_obeyed for intent in lane.intents)
    undo = (*lane.undo, event.step) if event.reversible else lane.undo
    # Each action on an item was decided separately and is final, so the step does not count as left changed.
    is_left = has_changed and not event.reversible and all(intent.item is None for intent in lane.intents)
    left = (*lane.left, event.step) if is_left else lane.left
    return _next_step(lane, at, undo=undo, left=left, changed=lane.changed or event.reversible or has_changed)


def _step_failed(lane: Lane, event: ev.StepFailed, at: float) -> Lane:
    told = {"undo_remedy" if event.undo else "remedy": event.remedy}
    return _enter(lane, Stage.FAILED, at, failure=event.why, failure_unknown=event.unknown, gates=(), **told)


def _step_retried(lane: Lane, event: ev.StepRetried, at: float) -> Lane:
    attempts_from = len(lane.intents)
    retried = _enter(lane, Stage.REQUIRE, at, step_at=at, moved_at=at, attempts_from=attempts_from, **_NEW_ATTEMPT)
    if lane.status == "reverting":
        retried = _with(retried, remedy=lane.remedy)
    return _prove_doubts_first(retried)


def _guard_broke(lane: Lane, event: ev.GuardBroke, at: float) -> Lane:
    return _with(lane, guard_broke_at=at, goal_since=None)


def _guard_healed(lane: Lane, event: ev.GuardHealed, at: float) -> Lane:
    # With a gauge, a guard that holds again is not progress by itself. Otherwise the lane would wait without end for a
    # guard that breaks and heals repeatedly.
    since = lane.waiting_since if lane.gauge else None
    return _with(lane, guard_broke_at=None, waiting_since=since, moved_at=_moved_at(lane, at))


def _moved_at(lane: Lane, at: float) -> float:
    """When the gauge last moved, for the stall time. The gauge cannot move while the guard is broken, so that time does
    not count. The time before the guard broke does count."""
    return at if lane.guard_broke_at is None else at - max(0.0, lane.guard_broke_at - lane.moved_at)


def _stalled(lane: Lane, event: ev.Stalled, at: float) -> Lane:
    return _with(lane, stalled=True)


def _gate_opened(lane: Lane, event: ev.GateOpened, at: float) -> Lane:
    return _with(lane, gates=(*lane.gates, event))


def _gate_decided(lane: Lane, event: ev.GateDecided, at: float) -> Lane:
    asked = lane.open_gate(event.gate, event.item)
    gates = tuple(gate for gate in lane.gates if (gate.gate, gate.item) != (event.gate, event.item))
    lane = _with(lane, gates=gates)
    if event.ruling.choice == "accept" and lane.status == "reverting":
        return _with(lane, left=())  # a person accepted the changes that are not undone
    if event.ruling.choice == "revert":
        said = f"decided by {event.ruling.by}: revert ({event.ruling.reason})"
        return _with(lane, turning=said if asked is None else f"{asked.why}; {said}")
    if event.item is not None and event.ruling.choice == "stop":
        return lane  # ``stop`` is not a decision on the item: the question comes again after a resume
    if event.item is not None:
        return _with(lane, rulings={**lane.rulings, (event.step, event.item): event.ruling})
    if event.ruling.choice == "wait":
        broke_at = None if lane.guard_broke_at is None else at
        since = lane.waiting_since
        if since is None and event.ruling.by == "policy":
            since = lane.moved_at if lane.guard_broke_at is None else lane.guard_broke_at
        return _with(lane, guard_broke_at=broke_at, waiting_since=since, moved_at=_moved_at(lane, at), stalled=False)
    return lane


def _gate_withdrawn(lane: Lane, event: ev.GateWithdrawn, at: float) -> Lane:
    gates = tuple(gate for gate in lane.gates if (gate.gate, gate.item) != (event.gate, event.item))
    return _with(lane, gates=gates)


def _escalated(lane: Lane, event: ev.Escalated, at: float) -> Lane:
    at_risk = event.at_risk
    if lane.status == "escalating":  # the second escalation; one unknown number makes the whole number unknown
        earlier = lane.escalated_at_risk
        at_risk = None if at_risk is None or earlier is None else max(at_risk, earlier)
    escalated: dict[str, Any] = {"status": _move(lane, "escalate"), "escalated_at_risk": at_risk}
    if event.stays:
        return _enter(lane, Stage.REQUIRE, at, gates=(), guard_broke_at=None, waiting_since=None, **escalated)
    return _next_step(lane, at, **escalated)


def _revert_started(lane: Lane, event: ev.RevertStarted, at: float) -> Lane:
    reverting = _next_undo(lane, at, event.undo)
    # A service that is rolled back no longer relies on any thing of a site.
    status = _move(lane, "revert")
    return _with(reverting, status=status, reason=event.why, left=event.left, holds=(), turning="", abort=None)


def _undo_done(lane: Lane, event: ev.UndoDone, at: float) -> Lane:
    return _next_undo(lane, at, lane.undo[:-1])


def _next_undo(lane: Lane, at: float, undo: tuple[str, ...]) -> Lane:
    fresh = {**_NEW_ATTEMPT, "remedy": lane.remedy}  # the remedy of what is rolled back
    return _enter(lane, Stage.REQUIRE, at, step_at=at, undo=undo, intents=(), attempts_from=0, **fresh)


def _lane_ended(lane: Lane, event: ev.LaneEnded, at: float) -> Lane:
    status = _move(lane, END_TRIGGERS[event.outcome])
    reason = event.reason or lane.reason
    return _with(
        lane,
        status=status,
        outcome=event.outcome,
        reason=reason,
        given_up=event.left,
        came_from=lane.status,
        abort=None,
        turning="",
        gates=(),
    )


_LANE_FOLDS: Mapping[type, Callable[[Lane, Any, float], Lane]] = {
    ev.LaneStarted: _lane_started,
    ev.LaneResumed: _lane_resumed,
    ev.AbortAsked: _abort_asked,
    ev.AbortDeclined: _abort_declined,
    ev.StepStarted: _step_started,
    ev.ConditionMet: _condition_met,
    ev.StepSkipped: _step_skipped,
    ev.StepWaived: _step_waived,
    ev.GoalReached: _goal_reached,
    ev.GoalLost: _goal_lost,
    ev.RequirementsMet: _requirements_met,
    ev.Observed: _observed,
    ev.ReadingsExpired: _readings_expired,
    ev.StepWaiting: _step_waiting,
    ev.SiteClaimed: _site_claimed,
    ev.ActionIntended: _action_intended,
    ev.ActionEnded: _action_ended,
    ev.DoubtResolved: _doubt_resolved,
    ev.PointOfNoReturnPassed: _point_of_no_return,
    ev.StepDone: _step_done,
    ev.StepFailed: _step_failed,
    ev.StepRetried: _step_retried,
    ev.GuardBroke: _guard_broke,
    ev.GuardHealed: _guard_healed,
    ev.Stalled: _stalled,
    ev.GateOpened: _gate_opened,
    ev.GateDecided: _gate_decided,
    ev.GateWithdrawn: _gate_withdrawn,
    ev.Escalated: _escalated,
    ev.RevertStarted: _revert_started,
    ev.UndoDone: _undo_done,
    ev.LaneEnded: _lane_ended,
}
