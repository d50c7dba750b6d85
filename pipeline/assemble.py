"""Assembles the report from the counts of the jobs, the times and roles of the manifests, and the judgement on both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from orchestrator.counting import counted
from orchestrator.model.findings import Finding, Level
from pipeline.ask import Ask, active_of, failover_of, run_of
from pipeline.explain import Setting
from pipeline.manifest import EndpointSnapshot
from pipeline.report import (
    WHYS,
    Clocks,
    EndpointReport,
    Holding,
    Report,
    ServiceReport,
    SideReport,
    Uncommon,
    Work,
)
from pipeline.rows import KEPT, LOG, SOW, EndpointKey
from pipeline.sides import Side
from pipeline.tally import Tally
from pipeline.verdict import Circumstances, clocks_apart, is_read, judge, recovery_point


def settings_of(left: Side, right: Side, ask: Ask, tallies: Mapping[EndpointKey, Tally]) -> list[Setting]:
    """The data that the explanations of each endpoint's differences depend on."""
    there = [_snapshots(side) for side in (left, right)]
    failover_at = failover_of(left, right, ask)
    return [
        Setting(
            key=key,
            first_common_l=tally.first_common_l,
            first_common_r=tally.first_common_r,
            snapshot_l=there[0].get(key),
            snapshot_r=there[1].get(key),
            active=active_of(left, right, ask, key.service),
            failover_at=failover_at,
        )
        for key, tally in tallies.items()
    ]


def _snapshots(side: Side) -> dict[EndpointKey, EndpointSnapshot]:
    return {endpoint.key: endpoint for endpoint in side.manifest.endpoints}


def assemble(
    left: Side,
    right: Side,
    ask: Ask,
    tallies: Mapping[EndpointKey, Tally],
    clocks: Mapping[str, Clocks],
    work: Work,
    now: float,
) -> Report:
    """The report, without intervals, samples and checksum. ``clocks``: by service. ``now``: seconds since the epoch."""
    endpoints = sorted(_endpoints(left, right, ask, tallies), key=lambda one: one.key)
    grouped = {name: list(group) for name, group in groupby(endpoints, lambda one: one.service)}
    names = sorted({one.name for one in left.manifest.services} & {one.name for one in right.manifest.services})
    services = tuple(_service(left, right, ask, name, grouped.get(name, []), clocks.get(name)) for name in names)
    findings = [
        *_about_exports(left, right),
        *(finding for one in services for finding in _about(one, left, right)),
        *(finding for one in services for finding in _about_clocks(one, ask)),
    ]
    return Report(
        simulated=left.manifest.simulated or right.manifest.simulated,
        run=run_of(left, right, ask),
        created_at=now,
        clock_skew_s=ask.clock_skew_s,
        left=_side(left),
        right=_side(right),
        work=work,
        services=services,
        findings=tuple(findings),
    )


def _endpoints(left: Side, right: Side, ask: Ask, tallies: Mapping[EndpointKey, Tally]) -> Iterator[EndpointReport]:
    """Every endpoint of the services that both exports have, including endpoints without messages."""
    there_l, there_r = _snapshots(left), _snapshots(right)
    common = {one.name for one in left.manifest.services} & {one.name for one in right.manifest.services}
    for key in {*there_l, *there_r, *tallies}:
        if key.service in common:
            tally = tallies.get(key) or Tally.empty()
            yield EndpointReport(
                service=key.service,
                name=key.name,
                kind=key.kind,
                left=_holding(tally.left, there_l.get(key)),
                right=_holding(tally.right, there_r.get(key)),
                missing=tally.uncommon("missing"),
                extra=tally.uncommon("extra"),
                duplicates_left=tally.surplus_l,
                duplicates_right=tally.surplus_r,
                duplicates_at_both=tally.copies_at_both if ask.equal_duplicates else None,
                changed=tally.changed,
                unverified=tally.unverified,
                order_breaks=tally.order_breaks,
                order_by_priority=tally.order_by_priority,
                unresolved=tally.unresolved,
            )


