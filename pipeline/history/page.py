"""The history as one HTML file: charts as inline SVG, no script, nothing loaded from anywhere.

Built as a tree of elements, so that a name in it can never become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from orchestrator.counting import counted
from pipeline.history.report import Drain, Durations, HistoryReport

_WIDTH, _ROW, _LABEL, _FIGURES = 960, 24, 380, 230
# As many signs of a label are shown, of its beginning and its end: what is simulated, and what tells rows apart.
_HEAD, _TAIL = 30, 34
# How wide a sign is at most, in the units of the drawing: capitals, and others.
_CAPITAL, _SMALL = 9.5, 7.0
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 980px; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg { width: 100%; height: auto; } text { font: 12px system-ui, sans-serif; fill: #1d2733; }
.range { fill: #c9dcf2; } .middle { fill: #1f5fa8; } .longest { fill: #b3542c; } .axis { stroke: #d5dbe2; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0; }
th { border-bottom: 1px solid #d5dbe2; } .note { color: #5a6775; }
@media (prefers-color-scheme: dark) { body { background: #14191f; color: #e3e9f0; } text { fill: #e3e9f0; }
  .range { fill: #2c4a6b; } .middle { fill: #7fb2ea; } }
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
        f", {counted(report.repeated_files, 'file')} with runs that others have too" if report.repeated_files else ""
    )
    _note(
        body,
        f"{counted(report.runs, 'run')}, {counted(report.checks, 'check')}{again}{unread}; made {report.made_at}",
    )
    _table(body, "How runs ended", ("runbook", "outcome", "runs"), _endings(report))
    _bars(body, "Seconds without an active site", "pale: 5 to 95 of 100; dark: the middle", report.outages)
    _bars(
        body,
        "Seconds of each step",
        "finished steps, in the order of the runbook, without waits for people's answers",
        report.phases,
    )
    _drains(body, report.drains)
    _table(body, "Second attempts", ("device", "action", "of", "again", "doubtful", "refused"), _retries(report))
    _table(body, "Readings that failed", ("site", "reading", "error", "times"), _failures(report))
    _table(body, "Readiness that changed", ("what", "check", "from", "to", "since", "changes"), _drift(report))
    _table(body, "Forecasts and what came", ("runbook", "step", "of", "off by", "within range"), _errors(report))
    _table(body, "Files that could not be read", ("file", "why"), [(one.file, one.why) for one in report.unread])
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _note(body: Element, text: str) -> None:
    SubElement(body, "p", {"class": "note"}).text = text


def _bars(body: Element, title: str, note: str, rows: Sequence[Durations]) -> None:
    if not rows:
        return
    SubElement(body, "h2").text = title
    _note(body, f"{note}; a mark: the longest")
    full = max(one.longest for one in rows) or 1.0
    svg = _svg(body, len(rows), title)
    for number, one in enumerate(rows):
        what = f"{one.runbook} {one.step}" if one.step else one.runbook
        _label(svg, number, _named(one.simulated, what))
        _bar(svg, number, (one.p05 / full, one.p50 / full, one.p95 / full), one.longest / full)
        trend = "" if one.trend is None else f", {one.trend:+.1f} in 30 d"
        _figures(svg, number, f"{one.p50:.1f} ({one.p95:.1f}) of {one.n}{trend}")


def _drains(body: Element, rows: Sequence[Drain]) -> None:
    if not rows:
        return
    SubElement(body, "h2").text = "Messages a second while draining"
    _note(body, "by service, hour of the day (UTC) in which it began, and size of the backlog")
    full = max(one.p95 for one in rows) or 1.0
    svg = _svg(body, len(rows), "Messages a second while draining")
    for number, one in enumerate(rows):
        _label(svg, number, _named(one.simulated, f"{one.service}, {one.hour:02d}h, from {one.backlog:,}"))
        _bar(svg, number, (one.p05 / full, one.p50 / full, one.p95 / full), None)
        _figures(svg, number, f"{one.p50:,.0f} of {one.n}")


def _svg(body: Element, rows: int, title: str) -> Element:
    height = rows * _ROW + 8
    svg = SubElement(body, "svg", viewBox=f"0 0 {_WIDTH} {height}", role="img")
    SubElement(svg, "title").text = title
    x = str(_LABEL)
    SubElement(svg, "line", {"class": "axis", "x1": x, "y1": "0", "x2": x, "y2": str(height)})
    return svg


def _label(svg: Element, number: int, text: str) -> None:
    shown = text if len(text) <= _HEAD + _TAIL else f"{text[: _HEAD - 1]}…{text[-_TAIL:]}"
    label = _text(svg, shown, _LABEL - 8, number, _LABEL - 16, {"text-anchor": "end"})
    SubElement(label, "title").text = text


def _text(svg: Element, shown: str, x: int, number: int, room: int, more: dict[str, str]) -> Element:
    """One that is made narrower where it might not fit."""
    might_be = sum(_CAPITAL if one.isupper() else _SMALL for one in shown)
    narrow = {"textLength": str(room), "lengthAdjust": "spacingAndGlyphs"} if might_be > room else {}
    text = SubElement(svg, "text", {"x": str(x), "y": str(number * _ROW + 17), **more, **narrow})
    text.text = shown
    return text


def _bar(svg: Element, number: int, shares: tuple[float, float, float], longest: float | None) -> None:
    low, middle, high = (_LABEL + share * (_WIDTH - _LABEL - _FIGURES) for share in shares)
    y = number * _ROW
    _rect(svg, "range", low, y + 5, max(high - low, 1.0), 14)
    _rect(svg, "middle", middle - 1.5, y + 3, 3, 18)
    if longest is not None:
        _rect(svg, "longest", _LABEL + longest * (_WIDTH - _LABEL - _FIGURES) - 1, y + 7, 2, 10)


def _rect(svg: Element, kind: str, x: float, y: float, width: float, height: float) -> None:
    numbers = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
    SubElement(svg, "rect", {"class": kind, **numbers})


def _figures(svg: Element, number: int, text: str) -> None:
    _text(svg, text, _WIDTH - _FIGURES + 8, number, _FIGURES - 8, {})


def _table(body: Element, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    found = list(rows)
    if not found:
        return
    SubElement(body, "h2").text = title
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
