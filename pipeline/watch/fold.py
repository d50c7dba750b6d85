"""Folds lines of kept looks into courses and alerts. The workers run this on a batch. It does not depend on Spark.

One call gets whole services: all new lines of each service, in the order of arrival. A line that is not a reading
gives an alert with its file and number. No line is dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from orchestrator.errors import DefinitionError
from orchestrator.journal.samples import ReadingSample, decode_sample
from pipeline.watch.alerts import Alert, AnyCourse, AnyFigures, Line, alert_of, unusable_alert
from pipeline.watch.arrivals import Event, Rules
from pipeline.watch.course import Course, Read
from pipeline.watch.link import LinkCourse, LinkRead

Key = tuple[str, str]
# A reading may be younger than its file by this many seconds at most, because clocks may differ.
_AHEAD_S = 600.0


class Row(Protocol):
    """One line of a kept look. ``site`` and ``service``: None if the line is not JSON with these fields."""

    @property
    def name(self) -> str: ...
    @property
    def written_at(self) -> float: ...
    @property
    def number(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def site(self) -> str | None: ...
    @property
    def service(self) -> str | None: ...


@dataclass(slots=True)
class Folded:
    """The outcome of the lines of services. ``others``: lines without a replication queue and without links."""

    courses: dict[Key, AnyCourse] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    lines: int = 0
    unusable: int = 0
    others: int = 0


def fold(rows: Iterable[Row], before: Mapping[Key, AnyCourse], rules: Rules) -> Iterator[Folded]:
    """One result for each service of ``rows``, which must be grouped by service. ``before`` is not changed."""
    for (site, service), own in groupby(rows, attrgetter("site", "service")):
        folded = Folded()
        for row in own:
            folded.lines += 1
            _line(row, site, service, before, rules, folded)
        yield folded


def _line(
    row: Row, site: str | None, service: str | None, before: Mapping[Key, AnyCourse], rules: Rules, folded: Folded
) -> None:
    line = Line(row.name, row.number + 1, row.written_at)
    try:
        found = _decoded(row, site, service)
        read = Read.of(found) or LinkRead.of(found)
        if read is None:
            folded.others += 1
            return
        happened = _arrived(_course(found, read, before, folded), read, rules)
    except DefinitionError as error:
        folded.unusable += 1
        folded.alerts.append(unusable_alert(line, str(error), row.text))
        return
    folded.alerts += [alert_of(event, found.site, found.service, line, rules) for event in happened]


def _course(
    found: ReadingSample, read: Read | LinkRead, before: Mapping[Key, AnyCourse], folded: Folded
) -> AnyCourse:
    """The course that continues with this reading."""
    key = found.site, found.service
    if key not in folded.courses:
        new: AnyCourse = Course() if isinstance(read, Read) else LinkCourse()
        folded.courses[key] = before[key].copy() if key in before else new
    return folded.courses[key]


def _arrived(course: AnyCourse, read: Read | LinkRead, rules: Rules) -> Iterator[Event[AnyFigures]]:
    """The events of the reading. Raises ``DefinitionError`` when it is of another kind of service."""
    match course, read:
        case Course(), Read():
            return course.arrive(read, rules)
        case LinkCourse(), LinkRead():
            return course.arrive(read, rules)
        case _:
            raise DefinitionError("a message VPN and an AMPS service of this site have the same name")


def _decoded(row: Row, site: str | None, service: str | None) -> ReadingSample:
    """The reading in the line. Raises ``DefinitionError``."""
    found = decode_sample(row.text)
    if (found.site, found.service) != (site, service):
        raise DefinitionError("the site or the service of the reading is unknown")
    ahead = found.at - row.written_at
    if ahead > _AHEAD_S:
        raise DefinitionError(
            f"the time of the reading is {ahead:.0f}s after the time of its file, so a clock is wrong"
        )
    return found
