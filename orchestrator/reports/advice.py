"""What to do next, for each way a lane can end. Sentences for a person at three in the morning."""

from __future__ import annotations

from orchestrator import events as ev
from orchestrator.reports.report import LaneReport, RunReport


def advice(report: RunReport, lane: LaneReport) -> str:
    """The next thing to do about ``lane``, or empty."""
    match lane.outcome:
        case ev.Outcome.DONE:
            return ""
        case ev.Outcome.REFUSED:
            return _after_refusal(report, lane)
        case ev.Outcome.REVERTED:
            return (
                f"{report.source} is active again and nothing was lost. Mend the cause, look with `failover status`, "
                "and run it again."
            )
        case ev.Outcome.ESCALATED:
            return _after_escalation(report, lane)
        case ev.Outcome.NEEDS_OPERATOR:
            return (
                f"Nothing goes on by itself. Go on: `failover resume {report.run}`. "
                f"Give activity back, if that is still possible: `failover abort {report.run}`."
            )
        case ev.Outcome.STUCK:
            return (
                "A change could not be taken back. Look at both sites (`failover status`), mend the cause, and let "
                f"it try again: `failover resume {report.run}`."
            )
        case None:
            return f"It is not at its end. Go on: `failover resume {report.run}`."


def _after_refusal(report: RunReport, lane: LaneReport) -> str:
    if "does not have activity" in lane.reason and "role standby" in lane.reason:
        return (
            f"Nothing was changed. Look with `failover status`. If {report.target} is active and you want activity "
            f"back at {report.source}: `failover controlled --vpn {lane.service} --from {report.target}`."
        )
    return "Nothing was changed. Mend the cause, look with `failover status`, and run it again."


def _after_escalation(report: RunReport, lane: LaneReport) -> str:
    risk = "An unknown number of" if lane.at_risk_messages is None else str(lane.at_risk_messages)
    return (
        f"{risk} messages may be held by {report.source} alone. Keep its message spool, and keep clients away "
        "from it until both sites are synchronised."
    )
