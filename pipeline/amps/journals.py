"""Compares the logs of two instances by the identity that survives replication: client name hash and sequence.

Rules: docs/sources/amps.md, 8.1 (the values that may be compared across instances; a publisher's order must be equal)
and 9. AMPS discards a message as a duplicate if its number is not above the highest number seen of its publisher. So
messages that an asynchronous link had not sent when the publisher resumed at the mate are never sent. The steps are in
 ``sql/journals.sql``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.model.findings import Finding, Level
from pipeline.amps.instance import Instance
from pipeline.amps.log import open_log
from pipeline.amps.report import ABSENCES, HARMLESS, JournalsReport, LoggedTopic, LogReport, Remains, Unread
from pipeline.engines.executor import Executor, Row, Script
from pipeline.layout import MICROS
from pipeline.places import Place

_REMAINS_MAX = 20
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class JournalsOutcome:
    """The report. ``write`` makes the tables ``differences`` and ``quarantine`` in a directory."""

    report: JournalsReport
    write: Callable[[Place], None]
    close: Callable[[], None]


def compare_journals(
    engine: Executor, left: Instance, right: Instance, skew_s: float, clock: Clock, say: Say = lambda _: None
) -> JournalsOutcome:
    """Compare two logs. ``skew_s``: how far the instances' clocks may differ, in seconds."""
    logs = []
    for side, instance in zip("lr", (left, right), strict=True):
        say(f"reading {counted(len(instance.journals), 'dump')} of {instance.name}")
        logs.append(open_log(engine, side, instance))
    say("comparing the two logs")
    return _Comparison(engine, logs[0], logs[1], skew_s, clock).run()


class _Comparison:
    """One comparison of two logs."""

    def __init__(self, engine: Executor, left: LogReport, right: LogReport, skew_s: float, clock: Clock) -> None:
        self._engine, self._left, self._right = engine, left, right
        self._script = Script("journals", engine)
        self._skew = round(skew_s * MICROS)
        self._clock = clock

    def run(self) -> JournalsOutcome:
        self._judge()
        report = JournalsReport(
            created_at=self._clock.now(),
            engine=self._engine.name,
            left=self._left,
            right=self._right,
            topics=self._topics(),
            remains=self._remains(),
        )
        report = report.model_copy(update={"findings": tuple(_findings(report))})
        return JournalsOutcome(report, self._write, self._engine.release)

    def _judge(self) -> None:
        """Make the table ``judged``: one row for each identity of a topic."""
        script = self._script
        for side in "lr":
            script.view("publishers", f"publishers_{side}", side=side)
            script.view("topics", f"topics_{side}", side=side)
        script.view("messages")
        is_changed = script.text("is_changed")
        whys = {
            "why_l": self._why("l", "r", self._right),
            "why_r": self._why("r", "l", self._left),
        }
        script.hold("judged", is_changed=is_changed, **whys)

    def _why(self, own: str, other: str, log: LogReport) -> str:
        # If a part of the log could not be read, the message may be in that part.
        absent, lost = (word if log.is_whole else "unknown" for word in ("topic-absent", "lost"))
        begins = "NULL" if log.first_at is None else round(log.first_at * MICROS)
        return self._script.text(
            "why", own=own, other=other, absent=absent, lost=lost, skew=self._skew, begins=begins
        )

    def _topics(self) -> tuple[LoggedTopic, ...]:
        whys: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(lambda: {"missing": {}, "extra": {}})
        for row in self._script.rows("whys"):
            whys[_topic(row)][row["class"]][row["why"]] = row["number"]
        own = [self._breaks(self._script.text("own_order", side=side)) for side in "lr"]
        across = self._breaks(self._script.text("order_across"))
        return tuple(
            LoggedTopic(
                topic=row["topic"],
                message_type=row["message_type"],
                left=row["n_l"],
                right=row["n_r"],
                missing=whys[_topic(row)]["missing"],
                extra=whys[_topic(row)]["extra"],
                changed=row["changed"],
                unverified=row["unverified"],
                duplicates_left=row["copies_l"],
                duplicates_right=row["copies_r"],
                backwards_left=own[0].get(_topic(row), 0),
                backwards_right=own[1].get(_topic(row), 0),
                order_breaks=across.get(_topic(row), 0),
            )
            for row in self._script.rows("sums")
        )

    def _breaks(self, places: str) -> dict[tuple[str, str], int]:
        """For each topic: how often one value falls along another value, within one publisher."""
        order = Script("order", self._engine)
        rows = order.rows("breaks", rows=places, by="topic, message_type, client", group="topic, message_type")
        return {_topic(row): row["breaks"] for row in rows}

    def _remains(self) -> tuple[Remains, ...]:
        return tuple(
            Remains(
                side="left" if row["class"] == "missing" else "right",
                client=row["client"],
                messages=row["messages"],
                first_sequence=row["first_sequence"],
                last_sequence=row["last_sequence"],
                first_at=None if row["first_micros"] is None else row["first_micros"] / 1e6,
                last_at=None if row["last_micros"] is None else row["last_micros"] / 1e6,
            )
            for row in self._script.rows("remains", most=_REMAINS_MAX)
        )

    def _write(self, place: Place) -> None:
        self._engine.write(self._script.text("table"), place.child("differences"), is_small=False)
        unread = [self._script.text("quarantine", dumps=f"dumps_{side}") for side in "lr"]
        self._engine.write(" UNION ALL ".join(unread), place.child("quarantine"), is_small=True)


