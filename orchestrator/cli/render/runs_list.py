"""The output of ``failover runs list``: a line for each run that fits the filter, newest first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from orchestrator.cli.render.forms import Form, show_data
from orchestrator.cli.render.terminal import say, show
from orchestrator.errors import JournalCorrupt
from orchestrator.journal.errors import gone
from orchestrator.journal.journal import Journal
from orchestrator.operations.runs.run_document import document_of
from orchestrator.operations.runtime import Tools
from orchestrator.reports.document import RunDocument
from orchestrator.reports.report import run_and_report
from orchestrator.reports.wording import called, direction

_NAMES = 3
_HEAD = f"{'run':<20}  {'outcome':<16} {'started (UTC)':<19} {'took':>8} {'outage':>8}  {'by':<10} what"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs: by services, outcome or status, operator, a part of the runbook's name, and start time.
    ``since`` is the earliest start, in seconds since the epoch."""

    services: Sequence[str] = ()
    status: str | None = None
    by: str | None = None
    runbook: str | None = None
    since: float | None = None

    def fits(self, run: RunDocument) -> bool:
        """Does the run fit the filter?"""
        return (
            (not self.services or any(lane.service in self.services for lane in run.lanes))
            and self.status in (None, run.status, None if run.outcome is None else str(run.outcome))
            and self.by in (None, run.by, run.account)
            and (self.runbook is None or self.runbook in run.runbook)
        )


def print_list(tools: Tools, limit: int, wanted: RunFilter, form: Form) -> int:
    """Print one line for each run. Returns 0, or 4 if a record cannot be read, or was lost before the end of its run."""
    corrupt = 0
    with closing(tools.journal()) as journal:
        shown = 0
        for name, found in _fitting(tools, journal, wanted):
            if shown == limit:
                break
            if isinstance(found, JournalCorrupt):
                corrupt += 1
                _print_corrupt(name, found, form)
                continue
            if shown == 0 and form in (Form.TEXT, Form.WIDE) and sys.stdout.isatty():
                show(_HEAD)
            shown += 1
            _print(found, form)
        for name, noted in journal.vanished().items():
            if not noted.is_over:
                corrupt += 1
                _print_corrupt(name, gone(name, noted), form)
        if not shown and not corrupt:
            say("no runs yet" if not journal.runs() else "no run fits")
    return 4 if corrupt else 0


def _fitting(tools: Tools, journal: Journal, wanted: RunFilter) -> Iterator[tuple[str, RunDocument | JournalCorrupt]]:
    for row in journal.runs():
        if wanted.since is not None and row.created_at < wanted.since:
            return
        try:
            state, report = run_and_report(journal.records(row.run))
        except JournalCorrupt as error:
            yield row.run, error
            continue
        found = document_of(row, state, report, tools.clock.now())
        if wanted.fits(found):
            yield row.run, found


def _print(run: RunDocument, form: Form) -> None:
    summary = run.model_dump(mode="json", exclude={"lanes", "questions"})
    services = [lane.service for lane in run.lanes]
    if show_data(form, {**summary, "services": services, "outage_seconds": _outage(run)}):
        return
    is_wide = form is Form.WIDE
    names = ", ".join(services if is_wide else services[:_NAMES])
    more = f" and {len(services) - _NAMES} more" if len(services) > _NAMES and not is_wide else ""
    marker = "SIMULATED " if run.simulated else ""
    way = direction(run.runbook, run.source, run.target)
    gone_since = f" since {run.last_heard_at}" if run.status == "interrupted" else ""
    outage = _outage(run)
    dark = "" if outage is None else f"{outage:.1f}s"
    who = called(run) if is_wide else run.by
    end = f" (exit code {run.exit_code}, last record {run.last_record_at})" if is_wide else ""
    show(
        f"{run.run}  {run.outcome or run.status:<16} {run.started_at[:19].replace('T', ' ')} {run.seconds:>7.1f}s "
        f"{dark:>8}  {who:<10} {marker}{run.runbook} {way}: {names}{more}{gone_since}{end}"
    )


def _outage(run: RunDocument) -> float | None:
    """The longest outage of a service in the run, in seconds. None if no outage is known."""
    known = [lane.outage_seconds for lane in run.lanes if lane.outage_seconds is not None]
    known += [lane.no_active_site_seconds for lane in run.lanes if lane.no_active_site_seconds is not None]
    return max(known, default=None)


def _print_corrupt(run: str, error: JournalCorrupt, form: Form) -> None:
    if not show_data(form, {"run": run, "status": "corrupt", "problem": str(error)}):
        show(f"{run}  {'CORRUPT':<16} {error}")
