"""The history in words, for a screen of 100 columns. The text contains only facts of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.counting import counted
from pipeline.history.report import Durations, HistoryReport

_ROWS_MAX = 20


def lines_of(report: HistoryReport) -> Iterator[str]:
    """The lines of the text."""
    yield f"{counted(report.runs, 'run')} and {counted(report.checks, 'check')}, computed on {report.engine}"
    for one in report.unread[:_ROWS_MAX]:
        yield f"  not read: {one.file}: {one.why}"
    if report.unread_files > len(report.unread[:_ROWS_MAX]):
        yield f"  not read: {counted(report.unread_files, 'file')} in all"
    if report.repeated_files:
        yield f"  counted once: runs that {counted(report.repeated_files, 'more file has', 'more files have')} also"
    for ending in report.endings:
        yield f"  {_mark(ending.simulated)}{ending.runbook}: {ending.n} {ending.outcome}"
    yield from _section("No active site", report.outages)
    yield from _section("Steps, without the time that operators took to answer", report.phases)
    yield from _some(
        "Drain, in messages per second: the middle value (from 5 to 95 of 100 values; number of values)",
        [
            f"{_mark(one.simulated)}{one.service}, {one.hour:02d}h UTC, backlog from {one.backlog:,}: "
            f"{one.p50:,.0f} ({one.p05:,.0f} to {one.p95:,.0f}; {one.n})"
            for one in report.drains
        ],
    )
    yield from _some(
        "Second attempts",
        [
            f"{_mark(one.simulated)}{one.device or one.site} {one.action}: {one.again} again, {one.doubtful} doubtful, "
            f"{one.refused} refused, of {one.n}"
            for one in report.retries
            if one.again or one.doubtful or one.refused
        ],
    )
    yield from _some(
        "Readings that failed",
        [
            f"{_mark(one.simulated)}{one.site} {one.reading}: {one.error}, {counted(one.n, 'time')}"
            for one in report.failures
        ],
    )
    yield from _some(
        "Readiness that changed",
        [
            f"{_mark(one.simulated)}{one.service or one.site}: {one.check}: {one.last} since {one.changed_at} "
            f"({one.changes} changes)"
            for one in report.drift
            if one.changes
        ],
    )
    yield from _some(
        "Errors of forecasts that were made from earlier runs",
        [
            f"{_mark(one.simulated)}{one.runbook} {one.step}: {one.off:.1f}s, {one.within:.0%} within range, of {one.n}"
            for one in report.prediction_errors
        ],
    )


def _mark(simulated: bool) -> str:
    return "SIMULATED " if simulated else ""


def _section(title: str, rows: Sequence[Durations]) -> Iterator[str]:
    yield from _some(
        f"{title}, in seconds: the middle value (value 95 of 100; longest value; number of values)",
        [_durations(one) for one in rows],
    )


def _durations(one: Durations) -> str:
    trend = "" if one.trend is None else f", {one.trend:+.1f}s in 30 days"
    what = f"{one.runbook} {one.step}" if one.step else one.runbook
    return f"{_mark(one.simulated)}{what}: {one.p50:.1f} ({one.p95:.1f}; {one.longest:.1f}; {one.n}){trend}"


def _some(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield title
    yield from (f"  {line}" for line in lines[:_ROWS_MAX])
    if len(lines) > _ROWS_MAX:
        yield f"  and {len(lines) - _ROWS_MAX} more, in the report"
