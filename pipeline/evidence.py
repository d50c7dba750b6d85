"""A reconciliation as the gate of a fail-back: is this report about this run, these services, and still true?

docs/sources/solace-procedure.md, fail-back: it is safe when every replicated message from before the fail-over has been
consumed, or both sites hold the same messages. A report is true for the time its exports were taken. It goes stale,
because the sites change afterwards. This module needs neither Parquet nor Spark. This file must never check a device.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError
from orchestrator.files import read_document
from orchestrator.model.findings import Finding, Level
from pipeline.report import Report, ServiceReport, decode_report

FRESH_S = 900.0
# A time typed by the operator has no fraction of a second.
_SAME_MOMENT_S = 1.0


def load_evidence(path: Path) -> Report:
    """The report in ``path``. Raises ``DefinitionError``: the file cannot be read, is not a report, or was altered."""
    try:
        data = read_document(path)
    except OSError as error:
        raise DefinitionError(f"this file cannot be read: {error.strerror}", file=path) from error
    return decode_report(data, str(path))


@dataclass(frozen=True, slots=True)
class Return:
    """The fail-back that a report must be evidence for.

    ``run``: the uncontrolled run to undo, None when there is no record of it. ``failover_at``: the time of that run,
    seconds since the epoch. ``acting``: the site that serves now. ``restored``: the site that will serve again.
    """

    run: str | None
    failover_at: float | None
    acting: str
    restored: str
    services: tuple[str, ...]
    simulated: bool = False


def objections(report: Report, wanted: Return, *, now: float, fresh_s: float = FRESH_S) -> list[Finding]:
    """The reasons why this report does not show that failing back is safe now; empty when it does.

    ``now``: seconds since the epoch. A report is fresh for ``fresh_s`` seconds, counted from the older of its two
    snapshots.
    """
    found = [*_about_something_else(report, wanted), *_stale(report, now, fresh_s)]
    told = {service.name: service for service in report.services}
    for name in wanted.services:
        service = told.get(name)
        if service is None:
            found.append(_error("evidence-service", f"the report does not include {name}"))
            continue
        found += _of_another_moment(report, service, wanted)
        if service.verdict != "safe":
            level = Level.UNKNOWN if service.verdict == "unknown" else Level.ERROR
            text = f"{name}: {'; '.join(service.reasons) or service.verdict}"
            found.append(Finding(level=level, code="evidence-verdict", message=text))
    return found


def statement(report: Report, file: str) -> str:
    """The record's sentence about this evidence: the report, its run, and the times of its snapshots."""
    taken = ", ".join(f"{side.site} {iso(side.taken_from)}" for side in (report.left, report.right))
    return f"shown by {file} (sha256 {report.checksum[:16]}), run {report.run or 'none'}, snapshots {taken}"


def _about_something_else(report: Report, wanted: Return) -> list[Finding]:
    found = []
    if report.simulated != wanted.simulated:
        words = ("simulated", "real") if report.simulated else ("real", "simulated")
        found.append(
            _error("evidence-simulated", f"the report is about {words[0]} sites, but these sites are {words[1]}")
        )
    if report.run != wanted.run:
        found.append(_error("evidence-run", _other_run(report.run, wanted.run)))
    if {report.left.site, report.right.site} != {wanted.acting, wanted.restored}:
        both = f"{report.left.site} and {report.right.site}"
        text = f"the report is about {both}, not about {wanted.acting} and {wanted.restored}"
        found.append(_error("evidence-sites", text))
    return found


def _other_run(told: str | None, recorded: str | None) -> str:
    if told is None:
        return f"the snapshots were taken without `--run {recorded}`, so the time of the fail-over is unknown"
    if recorded is None:
        return f"the report is about run {told}, but no record here has a fail-over that is in force"
    return f"the report is about run {told}, not about run {recorded}"


def _of_another_moment(report: Report, service: ServiceReport, wanted: Return) -> list[Finding]:
    """Objections to the report's fail-over time and active site, because the verdict depends on both."""
    found = []
    sites = {"left": report.left.site, "right": report.right.site}
    if service.active is not None and sites[service.active] != wanted.acting:
        text = f"{service.name}: in the report {sites[service.active]} serves, but now {wanted.acting} serves"
        found.append(_error("evidence-active", text))
    told, recorded = service.failover_at, wanted.failover_at
    if told is not None and recorded is not None and abs(told - recorded) > _SAME_MOMENT_S:
        text = f"{service.name}: the fail-over was at {iso(told)} in the report, but at {iso(recorded)} in the record"
        found.append(_error("evidence-moment", text))
    return found


def _stale(report: Report, now: float, fresh_s: float) -> list[Finding]:
    taken = min(report.left.taken_from, report.right.taken_from)
    age = now - taken
    if age < 0:
        return [_error("evidence-future", f"the time of the snapshots, {iso(taken)}, is in the future")]
    if age > fresh_s:
        text = f"the older snapshot was started {age:,.0f} s ago; at most {fresh_s:,.0f} s are accepted"
        return [_error("evidence-stale", text)]
    return []


def _error(code: str, message: str) -> Finding:
    return Finding(level=Level.ERROR, code=code, message=message, hint="collect both sites and reconcile again")
