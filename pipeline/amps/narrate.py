"""The comparisons of AMPS instances in words, for a screen. The text contains only facts of the reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.model.findings import Finding, Level
from pipeline.amps.report import JournalsReport, LogReport, SowReport, SowSample

_TOPICS_MAX = 30


def journal_lines(report: JournalsReport) -> Iterator[str]:
    """The lines about two logs."""
    yield from _log("left ", report.left)
    yield from _log("right", report.right)
    apart = [topic for topic in report.topics if topic.differs]
    if apart:
        yield ""
        yield "topic                              left      right    missing      extra    changed  order"
    for topic in apart[:_TOPICS_MAX]:
        numbers = (topic.left, topic.right, sum(topic.missing.values()), sum(topic.extra.values()), topic.changed)
        name = f"{topic.topic} ({topic.message_type})"
        order = topic.order_breaks + topic.backwards_left + topic.backwards_right
        yield f"{name:<28.28} " + " ".join(f"{number:>10,}" for number in numbers) + f" {order:>6,}"
    if len(apart) > _TOPICS_MAX:
        yield f"and {len(apart) - _TOPICS_MAX:,} more topics that differ"
    yield f"{counted(len(report.topics) - len(apart), 'topic is', 'topics are')} the same in both logs"
    if report.remains:
        yield ""
        yield "replication will not deliver these messages:"
    for one in report.remains:
        log = report.left if one.side == "left" else report.right
        span = "" if one.first_at is None or one.last_at is None else f", {iso(one.first_at)} to {iso(one.last_at)}"
        numbers_from = f"{one.first_sequence} to {one.last_sequence}"
        yield f"  {counted(one.messages, 'message')} of publisher {one.client} in {log.name}: {numbers_from}{span}"
    yield from _findings(report.findings)
    yield f"compared on {report.engine}"


def sow_lines(report: SowReport) -> Iterator[str]:
    """The lines about two instances' SOW topics."""
    for word, side in (("left ", report.left), ("right", report.right)):
        yield from _log(word, side.log)
        for topic in side.topics:
            name = f"{topic.topic} ({topic.message_type})"
            if not topic.is_rebuilt:
                yield f"  {name}: {counted(topic.records, 'record')}, not rebuilt"
                continue
            apart = f", {sum(topic.differences.values()):,} differ" if topic.differences else ""
            yield f"  {name}: {counted(topic.records, 'record')}, {topic.rebuilt:,} rebuilt from the log{apart}"
    yield ""
    yield "topic                              same  only left only right  differing"
    for one in report.topics[:_TOPICS_MAX]:
        counts = [sum(which.values()) for which in (one.only_left, one.only_right, one.differing)]
        name = f"{one.topic} ({one.message_type})"
        yield f"{name:<28.28} " + " ".join(f"{number:>10,}" for number in (one.same, *counts))
    if len(report.topics) > _TOPICS_MAX:
        yield f"and {counted(len(report.topics) - _TOPICS_MAX, 'more topic')}"
    yield from _samples(report.samples)
    yield from _findings(report.findings)
    yield f"compared on {report.engine}"


def _log(word: str, log: LogReport) -> Iterator[str]:
    span = ""
    if log.first_at is not None and log.last_at is not None:
        span = f", {iso(log.first_at)} to {iso(log.last_at)}"
    yield f"{word}  {log.name}: {counted(log.entries, 'entry', 'entries')} in {counted(log.files, 'dump')}{span}"


def _samples(samples: Sequence[SowSample]) -> Iterator[str]:
    if samples:
        yield ""
        yield "for example:"
    for one in samples:
        where = "the two instances" if one.where == "pair" else f"{one.where} and its log"
        yield f"  {one.topic} {one.key}: {one.cause}, {where}"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if findings:
        yield ""
    for finding in sorted(findings, key=lambda one: one.level == Level.NOTE):
        yield str(finding)
