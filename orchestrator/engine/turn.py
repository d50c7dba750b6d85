"""The draft of the records of one turn of the engine. No decisions, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.core.approvals import Approvals, fold_approvals
from orchestrator.core.lane_fold import fold_lane
from orchestrator.core.run import Lane, Run, next_status
from orchestrator.engine.dispatch import Act, Ended
from orchestrator.model import events as ev


@dataclass(slots=True)
class Draft:
    """The events in order, the state after them (lanes, status and approvals of the run), and the actions they intend.

    ``at`` is in the time of the record, which is ``ahead`` seconds ahead of this machine's clock."""

    run: Run
    at: float
    ahead: float = 0.0
    approvals: Approvals = field(init=False)
    status: str = field(init=False)
    events: list[tuple[str | None, ev.Event]] = field(default_factory=list)
    lanes: dict[str, Lane] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)  # numbers of the inbox requests that this draft answers

    def __post_init__(self) -> None:
        self.approvals, self.status = self.run.approvals, self.run.status

    def lane(self, service: str) -> Lane:
        """The lane after the events of this draft."""
        return self.lanes.get(service) or self.run.lanes[service]

    def add(self, service: str, event: ev.Event) -> None:
        """Add an event of a lane. Raises ``IllegalTransition``."""
        before = self.lane(service)
        self.lanes[service] = fold_lane(before, event, self.at)
        self.events.append((service, event))
        if isinstance(event, ev.ActionIntended):
            good_until = self._good_until(before, event.step)
            self.acts.append(Act(service, event.intent, event.on, event.action, event.args, good_until))

    def _good_until(self, lane: Lane, step: str) -> float:
        """Until when an action may be sent, by this machine's clock: after that its readings are too old."""
        runbook = self.run.plan.runbook
        read_at = lane.seen_at if lane.seen_mark == lane.mark else self.at
        return read_at + runbook.steps[runbook.index_of(step)].max_age - self.ahead

    def add_own(self, event: ev.Event) -> None:
        """Add an event of the run itself. Raises ``IllegalTransition``."""
        status, approvals = next_status(self.status, event), fold_approvals(self.approvals, event)
        self.status, self.approvals = status, approvals
        self.events.append((None, event))


def ended(done: Ended) -> ev.ActionEnded:
    """The event of an action that ended."""
    result = done.result
    return ev.ActionEnded(
        intent=done.intent,
        effect=result.effect,
        detail=result.detail,
        device=result.device,
        sent=result.sent,
        withheld=done.withheld,
        repeatable=done.repeatable,
    )
