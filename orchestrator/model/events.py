"""All events of a run, as a closed set of immutable models. All state is a fold of these events.

An event describes something that happened, never an intention for later. An event of a lane has no service name: the
record around it (``Record``) has one. Events of the run have no service. Free text in an event has been redacted before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from orchestrator.model.events_run import Acted, Strict
from orchestrator.model.events_run import ApprovalGiven as ApprovalGiven
from orchestrator.model.events_run import ApprovalRefused as ApprovalRefused
from orchestrator.model.events_run import ApprovalSought as ApprovalSought
from orchestrator.model.events_run import ObserverFailed as ObserverFailed
from orchestrator.model.events_run import PolicyChanged as PolicyChanged
from orchestrator.model.events_run import RunCreated as RunCreated
from orchestrator.model.events_run import RunFinished as RunFinished
from orchestrator.model.events_run import RunPaused as RunPaused
from orchestrator.model.events_run import RunStarted as RunStarted
from orchestrator.model.inventory import ApprovalPolicy as ApprovalPolicy
from orchestrator.model.outcome import Effect
from orchestrator.model.plan import ApprovalRule as ApprovalRule
from orchestrator.model.plan import Outage as Outage
from orchestrator.model.plan import Outcome as Outcome
from orchestrator.model.plan import Plan as Plan
from orchestrator.model.plan import Policy as Policy
from orchestrator.model.plan import Prediction as Prediction
from orchestrator.model.plan import Ruling as Ruling
from orchestrator.model.plan import Seen as Seen
from orchestrator.model.plan import Signed as Signed
from orchestrator.model.plan import Waves as Waves
from orchestrator.model.plan import Who as Who
from orchestrator.model.runbook import Answer, Claim, Side


class LaneStarted(Strict):
    kind: Literal["lane.started"] = "lane.started"


class LaneResumed(Acted):
    """The lane was resumed. Times and doubts start again, and readings from before the interruption no longer count."""

    kind: Literal["lane.resumed"] = "lane.resumed"


class AbortAsked(Acted):
    """A person or the program asked to abort. ``leave``: a lane that cannot be rolled back ends at its present step,
    permanently."""

    kind: Literal["abort.asked"] = "abort.asked"
    reason: str
    leave: bool = False


class AbortDeclined(Strict):
    """The lane cannot be aborted: it is, or may be, past the point of no return, is reverting, or other services rely on
    its changes."""

    kind: Literal["abort.declined"] = "abort.declined"
    reason: str


class StepStarted(Strict):
    kind: Literal["step.started"] = "step.started"
    step: str


class RequirementsMet(Strict):
    kind: Literal["step.ready"] = "step.ready"
    step: str


class ConditionMet(Strict):
    """The ``only_if`` of a step holds."""

    kind: Literal["step.applies"] = "step.applies"
    step: str


class StepSkipped(Strict):
    kind: Literal["step.skipped"] = "step.skipped"
    step: str
    why: str


class StepWaived(Strict):
    """A person decided to continue although a value is unknown. A check that was read as false cannot be waived."""

    kind: Literal["step.waived"] = "step.waived"
    step: str


class GoalReached(Strict):
    kind: Literal["goal.reached"] = "goal.reached"
    step: str


class GoalLost(Strict):
    kind: Literal["goal.lost"] = "goal.lost"
    step: str
    why: str


class Observed(Strict):
    """One round of readings, asked together. ``mark``: the mark of the lane when the round was asked for. Readings from
    before a new stage are kept as evidence, but no decision uses them. ``gauge``: the number that a wait follows."""

    kind: Literal["observed"] = "observed"
    mark: int
    seen: tuple[Seen, ...]
    gauge: float | None = None


class ReadingsExpired(Strict):
    """The readings are too old to act on, so they are taken again. ``age_s``: their age in seconds; None if the process
    was suspended until its lease had expired. ``is_slow``: the devices were too slow, so the readings were too old when
    the last device answered."""

    kind: Literal["readings.expired"] = "readings.expired"
    step: str
    age_s: float | None = None
    is_slow: bool = False


class StepWaiting(Strict):
    """A step cannot act yet because of other services of the site. ``why`` names them. Recorded once for each attempt."""

    kind: Literal["step.waiting"] = "step.waiting"
    step: str
    why: str


class SiteClaimed(Strict):
    """The journal granted a claim on a thing of the whole site. ``thing``: the action that changes the thing. From
    ``hold`` on, the service relies on the thing. With ``release``, neither this service nor another one relies on it."""

    kind: Literal["site.claimed"] = "site.claimed"
    step: str
    on: Side
    thing: str
    claim: Claim


class ActionIntended(Strict):
    """An action is intended. Recorded on disk before anything is sent. ``intent`` numbers the lane's intents from 1."""

    kind: Literal["action.intended"] = "action.intended"
    intent: int
    step: str
    on: Side
    action: str
    args: Mapping[str, str]
    attempt: int
    item: str | None = None
    undo: bool = False


class ActionEnded(Strict):
    """An action ended. ``withheld``: the permit refused the action right before it was sent, so no device received it.
    ``repeatable``: it was accepted, and sending it twice has the effect of sending it once."""

    kind: Literal["action.ended"] = "action.ended"
    intent: int
    effect: Effect
    detail: str = ""
    device: str = ""
    sent: tuple[str, ...] = ()
    withheld: bool = False
    repeatable: bool = False


