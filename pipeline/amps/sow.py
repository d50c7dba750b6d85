"""Compares the SOW topics of two instances: each with the records from its own log, and both with each other.

docs/sources/amps.md, 9.8: a SOW is made of the messages that are still in the transaction log, in the order of the log.
The last message of a key is its record, and a deletion removes the record. A record whose message has aged out of the
log is valid in its SOW, but cannot be rebuilt on another instance. Replicated SOW topics are equal when every message is
still in the logs, and both instances have processed all messages in the same order. A difference is explained by the
condition that does not hold (``sql/sow.sql``).

The content of a deletion is not documented. If its payload has the key fields, it removes that key. Any other deletion
makes every older record of its topic uncertain. The unit of an expiration is not documented either, so a record with an
expiration may be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from orchestrator.clock import Clock
from pipeline.amps.findings import findings_of_sow
from pipeline.amps.instance import Instance, Topic
from pipeline.amps.keys import Definition, Definitions, Keys, common_fields, is_readable
from pipeline.amps.log import open_log, unread_of
from pipeline.amps.report import InstanceReport, KeptTopic, LogReport, PairedTopic, SowReport, SowSample
from pipeline.engines.executor import Executor, Row, Script
from pipeline.layout import MICROS
from pipeline.places import Place

_WHERE: tuple[Literal["left", "right", "pair"], ...] = ("left", "right", "pair")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SowOutcome:
    """The report. ``write`` makes the tables ``differences`` and ``quarantine`` in a directory."""

    report: SowReport
    write: Callable[[Place], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class SowSide:
    """The input for one instance: its dumps, and its definitions of keys."""

    instance: Instance
    definitions: Definitions

    def keys_of(self, topic: Topic) -> Definition | None:
        """The instance's definition of this topic's keys; None if unknown."""
        return self.definitions.get(topic)


def compare_sows(
    engine: Executor, left: SowSide, right: SowSide, skew_s: float, clock: Clock, say: Say = lambda _: None
) -> SowOutcome:
    """Compare two instances' SOW topics. ``skew_s``: how far their clocks may differ, in seconds."""
    say("reading the dumps")
    sides = [_Side(engine, "l", left, right), _Side(engine, "r", right, left)]
    topics = sorted({*left.instance.sow} & {*right.instance.sow})
    unlike = [topic for topic in topics if _fields(left, topic) != _fields(right, topic)]
    apart = [topic for topic in unlike if _fields(left, topic) and _fields(right, topic)]
    say("rebuilding each SOW from its log")
    states = [side.states(is_pair_key=bool(unlike)) for side in sides]
    say("comparing the two SOWs")
    _pair(engine, sides, states, topics, apart, round(skew_s * MICROS))
    script = Script("sow", engine)
    script.hold("judged")
    tallies = _tallied(script)
    report = SowReport(
        created_at=clock.now(),
        engine=engine.name,
        left=sides[0].report(tallies["left"]),
        right=sides[1].report(tallies["right"]),
        topics=tuple(_paired_topic(topic, tallies["pair"]) for topic in topics),
        samples=tuple(_samples(tallies)),
    )
    other_keys = {topic: sum(one.other_keys for one in tallies["pair"] if one.topic == topic) for topic in topics}
    report = report.model_copy(update={"findings": tuple(findings_of_sow(report, left, right, other_keys))})

    def write(place: Place) -> None:
        engine.write(script.text("table"), place.child("differences"), is_small=False)
        dumps = [f"{kind}_{side}" for side in "lr" for kind in ("dumps", "sows")]
        unread = [Script("journals", engine).text("quarantine", dumps=one) for one in dumps]
        engine.write(" UNION ALL ".join(unread), place.child("quarantine"), is_small=True)

    return SowOutcome(report, write, engine.release)


@dataclass(frozen=True, slots=True)
class _Tally:
    """The number of records of a topic with the same result. ``which``: the side that has them. ``cause``: None if the
    records agree. ``keys``: up to two of their keys."""

    topic: Topic
    which: str
    cause: str | None
    records: int
    other_keys: int
    keys: tuple[str, ...]


