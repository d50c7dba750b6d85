"""One sentence per event, for screens and reports. Readings are summed up only where they changed something."""

from __future__ import annotations

from orchestrator import events as ev
from orchestrator.contract import Effect
from orchestrator.counting import counted
from orchestrator.runbook import Progress


def sentence(event: ev.Event, plan: ev.Plan) -> str | None:
    """What ``event`` means for a person; None for what is only bookkeeping."""
    text = _of_run(event) or _of_step(event, plan) or _of_action(event, plan) or _of_lane(event) or _of_gate(event)
    return text or None


def left(progress: Progress | None, number: float) -> str:
    """``1,200 messages left``: the number that a wait follows, as what it is."""
    kind = (progress.reading, progress.field) if progress is not None else ("", "")
    if kind == ("links", "behind_s"):
        return f"{number:,.0f}s behind"
    what, rest = _LEFT.get(kind, ("message", "left"))
    return f"{counted(round(number), what)} {rest}"


# What is not counted in messages that are left.
_LEFT = {
    ("clients", "count"): ("client", "still connected"),
    ("queues", "owned"): ("queue message", "still owned"),
}


def _of_run(event: ev.Event) -> str:
    match event:
        case ev.RunCreated():
            return f"planned by {event.by}: {event.plan.runbook.runbook}, {event.plan.source} to {event.plan.target}"
        case ev.RunStarted():
            return f"led by {event.by}" if event.epoch == 1 else f"taken over by {event.by} (epoch {event.epoch})"
        case ev.RunPaused():
            return f"paused: {event.reason}"
        case ev.PolicyChanged():
            return f"decisions changed by {event.by}"
        case ev.ObserverFailed():
            return f"watching failed, the run goes on: {event.observer}: {event.text}"
        case ev.RunFinished():
            return f"the run ended: {event.outcome}"
        case _:
            return ""


def _of_step(event: ev.Event, plan: ev.Plan) -> str:
    match event:
        case ev.StepStarted():
            return plan.runbook.steps[plan.runbook.index_of(event.step)].title
        case ev.StepDone():
            return f"done: {event.note}" if event.note else "done"
        case ev.StepFailed():
            return f"failed: {event.why}"
        case ev.StepRetried():
            return "trying again"
        case ev.StepWaiting():
            return f"waiting: {event.why}"
        case ev.StepSkipped():
            return f"left out: {event.why}"
        case ev.Stalled():
            progress = plan.runbook.steps[plan.runbook.index_of(event.step)].progress
            return f"ATTENTION stalled with {left(progress, event.gauge)}; this is not just slow"
        case ev.StepWaived():
            return "goes on without what cannot be read"
        case ev.GoalLost():
            return f"no longer as it should be: {event.why}"
        case ev.PointOfNoReturnPassed():
            return "from here on the only way is forward"
        case ev.UndoDone():
            return f"{event.step} not taken back: {event.skipped}" if event.skipped else f"{event.step} taken back"
        case _:
            return ""


def _of_action(event: ev.Event, plan: ev.Plan) -> str:
    match event:
        case ev.ActionIntended():
            return _intended(event, plan)
        case ev.ActionEnded():
            return _ended(event)
        case ev.SiteClaimed():
            says = "this service relies on" if event.claim == "hold" else "no other service relies on"
            return f"{plan.site_name(event.on)}: {says} {event.thing}"
        case ev.ReadingsExpired():
            age = "" if event.age_s is None else f" ({event.age_s:.0f}s)"
            return f"what was read is too old to act on{age}; reading again"
        case ev.DoubtResolved():
            how = "only a part of its effect" if event.partly else "no effect"
            return f"a reading shows that it had {how} ({event.evidence})"
        case _:
            return ""


def _intended(event: ev.ActionIntended, plan: ev.Plan) -> str:
    arguments = " ".join(f"{name}={value}" for name, value in event.args.items())
    attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
    undo = "taking back: " if event.undo else ""
    return f"{undo}{plan.site_name(event.on)}: {event.action} {arguments}".rstrip() + attempt


def _ended(event: ev.ActionEnded) -> str:
    detail = f": {event.detail}" if event.detail else ""
    match event.effect:
        case Effect.ACCEPTED:
            return ""
        case Effect.REJECTED:
            return f"refused by {event.device or 'the device'}{detail}"
        case Effect.NOT_SENT:
            return f"not sent{detail}"
        case Effect.DOUBTFUL:
            return f"in doubt, to be settled by reading{detail}"


def _of_lane(event: ev.Event) -> str:
    match event:
        case ev.LaneResumed():
            return f"resumed by {event.by}; everything is read anew"
        case ev.AbortAsked():
            return f"to be called off: {event.by}" + (f": {event.reason}" if event.reason else "")
        case ev.AbortDeclined():
            return f"cannot be called off: {event.reason}"
        case ev.GuardBroke():
            return f"ATTENTION {event.why}"
        case ev.GuardHealed():
            return "holds again, going on"
        case ev.Escalated():
            risk = "an unknown number of messages" if event.at_risk is None else counted(event.at_risk, "message")
            return f"ESCALATED: goes on without the guarantee, {risk} at risk"
        case ev.RevertStarted():
            return f"turning back: {event.why}"
        case ev.LaneEnded():
            return f"ended: {event.outcome}" + (f": {event.reason}" if event.reason else "")
        case _:
            return ""


def _of_gate(event: ev.Event) -> str:
    match event:
        case ev.GateOpened() if event.approval is not None:
            return f"decision needed: {event.why}: failover approve"
        case ev.GateOpened():
            risk = "" if event.at_risk is None else f" ({counted(event.at_risk, 'message')} at risk)"
            why = event.why.removesuffix(".")
            return f"decision needed: {why}{risk}: {' / '.join(event.choices)}"
        case ev.GateDecided():
            item = f"{event.item}: " if event.item else ""
            return f"decided by {event.ruling.by}: {item}{event.ruling.choice} ({event.ruling.reason})"
        case ev.ApprovalGiven():
            return f"approved by {event.by} on {event.host}" + (f": {event.reason}" if event.reason else "")
        case ev.ApprovalRefused():
            return f"the word of {event.by} on {event.host} does not count: {event.why}"
        case ev.GateWithdrawn():
            return f"no decision needed any more: {event.why}"
        case _:
            return ""