class DoubtResolved(Strict):
    """A reading showed, after the settle time, that the effect of an action is not there, or only a part of it
    (``partly``), for example on one node of a site. The action was doubtful. Or it was accepted and is repeatable, and
    its step is tried again."""

    kind: Literal["doubt.resolved"] = "doubt.resolved"
    intent: int
    evidence: str
    partly: bool = False


class PointOfNoReturnPassed(Strict):
    kind: Literal["point-of-no-return"] = "point-of-no-return"
    step: str


class StepDone(Strict):
    """A step is done. ``reversible``: the step changed something, and a rollback of the lane must undo it."""

    kind: Literal["step.done"] = "step.done"
    step: str
    reversible: bool = False
    note: str = ""


class StepFailed(Strict):
    """The step cannot be done. ``remedy``: what an operator does about it, or empty if that is not known."""

    kind: Literal["step.failed"] = "step.failed"
    step: str
    why: str
    remedy: str = ""
    undo: bool = False
    unknown: bool = False


class StepRetried(Strict):
    kind: Literal["step.retried"] = "step.retried"
    step: str


class GuardBroke(Strict):
    kind: Literal["guard.broke"] = "guard.broke"
    step: str
    why: str


class GuardHealed(Strict):
    kind: Literal["guard.healed"] = "guard.healed"
    step: str


class Stalled(Strict):
    kind: Literal["drain.stalled"] = "drain.stalled"
    step: str
    gauge: float


class GateOpened(Strict):
    """A decision is needed. ``at_risk``: how many messages would be lost by continuing; None if unknown. ``remedy``:
    what an operator does about the failed step that the question is about, or empty if that is not known.

    ``approval``: the question is about the whole plan of the run, and has no lane and no step.
    """

    kind: Literal["gate.opened"] = "gate.opened"
    gate: str
    step: str
    choices: tuple[Answer, ...]
    unattended: Answer
    why: str
    remedy: str = ""
    item: str | None = None
    at_risk: int | None = None
    approval: ApprovalSought | None = None


class GateDecided(Strict):
    kind: Literal["gate.decided"] = "gate.decided"
    gate: str
    step: str
    ruling: Ruling
    item: str | None = None


class GateWithdrawn(Strict):
    """The question is no longer open, because its cause is gone or it was replaced. ``why`` says the reason."""

    kind: Literal["gate.withdrawn"] = "gate.withdrawn"
    gate: str
    why: str
    item: str | None = None


class Escalated(Strict):
    """The guarantee was given up. ``stays``: the lane stays at this step, whose action is still to do and no longer needs
    the guarantee. Otherwise the lane continues with the next step."""

    kind: Literal["lane.escalated"] = "lane.escalated"
    step: str
    at_risk: int | None
    ruling: Ruling
    stays: bool = False


class RevertStarted(Strict):
    """The rollback of a lane started. ``undo``: the steps to roll back, in the order in which they were done; the last
    one is rolled back first. ``left``: steps that changed something and have no undo."""

    kind: Literal["revert.started"] = "revert.started"
    why: str
    undo: tuple[str, ...]
    left: tuple[str, ...] = ()


class UndoDone(Strict):
    """A step was rolled back, or skipped. ``skipped``: why the step has nothing to undo, or cannot be undone; empty if it
    was undone."""

    kind: Literal["undo.done"] = "undo.done"
    step: str
    skipped: str = ""


class LaneEnded(Strict):
    """The lane ended. ``left``: an operator left the lane as it is, so no resume can continue it."""

    kind: Literal["lane.ended"] = "lane.ended"
    outcome: Outcome
    reason: str = ""
    left: bool = False


Event = Annotated[
    RunCreated
    | RunStarted
    | RunPaused
    | PolicyChanged
    | ObserverFailed
    | RunFinished
    | LaneStarted
    | LaneResumed
    | AbortAsked
    | AbortDeclined
    | StepStarted
    | ConditionMet
    | StepSkipped
    | StepWaived
    | GoalReached
    | GoalLost
    | RequirementsMet
    | Observed
    | ReadingsExpired
    | StepWaiting
    | SiteClaimed
    | ActionIntended
    | ActionEnded
    | DoubtResolved
    | PointOfNoReturnPassed
    | StepDone
    | StepFailed
    | StepRetried
    | GuardBroke
    | GuardHealed
    | Stalled
    | GateOpened
    | GateDecided
    | GateWithdrawn
    | ApprovalGiven
    | ApprovalRefused
    | Escalated
    | RevertStarted
    | UndoDone
    | LaneEnded,
    Field(discriminator="kind"),
]

_EVENTS = TypeAdapter(Event).validator


def event_from_json(text: str | bytes) -> Event:
    """The event in a line of the journal. Raises ``pydantic.ValidationError``."""
    event: Event = _EVENTS.validate_json(text)
    return event


class Record(NamedTuple):
    """An event with its position. ``seq`` counts from 1 within the run. ``at``: seconds since the epoch. ``lane``: the
    service; None for an event of the run."""

    run: str
    seq: int
    at: float
    lane: str | None
    event: Event