class _Side:
    """One instance's tables. ``own_key``: the key by its own definition. ``pair_key``: the key by both sides' fields."""

    def __init__(self, engine: Executor, side: str, own: SowSide, other: SowSide) -> None:
        self._engine, self._side, self._own = engine, side, own
        self._script = Script("sow", engine)
        topics = sorted({*own.instance.sow, *other.instance.sow, *own.definitions})
        self._fields = {t: _fields(own, t) for t in topics if is_readable(t, own.keys_of(t))}
        pair_fields = {
            t: common_fields(own.keys_of(t), other.keys_of(t))
            for t in topics
            if is_readable(t, own.keys_of(t)) and is_readable(t, other.keys_of(t))
        }
        settings: Mapping[str, Any] = {"own": Keys(self._fields).plain, "pair": Keys(pair_fields).plain}
        self.log: LogReport = open_log(engine, side, own.instance, settings)
        engine.read(f"sows_{side}", "sow", list(own.instance.sow.values()), settings)
        [told] = self._script.rows("sow_told", side=side)
        self._sow_last, self._unread_pieces = told["last_txid"], told["unread"]
        self._against_log(side, "own_key")
        self._script.hold("against_log", f"own_{side}", name=side, **self.bounds)
        rebuilt = [topic for topic in self._fields if topic in own.instance.sow]
        engine.given(f"rebuilt_{side}", _topics_table(rebuilt))

    @property
    def bounds(self) -> Mapping[str, str]:
        """The first and last transaction ids of the log and the last one of the SOW dumps, as SQL."""
        is_emptied = self.log.first_txid is None and self.log.is_whole
        return {
            "log_first": _number(self.log.first_txid),
            "log_last": _number(self.log.last_txid),
            "sow_last": _number(self._sow_last),
            "is_emptied": str(is_emptied).upper(),
            "absent": "not-in-log" if self.log.is_whole else "unknown",
        }

    def states(self, *, is_pair_key: bool) -> str:
        """The table of states by the common key of both sides. It is made if this key differs from the own key."""
        if not is_pair_key:
            return f"own_{self._side}"
        name = f"pair_{self._side}"
        self._against_log(name, "pair_key")
        self._script.hold("against_log", f"paired_{self._side}", name=name, **self.bounds)
        return f"paired_{self._side}"

    def _against_log(self, name: str, key: str) -> None:
        script = self._script
        script.view("records", f"records_{name}", key=key, side=self._side)
        script.view("operations", f"operations_{name}", key=key, side=self._side)
        script.view("last_operations", f"last_operations_{name}", name=name)
        script.view("blind_deletions", f"blind_deletions_{name}", name=name)

    def report(self, tallies: Sequence[_Tally]) -> InstanceReport:
        """The part of the report about this instance alone."""
        counts = {_topic(row): row for row in self._script.rows("own_counts", side=self._side)}
        keyless = {_topic(row): row for row in self._script.rows("keyless", side=self._side)}
        return InstanceReport(
            log=self.log,
            sow_files=len(self._own.instance.sow),
            unread=unread_of(self._engine, f"sows_{self._side}") if self._unread_pieces else (),
            unread_pieces=self._unread_pieces,
            topics=tuple(
                self._topic(topic, counts.get(topic), keyless.get(topic), tallies)
                for topic in sorted(self._own.instance.sow)
            ),
        )

    def _topic(self, topic: Topic, row: Row | None, keyless: Row | None, tallies: Sequence[_Tally]) -> KeptTopic:
        definition = self._own.keys_of(topic)
        is_rebuilt = topic in self._fields
        numbers = {name: row[name] for name in ("rebuilt", "same", "unverified")} if row and is_rebuilt else {}
        if keyless and is_rebuilt:
            keyed = keyless["messages"] - keyless["keyed"]
            numbers |= {"messages": keyless["messages"], "keyless": keyed, "fields": keyless["fields"]}
        return KeptTopic(
            topic=topic.name,
            message_type=topic.message_type,
            keys=None if definition is None else definition.fields,
            is_rebuilt=is_rebuilt,
            records=row["records"] if row else 0,
            differences={one.cause: one.records for one in tallies if one.topic == topic and one.cause},
            **numbers,
        )


