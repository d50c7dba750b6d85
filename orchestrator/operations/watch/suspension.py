"""How the suspension of a service stands by its record: for a watch that may not begin one, or was stopped in one.

Reads the journal and changes nothing.
"""

from __future__ import annotations

from contextlib import closing

from orchestrator.errors import LeaseHeld
from orchestrator.journal.lease import claims, is_led, service_key
from orchestrator.model import events as ev
from orchestrator.operations.runtime import Tools
from orchestrator.reports.document import RunReport
from orchestrator.reports.report import build

RUNBOOK = "solace/suspend"
_LOOK = "`failover status` shows whether replication is suspended"


def held(tools: Tools, plan: ev.Plan) -> LeaseHeld | None:
    """Why no run of ``plan``, for one service, can begin: one that is not at its end has the service. None: it can."""
    [service] = plan.services
    with closing(tools.journal()) as journal:
        run = claims(journal).get(service_key(plan, service))
        if run is None:
            return None
        if is_led(journal.row(run), tools.clock.now()):
            return LeaseHeld(f"{service} belongs to run {run}, which is led", hint=f"see `failover runs show {run}`")
        is_own = build(journal.records(run)).runbook == RUNBOOK
    whose = f"the suspension of {service}, run {run}," if is_own else f"{service} belongs to run {run}, which"
    return LeaseHeld(f"{whose} stands unfinished, and nobody leads it", hint=_ways_on(run))


def stopped_in(tools: Tools, plan: ev.Plan, since: float) -> tuple[RunReport | None, str, str]:
    """What is known of the run of ``plan`` that somebody stopped in its course: its report, None if it did not begin at
    or after ``since``, seconds since the epoch; a sentence; and what to do."""
    [service] = plan.services
    report = _begun(tools, service, since)
    if report is None:
        return None, f"stopped before the suspension of {service} began: nothing was changed", _LOOK
    it = f"stopped in the suspension of {service}: run {report.run}"
    if report.outcome is None:
        return report, f"{it} stands unfinished", f"{_ways_on(report.run)}\n{_LOOK}"
    return report, f"{it} had ended, {report.outcome}", f"see `failover runs show {report.run}`\n{_LOOK}"


def _ways_on(run: str) -> str:
    return f"go on with it: `failover resume {run}`; or call it off: `failover abort {run}`"


def _begun(tools: Tools, service: str, since: float) -> RunReport | None:
    with closing(tools.journal()) as journal:
        begun = (build(journal.records(row.run)) for row in journal.runs() if row.created_at >= since)
        return next((one for one in begun if one.runbook == RUNBOOK and one.lanes[0].service == service), None)
