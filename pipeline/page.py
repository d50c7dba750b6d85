"""A reconciliation as one HTML file, without a script or external resources. The verdict comes first. Each site and
endpoint follows, with the missing messages, their place, the reason, and the effect of failing back.

The page is built as a tree of elements, so a name can never become markup. The table is complete without the chart. The
chart needs Altair (the extra ``charts``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.model.findings import Level
from pipeline.charts import stacked_bars
from pipeline.report import NO_WHY, WHYS, EndpointReport, Interval, Report, ServiceReport

_ENDPOINTS_MAX = 500
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1000px; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem .2rem 0; }
th { border-bottom: 1px solid #d5dbe2; } td.n, th.n { text-align: right; } .note { color: #5a6775; }
.safe { color: #1b6e3c; } .not-safe { color: #a3281b; } .unknown { color: #8a5a00; } .mark { font-weight: 700; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #14191f; color: #e3e9f0; } svg { background: #fff; }
  .safe { color: #6fcf97; } .not-safe { color: #f0857a; } .unknown { color: #e0b050; } }
"""
_VERDICTS = {
    "safe": "it is safe to go back",
    "not-safe": "it is NOT safe to go back",
    "unknown": "it is unknown whether it is safe to go back",
}
_CLASSES = (("missing", "missing"), ("extra", "extra"), ("duplicates", "duplicate"), ("changed", "changed"))


def page_of(report: Report) -> bytes:
    """The page, UTF-8."""
    html = Element("html", lang="en")
    head = SubElement(html, "head")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    SubElement(head, "title").text = f"failover: {report.left.site} and {report.right.site} compared"
    SubElement(head, "style").text = _STYLE
    body = SubElement(html, "body")
    if report.simulated:
        SubElement(body, "p", {"class": "mark"}).text = "SIMULATED"
    SubElement(body, "h1").text = f"{report.left.site} and {report.right.site} compared"
    _verdicts(body, report)
    _sites(body, report)
    for service in report.services:
        _service(body, report, service)
    _findings(body, report)
    work = report.work
    _note(
        body,
        f"compared by {work.engine}; {work.rows_drilled:,} of {counted(work.rows, 'message')} read in detail; the"
        f" probability that a message that differs was overlooked is at most {work.overlooked_at_most:.1e};"
        f" made {iso(report.created_at)}; run {report.run or 'none'}; sha256 {report.checksum}",
    )
    return f"<!DOCTYPE html>\n{tostring(html, encoding='unicode', method='html')}\n".encode()


def _verdicts(body: Element, report: Report) -> None:
    for service in report.services:
        line = SubElement(body, "p")
        SubElement(
            line, "span", {"class": f"mark {service.verdict}"}
        ).text = f"{service.name}: {_VERDICTS[service.verdict]}"
        SubElement(line, "br").tail = f"{'; '.join(service.reasons)}. {_lost(service)}"


def _lost(service: ServiceReport) -> str:
    rpo = service.rpo
    reasons = f" ({'; '.join(rpo.reasons)})" if rpo.reasons else ""
    if rpo.how == "proven":
        return f"The fail-over lost {counted(rpo.low, 'message')}{reasons}."
    if rpo.how == "bounded":
        return f"The fail-over lost between {rpo.low:,} and {counted(rpo.high or 0, 'message')}{reasons}."
    return f"It is unknown how many messages the fail-over lost{reasons}."


def _sites(body: Element, report: Report) -> None:
    SubElement(body, "h2").text = "Sites"
    rows = [
        (one.site, f"{iso(one.taken_from)} to {iso(one.taken_to)}", f"{one.messages:,}", one.manifest[:16])
        for one in (report.left, report.right)
    ]
    _table(body, ("site", "read", "messages", "manifest"), rows, numbers=(2,))


def _service(body: Element, report: Report, service: ServiceReport) -> None:
    SubElement(body, "h2").text = service.name
    clocks = service.clocks
    if clocks is not None:
        _note(
            body,
            f"{report.right.site} spooled the same messages {clocks.least_s:,.1f} to {clocks.greatest_s:,.1f} s later"
            f" than {report.left.site} (middle value {clocks.middle_s:,.1f} s)",
        )
    apart = [one for one in service.endpoints if one.differs]
    apart.sort(key=lambda one: (-(one.missing.messages + one.extra.messages), one.name))
    if apart:
        names = (report.left.site, report.right.site)
        columns = ("endpoint", "kind", *names, f"only {names[0]}", f"only {names[1]}", "copies", "changed", "order")
        rows = [_row(one) for one in apart[:_ENDPOINTS_MAX]]
        _table(body, columns, rows, numbers=range(2, 9))
        if len(apart) > _ENDPOINTS_MAX:
            _note(body, f"and {len(apart) - _ENDPOINTS_MAX:,} more endpoints that differ")
        _whys(body, report, apart)
    same = len(service.endpoints) - len(apart)
    _note(body, f"{counted(same, 'endpoint holds', 'endpoints hold')} the same messages at both sites")
    _going_back(body, report, service, apart)
    spans = [span for span in report.intervals if span.service == service.name]
    if spans:
        SubElement(body, "h3").text = "When the messages that differ were spooled"
        _picture(body, spans)
        _table(body, ("from", "to", *(word for _, word in _CLASSES)), map(_span, spans), numbers=range(2, 6))


