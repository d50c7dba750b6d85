"""Alerts: events of a queue or a link, and unusable lines, as CloudEvents 1.0 and as sentences.

The envelope is the envelope of hooks (docs/how-to/hooks.md). The identity of an alert is its subject: the sample, site,
service and kind, or the file and line. Following the same readings again gives the same alerts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.clock import iso
from orchestrator.notifications.message import envelope
from pipeline.watch import link_words, queue_words
from pipeline.watch.arrivals import Event, Rules
from pipeline.watch.course import Course, Figures
from pipeline.watch.link import LinkCourse, LinkFigures

AnyCourse = Course | LinkCourse
AnyFigures = Figures | LinkFigures

SOURCE = "/failover/pipeline/watch"
UNUSABLE = "reading.unusable"
# Alerts that need an operator's action. Other alerts end one of these, or are only recorded.
ALARMS = queue_words.ALARMS | link_words.ALARMS | {UNUSABLE}
_TEXT_MAX = 200

Alert = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """The place of a reading. ``at``: when its file was last written, seconds since the epoch."""

    file: str
    number: int
    at: float


def alert_of(event: Event[AnyFigures], site: str, service: str, line: Line, rules: Rules) -> Alert:
    """The alert for an event of one queue or link."""
    read = event.figures.read
    if event.kind == "reading.late":
        name = f"{line.file}/{line.number}/{event.kind}"
        told: dict[str, Any] = {"file": line.file, "line": line.number}
    else:
        name = f"{read.look}/{site}/{service}/{event.kind}"
        told = {**figures_of(event.figures, service)}
    body = {"kind": event.kind, "sentence": _sentence(event, rules), "look": read.look, **told}
    data = {"at": iso(read.at), "simulated": read.simulated, "site": site, "service": service, "event": body}
    return envelope(name, SOURCE, event.kind, service, read.at, data)


def unusable_alert(line: Line, reason: str, text: str) -> Alert:
    """The alert for a line that is not a reading, or has a wrong time."""
    body = {
        "kind": UNUSABLE,
        "sentence": f"line {line.number} of {line.file} is not a reading: {reason}",
        "file": line.file,
        "line": line.number,
        "reason": reason,
        "text": text[:_TEXT_MAX],
    }
    data = {"at": iso(line.at), "simulated": None, "site": None, "service": None, "event": body}
    return envelope(f"{line.file}/{line.number}/{UNUSABLE}", SOURCE, UNUSABLE, None, line.at, data)


def figures_of(figures: AnyFigures, service: str) -> dict[str, Any]:
    """The figures for machines; null is unknown. Names and units are the same as in ``failover watch --json``."""
    if isinstance(figures, Figures):
        return queue_words.figures_of(figures, service)
    return link_words.figures_of(figures, service)


def standing_of(course: AnyCourse, site: str, service: str, rules: Rules) -> dict[str, Any]:
    """The state of a service after all readings so far, with their counts."""
    figures: AnyFigures = course.figures(rules)
    head = {"site": site, "service": service, "at": iso(figures.read.at), "simulated": figures.read.simulated}
    counts = {"readings": course.readings, "late": course.late, "duplicates": course.duplicates}
    return {**head, **figures_of(figures, service), "alarms": course.alarms, **counts}


def alert_line(alert: Mapping[str, Any]) -> str:
    """One alert as a line for a person. An alarm has an exclamation mark, as in ``failover watch``."""
    data = alert["data"]
    event = data["event"]
    marker = "SIMULATED  " if data["simulated"] else ""
    whom = f"{data['service']} at {data['site']}: " if data["service"] is not None else ""
    alarm = "! " if event["kind"] in ALARMS else ""
    return f"{alert['time'][:19]}Z {marker}{whom}{alarm}{event['sentence']}"


def standing_line(course: AnyCourse, site: str, service: str, rules: Rules) -> str:
    """The state of a service as a line for a person, with the active alarms."""
    figures: AnyFigures = course.figures(rules)
    marker = "SIMULATED  " if figures.read.simulated else ""
    if isinstance(figures, Figures):
        stands = queue_words.standing(figures, service)
    else:
        stands = link_words.standing(figures, service)
    alarms = f" [{', '.join(course.alarms)}]" if course.alarms else ""
    return f"{iso(figures.read.at)[:19]}Z {marker}{service} at {site}: {stands}{alarms}"


def _sentence(event: Event[AnyFigures], rules: Rules) -> str:
    figures = event.figures
    if isinstance(figures, Figures):
        return queue_words.sentence_of(event.kind, figures, rules)
    return link_words.sentence_of(event.kind, figures, rules)
