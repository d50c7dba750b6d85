"""A reconciliation as the gate of a fail-back: is this report about this run, these services, and still true?

Seed 003, "Failing Back to Restored Sites": it is safe when every replicated message of before the fail-over has been
consumed, or both sites hold the same. A report says so of the moment its exports were taken; it goes stale, since what
held then need not hold now. Needs neither Parquet nor Spark. This file must never look at a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.clock import iso
from orchestrator.errors import DefinitionError
from orchestrator.findings import Finding, Level
from pipeline.report import Report, decode_report

FRESH_S = 900.0


def load_evidence(path: Path) -> Report:
    """The report in ``path``. Raises ``DefinitionError``: it cannot be read, is none, or was altered."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DefinitionError(f"cannot be read: {error.strerror}", file=path) from error
    return decode_report(data, str(path))


def objections(
    report: Report,
    *,
    run: str | None,
    sites: Sequence[str],
    services: Sequence[str],
    now: float,
    fresh_s: float = FRESH_S,
) -> list[Finding]:
    """Why this report does not show that failing back is safe now; nothing when it does.

    ``run``: the uncontrolled run that is to be undone, None when there is no record of it. ``sites``: the two of the
    pair. ``services``: those to be moved. ``now``: seconds since the epoch. A report is fresh for ``fresh_s`` seconds,
    counted from the older of its two snapshots.
    """
    found = [*_about_something_else(report, run, sites), *_stale(report, now, fresh_s)]
    told = {service.name: service for service in report.services}
    for name in services:
        service = told.get(name)
        if service is None:
            found.append(_error("evidence-service", f"the report does not tell of {name}"))
        elif service.verdict != "safe":
            level = Level.UNKNOWN if service.verdict == "unknown" else Level.ERROR
            text = f"{name}: {'; '.join(service.reasons) or service.verdict}"
            found.append(Finding(level=level, code="evidence-verdict", message=text))
    return found


def _about_something_else(report: Report, run: str | None, sites: Sequence[str]) -> list[Finding]:
    found = []
    if report.run != run:
        found.append(_error("evidence-run", f"the report is of run {report.run or 'none'}, not of {run or 'none'}"))
    if {report.left.site, report.right.site} != set(sites):
        both = f"{report.left.site} and {report.right.site}"
        found.append(_error("evidence-sites", f"the report is of {both}, not of {' and '.join(sites)}"))
    return found


def _stale(report: Report, now: float, fresh_s: float) -> list[Finding]:
    taken = min(report.left.taken_from, report.right.taken_from)
    age = now - taken
    if age < 0:
        return [_error("evidence-future", f"the snapshots were taken at {iso(taken)}, which lies ahead")]
    if age > fresh_s:
        text = f"the older snapshot was begun {age:,.0f} s ago; at most {fresh_s:,.0f} s are accepted"
        return [_error("evidence-stale", text)]
    return []


def _error(code: str, message: str) -> Finding:
    return Finding(level=Level.ERROR, code=code, message=message, hint="collect both sites and reconcile again")
