"""Compares the SOW topics of two instances: each with what its own log makes of it, and both with each other.

Seed 002: replicated SOW topics are equal when every message is still in the transaction logs, both instances have
processed all of them, and in the same order. Each difference is explained by which of these does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock
from pipeline.amps.findings import findings_of_sow
from pipeline.amps.instance import Instance, Topic
from pipeline.amps.keys import Definition, Definitions, common_fields, is_readable, key_of
from pipeline.amps.log import TOPIC, Log, open_log, unread_of
from pipeline.amps.pairing import paired
from pipeline.amps.reader import quarantine, readable, sow_records
from pipeline.amps.rebuild import NO_FIELDS, RECORD, Bounds, against_log
from pipeline.amps.report import InstanceReport, KeptTopic, PairedTopic, SowReport, SowSample

_HELD = StorageLevel.MEMORY_AND_DISK
_DIFFERENCE = ("where", "which", *RECORD, "cause", "other_sow_key")
_WHERE: tuple[Literal["left", "right", "pair"], ...] = ("left", "right", "pair")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SowOutcome:
    """The report, and as tables every difference and what could not be read."""

    report: SowReport
    differences: DataFrame
    unread: DataFrame
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class SowSide:
    """One instance as it is given: its dumps, and how it defines keys."""

    instance: Instance
    definitions: Definitions

    def keys_of(self, topic: Topic) -> Definition | None:
        """How it tells this topic's records apart, if that is known."""
        return self.definitions.get(topic)


def compare_sows(
    spark: SparkSession, left: SowSide, right: SowSide, skew_s: float, clock: Clock, say: Say = lambda _: None
) -> SowOutcome:
    """Compare two instances' SOW topics. ``skew_s``: how far their clocks may be apart. Inside of ``spark_faults``."""
    say("reading the dumps")
    sides = [_Side(spark, one, other) for one, other in ((left, right), (right, left))]
    topics = sorted({*left.instance.sow} & {*right.instance.sow})
    unlike = [topic for topic in topics if _fields(left, topic) != _fields(right, topic)]
    apart = [topic for topic in unlike if _fields(left, topic) and _fields(right, topic)]
    say("rebuilding each SOW from its log")
    counts = [side.counted() for side in sides]
    say("comparing the two")
    states = [side.for_pairing(is_pair_key=bool(unlike)) for side in sides]
    pairs = paired(states[0], states[1], apart=apart, skew_micros=round(skew_s * 1e6)).where(_is_one_of(topics))
    found = [side.differences(name) for side, name in zip(sides, ("left", "right"), strict=True)]
    judged = reduce(DataFrame.unionByName, [*found, _as_differences(pairs)]).persist(_HELD)
    tallies = _tallied(judged)
    report = SowReport(
        created_at=clock.now(),
        left=sides[0].report(counts[0], tallies["left"]),
        right=sides[1].report(counts[1], tallies["right"]),
        topics=tuple(_paired_topic(topic, tallies["pair"]) for topic in topics),
        samples=tuple(_samples(tallies)),
    )
    other_keys = {topic: sum(one.other_keys for one in tallies["pair"] if one.topic == topic) for topic in topics}
    report = report.model_copy(update={"findings": tuple(findings_of_sow(report, left, right, other_keys))})

    def close() -> None:
        judged.unpersist()
        for side in sides:
            side.close()

    differences = judged.where("cause IS NOT NULL").drop("other_sow_key")
    unread = reduce(DataFrame.unionByName, [table for side in sides for table in side.unread])
    return SowOutcome(report, differences, unread, close)


@dataclass(frozen=True, slots=True)
class _Tally:
    """How many records of a topic are alike: ``which`` side has them, ``cause`` None for those that agree, and two of
    their keys."""

    topic: Topic
    which: str
    cause: str | None
    records: int
    other_keys: int
    keys: tuple[str, ...]