def _holding(counted: Holding, snapshot: EndpointSnapshot | None) -> Holding:
    """``counted`` with ``is_whole``: does it include all messages of the endpoint? If the manifest has another number,
    it does not. An endpoint that does not exist is whole if no messages were counted."""
    if snapshot is None:
        return counted.model_copy(update={"is_whole": not counted.messages})
    is_whole = snapshot.is_whole if snapshot.messages == counted.messages else False
    return counted.model_copy(update={"is_whole": is_whole})


def _service(
    left: Side, right: Side, ask: Ask, name: str, endpoints: list[EndpointReport], clocks: Clocks | None
) -> ServiceReport:
    told = [one.was_interrupted for one in (left.manifest.service(name), right.manifest.service(name)) if one]
    known = Circumstances(
        active=active_of(left, right, ask, name),
        failover_at=failover_of(left, right, ask),
        was_interrupted=True if True in told else None if None in told else False,
        clock_skew_s=ask.clock_skew_s,
        clocks=clocks,
    )
    verdict, reasons = judge(endpoints, known)
    return ServiceReport(
        name=name,
        active=known.active,
        failover_at=known.failover_at,
        verdict=verdict,
        reasons=reasons,
        rpo=recovery_point(endpoints, known),
        endpoints=tuple(endpoints),
        clocks=clocks,
    )


def _side(side: Side) -> SideReport:
    manifest = side.manifest
    return SideReport(
        site=manifest.site,
        manifest=side.fingerprint,
        taken_from=min((one.taken_from for one in manifest.endpoints), default=manifest.started_at),
        taken_to=max((one.taken_to for one in manifest.endpoints), default=manifest.finished_at),
        messages=manifest.messages,
    )


def _about_exports(left: Side, right: Side) -> Iterator[Finding]:
    for one, other in ((left, right), (right, left)):
        for name in sorted({s.name for s in one.manifest.services} - {s.name for s in other.manifest.services}):
            text = f"{name} is not compared: the export of {other.manifest.site} does not have it"
            yield Finding(level=Level.UNKNOWN, code="service-not-compared", message=text)
    for side in (left, right):
        if not side.is_digested and side.manifest.files:
            text = f"the files of {side.manifest.site} were not checked against digests, so damage may not be noticed"
            yield Finding(level=Level.NOTE, code="files-not-compared", message=text)
    if not (left.has_digests and right.has_digests):
        text = "contents are not compared, because the contents of at least one side could not be read"
        yield Finding(level=Level.NOTE, code="contents-not-compared", message=text)


def _about_clocks(service: ServiceReport, ask: Ask) -> Iterator[Finding]:
    known = Circumstances(None, None, None, ask.clock_skew_s, service.clocks)
    if known.is_clock_off:
        text = f"{service.name}: {clocks_apart(known)}; a clock is wrong, or replication took that long"
        # If both sites hold the same messages, their age does not matter.
        level = Level.WARNING if all(one.has_same_messages for one in service.endpoints) else Level.UNKNOWN
        yield Finding(
            level=level,
            code="clocks-apart",
            message=text,
            hint="compare both clocks with a third one; if both are right, give their difference with --clock-skew",
        )