def _pair(
    engine: Executor,
    sides: Sequence[_Side],
    states: Sequence[str],
    topics: Sequence[Topic],
    apart: Sequence[Topic],
    skew: int,
) -> None:
    """Make the table ``paired``. Only different records are searched in the logs. The message of a record is the log
    entry with the same transaction id. Its client and sequence are the same at the mate (docs/sources/amps.md, 8.1)."""
    script = Script("sow", engine)
    for side in "lr":
        for section in ("mate_publishers", "identities", "by_txid"):
            script.view(section, f"{section}_{side}", name=side)
    engine.given("in_both", _topics_table(topics))
    engine.given("apart", _topics_table(apart, is_apart=True))
    script.view("states", left=states[0], right=states[1])
    later = [script.text("is_later", side=letter, **side.bounds) for letter, side in zip("lr", sides, strict=True)]
    gone = [script.text("is_gone", side=letter, **side.bounds) for letter, side in zip("lr", sides, strict=True)]
    astray = {
        f"astray_{own}": script.text(
            "astray",
            own=own,
            skew=skew,
            begins="NULL" if mate.log.first_at is None else round(mate.log.first_at * MICROS),
            lost="lost" if mate.log.is_whole else "unknown",
        )
        for own, mate in (("l", sides[1]), ("r", sides[0]))
    }
    script.view("paired", is_later=f"({' OR '.join(later)})", is_gone=f"({' OR '.join(gone)})", **astray)


def _topics_table(topics: Sequence[Topic], *, is_apart: bool | None = None) -> pa.Table:
    columns = {
        "topic": pa.array([topic.name for topic in topics], pa.string()),
        "message_type": pa.array([topic.message_type for topic in topics], pa.string()),
    }
    if is_apart is not None:
        columns["is_apart"] = pa.array([is_apart] * len(topics), pa.bool_())
    return pa.table(columns)


def _number(value: int | None) -> str:
    return "CAST(NULL AS BIGINT)" if value is None else str(value)


def _fields(side: SowSide, topic: Topic) -> tuple[str, ...]:
    definition = side.keys_of(topic)
    return definition.fields if definition else ()


def _topic(row: Row) -> Topic:
    return Topic(row["topic"], row["message_type"])


def _tallied(script: Script) -> dict[str, list[_Tally]]:
    """The tallies by left, right and pair, from one pass over the judged records."""
    found: dict[str, list[_Tally]] = {"left": [], "right": [], "pair": []}
    for row in script.rows("tallies"):
        keys = tuple(sorted({row["one"], row["another"]}))
        tally = _Tally(_topic(row), row["which"], row["cause"], row["records"], row["other_keys"], keys)
        found[row["compared"]].append(tally)
    return found


def _paired_topic(topic: Topic, tallies: Sequence[_Tally]) -> PairedTopic:
    counts: dict[str, dict[str, int]] = {}
    own = [one for one in tallies if one.topic == topic]
    for one in own:
        if one.cause is not None:
            counts.setdefault(one.which, {})[one.cause] = one.records
    same = sum(one.records for one in own if one.cause is None)
    return PairedTopic(
        topic=topic.name,
        message_type=topic.message_type,
        same=same,
        only_left=counts.get("only_left", {}),
        only_right=counts.get("only_right", {}),
        differing=counts.get("differing", {}),
    )


def _samples(tallies: Mapping[str, Sequence[_Tally]]) -> Iterator[SowSample]:
    """Two records of each cause, from the first tally with that cause."""
    seen: set[tuple[str, str]] = set()
    for where in _WHERE:
        for one in tallies[where]:
            if one.cause is not None and (where, one.cause) not in seen:
                seen.add((where, one.cause))
                for key in one.keys:
                    yield SowSample(where=where, topic=one.topic.name, key=key, cause=one.cause)
