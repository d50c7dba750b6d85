"""Everything that can happen in a run, as closed, immutable records. All state is a fold of these.

An event says what happened, never what should. Events of one lane carry no service name of their own: the record
around them does (``journal.Record``), and run events have none. Free text in an event has been redacted before it
got here.
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
    """Time and doubt start again: what was read before the interruption is no longer believed."""

    kind: Literal["lane.resumed"] = "lane.resumed"


class AbortAsked(Acted):
    """``leave``: a lane that cannot be rolled back ends where it is, permanently."""

    kind: Literal["abort.asked"] = "abort.asked"
    reason: str
    leave: bool = False


class AbortDeclined(Strict):
    """The lane is past its point of no return, or already on its way back."""

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
    """A person decided to continue though something could not be read. What was read as false cannot be waived."""

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
    """One round of readings, asked together. ``mark`` is the lane's mark when it was asked: a reading that was
    asked before the lane moved on is evidence, and never an argument. ``gauge`` is the number a wait follows."""

    kind: Literal["observed"] = "observed"
    mark: int
    seen: tuple[Seen, ...]
    gauge: float | None = None


class ReadingsExpired(Strict):
    """What was read is too old to act on, so it is read again. ``age_s`` is its age in seconds; None where the process
    itself was away, and its lease had run out. ``is_slow``: it was too old the moment the last device had answered."""

    kind: Literal["readings.expired"] = "readings.expired"
    step: str
    age_s: float | None = None
    is_slow: bool = False


class StepWaiting(Strict):
    """A step cannot act yet because of other services of the site; ``why`` names them. Recorded once an attempt."""

    kind: Literal["step.waiting"] = "step.waiting"
    step: str
    why: str


class SiteClaimed(Strict):
    """The journal granted a claim on something that belongs to the whole site. ``thing`` is the action that changes it.
    From ``hold`` on the service relies on it; with ``release`` it does not, and no other service does."""

    kind: Literal["site.claimed"] = "site.claimed"
    step: str
    on: Side
    thing: str
    claim: Claim


class ActionIntended(Strict):
    """On disk before the device hears anything. ``intent`` numbers the lane's intents from 1."""

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
    """``withheld``: the permit refused it at the last moment, so no device was ever asked."""

    kind: Literal["action.ended"] = "action.ended"
    intent: int
    effect: Effect
    detail: str = ""
    device: str = ""
    sent: tuple[str, ...] = ()
    withheld: bool = False


class DoubtResolved(Strict):
    """A reading showed, after the settle time, that a doubtful action had no effect, or not all of it: ``partly`` says
    that it is not as before either, as when one node of a site obeyed."""

    kind: Literal["doubt.resolved"] = "doubt.resolved"
    intent: int
    evidence: str
    partly: bool = False


class PointOfNoReturnPassed(Strict):
    kind: Literal["point-of-no-return"] = "point-of-no-return"
    step: str


class StepDone(Strict):
    """``reversible``: this step changed something and its undo is owed if the lane rolls back."""

    kind: Literal["step.done"] = "step.done"
    step: str
    reversible: bool = False
    note: str = ""


class StepFailed(Strict):
    kind: Literal["step.failed"] = "step.failed"
    step: str
    why: str
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
    """A decision is needed. ``at_risk``: messages that would be lost by under way; None when not known.

    ``approval``: the question is one of the run, about its whole plan; it has no lane and no step then.
    """

    kind: Literal["gate.opened"] = "gate.opened"
    gate: str
    step: str
    choices: tuple[Answer, ...]
    unattended: Answer
    why: str
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
    """The question answered itself while it was being asked."""

    kind: Literal["gate.withdrawn"] = "gate.withdrawn"
    gate: str
    why: str
    item: str | None = None


class Escalated(Strict):
    """``stays``: the step has an action still to do, which no longer needs the guarantee; otherwise it is left."""

    kind: Literal["lane.escalated"] = "lane.escalated"
    step: str
    at_risk: int | None
    ruling: Ruling
    stays: bool = False


class RevertStarted(Strict):
    """``undo``: the steps to roll back, in the order they were done; the last one first. ``left``: steps that changed
    something and have no undo."""

    kind: Literal["revert.started"] = "revert.started"
    why: str
    undo: tuple[str, ...]
    left: tuple[str, ...] = ()


class UndoDone(Strict):
    """``skipped`` says why a step has nothing to undo, or cannot be undone; empty when it was."""

    kind: Literal["undo.done"] = "undo.done"
    step: str
    skipped: str = ""


class LaneEnded(Strict):
    """``left``: an operator left it as it is, so that no resume takes it further."""

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
    """The event a journal line holds. Raises ``pydantic.ValidationError``."""
    event: Event = _EVENTS.validate_json(text)
    return event


class Record(NamedTuple):
    """An event with its place: ``seq`` counts from 1 within the run; ``at`` is seconds since the epoch."""

    run: str
    seq: int
    at: float
    lane: str | None
    event: Event