def _topic(row: Row) -> tuple[str, str]:
    return row["topic"], row["message_type"]


def _findings(report: JournalsReport) -> list[Finding]:
    found = [finding for log in (report.left, report.right) for finding in findings_of_log(log)]
    sides = ((report.left.name, "missing", report.right.name), (report.right.name, "extra", report.left.name))
    for topic in report.topics:
        label = f"{topic.topic} ({topic.message_type})"
        for own, kind, other in sides:
            for why, count in sorted(getattr(topic, kind).items()):
                level = (
                    Level.UNKNOWN
                    if why in ("unknown", "undecided")
                    else Level.NOTE
                    if why in HARMLESS
                    else Level.ERROR
                )
                level = Level.WARNING if why == "aged-out" else level
                which = f"{counted(count, 'message')} of {own} {'is' if count == 1 else 'are'}"
                text = f"{label}: {which} not in the log of {other}: {ABSENCES[why]}"
                found.append(Finding(level=level, code=f"journal-{why}", message=text))
        if topic.changed:
            which = counted(topic.changed, "message has", "messages have")
            text = f"{label}: {which} the same identity but different content"
            found.append(Finding(level=Level.ERROR, code="journal-changed", message=text))
        if topic.duplicates_left or topic.duplicates_right:
            text = f"{label}: {topic.duplicates_left:,} and {topic.duplicates_right:,} entries repeat an identity"
            found.append(Finding(level=Level.ERROR, code="journal-duplicates", message=text))
        if topic.order_breaks or topic.backwards_left or topic.backwards_right:
            text = (
                f"{label}: the order of a publisher's messages differs: compared with left, right goes back"
                f" {counted(topic.order_breaks, 'time')}; the numbers fall {counted(topic.backwards_left, 'time')}"
                f" in left and {counted(topic.backwards_right, 'time')} in right"
            )
            found.append(Finding(level=Level.ERROR, code="journal-order", message=text))
    return found


def findings_of_log(log: LogReport) -> list[Finding]:
    """The findings about the parts of a log that were not read."""
    found = list(findings_of_unread(log.unread, log.unread_pieces))
    if log.other_types:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(log.other_types.items()))
        text = f"{log.name}: some entries are not messages and were not compared: {counts}"
        found.append(Finding(level=Level.NOTE, code="journal-other-types", message=text))
    return found


def findings_of_unread(unread: Sequence[Unread], pieces: int) -> Iterator[Finding]:
    """A finding for each dump with unreadable pieces. ``pieces``: the number of unreadable pieces in all dumps."""
    for one in unread:
        text = f"{counted(one.pieces, 'piece')} could not be read; the first one: {one.reason}"
        yield Finding(level=Level.UNKNOWN, code="dump-unread", message=text, file=one.file)
    rest = pieces - sum(one.pieces for one in unread)
    if rest:
        text = f"{counted(rest, 'piece')} of further dumps could not be read; `--out` writes a table of all of them"
        yield Finding(level=Level.UNKNOWN, code="dump-unread", message=text)
