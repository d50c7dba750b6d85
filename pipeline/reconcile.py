"""Compares two exports: one pass of fingerprints, a closer look where they differ, then the judgement.

Five small jobs at most, whose answers grow with the endpoints and never with the messages. When nothing differs, the
first is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from pipeline import buckets, drill
from pipeline.ask import Ask, failover_of
from pipeline.assemble import assemble, settings_of
from pipeline.explain import explained
from pipeline.readings import Range, Reading, readings, rows_read
from pipeline.report import Interval, Report, Sample, Work
from pipeline.rows import EndpointKey
from pipeline.sides import Side, check_pair, endpoints_by_id, together, with_buckets
from pipeline.tally import Tally
from pipeline.timeline import Scale, intervals
from pipeline.width import MESSAGES_A_BUCKET_LOG2, numbers_log2

_SAMPLES_A_CLASS = 5
_FEW = 1_000
_BUCKETS_A_PIECE = 8_192
_MESSAGES_A_PIECE = 65_536
_SHOWN = ("service", "endpoint", "message_id", "spooled")
_BY_WHY = ("endpoint_id", "class", "why", "is_before")
Say = Callable[[str], None]
Told = tuple[tuple[Interval, ...], tuple[Sample, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report, and the differences themselves: a table with one row each. ``close`` lets go of what it holds."""

    report: Report
    differences: DataFrame | None
    close: Callable[[], None]


def reconcile(
    spark: SparkSession, left: Side, right: Side, ask: Ask, clock: Clock, say: Say = lambda _: None
) -> Outcome:
    """Compare ``left`` with ``right``.

    Raises ``DefinitionError`` for exports that do not belong together. Whoever calls it closes the outcome after
    reading ``differences``, and does both inside of ``spark_faults``.
    """
    check_pair(left, right)
    return _Reconciliation(spark, left, right, ask, clock, say).run()


