"""The time limit of a run. When it is over, each lane that has not ended and is not reverting gets an abort request. A
lane that can no longer be rolled back declines the request.

The time counts, by the record, from the start of the run or from the approval that allowed it to start. A resume does not
extend the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.core.run import Run
from orchestrator.engine.turn import Draft
from orchestrator.model import events as ev
from orchestrator.model.runbook import format_duration

BY = "--timeout"
_CONCERNED = ("ready", "running", "committed", "escalating")


def due_at(run: Run) -> float | None:
    """When the time is over, in the time of the record. None: there is no limit, or the run has not started, or the run
    waits for the approval that allows it to start."""
    limit = run.plan.policy.timeout
    waits = run.plan.approval is not None and not run.approvals.is_granted and not run.has_started
    return None if limit is None or run.began_at is None or waits else run.began_at + limit


class Deadline:
    """The deadline of the run that this process leads. Each process asks each service once."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._wakes_at: float | None = None

    def wake_at(self, draft: Draft) -> float | None:
        """When the engine has to wake for the deadline. Returned once, when it is first known; else None."""
        due = due_at(draft.run)
        if due is None or due == self._wakes_at or draft.at >= due:
            return None
        self._wakes_at = due
        return due

    def expired(self, draft: Draft) -> Iterator[tuple[str, ev.AbortAsked]]:
        """The services to abort, each with its abort request, once the time is over. Nothing before."""
        due, limit = due_at(draft.run), draft.run.plan.policy.timeout
        if due is None or limit is None or draft.at < due:
            return
        for service in draft.run.lanes:
            lane = draft.lane(service)
            if service not in self._told and lane.abort is None and lane.status in _CONCERNED:
                self._told.add(service)
                yield service, ev.AbortAsked(by=BY, reason=f"the run was not done within {format_duration(limit)}")