def _row(one: EndpointReport) -> tuple[str, ...]:
    copies = one.duplicates_left + one.duplicates_right + (one.duplicates_at_both or 0)
    numbers = (one.left.messages, one.right.messages, one.missing.messages, one.extra.messages, copies, one.changed)
    return (one.name, one.kind, *(f"{number:,}" for number in numbers), f"{one.order_breaks:,}")


def _whys(body: Element, report: Report, endpoints: Sequence[EndpointReport]) -> None:
    """Adds the messages that only one site has, with their site and explanation."""
    rows = []
    for one in endpoints:
        for site, found in ((report.left.site, one.missing), (report.right.site, one.extra)):
            rows += [
                (one.label, site, f"{number:,}", "nothing explains it" if why == NO_WHY else WHYS.get(why, why))
                for why, number in sorted(found.by_why.items())
            ]
    if rows:
        SubElement(body, "h3").text = "Messages that only one site has, and why"
        _table(body, ("endpoint", "site", "messages", "why"), rows[:_ENDPOINTS_MAX], numbers=(2,))
    samples = [one for one in report.samples if one.service == endpoints[0].service]
    if samples:
        SubElement(body, "h3").text = "For example"
        _table(
            body,
            ("message", "what", "endpoint", "spooled", "why", "is in"),
            [
                (
                    one.message_id,
                    one.kind,
                    one.endpoint,
                    "" if one.spooled_at is None else iso(one.spooled_at),
                    one.why or "",
                    one.elsewhere or "",
                )
                for one in samples
            ],
        )


def _going_back(body: Element, report: Report, service: ServiceReport, apart: Sequence[EndpointReport]) -> None:
    """Adds what would happen to these messages after a fail-back."""
    if service.active is None or not apart:
        return
    serving, restored = (report.left, report.right) if service.active == "left" else (report.right, report.left)
    only = {
        "left": sum(one.missing.messages for one in apart),
        "right": sum(one.extra.messages for one in apart),
    }
    other = "right" if service.active == "left" else "left"
    SubElement(body, "h3").text = f"Effects of going back from {serving.site} to {restored.site}"
    listed = SubElement(body, "ul")
    for number, text in (
        (only[service.active], f"at {serving.site} only would not be delivered at {restored.site}"),
        (only[other], f"at {restored.site} only would be delivered at {restored.site}, perhaps a second time"),
        (
            sum(one.changed for one in apart),
            f"with different content would be delivered with the content that {restored.site} has",
        ),
    ):
        if number:
            SubElement(listed, "li").text = f"{counted(number, 'message')} {text}"


def _picture(body: Element, spans: Sequence[Interval]) -> None:
    rows = [
        {"from": iso(span.start), "what": word, "messages": getattr(span, name)}
        for span in spans
        for name, word in _CLASSES
        if getattr(span, name)
    ]
    drawn = stacked_bars(rows, x="from", y="messages", colour="what")
    if drawn is not None:
        body.append(drawn)


def _span(span: Interval) -> tuple[str, ...]:
    return (iso(span.start), iso(span.end), *(f"{getattr(span, name):,}" for name, _ in _CLASSES))


def _findings(body: Element, report: Report) -> None:
    if report.findings:
        SubElement(body, "h2").text = "Findings"
        order = [Level.ERROR, Level.UNKNOWN, Level.WARNING, Level.NOTE]
        found = sorted(report.findings, key=lambda one: order.index(one.level))
        _table(body, ("level", "finding"), [(one.level, one.message) for one in found])


def _note(body: Element, text: str) -> None:
    SubElement(body, "p", {"class": "note"}).text = text


def _table(
    body: Element, columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[int] = ()
) -> None:
    right = {*numbers}
    table = SubElement(body, "table")
    for tag, line in (("th", columns), *(("td", row) for row in rows)):
        parent = SubElement(table, "tr")
        for place, text in enumerate(line):
            SubElement(parent, tag, {"class": "n"} if place in right else {}).text = str(text)
