"""What earlier runs know: the fail-over that a fail-back takes back, and the last that was read of a site.

Read from the journal alone. What no record tells stays unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator import events as ev
from orchestrator.clock import iso
from orchestrator.journal import Journal
from orchestrator.readings import QueueDepth, ReplicationStatus
from orchestrator.readings_amps import Links
from orchestrator.state import begin, fold

# How far back is looked; an older run says nothing about the night of today.
RUNS_BACK = 200


def last_outage(journal: Journal, service: str, acting: str) -> ev.Outage | None:
    """The newest uncontrolled fail-over of ``service`` to ``acting``, and what was done since; None: no record."""
    suspended = spool_lost = False
    for run, plan in _runs(journal, service):
        if _is(plan, "restore") and plan.target == acting:
            spool_lost = spool_lost or (plan.outage is not None and plan.outage.spool_lost)
        for record in journal.records(run):
            if record.lane == service and _suspends(record.event):
                suspended = True
        if not _is(plan, "uncontrolled") or plan.target != acting:
            continue
        passed = _passed_at(journal, run, service)
        if passed is not None:
            return ev.Outage(at=passed, run=run, suspended=suspended, spool_lost=spool_lost)
    return None


def outages_of(journal: Journal, run: str) -> dict[str, ev.Outage]:
    """By service, the fail-over that ``run`` was, unless a later one took its place; empty for any other run."""
    plan = begin(next(journal.records(run))).plan
    found = {service: last_outage(journal, service, plan.target) for service in plan.services}
    return {service: outage for service, outage in found.items() if outage is not None and outage.run == run}


def restored_by(journal: Journal, service: str, site: str, since: float) -> str | None:
    """The run begun after ``since`` that brought ``service`` back as standby at ``site``; None: no record."""
    for run, plan in _runs(journal, service):
        if plan.source != site or not _is(plan, "restore"):
            continue
        state = fold(journal.records(run))
        if journal.row(run).created_at >= since and state.lanes[service].outcome is ev.Outcome.DONE:
            return run
    return None


def last_known(journal: Journal, service: str, site: str) -> str:
    """The newest stored readings of ``service`` at ``site``, in a sentence; it says unknown when there are none."""
    eligible, queued, linked = "", "", ""
    for run, plan in _runs(journal, service):
        for on, name in (("source", plan.source), ("target", plan.target)):
            if name != site:
                continue
            for record in reversed(list(journal.records(run))):
                if record.lane != service or not isinstance(record.event, ev.Observed):
                    continue
                for seen in record.event.seen:
                    if seen.on == on and isinstance(seen.value, ReplicationStatus) and not eligible:
                        eligible = _eligible(seen.value, seen.asked_at)
                    if seen.on == on and isinstance(seen.value, QueueDepth) and not queued:
                        queued = f"{seen.value.messages} messages queued for the mate at {iso(seen.asked_at)}"
                    if seen.on == on and isinstance(seen.value, Links) and not linked:
                        linked = _linked(seen.value, seen.asked_at)
        if (eligible and queued) or linked:
            break
    if linked:
        return f"last known of {service} at {site}: {linked}"
    return f"last known of {service} at {site}: {eligible or 'sync eligibility unknown'}; {queued or 'queue unknown'}"


def _linked(links: Links, at: float) -> str:
    """How the link to the mate acknowledged, which decides what may be missing there."""
    if links.sync is None:
        return ""
    if links.sync and links.connected is not False:
        return f"its link was sync at {iso(at)}"
    how = "downgraded" if links.downgraded else "async" if not links.sync else "not connected"
    return f"its link was {how.upper()} at {iso(at)}, so the mate may lack messages"


def _eligible(status: ReplicationStatus, at: float) -> str:
    if status.sync_eligible is None:
        return ""
    word = "was" if status.sync_eligible else "was NOT"
    return f"it {word} eligible for synchronous replication at {iso(at)}"


def _is(plan: ev.Plan, kind: str) -> bool:
    """Of this kind, whichever family and variant."""
    return plan.runbook.runbook.partition("/")[2].startswith(kind)


def _runs(journal: Journal, service: str) -> Iterator[tuple[str, ev.Plan]]:
    """Runs that moved ``service``, newest first."""
    for row in journal.runs()[:RUNS_BACK]:
        plan = begin(next(journal.records(row.run))).plan
        if service in plan.services:
            yield row.run, plan


def _passed_at(journal: Journal, run: str, service: str) -> float | None:
    passed = [
        record.at
        for record in journal.records(run)
        if record.lane == service and isinstance(record.event, ev.PointOfNoReturnPassed)
    ]
    return passed[0] if passed else None


def _suspends(event: ev.Event) -> bool:
    is_discard = isinstance(event, ev.ActionIntended) and event.action == "set_reject_on_discard"
    return is_discard and isinstance(event, ev.ActionIntended) and event.args.get("enabled") == "no"
