"""The time that a run has: once it is over, every service that still can is rolled back, and the others are told so.

It counts from the start of the run, or from the approval that let it start, by its record: a run that is resumed has no
more time than the one that was interrupted.
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
    """When the time is over, in the record's time; None: there is no limit, or the run has not started, or it waits for
    the approval that lets it start."""
    limit = run.plan.policy.timeout
    waits = run.plan.approval is not None and not run.approvals.is_granted and not run.has_started
    return None if limit is None or run.began_at is None or waits else run.began_at + limit


class Deadline:
    """Of the run that this process leads. Each service is told once by each process."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._wakes_at: float | None = None

    def wake_at(self, draft: Draft) -> float | None:
        """When the engine has to wake for it, the first time that this is known; else None."""
        due = due_at(draft.run)
        if due is None or due == self._wakes_at or draft.at >= due:
            return None
        self._wakes_at = due
        return due

    def expired(self, draft: Draft) -> Iterator[tuple[str, ev.AbortAsked]]:
        """What is to be asked of which services, now that the time is over; nothing before."""
        due, limit = due_at(draft.run), draft.run.plan.policy.timeout
        if due is None or limit is None or draft.at < due:
            return
        for service in draft.run.lanes:
            lane = draft.lane(service)
            if service not in self._told and lane.abort is None and lane.status in _CONCERNED:
                self._told.add(service)
                yield service, ev.AbortAsked(by=BY, reason=f"not done within {format_duration(limit)}")
