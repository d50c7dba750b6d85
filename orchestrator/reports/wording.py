"""One sentence per event, for screens and reports. Readings are summarized only if they changed something."""

from __future__ import annotations

import textwrap
from typing import Protocol

from orchestrator.ages import seconds
from orchestrator.core.position import Position
from orchestrator.counting import counted
from orchestrator.model import events as ev
from orchestrator.model.families import amount, words_of
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import is_backlog, reading_called
from orchestrator.model.runbook import Progress
from orchestrator.reports.remedies import at_question

# The most characters of a command in a line of progress. The report has the whole command.
_COMMAND_LENGTH = 120


def sentence(event: ev.Event, plan: ev.Plan) -> str | None:
    """The sentence for ``event``. None for an event that is only bookkeeping."""
    of_run_or_step = _of_run(event) or _of_step(event, plan) or _of_action(event, plan)
    return of_run_or_step or _of_lane(event, plan) or _of_gate(event, plan) or None


def direction(runbook: str, source: str, target: str) -> str:
    """The direction in words, such as ``ny to nj``. For a runbook that does not move a service, the changed site."""
    kind = runbook.partition("/")[2]
    if kind.startswith(("restore", "guard")):
        return f"{source}, whose mate is {target}"
    if kind.startswith("repair"):
        return f"{target} active, {source} standby"
    return f"{target}, while {source} is away" if kind == "suspend" else f"{source} to {target}"


def left(progress: Progress | None, number: float, family: str) -> str:
    """The number that a wait follows, with its unit, such as ``1,200 messages left``. ``family`` is the runbook's
    family."""
    model = None if progress is None else reading_called(progress.reading, family)
    if progress is None or model is None:
        return f"{number:,.0f} left"
    said = model.left.get(progress.field)
    if said is not None:
        return f"{counted(round(number), said.one, said.many)} {said.rest}"
    counts = is_backlog(progress.reading, progress.field, family)
    return f"{amount(round(number), family)} left" if counts else f"{number:,.0f} left"


def outage(position: Position, plan: ev.Plan, now: float) -> str:
    """The duration of an outage that continues, such as ``NO SITE ACTIVE for 12s``. Empty while a site is known to
    serve."""
    if position.both_since is not None:
        return both_active(plan)
    if position.nobody_since is None:
        return ""
    perhaps = "PERHAPS " if position.unread else ""
    what = words_of(plan.runbook.family).none_serves.replace(" IS ", " ")
    return f"{perhaps}{what} for {seconds(max(0.0, now - position.nobody_since))}"


def both_active(plan: ev.Plan) -> str:
    """The alarm for a pair whose sites both serve."""
    return f"BOTH SITES ACTIVE: {plan.source} and {plan.target} were both read active"


class Acted(Protocol):
    """An object that names the person who acted."""

    @property
    def by(self) -> str: ...

    @property
    def account(self) -> str: ...

    @property
    def uid(self) -> int | None: ...


def called(one: Acted) -> str:
    """The name of the person who acted, and the account if it has another name."""
    if one.account in ("", one.by):
        return one.by
    return f"{one.by} (account {one.account}{'' if one.uid is None else f', uid {one.uid}'})"


def _of_run(event: ev.Event) -> str:
    match event:
        case ev.RunCreated():
            plan = event.plan
            way = direction(plan.runbook.runbook, plan.source, plan.target)
            return f"planned by {called(event)}: {plan.runbook.runbook}, {way}"
        case ev.RunStarted():
            return (
                f"led by {called(event)}"
                if event.epoch == 1
                else f"taken over by {called(event)} (epoch {event.epoch})"
            )
        case ev.RunPaused():
            return f"paused: {event.reason}"
        case ev.PolicyChanged():
            return f"decisions changed by {called(event)}"
        case ev.ObserverFailed():
            return f"an observer failed, but the run continues: {event.observer}: {event.text}"
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
            return f"ATTENTION stalled with {left(progress, event.gauge, plan.runbook.family)}; there is no progress"
        case ev.StepWaived():
            return "continues without the values that cannot be read"
        case ev.GoalLost():
            return f"the result no longer holds: {event.why}"
        case ev.PointOfNoReturnPassed():
            return "point of no return passed: rollback is no longer possible"
        case ev.UndoDone():
            return f"{event.step} not rolled back: {event.skipped}" if event.skipped else f"{event.step} rolled back"
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
            return f"the readings are too old to act on{age}; reading again"
        case ev.DoubtResolved():
            how = "only a part of the action's effect" if event.partly else "no effect of the action"
            return f"a reading shows {how} ({event.evidence})"
        case _:
            return ""


def _intended(event: ev.ActionIntended, plan: ev.Plan) -> str:
    words = " ".join((event.action.replace("_", " "), *event.args.values()))
    attempt = f", attempt {event.attempt}" if event.attempt > 1 else ""
    undo = "rolling back: " if event.undo else ""
    return f"{undo}{plan.site_name(event.on)}: {words}{attempt}"


def _ended(event: ev.ActionEnded) -> str:
    detail = f": {event.detail}" if event.detail else ""
    match event.effect:
        case Effect.ACCEPTED:
            # The last command is the change. The commands before it only enter the right mode.
            return f"{event.device}: {textwrap.shorten(event.sent[-1], _COMMAND_LENGTH)}" if event.sent else ""
        case Effect.REJECTED:
            return f"refused by {event.device or 'the device'}{detail}"
        case Effect.NOT_SENT:
            return f"not sent{detail}"
        case Effect.DOUBTFUL:
            return f"in doubt until a reading shows the effect{detail}"


def _of_lane(event: ev.Event, plan: ev.Plan) -> str:
    match event:
        case ev.LaneResumed():
            return f"resumed by {called(event)}; everything is read again"
        case ev.AbortAsked():
            return f"abort asked by {called(event)}" + (f": {event.reason}" if event.reason else "")
        case ev.AbortDeclined():
            return f"abort declined: {event.reason}"
        case ev.GuardBroke():
            return f"ATTENTION {event.why}"
        case ev.GuardHealed():
            return "the condition holds again, continuing"
        case ev.Escalated():
            return f"ESCALATED: continues without the guarantee, {amount(event.at_risk, plan.runbook.family)} at risk"
        case ev.RevertStarted():
            return f"rolling back: {event.why}"
        case ev.LaneEnded():
            return f"ended: {event.outcome}" + (f": {event.reason}" if event.reason else "")
        case _:
            return ""


def _of_gate(event: ev.Event, plan: ev.Plan) -> str:
    match event:
        case ev.GateOpened() if event.approval is not None:
            return f"decision needed: {event.why}: failover approve"
        case ev.GateOpened():
            risk = "" if event.at_risk is None else f" ({amount(event.at_risk, plan.runbook.family)} at risk)"
            why = event.why.removesuffix(".")
            remedy = f"; what to do: {at_question(event.remedy)}" if event.remedy else ""
            return f"decision needed: {why}{risk}: {' / '.join(event.choices)}{remedy}"
        case ev.GateDecided():
            item = f"{event.item}: " if event.item else ""
            return f"decided by {called(event.ruling)}: {item}{event.ruling.choice} ({event.ruling.reason})"
        case ev.ApprovalGiven():
            return f"approved by {called(event)} on {event.host}" + (f": {event.reason}" if event.reason else "")
        case ev.ApprovalRefused():
            return f"the answer of {called(event)} on {event.host} does not count: {event.why}"
        case ev.GateWithdrawn():
            return f"a decision is no longer needed: {event.why}"
        case _:
            return ""
