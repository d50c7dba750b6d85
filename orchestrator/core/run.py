"""State as a fold of events. Pure: no time of its own, no I/O, no randomness, no decisions.

``Run`` holds the lanes, each folded by ``lane_fold``, and folds the run's own events. A record that the lifecycle table
does not allow raises ``IllegalTransition`` before anything else sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.core.approvals import APPROVAL_GATE, fold_approvals
from orchestrator.core.approvals import Approvals as Approvals
from orchestrator.core.lane import Intent as Intent
from orchestrator.core.lane import Lane as Lane
from orchestrator.core.lane import Stage as Stage
from orchestrator.core.lane_fold import fold_lane as fold_lane
from orchestrator.core.lifecycle import RUN_REFEREE
from orchestrator.errors import IllegalTransition
from orchestrator.model import events as ev


@dataclass(slots=True)
class Run:
    """A run and its lanes, by service name, in the order of the plan. ``began_at``: when its lanes were first allowed to
    start, seconds since the epoch; None: not yet."""

    plan: ev.Plan
    status: str = "planned"
    epoch: int = 0
    lanes: dict[str, Lane] = field(default_factory=dict)
    outcome: ev.Outcome | None = None
    seq: int = 0
    last_at: float = 0.0
    began_at: float | None = None
    approvals: Approvals = field(default_factory=Approvals)

    def fold(self, record: ev.Record) -> None:
        """Apply one record. Raises ``IllegalTransition``; the run is then unchanged."""
        if record.lane is not None:
            if record.lane not in self.lanes:
                raise IllegalTransition(f"{record.lane} is not a service of this run")
            self.lanes[record.lane] = fold_lane(self.lanes[record.lane], record.event, record.at)
        else:
            self._fold_own(record.event)
            self._note_start(record.event, record.at)
        self.seq, self.last_at = record.seq, record.at

    def _fold_own(self, event: ev.Event) -> None:
        status = next_status(self.status, event)
        self.approvals = fold_approvals(self.approvals, event)
        self.status = status
        match event:
            case ev.RunStarted():
                self.epoch, self.outcome = event.epoch, None
            case ev.RunFinished():
                self.outcome = event.outcome
            case ev.PolicyChanged():
                terms = self.plan.approval if event.approval is None else event.approval
                self.plan = self.plan.model_copy(update={"policy": event.policy, "approval": terms})

    def _note_start(self, event: ev.Event, at: float) -> None:
        """The time limit of a run counts from its first process, or from the approval that allowed it to start. Later
        approvals, of other decisions, do not extend the time."""
        is_first = isinstance(event, ev.RunStarted) and self.began_at is None
        lets_start = isinstance(event, ev.GateDecided) and event.gate == APPROVAL_GATE
        if is_first or (lets_start and not self.has_started):
            self.began_at = at

    @property
    def has_started(self) -> bool:
        """Has a lane started?"""
        return any(lane.status not in ("ready", "refused") for lane in self.lanes.values())

    @property
    def is_open(self) -> bool:
        """Is there a lane that has not ended yet?"""
        return not all(lane.ended for lane in self.lanes.values())


def next_status(status: str, event: ev.Event) -> str:
    """The status of a run after ``event``, one of its own. Raises ``IllegalTransition``."""
    match event:
        case ev.RunStarted():
            return RUN_REFEREE.next(status, "start")
        case ev.RunPaused():
            return RUN_REFEREE.next(status, "pause")
        case ev.RunFinished():
            return RUN_REFEREE.next(status, "finish")
        case ev.GateOpened() | ev.GateDecided() | ev.GateWithdrawn() | ev.ApprovalGiven() | ev.ApprovalRefused():
            return status
        case ev.PolicyChanged() | ev.ObserverFailed():
            return status
        case _:
            raise IllegalTransition(f"{event.kind} is not an event of a run")


def begin(created: ev.Record) -> Run:
    """The run that its first record describes. Raises ``IllegalTransition`` if that record is not ``run.created``."""
    if not isinstance(created.event, ev.RunCreated):
        raise IllegalTransition(f"a run starts with run.created, not with {created.event.kind}")
    plan = created.event.plan
    lanes = {service: Lane(service) for service in plan.services}
    return Run(plan, lanes=lanes, seq=created.seq, last_at=created.at)


def fold(records: Iterable[ev.Record]) -> Run:
    """The state after all ``records``, from ``run.created`` on."""
    stream = iter(records)
    run = begin(next(stream))
    for record in stream:
        run.fold(record)
    return run


# From best to worst. The outcome of a run is the worst outcome of its lanes.
SEVERITY = (
    ev.Outcome.DONE,
    ev.Outcome.REFUSED,
    ev.Outcome.REVERTED,
    ev.Outcome.ESCALATED,
    ev.Outcome.NEEDS_OPERATOR,
    ev.Outcome.STUCK,
)


def worst(outcomes: Iterable[ev.Outcome]) -> ev.Outcome:
    """The outcome of a run whose lanes ended with ``outcomes`` (at least one)."""
    return max(outcomes, key=SEVERITY.index)
