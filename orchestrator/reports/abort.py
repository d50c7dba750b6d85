"""The outcome of an abort. Only a service that was rolled back or never started was aborted. All others are named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.model import events as ev
from orchestrator.reports.alarms import named_in, who_serves
from orchestrator.reports.document import LaneReport, RunReport

NOT_ABORTED_EXIT_CODE = 10

_ABORTED = frozenset({ev.Outcome.REVERTED, ev.Outcome.REFUSED})
_STOPPED = frozenset({ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK})
_WHY: Mapping[ev.Outcome | None, str] = {
    ev.Outcome.DONE: "the procedure was already done",
    ev.Outcome.ESCALATED: "the procedure was already done, without the guarantee",
    ev.Outcome.NEEDS_OPERATOR: "the procedure stopped at its present step",
    ev.Outcome.STUCK: "the procedure could not be rolled back",
}


@dataclass(frozen=True, slots=True)
class AbortVerdict:
    """``text`` names the services that were not aborted, with the reason and their present state. Empty if all services
    were aborted."""

    text: str
    exit_code: int

    def as_data(self) -> dict[str, object]:
        """The JSON result of the command."""
        return {"aborted": not self.text, "message": self.text, "exit_code": self.exit_code}


def verdict_on_abort(report: RunReport, waits: str = "") -> AbortVerdict:
    """The verdict on an abort of the run. ``waits`` is the reason why the outcome is not known yet, for a run that
    another process leads."""
    ways: dict[str, list[str]] = {}
    for lane in report.lanes:
        if lane.outcome not in _ABORTED:
            way = f"{_why(lane, waits)}; {who_serves(report.source, report.target, lane)}"
            ways.setdefault(way, []).append(lane.service)
    if not ways:
        return AbortVerdict("", report.exit_code)
    text = ". ".join(f"{named_in(services)}: {way}" for way, services in ways.items())
    is_stopped = not waits and (report.status == "paused" or report.outcome in _STOPPED)
    return AbortVerdict(f"NOT ABORTED: {text}", report.exit_code if is_stopped else NOT_ABORTED_EXIT_CODE)


def has_answered(lane: LaneReport) -> bool:
    """Is the outcome of an abort of this service known?"""
    return lane.outcome not in (None, *_STOPPED) or bool(lane.not_aborted)


def _why(lane: LaneReport, waits: str) -> str:
    if lane.not_aborted:
        return lane.not_aborted
    if lane.status == "reverting":
        return "the rollback is not finished"
    if waits and not has_answered(lane):
        return waits
    return _WHY.get(lane.outcome, "the procedure is not finished")
