"""The history as one HTML file: tables, and charts as inline SVG if the extra ``charts`` is installed. The page has no
script and no external resources.

The page is built as a tree of elements, so a name can never become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from orchestrator.counting import counted
from pipeline.charts import ranges
from pipeline.history.report import Drain, Durations, HistoryReport

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 980px; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0; }
th { border-bottom: 1px solid #d5dbe2; } .note { color: #5a6775; }
@media (prefers-color-scheme: dark) { body { background: #14191f; color: #e3e9f0; } svg { background: #fff; } }
"""


def page_of(report: HistoryReport) -> bytes:
    """The page, UTF-8."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "title").text = "failover: history of runs"
    SubElement(head, "style").text = _STYLE
    body = SubElement(html, "body")
    SubElement(body, "h1").text = "History of runs"
    unread = f", {counted(report.unread_files, 'file')} that could not be read" if report.unread_files else ""
    again = (
        f", {counted(report.repeated_files, 'file')} with runs that other files also have"
        if report.repeated_files
        else ""
    )
    _note(
        body,
        f"{counted(report.runs, 'run')}, {counted(report.checks, 'check')}{again}{unread}; made {report.made_at}",
    )
    _table(body, "How runs ended", ("runbook", "outcome", "runs"), _endings(report))
    _durations(body, "Seconds without an active site", "", report.outages)
    _durations(
        body,
        "Seconds of each step",
        "Finished steps in the order of the runbook, without the time that operators took to answer.",
        report.phases,
    )
    _drains(body, report.drains)
    _table(body, "Second attempts", ("device", "action", "of", "again", "doubtful", "refused"), _retries(report))
    _table(body, "Readings that failed", ("site", "reading", "error", "times"), _failures(report))
    _table(body, "Readiness that changed", ("what", "check", "from", "to", "since", "changes"), _drift(report))
    _table(body, "Forecasts and actual times", ("runbook", "step", "of", "off by", "within range"), _errors(report))
    _table(body, "Files that could not be read", ("file", "why"), [(one.file, one.why) for one in report.unread])
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _note(body: Element, text: str) -> None:
    SubElement(body, "p", {"class": "note"}).text = text


def _durations(body: Element, title: str, note: str, rows: Sequence[Durations]) -> None:
    named = [(_named(one.simulated, f"{one.runbook} {one.step or ''}".rstrip()), one) for one in rows]
    drawn = [
        {"name": name, "low": one.p05, "middle": one.p50, "high": one.p95, "longest": one.longest}
        for name, one in named
    ]
    trends = ("" if one.trend is None else f"{one.trend:+.1f}" for one in rows)
    figures = [
        (name, *(f"{value:.1f}" for value in (one.p05, one.p50, one.p95, one.longest)), one.n, trend)
        for (name, one), trend in zip(named, trends, strict=True)
    ]
    columns = ("what", "5 of 100", "middle", "95 of 100", "longest", "of", "change in 30 days")
    _table(body, title, columns, figures, note=note, picture=ranges(drawn, x="seconds"))


def _drains(body: Element, rows: Sequence[Drain]) -> None:
    named = [(_named(one.simulated, f"{one.service}, {one.hour:02d}h, from {one.backlog:,}"), one) for one in rows]
    drawn = [
        {"name": name, "low": one.p05, "middle": one.p50, "high": one.p95, "longest": None} for name, one in named
    ]
    figures = [(name, *(f"{value:,.0f}" for value in (one.p05, one.p50, one.p95)), one.n) for name, one in named]
    note = "By service, hour of the day (UTC) when the drain started, and size of the backlog."
    columns = ("what", "5 of 100", "middle", "95 of 100", "of")
    title = "Messages a second while draining"
    _table(body, title, columns, figures, note=note, picture=ranges(drawn, x="messages a second"))


def _table(
    body: Element,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    note: str = "",
    picture: Element | None = None,
) -> None:
    found = list(rows)
    if not found:
        return
    SubElement(body, "h2").text = title
    if note:
        _note(body, note)
    if picture is not None:
        SubElement(picture, "title").text = title
        body.append(picture)
        _note(body, "Pale: from 5 to 95 of 100 values. Blue: the middle value. Brown: the longest value.")
    table = SubElement(body, "table")
    head = SubElement(table, "tr")
    for column in columns:
        SubElement(head, "th").text = column
    for row in found:
        line = SubElement(table, "tr")
        for cell in row:
            SubElement(line, "td").text = str(cell)


def _named(simulated: bool, name: str) -> str:
    return f"SIMULATED {name}" if simulated else name


def _endings(report: HistoryReport) -> Iterable[Sequence[object]]:
    return ((_named(one.simulated, one.runbook), one.outcome, one.n) for one in report.endings)


def _retries(report: HistoryReport) -> Iterable[Sequence[object]]:
    return (
        (_named(one.simulated, one.device or one.site), one.action, one.n, one.again, one.doubtful, one.refused)
        for one in report.retries
    )


def _failures(report: HistoryReport) -> Iterable[Sequence[object]]:
    return ((_named(one.simulated, one.site), one.reading, one.error, one.n) for one in report.failures)


def _drift(report: HistoryReport) -> Iterable[Sequence[object]]:
    return (
        (
            _named(one.simulated, one.service or one.site or ""),
            one.check,
            one.first,
            one.last,
            one.changed_at,
            one.changes,
        )
        for one in report.drift
        if one.changes
    )


def _errors(report: HistoryReport) -> Iterable[Sequence[object]]:
    return (
        (_named(one.simulated, one.runbook), one.step, one.n, f"{one.off:.1f} s", f"{one.within:.0%}")
        for one in report.prediction_errors
    )