def _about(service: ServiceReport, left: Side, right: Side) -> Iterator[Finding]:
    """The findings about one service that an operator should check."""
    sites = {"left": left.manifest.site, "right": right.manifest.site}
    roles = {one.role for one in (left.manifest.service(service.name), right.manifest.service(service.name)) if one}
    if roles == {"active"}:
        yield _found(Level.ERROR, "both-active", f"{service.name}: both sites reported that they are active")
    partial = [one.name for one in service.endpoints if not is_read(one)]
    if partial:
        text = f"{service.name}: {_few(partial)} perhaps not read in full, so missing messages may only be unread"
        yield _found(Level.UNKNOWN, "endpoint-incomplete", text)
    yield from _absent(service, left, right)
    unresolved = sum(one.unresolved for one in service.endpoints)
    if unresolved:
        runs = counted(unresolved, "run of numbers", "runs of numbers")
        text = f"{service.name}: the fingerprints of {runs} differ, but no message that differs was found"
        yield _found(Level.UNKNOWN, "unresolved", text)
    records = [e.name for e in service.endpoints if e.kind == SOW and e.differs]
    if records:
        text = f"{service.name}: the records of {', '.join(records[:3])} differ; `failover pipeline sow` shows why"
        yield _found(Level.UNKNOWN, "sow-differs", text)
    endpoints = [e for e in service.endpoints if e.kind != SOW]
    for name, uncommon in (
        ("missing", [e.missing for e in endpoints]),
        ("extra", [e.extra for e in endpoints]),
    ):
        yield from _uncommon(service.name, sites["left" if name == "missing" else "right"], name, uncommon)
    counts: Iterable[tuple[Level, str, int, str]] = (
        (Level.ERROR, "changed", sum(e.changed for e in endpoints), "messages have different content"),
        (
            Level.WARNING,
            "duplicates-left",
            sum(e.duplicates_left for e in endpoints),
            f"surplus copies at {sites['left']}",
        ),
        (
            Level.WARNING,
            "duplicates-right",
            sum(e.duplicates_right for e in endpoints),
            f"surplus copies at {sites['right']}",
        ),
        (
            Level.WARNING,
            "duplicates-at-both",
            sum(e.duplicates_at_both or 0 for e in endpoints),
            "surplus copies at both sites",
        ),
        (Level.WARNING, "order", sum(e.order_breaks for e in endpoints), "breaks of order"),
        (
            Level.NOTE,
            "order-by-priority",
            sum(e.order_by_priority for e in endpoints),
            "messages overtook a message of another priority",
        ),
        (
            Level.NOTE,
            "unverified",
            sum(e.unverified for e in endpoints),
            "messages whose content could not be compared",
        ),
    )
    for level, code, number, text in counts:
        if number:
            yield _found(level, code, f"{service.name}: {number:,} {text}")
    if service.failover_at is not None and service.verdict != "safe":
        level = Level.ERROR if service.verdict == "not-safe" else Level.UNKNOWN
        yield _found(level, "failback", f"{service.name}: failing back is {service.verdict.replace('-', ' ')}")


def _uncommon(service: str, site: str, name: str, found: list[Uncommon]) -> Iterator[Finding]:
    unexplained = sum(one.unexplained for one in found)
    if unexplained:
        text = f"{service}: {counted(unexplained, 'message is', 'messages are')} at {site} only, for no known reason"
        yield _found(Level.ERROR, name, text)
    for why, text in WHYS.items():
        number = sum(one.by_why.get(why, 0) for one in found)
        if number:
            yield _found(
                Level.NOTE,
                f"{name}-{why}",
                f"{service}: {counted(number, 'message is', 'messages are')} at {site} only: {text}",
            )


def _absent(service: ServiceReport, left: Side, right: Side) -> Iterator[Finding]:
    for side, other in ((left, "right"), (right, "left")):
        there = {key for key in _snapshots(side) if key.service == service.name}
        absent = [e for e in service.endpoints if e.key not in there and getattr(e, other).messages]
        gone = [e.name for e in absent if e.kind not in KEPT]
        if gone:
            text = f"{service.name}: {_few(gone)} missing at {side.manifest.site}, so it cannot take their messages"
            yield _found(Level.ERROR, "endpoint-absent", text)
        silent = [e.name for e in absent if e.kind == LOG]
        if silent:
            text = f"{service.name}: {_few(silent)} not in the log of {side.manifest.site}; check that the site logs this"
            yield _found(Level.UNKNOWN, "topic-absent", text)


def _few(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more:,} more are" if more > 0 else " are" if len(names) > 1 else " is")


def _found(level: Level, code: str, message: str) -> Finding:
    return Finding(level=level, code=code, message=message)
