"""A report in words, for a screen of 100 columns. The text contains only facts of the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.model.findings import Level
from pipeline.report import WHYS, EndpointReport, Interval, Report, ServiceReport

_ENDPOINTS_MAX = 20
_INTERVALS_MAX = 24
_PLANS = {
    "fingerprints": "fingerprints only, because all of them agree",
    "drill": "fingerprints, and a detailed read where they differ",
    "everything": "every message separately, because many messages may differ",
}


def lines_of(report: Report) -> Iterator[str]:
    """The lines of the text."""
    if report.simulated:
        yield "SIMULATED"
    for service in report.services:
        yield f"{service.name}: failing back is {service.verdict.replace('-', ' ').upper()}"
    yield ""
    for word, side in (("left ", report.left), ("right", report.right)):
        taken = f"{iso(side.taken_from)} to {iso(side.taken_to)}"
        yield f"{word}  {side.site}: {counted(side.messages, 'message')}, read {taken}"
    for service in report.services:
        yield ""
        yield from _service(service)
    if report.intervals:
        yield ""
        yield from _timeline(report.intervals)
    noted = [finding for finding in report.findings if finding.level != Level.NOTE] + [
        finding for finding in report.findings if finding.level == Level.NOTE
    ]
    if noted:
        yield ""
        yield from (f"{finding.level}: {finding.message}" for finding in noted)
    yield ""
    yield from _work(report)


def _service(service: ServiceReport) -> Iterator[str]:
    yield f"{service.name}: failing back is {service.verdict.replace('-', ' ').upper()}"
    yield from (f"  {reason}" for reason in service.reasons)
    yield f"  lost by the fail-over: {_rpo(service)}"
    clocks = service.clocks
    if clocks is not None:
        span = f"{clocks.least_s:,.1f} to {clocks.greatest_s:,.1f} s"
        yield f"  right spooled the same messages {span} later than left (middle value {clocks.middle_s:,.1f} s)"
    apart = [endpoint for endpoint in service.endpoints if endpoint.differs]
    same = len(service.endpoints) - len(apart)
    if apart:
        yield "  endpoint                            left      right    missing      extra  duplicate    changed  order"
        apart.sort(key=lambda one: -(one.missing.messages + one.extra.messages))
        yield from (_endpoint(endpoint) for endpoint in apart[:_ENDPOINTS_MAX])
        if len(apart) > _ENDPOINTS_MAX:
            yield f"  and {len(apart) - _ENDPOINTS_MAX:,} more endpoints that differ"
    yield f"  {counted(same, 'endpoint holds', 'endpoints hold')} the same messages at both sites"


def _rpo(service: ServiceReport) -> str:
    rpo = service.rpo
    reasons = f"; {'; '.join(rpo.reasons)}" if rpo.reasons else ""
    match rpo.how:
        case "proven":
            return f"{counted(rpo.low, 'message')}, proven{reasons}"
        case "bounded":
            return f"between {rpo.low:,} and {counted(rpo.high or 0, 'message')}{reasons}"
        case "unknown":
            return f"unknown{f', at least {rpo.low:,}' if rpo.low else ''}{reasons}"


def _endpoint(one: EndpointReport) -> str:
    duplicates = one.duplicates_left + one.duplicates_right + (one.duplicates_at_both or 0)
    numbers = (
        one.left.messages,
        one.right.messages,
        one.missing.messages,
        one.extra.messages,
        duplicates,
        one.changed,
    )
    return f"  {one.label:<28.28} " + " ".join(f"{number:>10,}" for number in numbers) + f" {one.order_breaks:>6,}"


def _timeline(spans: Sequence[Interval]) -> Iterator[str]:
    yield "  spooled from              to                          missing      extra  duplicate    changed"
    for service, some in groupby(spans[:_INTERVALS_MAX], lambda one: one.service):
        yield f"  {service}"
        for span in some:
            counts = (span.missing, span.extra, span.duplicates, span.changed)
            yield f"  {iso(span.start)}  {iso(span.end)}  " + " ".join(f"{count:>10,}" for count in counts)
    if len(spans) > _INTERVALS_MAX:
        yield f"  and {counted(len(spans) - _INTERVALS_MAX, 'more interval')}; --json and --out show all"


def _work(report: Report) -> Iterator[str]:
    work = report.work
    looked = f"{work.rows_drilled:,} of {counted(work.rows, 'message')} read in detail"
    yield f"compared on {work.engine} by {_PLANS[work.plan]}; {looked}"
    yield f"the probability that a message that differs was overlooked is at most {work.overlooked_at_most:.1e}"
    used = {why for one in report.endpoints for side in (one.missing, one.extra) for why in side.by_why}
    if any(why in WHYS and why.startswith("consumed") for why in used):
        yield (
            "assumed: consumers take messages from the head of an endpoint; "
            "with selectors, fewer differences can be explained"
        )