class _Side:
    """One instance's tables. ``key`` is by its own definition, ``pair_key`` by both sides' fields together."""

    def __init__(self, spark: SparkSession, own: SowSide, other: SowSide) -> None:
        self._own = own
        topics = sorted({*own.instance.sow, *other.instance.sow, *own.definitions})
        self._fields = {t: _fields(own, t) for t in topics if is_readable(t, own.keys_of(t))}
        pair_fields = {
            t: common_fields(own.keys_of(t), other.keys_of(t))
            for t in topics
            if is_readable(t, own.keys_of(t)) and is_readable(t, other.keys_of(t))
        }
        own_key, pair_key = key_of(self._fields), key_of(pair_fields)
        keys = F.struct(own_key.alias("own"), pair_key.alias("pair"))
        self.log: Log = open_log(
            spark, own.instance.name, own.instance.journals, lambda rows: rows.withColumn("keys", keys), "keys"
        )
        self._messages = self.log.messages.select(
            "*", F.col("keys.own").alias("key"), F.col("keys.pair").alias("pair_key")
        ).drop("keys")
        self._raw = _records(spark, own.instance, own_key, pair_key).persist(_HELD)
        self._records = readable(self._raw)
        told = self._raw.agg(F.max("txid").alias("last"), F.count("reason").alias("unread")).first()
        assert told is not None  # an aggregation without groups has one row
        log = self.log.report
        self.bounds = Bounds(log.first_txid, log.last_txid, told["last"], log.is_whole)
        self._unread_pieces: int = told["unread"]
        self.judged = against_log(self._records, self._messages, self.bounds).persist(_HELD)
        self.unread = (self.log.unread, quarantine(self._raw))

    def for_pairing(self, *, is_pair_key: bool) -> tuple[DataFrame, DataFrame, Bounds, int | None]:
        """What the comparison with the mate needs: states by key, messages, bounds, when the log begins (µs)."""
        begins = self.log.report.first_at
        first = None if begins is None else round(begins * 1e6)
        if not is_pair_key:
            return self.judged, self._messages, self.bounds, first
        records, messages = (table.withColumn("key", F.col("pair_key")) for table in (self._records, self._messages))
        return against_log(records, messages, self.bounds), messages, self.bounds, first

    def differences(self, where: str) -> DataFrame:
        """Where this instance's SOW is not what its log makes of it."""
        told = [topic for topic in self._fields if topic in self._own.instance.sow]
        found = self.judged.where(F.col("cause").isNotNull() & _is_one_of(told))
        named = found.withColumns({"where": F.lit(where), "which": F.lit(""), "other_sow_key": F.lit(False)})
        return named.select(*_DIFFERENCE)

    def counted(self) -> dict[Topic, Row]:
        """Records that are there, that the log gives, that agree, and whose content could not be compared."""
        has, rebuilt, agrees = F.col("has"), F.col("is_rebuilt"), F.isnull("cause")
        counted = self.judged.groupBy(*TOPIC).agg(
            F.count(F.when(has, 1)).alias("records"),
            F.count(F.when(rebuilt, 1)).alias("rebuilt"),
            F.count(F.when(has & rebuilt & agrees & ~F.col("is_unverified"), 1)).alias("same"),
            F.count(F.when(agrees & F.col("is_unverified"), 1)).alias("unverified"),
        )
        return {Topic(row["topic"], row["message_type"]): row for row in counted.collect()}

    def report(self, counted: Mapping[Topic, Row], tallies: Sequence[_Tally]) -> InstanceReport:
        """What is told of this instance alone."""
        return InstanceReport(
            log=self.log.report,
            sow_files=len(self._own.instance.sow),
            unread=unread_of(self.unread[1]) if self._unread_pieces else (),
            unread_pieces=self._unread_pieces,
            topics=tuple(self._topic(topic, counted.get(topic), tallies) for topic in sorted(self._own.instance.sow)),
        )

    def _topic(self, topic: Topic, row: Row | None, tallies: Sequence[_Tally]) -> KeptTopic:
        definition = self._own.keys_of(topic)
        is_rebuilt = topic in self._fields
        numbers = {name: row[name] for name in ("rebuilt", "same", "unverified")} if row and is_rebuilt else {}
        return KeptTopic(
            topic=topic.name,
            message_type=topic.message_type,
            keys=None if definition is None else definition.fields,
            is_rebuilt=is_rebuilt,
            records=row["records"] if row else 0,
            differences={one.cause: one.records for one in tallies if one.topic == topic and one.cause},
            **numbers,
        )

    def close(self) -> None:
        """Let go of the tables."""
        self.judged.unpersist()
        self._raw.unpersist()
        self.log.close()


def _records(spark: SparkSession, instance: Instance, own_key: Column, pair_key: Column) -> DataFrame:
    """The records of all dumps, each with the topic that its file's name says; without their payloads."""
    told = [
        part for t, place in instance.sow.items() for part in (F.lit(place.name), F.struct(F.lit(t[0]), F.lit(t[1])))
    ]
    rows = sow_records(spark, list(instance.sow.values())).withColumnRenamed("key", "sow_key")
    topic = F.element_at(F.create_map(*told), F.col("file")) if told else F.struct(F.lit(""), F.lit(""))
    rows = rows.withColumn("of", topic).withColumns({"topic": F.col("of.col1"), "message_type": F.col("of.col2")})
    by_sow_key = F.concat(F.lit(NO_FIELDS), "sow_key")
    return rows.select(
        *TOPIC,
        F.coalesce(own_key, by_sow_key).alias("key"),
        F.coalesce(pair_key, by_sow_key).alias("pair_key"),
        *("sow_key", "txid", "digest", "expiration"),
        *("file", "offset", "length", "reason", "excerpt"),
    )


def _fields(side: SowSide, topic: Topic) -> tuple[str, ...]:
    definition = side.keys_of(topic)
    return definition.fields if definition else ()


def _is_one_of(topics: Iterable[Topic]) -> Column:
    found = F.lit(False)
    for topic in topics:
        found = found | ((F.col("topic") == topic.name) & (F.col("message_type") == topic.message_type))
    return found


def _as_differences(pairs: DataFrame) -> DataFrame:
    which = F.when(F.col("has_l") & F.col("has_r"), "differing").when(F.col("has_l"), "only_left")
    named = pairs.withColumns({"where": F.lit("pair"), "which": which.otherwise("only_right")})
    return named.select(*_DIFFERENCE)


def _tallied(judged: DataFrame) -> dict[str, list[_Tally]]:
    """By left, right and pair; one pass over everything that was judged."""
    rows = judged.groupBy("where", *TOPIC, "which", "cause").agg(
        *[F.count("*").alias("records"), F.count(F.when(F.col("other_sow_key"), 1)).alias("other_keys")],
        *[F.min("key").alias("one"), F.max("key").alias("another")],
    )
    found: dict[str, list[_Tally]] = {"left": [], "right": [], "pair": []}
    for row in rows.orderBy("where", *TOPIC, "which", "cause").collect():
        topic = Topic(row["topic"], row["message_type"])
        keys = tuple(sorted({row["one"], row["another"]}))
        tally = _Tally(topic, row["which"], row["cause"], row["records"], row["other_keys"], keys)
        found[row["where"]].append(tally)
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
    """Two records of each cause, wherever it was met first."""
    seen: set[tuple[str, str]] = set()
    for where in _WHERE:
        for one in tallies[where]:
            if one.cause is not None and (where, one.cause) not in seen:
                seen.add((where, one.cause))
                for key in one.keys:
                    yield SowSample(where=where, topic=one.topic.name, key=key, cause=one.cause)
