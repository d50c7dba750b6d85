"""Compares two exports: one pass of fingerprints, a closer look where they differ, then the judgement.

Five small jobs at most, whose answers grow with the endpoints and never with the messages. When nothing differs, the
first is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock
from pipeline import buckets, drill
from pipeline.ask import Ask, failover_of
from pipeline.assemble import assemble, settings_of
from pipeline.explain import explained
from pipeline.report import Interval, Report, Sample, Work
from pipeline.rows import EndpointKey
from pipeline.sides import KEY, Side, both, check_pair
from pipeline.tally import Tally, key_of
from pipeline.timeline import intervals

_SAMPLES_A_CLASS = 5
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

    def run(self) -> Outcome:
        self._say("comparing fingerprints of both sides")
        with_digests = self._left.has_digests and self._right.has_digests
        table = self._hold(buckets.table_of_buckets(self._rows(buckets.READ), with_digests=with_digests))
        tallies = {key_of(row): Tally.of(row) for row in self._endpoints(table)}
        work = self._plan(tallies)
        differences: DataFrame | None = None
        spans: tuple[Interval, ...] = ()
        samples: tuple[Sample, ...] = ()
        if work.plan != "fingerprints":
            self._say(f"looking closer at {work.rows_drilled:,} of {work.rows:,} messages")
            differences = self._drill(table, tallies, work)
            origin = failover_of(self._left, self._right, self._ask)
            spans = intervals(differences, list(tallies.values()), origin, self._ask.interval_s)
            seen = [name for name in drill.CLASSES if any(tally.has(name) for tally in tallies.values())]
            samples = self._samples(differences, seen)
        report = assemble(self._left, self._right, self._ask, tallies, work, self._clock.now())
        report = report.model_copy(update={"intervals": spans, "samples": samples}).sealed()
        return Outcome(report, differences, self._release)

    def _rows(self, columns: Sequence[str]) -> DataFrame:
        rows = both(self._spark, self._left, self._right, columns, numbers_log2=self._ask.numbers_log2)
        return rows.where(F.col("service").isin(self._services))

    def _hold(self, table: DataFrame) -> DataFrame:
        """Computed once, kept in memory as far as that goes, then on disk."""
        self._held.append(table.persist(StorageLevel.MEMORY_AND_DISK))
        return self._held[-1]

    def _release(self) -> None:
        for table in self._held:
            table.unpersist()
        self._held.clear()

    def _endpoints(self, table: DataFrame) -> list[Row]:
        return table.groupBy(*KEY).agg(*buckets.endpoint_sums(table)).collect()

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
        """The differences, one row each; what they amount to goes into ``tallies``."""
        everything = work.plan == "everything"
        names = {key.name for key, tally in tallies.items() if tally.buckets_drilled}
        rows = drill.rows_to_drill(self._rows(drill.READ), table, names, everything=everything)
        messages = self._hold(drill.judged(drill.by_message(rows)))
        for row in messages.groupBy(*KEY).agg(*drill.sums()).collect():
            tallies[key_of(row)].add_messages(row, is_all=everything)
        decided = table.withColumn("is_drilled", F.lit(True)) if everything else table
        for row in drill.breaks_of_order(messages, decided).collect():
            tallies[key_of(row)].order_breaks = row["breaks"]
        found = messages.where(F.col("class").isNotNull())
        settings = settings_of(self._left, self._right, self._ask, tallies)
        differences = self._hold(explained(self._spark, found, settings, self._ask.clock_skew_s))
        alone = differences.where(F.col("class").isin("missing", "extra"))
        for row in alone.groupBy(*KEY, "class", "why", "is_before").count().collect():
            tallies[key_of(row)].add_uncommon(row)
        return differences

    def _samples(self, differences: DataFrame, classes: Sequence[str]) -> tuple[Sample, ...]:
        some = [differences.where(F.col("class") == name).limit(_SAMPLES_A_CLASS) for name in classes]
        return tuple(_sample(row) for row in reduce(DataFrame.union, some).collect()) if some else ()


def _sample(row: Row) -> Sample:
    return Sample(
        kind=row["class"],
        service=row["service"],
        endpoint=row["endpoint"],
        message_id=row["message_id"],
        spooled_at=None if row["spooled"] is None else row["spooled"] / 1e6,
        why=row["why"],
    )
