"""Alerts: what happened to a queue, or to a line that could not be used, as CloudEvents 1.0 and as sentences.

The envelope is that of hooks (docs/hooks.md). An alert's identity is made of what it is about alone, the look, site,
service and kind, or the file and line: whoever follows the same readings again makes the same alerts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.clock import iso
from orchestrator.filling import HIGH_SET
from orchestrator.hooks.message import envelope
from orchestrator.readings import QueueDepth, ReplicationStatus
from orchestrator.reports.ages import span
from orchestrator.reports.outlook import Outlook, outlook
from pipeline.watch.course import Course, Event, Figures, Kind, Rules

SOURCE = "/failover/pipeline/watch"
UNUSABLE = "reading.unusable"
# What a person should act upon; the others are the end of one, or for the record.
ALARMS: frozenset[str] = frozenset(
    {"drain.stalled", "queue.full", "queue.high", "queue.full-soon", "queue.unknown", UNUSABLE}
)
_TEXT_MAX = 200

Alert = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """Where a reading stood. ``at``: when its file was last written, seconds since the epoch."""

    file: str
    number: int
    at: float


def alert_of(event: Event, site: str, service: str, line: Line, rules: Rules) -> Alert:
    """What happened to one queue."""
    read = event.figures.read
    if event.kind == "reading.late":
        name = f"{line.file}/{line.number}/{event.kind}"
        told: dict[str, Any] = {"file": line.file, "line": line.number}
    else:
        name = f"{read.look}/{site}/{service}/{event.kind}"
        told = {**figures_of(event.figures, service)}
    sentence = _sentence(event.kind, event.figures, rules)
    body = {"kind": event.kind, "sentence": sentence, "look": read.look, **told}
    data = {"at": iso(read.at), "simulated": read.simulated, "site": site, "service": service, "event": body}
    return envelope(name, SOURCE, event.kind, service, read.at, data)


def unusable_alert(line: Line, reason: str, text: str) -> Alert:
    """A line that is no reading, or not of its time."""
    body = {
        "kind": UNUSABLE,
        "sentence": f"{line.file}, line {line.number}, is no reading: {reason}",
        "file": line.file,
        "line": line.number,
        "reason": reason,
        "text": text[:_TEXT_MAX],
    }
    data = {"at": iso(line.at), "simulated": None, "site": None, "service": None, "event": body}
    return envelope(f"{line.file}/{line.number}/{UNUSABLE}", SOURCE, UNUSABLE, None, line.at, data)


def outlook_of(figures: Figures, service: str) -> Outlook:
    """State, sentence and advice, in the words of ``failover watch``."""
    read = figures.read
    queue = QueueDepth(
        messages=read.messages, usage_mb=read.usage_mb, quota_mb=read.quota_mb, rejects_on_discard=read.rejects
    )
    return outlook(service, queue, ReplicationStatus(role=read.role, queue_bound=read.bound), figures.seen)


def figures_of(figures: Figures, service: str) -> dict[str, Any]:
    """The figures for machines; null is unknown. Names and units are those of ``failover watch --json``."""
    read, told = figures.read, outlook_of(figures, service)
    return {
        "messages": read.messages,
        "usage_mb": _rounded(read.usage_mb),
        "quota_mb": read.quota_mb,
        "percent_full": _rounded(figures.seen.percent),
        "rate_per_s": _rounded(figures.seen.rate),
        "drain_rate_per_s": _rounded(figures.drain_rate),
        "empty_in_s": _rounded(figures.empty_in_s),
        "full_in_s": _rounded(figures.seen.full_in_s),
        "moved_at": None if figures.moved_at is None else iso(figures.moved_at),
        "bound": read.bound,
        "suspended": None if read.rejects is None else not read.rejects,
        "state": told.state,
        "advice": told.advice,
        **({"failure": read.failure} if read.failure else {}),
    }


def standing_of(course: Course, site: str, service: str, rules: Rules) -> dict[str, Any]:
    """How a service stands after all readings that came, with what was counted of them."""
    figures = course.figures(rules)
    head = {"site": site, "service": service, "at": iso(figures.read.at), "simulated": figures.read.simulated}
    counts = {"readings": course.readings, "late": course.late, "duplicates": course.duplicates}
    return {**head, **figures_of(figures, service), "alarms": course.alarms, **counts}


def alert_line(alert: Mapping[str, Any]) -> str:
    """One alert for a person; an alarm has an exclamation mark, as in ``failover watch``."""
    data = alert["data"]
    event = data["event"]
    marker = "SIMULATED  " if data["simulated"] else ""
    whom = f"{data['service']} at {data['site']}: " if data["service"] is not None else ""
    alarm = "! " if event["kind"] in ALARMS else ""
    return f"{alert['time'][:19]}Z {marker}{whom}{alarm}{event['sentence']}"


def standing_line(course: Course, site: str, service: str, rules: Rules) -> str:
    """The same for a person, with the alarms that are on."""
    figures = course.figures(rules)
    marker = "SIMULATED  " if figures.read.simulated else ""
    failed = f"UNKNOWN: {figures.read.failure}" if figures.read.failure else outlook_of(figures, service).sentence
    alarms = f" [{', '.join(course.alarms)}]" if course.alarms else ""
    return f"{iso(figures.read.at)[:19]}Z {marker}{service} at {site}: {failed}{alarms}"


def _sentence(kind: Kind, figures: Figures, rules: Rules) -> str:
    read, percent = figures.read, f"{figures.seen.percent or 0.0:.0f}%"
    left = "an unknown number of messages" if read.messages is None else f"{read.messages:,} messages"
    stood, full_in = read.at - (figures.moved_at or read.at), figures.seen.full_in_s or 0.0
    sentences: Mapping[Kind, str] = {
        "drain.stalled": f"STALLED: no progress for {span(stood)} with {left} left, {_BOUND[read.bound]}",
        "drain.moving": f"the queue moves again, {left} left",
        "queue.drained": "the queue was read as empty",
        "queue.high": f"HIGH MARK: the queue is {percent} full, the mark is at {HIGH_SET:.0f}%",
        "queue.clear": "the queue is below its high mark again",
        "queue.full": "FULL: the queue has reached its quota",
        "queue.room": "there is room in the queue again",
        "queue.full-soon": f"the queue will be full in about {span(full_in)}, it is {percent} full",
        "queue.full-later": f"the queue will not be full within {span(rules.full_within_s)} any more",
        "queue.unknown": f"UNKNOWN: {read.failure or 'the device does not tell how much is in the queue'}",
        "queue.known": f"the queue can be read again: {left}",
        "reading.late": f"a reading of {iso(read.at)} came after a younger one was taken, and changes nothing: {left}",
    }
    return sentences[kind]


_BOUND: Mapping[bool | None, str] = {
    True: "though the mate's bridge is bound",
    False: "nothing is bound to the queue",
    None: "whether the mate is bound is unknown",
}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
