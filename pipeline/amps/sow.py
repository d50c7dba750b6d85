"""Compares the SOW topics of two instances: each with what its own log makes of it, and both with each other.

Seed 002: replicated SOW topics are equal when every message is still in the transaction logs, both instances have
processed all of them, and in the same order. Each difference is explained by which of these does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

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
from pipeline.amps.rebuild import NO_FIELDS, Bounds, against_log
from pipeline.amps.report import InstanceReport, KeptTopic, PairedTopic, SowReport, SowSample

_SAMPLES_A_CAUSE = 3
_CAUSES_SHOWN = 12
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
    say("rebuilding each SOW from its log")
    topics = sorted({*left.instance.sow} & {*right.instance.sow})
    unlike = [topic for topic in topics if _fields(left, topic) != _fields(right, topic)]
    apart = [topic for topic in unlike if _fields(left, topic) and _fields(right, topic)]
    reports = [side.report() for side in sides]
    say("comparing the two")
    pairs = paired(
        *[side.for_pairing(is_pair_key=bool(unlike)) for side in sides],
        apart=apart,
        skew_micros=round(skew_s * 1e6),
    )
    pairs = pairs.join(F.broadcast(_topics_table(spark, topics)), list(TOPIC), "left_semi").persist(_HELD)
    differences = _differences(sides, pairs)
    report = SowReport(
        created_at=clock.now(),
        left=reports[0],
        right=reports[1],
        topics=_paired_topics(pairs, topics),
        samples=_samples(differences),
    )
    other_keys = pairs.where("other_sow_key").groupBy(*TOPIC).count().collect()
    found = findings_of_sow(
        report, left, right, {Topic(r["topic"], r["message_type"]): r["count"] for r in other_keys}
    )
    report = report.model_copy(update={"findings": tuple(found)})

    def close() -> None:
        pairs.unpersist()
        for side in sides:
            side.close()

    unread = reduce(DataFrame.unionByName, [table for side in sides for table in side.unread])
    return SowOutcome(report, differences, unread, close)


_HELD = StorageLevel.MEMORY_AND_DISK


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
        self.bounds = Bounds.of(self.log.report, self._records)
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
        rebuilt = F.lit(False)
        for topic in self._fields:
            rebuilt = rebuilt | ((F.col("topic") == topic.name) & (F.col("message_type") == topic.message_type))
        found = self.judged.where(F.col("cause").isNotNull() & rebuilt & self._is_dumped())
        return found.select(F.lit(where).alias("where"), *TOPIC, "key", "cause")

    def _is_dumped(self) -> Column:
        dumped = F.lit(False)
        for topic in self._own.instance.sow:
            dumped = dumped | ((F.col("topic") == topic.name) & (F.col("message_type") == topic.message_type))
        return dumped

    def report(self) -> InstanceReport:
        """What is told of this instance alone."""
        has, rebuilt = F.col("has"), F.col("is_rebuilt")
        counts = {
            Topic(row["topic"], row["message_type"]): row
            for row in self.judged.groupBy(*TOPIC)
            .agg(
                F.count(F.when(has, 1)).alias("records"),
                F.count(F.when(rebuilt, 1)).alias("rebuilt"),
                F.count(F.when(has & rebuilt & F.isnull("cause") & ~F.col("is_unverified"), 1)).alias("same"),
                F.count(F.when(F.col("is_unverified") & F.isnull("cause"), 1)).alias("unverified"),
            )
            .collect()
        }
        causes: dict[Topic, dict[str, int]] = {}
        for row in self.differences("").groupBy(*TOPIC, "cause").count().collect():
            causes.setdefault(Topic(row["topic"], row["message_type"]), {})[row["cause"]] = row["count"]
        return InstanceReport(
            log=self.log.report,
            sow_files=len(self._own.instance.sow),
            unread=unread_of(self.unread[1]),
            topics=tuple(self._topic(topic, counts.get(topic), causes) for topic in sorted(self._own.instance.sow)),
        )

    def _topic(self, topic: Topic, row: Row | None, causes: dict[Topic, dict[str, int]]) -> KeptTopic:
        definition = self._own.keys_of(topic)
        is_rebuilt = topic in self._fields
        return KeptTopic(
            topic=topic.name,
            message_type=topic.message_type,
            keys=None if definition is None else definition.fields,
            is_rebuilt=is_rebuilt,
            records=row["records"] if row else 0,
            rebuilt=row["rebuilt"] if row and is_rebuilt else 0,
            same=row["same"] if row and is_rebuilt else 0,
            unverified=row["unverified"] if row and is_rebuilt else 0,
            differences=causes.get(topic, {}),
        )

    def close(self) -> None:
        """Let go of the tables."""
        self.judged.unpersist()
        self._raw.unpersist()
        self.log.close()


def _records(spark: SparkSession, instance: Instance, own_key: Column, pair_key: Column) -> DataFrame:
    """The records of all dumps, each with the topic that its file's name says; without their payloads."""
    told = [part for t, place in instance.sow.items() for part in (F.lit(place.name), F.struct(F.lit(t[0]), F.lit(t[1])))]
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


def _topics_table(spark: SparkSession, topics: Sequence[Topic]) -> DataFrame:
    return spark.createDataFrame([tuple(topic) for topic in topics], "topic string, message_type string")


def _differences(sides: Sequence[_Side], pairs: DataFrame) -> DataFrame:
    between = pairs.where("cause IS NOT NULL").select(F.lit("pair").alias("where"), *TOPIC, "key", "cause")
    alone = [side.differences(name) for side, name in zip(sides, ("left", "right"), strict=True)]
    return reduce(DataFrame.unionByName, [*alone, between])


def _paired_topics(pairs: DataFrame, topics: Sequence[Topic]) -> tuple[PairedTopic, ...]:
    only = (
        F.when(F.col("has_l") & F.col("has_r"), "differing").when(F.col("has_l"), "only_left").otherwise("only_right")
    )
    counted: dict[Topic, dict[str, dict[str, int]]] = {}
    same: dict[Topic, int] = {}
    for row in pairs.groupBy(*TOPIC, only.alias("which"), "cause").count().collect():
        topic = Topic(row["topic"], row["message_type"])
        if row["cause"] is None:
            same[topic] = row["count"]
        else:
            counted.setdefault(topic, {}).setdefault(row["which"], {})[row["cause"]] = row["count"]
    return tuple(
        PairedTopic(
            topic=topic.name,
            message_type=topic.message_type,
            same=same.get(topic, 0),
            **counted.get(topic, {}),
        )
        for topic in topics
    )


def _samples(differences: DataFrame) -> tuple[SowSample, ...]:
    kinds = (
        differences.select("where", "cause").distinct().orderBy("where", "cause").limit(3 * _CAUSES_SHOWN).collect()
    )
    some = [
        differences.where((F.col("where") == kind["where"]) & (F.col("cause") == kind["cause"])).limit(
            _SAMPLES_A_CAUSE
        )
        for kind in kinds
    ]
    rows = reduce(DataFrame.unionByName, some).collect() if some else []
    return tuple(SowSample(where=r["where"], topic=r["topic"], key=r["key"], cause=r["cause"]) for r in rows)
