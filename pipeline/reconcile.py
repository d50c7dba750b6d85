"""Compares two exports: one pass of fingerprints, a closer look where they differ, then the judgement.

Five small jobs at most, whose answers grow with the endpoints and never with the messages. When nothing differs, the
first is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from pipeline.readings import Reading, readings
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
Say = Callable[[str], None]


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
        with_digests = self._left.has_digests and self._right.has_digests
        rows = self._left.manifest.messages + self._right.manifest.messages
        pieces = self._pieces(rows >> MESSAGES_A_BUCKET_LOG2, _BUCKETS_A_PIECE)
        left, right = (self._rows(side, buckets.READ) for side in (self._left, self._right))
        table = self._hold(buckets.table_of_buckets(left, right, pieces, with_digests=with_digests))
        tallies = {self._key(row): Tally.of(row) for row in self._endpoints(table)}
        work = self._plan(tallies)
        differences: DataFrame | None = None
        spans: tuple[Interval, ...] = ()
        samples: tuple[Sample, ...] = ()
        if work.plan != "fingerprints":
            self._say(f"looking closer at {work.rows_drilled:,} of {counted(work.rows, 'message')}")
            differences = self._drill(table, tallies, work)
            spans = self._count(differences, tallies)
            samples = self._samples(differences, tallies)
        report = assemble(self._left, self._right, self._ask, tallies, work, self._clock.now())
        report = report.model_copy(update={"intervals": spans, "samples": samples}).sealed()
        return Outcome(report, differences, self._release)

    def _rows(self, side: Side, columns: Sequence[str], files: Sequence[str] | None = None) -> DataFrame:
        rows = with_buckets(side.rows(self._spark, files), columns, self._numbers_log2)
        return rows.where(F.col("service").isin(self._services))

    def _rows_to_drill(self, side: Side, wanted: drill.Wanted) -> DataFrame:
        if wanted.ranges is None:
            return drill.rows_to_drill(self._rows(side, drill.READ), wanted, None)
        found = readings(side.numbers, wanted.ranges) or [Reading([], [])]
        parts = [drill.rows_to_drill(self._rows(side, drill.READ, one.files), wanted, one.ranges) for one in found]
        return reduce(DataFrame.union, parts)

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
        return table.groupBy("endpoint_id").agg(*buckets.endpoint_sums(table)).collect()

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
            left, right = (self._rows(side, drill.READ) for side in sides)
        else:
            wanted = drill.wanted(self._spark, table, work.buckets_drilled, self._numbers_log2, self._names)
            left, right = (self._rows_to_drill(side, wanted) for side in sides)
        pieces = self._pieces(work.rows_drilled, _MESSAGES_A_PIECE)
        messages = self._hold(drill.judged(drill.by_message(together(left, right), pieces)))
        # Both in one query: what is held is then computed once, while both go on.
        sums = messages.groupBy("endpoint_id").agg(*drill.sums())
        breaks = drill.breaks_of_order(messages, None if everything else table)
        for row in sums.unionByName(breaks, allowMissingColumns=True).collect():
            tallies[self._key(row)].add_messages(row, is_all=everything)
        found = messages.where(F.col("class").isNotNull())
        settings = settings_of(self._left, self._right, self._ask, tallies)
        return self._hold(explained(self._spark, found, settings, self._ask.clock_skew_s))

    def _count(self, differences: DataFrame, tallies: dict[EndpointKey, Tally]) -> tuple[Interval, ...]:
        """The intervals; what is explained goes into ``tallies``."""
        scale = Scale.of(tallies.values(), failover_of(self._left, self._right, self._ask), self._ask.interval_s)
        by_why, by_time = ["endpoint_id", "class", "why", "is_before"], ["service", "class", "number"]
        counts = (
            differences.select(*by_why, "service", scale.number().alias("number"))
            .groupingSets([by_why, by_time], *by_why, "service", "number")
            .agg(F.count(F.lit(1)).alias("count"), F.grouping("number").alias("is_by_why"))
            .collect()
        )
        for row in counts:
            if row["is_by_why"] and row["class"] in ("missing", "extra"):
                tallies[self._key(row)].add_uncommon(row)
        return intervals([row for row in counts if not row["is_by_why"]], scale)

    def _samples(self, differences: DataFrame, tallies: dict[EndpointKey, Tally]) -> tuple[Sample, ...]:
        """A few of each class. Where there are few in all, they are picked from these."""
        columns = differences.select("class", "service", "endpoint", "message_id", "spooled", "why")
        if sum(tally.differences for tally in tallies.values()) <= _FEW:
            rows = columns.collect()
        else:
            seen = [name for name in drill.CLASSES if any(tally.has(name) for tally in tallies.values())]
            some = [columns.where(F.col("class") == name).limit(_SAMPLES_A_CLASS) for name in seen]
            rows = reduce(DataFrame.union, some).collect() if some else []
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