class _Reconciliation:
    """One of them, with the tables that live as long as it does."""

    def __init__(self, spark: SparkSession, left: Side, right: Side, ask: Ask, clock: Clock, say: Say) -> None:
        self._spark, self._left, self._right = spark, left, right
        self._ask, self._clock, self._say = ask, clock, say
        self._held: list[DataFrame] = []
        self._services = sorted(
            {one.name for one in left.manifest.services} & {one.name for one in right.manifest.services}
        )
        self._names = endpoints_by_id(spark, left, right)
        self._numbers_log2 = numbers_log2(left, right) if ask.numbers_log2 is None else ask.numbers_log2

    def run(self) -> Outcome:
        self._say("comparing fingerprints of both sides")
        known = {
            "with_digests": self._left.has_digests and self._right.has_digests,
            "with_local": self._left.has_local or self._right.has_local,
        }
        rows = self._left.manifest.messages + self._right.manifest.messages
        pieces = self._pieces(rows >> MESSAGES_A_BUCKET_LOG2, _BUCKETS_A_PIECE)
        left, right = (self._prepared(side.rows(self._spark), buckets.READ) for side in (self._left, self._right))
        table = self._hold(buckets.table_of_buckets(left, right, pieces, **known))
        tallies = {self._key(row): Tally.of(row) for row in self._endpoints(table)}
        work = self._plan(tallies)
        differences: DataFrame | None = None
        spans: tuple[Interval, ...] = ()
        samples: tuple[Sample, ...] = ()
        if work.plan != "fingerprints":
            self._say(f"looking closer at {work.rows_drilled:,} of {counted(work.rows, 'message')}")
            differences = self._drill(table, tallies, work)
            is_few = sum(tally.differences for tally in tallies.values()) <= _FEW
            spans, samples = (self._tell_each if is_few else self._tell_sums)(differences, tallies)
        report = assemble(self._left, self._right, self._ask, tallies, work, self._clock.now())
        report = report.model_copy(update={"intervals": spans, "samples": samples}).sealed()
        return Outcome(report, differences, self._release)

    def _prepared(self, rows: DataFrame, columns: Sequence[str]) -> DataFrame:
        """These columns of the services that are compared, with the buckets."""
        return with_buckets(rows, columns, self._numbers_log2).where(F.col("service").isin(self._services))

    def _worth_telling(self, ranges: Sequence[Range] | None, work: Work) -> Sequence[Range] | None:
        """The ranges, or None where most rows would be read for them: to plan that takes longer than to read all."""
        if ranges is None:
            return None
        read = min(work.rows, rows_read(ranges, work.rows_drilled))
        return None if read > self._ask.everything_above * work.rows else ranges

    def _near(self, side: Side, ranges: Sequence[Range]) -> DataFrame:
        """The rows of one side with a number in these ranges."""
        found = readings(side.numbers, ranges) or [Reading([], [])]
        return reduce(
            DataFrame.union, [drill.in_numbers(side.rows(self._spark, one.files), one.ranges) for one in found]
        )

    def _to_drill(self, left: DataFrame, right: DataFrame) -> DataFrame:
        """Both sides as one before anything is done to them: each step is planned once, and not for every reading."""
        return self._prepared(together(left, right), (*drill.READ, "side"))

    def _pieces(self, rows: int, each: int) -> int:
        """Into how many pieces so many rows are cut: Spark does not choose for what is held, and small ones cost."""
        return min(int(self._spark.conf.get("spark.sql.shuffle.partitions") or 1), 1 + rows // each)

    def _hold(self, table: DataFrame) -> DataFrame:
        """Computed once, kept in memory as far as that goes, then on disk."""
        self._held.append(table.persist(StorageLevel.MEMORY_AND_DISK))
        return self._held[-1]

    def _release(self) -> None:
        for table in self._held:
            table.unpersist()
        self._held.clear()

    def _endpoints(self, table: DataFrame) -> list[Row]:
        return table.groupBy("endpoint_id").agg(*buckets.endpoint_sums()).collect()

    def _key(self, row: Row) -> EndpointKey:
        """Which endpoint a row is about."""
        if row["endpoint_id"] not in self._names:
            raise DefinitionError(
                "there are messages of an endpoint that no manifest names", hint="collect both again"
            )
        return self._names[row["endpoint_id"]]

    def _plan(self, tallies: dict[EndpointKey, Tally]) -> Work:
        rows = sum(one.rows for one in tallies.values())
        to_drill = sum(one.rows_drilled for one in tallies.values())
        number = sum(one.buckets for one in tallies.values())
        is_apart = any(one.clusters_apart for one in tallies.values())
        is_all = self._ask.equal_duplicates or to_drill > self._ask.everything_above * rows
        return Work(
            plan="everything" if is_all and rows else "drill" if to_drill or is_apart else "fingerprints",
            buckets=number,
            buckets_drilled=number if is_all else sum(one.buckets_drilled for one in tallies.values()),
            rows=rows,
            rows_drilled=rows if is_all else to_drill,
            overlooked_at_most=number * buckets.COLLISION,
        )

    def _drill(self, table: DataFrame, tallies: dict[EndpointKey, Tally], work: Work) -> DataFrame:
        """The differences, one row each; what is counted by endpoint goes into ``tallies``."""
        everything = work.plan == "everything"
        sides = (self._left, self._right)
        if everything:
            rows = self._to_drill(*(side.rows(self._spark) for side in sides))
        else:
            wanted = drill.wanted(self._spark, table, work.buckets_drilled, self._numbers_log2, self._names)
            ranges = self._worth_telling(wanted.ranges, work)
            read = [side.rows(self._spark) if ranges is None else self._near(side, ranges) for side in sides]
            rows = drill.only(self._to_drill(*read), wanted)
        pieces = self._pieces(work.rows_drilled, _MESSAGES_A_PIECE)
        messages = self._hold(drill.judged(drill.by_message(rows, pieces)))
        # Both in one query: what is held is then computed once, while both go on.
        sums = messages.groupBy("endpoint_id").agg(*drill.sums())
        breaks = drill.breaks_of_order(messages, None if everything else table)
        for row in sums.unionByName(breaks, allowMissingColumns=True).collect():
            tallies[self._key(row)].add_messages(row, is_all=everything)
        found = messages.where(F.col("class").isNotNull())
        settings = settings_of(self._left, self._right, self._ask, tallies)
        return explained(self._spark, found, settings, self._ask.clock_skew_s)

    def _tell_each(self, differences: DataFrame, tallies: dict[EndpointKey, Tally]) -> Told:
        """The intervals and samples of differences that are few enough to be fetched; what explains them goes into
        ``tallies``."""
        scale = self._scale(tallies)
        rows = differences.select(
            *_SHOWN, *_BY_WHY, scale.number().alias("number"), F.lit(1).alias("count")
        ).collect()
        self._add(rows, tallies)
        return intervals(rows, scale), _samples(rows)

    def _tell_sums(self, differences: DataFrame, tallies: dict[EndpointKey, Tally]) -> Told:
        """The same of many, which are counted where they are."""
        held = self._hold(differences)
        scale = self._scale(tallies)
        by_time = ("service", "class", "number")
        counts = (
            held.select(*_BY_WHY, "service", scale.number().alias("number"))
            .groupingSets([_BY_WHY, by_time], *_BY_WHY, "service", "number")
            .agg(F.count(F.lit(1)).alias("count"), F.grouping("number").alias("is_by_why"))
            .collect()
        )
        self._add([row for row in counts if row["is_by_why"]], tallies)
        seen = [name for name in drill.CLASSES if any(tally.has(name) for tally in tallies.values())]
        some = [
            held.select(*_SHOWN, "class", "why").where(F.col("class") == name).limit(_SAMPLES_A_CLASS)
            for name in seen
        ]
        rows = reduce(DataFrame.union, some).collect() if some else []
        return intervals([row for row in counts if not row["is_by_why"]], scale), _samples(rows)

    def _scale(self, tallies: Mapping[EndpointKey, Tally]) -> Scale:
        return Scale.of(tallies.values(), failover_of(self._left, self._right, self._ask), self._ask.interval_s)

    def _add(self, counts: Sequence[Row], tallies: Mapping[EndpointKey, Tally]) -> None:
        for row in counts:
            if row["class"] in ("missing", "extra"):
                tallies[self._key(row)].add_uncommon(row)


def _samples(rows: Sequence[Row]) -> tuple[Sample, ...]:
    """A few of each class."""
    picked = (islice((row for row in rows if row["class"] == name), _SAMPLES_A_CLASS) for name in drill.CLASSES)
    return tuple(_sample(row) for some in picked for row in some)


def _sample(row: Row) -> Sample:
    return Sample(
        kind=row["class"],
        service=row["service"],
        endpoint=row["endpoint"],
        message_id=row["message_id"],
        spooled_at=None if row["spooled"] is None else row["spooled"] / 1e6,
        why=row["why"],
    )
