"""Looks closer at the buckets that differ: which messages are missing, extra, duplicate, changed, out of order.

Only rows of these buckets are read: Parquet leaves out other endpoints and other numbers by the statistics of its row
groups and pages, a broadcast of the buckets leaves out the rest, and what remains is grouped by message id. When most
rows would remain, nothing is left out first; the result is the same. A full join is never made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from pipeline.buckets import ends_of_clusters, on
from pipeline.order import steps_back
from pipeline.readings import Range, in_ranges
from pipeline.rows import NOT_REPLICATED, PENDING, EndpointKey
from pipeline.sides import BUCKET, KEY, LEFT, RIGHT, STREAM, omitted_log2

READ = (*KEY, "message_id", "stream", "sequence", "position", "spooled_at", "digest", "replicated")
# Besides these there is `local`: a message that is not replicated, and at one site by design.
CLASSES = ("missing", "extra", "duplicate", "changed")

# Rows are left out by endpoint and by number while they are read, as long as that is told in few words. What is then
# still too much is left out by its bucket.
_NAMED_MAX = 500
_LISTED_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """The buckets to be looked at closer. ``table`` has a row for each; the rest is None where it would be too long:
    ``endpoints``, the names they are in; ``ranges``, the lowest and highest number of each."""

    table: DataFrame
    endpoints: Collection[str] | None
    ranges: Sequence[Range] | None


def wanted(
    spark: SparkSession, table: DataFrame, number: int, numbers_log2: int, endpoints: Mapping[int, EndpointKey]
) -> Wanted:
    """What ``table`` (of buckets) says is to be drilled, a ``number`` of buckets. ``endpoints``: by their id."""
    buckets = table.where("is_drilled").select(*BUCKET)
    if number > _LISTED_MAX:
        return Wanted(buckets, None, None)
    rows = buckets.select("*", omitted_log2(numbers_log2).alias("omitted")).collect()
    names = {endpoints[row["endpoint_id"]].name for row in rows}
    return Wanted(
        _as_table(spark, rows) if rows else buckets,
        names if len(names) <= _NAMED_MAX else None,
        [_numbers(row["bucket"], row["omitted"]) for row in rows],
    )


def _as_table(spark: SparkSession, some: Sequence[Row]) -> DataFrame:
    """What was collected, given back: Spark need not find it a second and a third time, once for each side."""
    return spark.createDataFrame(pa.table({name: [row[name] for row in some] for name in BUCKET}))


def _numbers(bucket: int, bits: int) -> tuple[int, int]:
    return bucket << bits, (bucket + 1 << bits) - 1


def in_numbers(rows: DataFrame, ranges: Sequence[Range]) -> DataFrame:
    """The rows whose numbers are in ``ranges``."""
    # The first half lets Spark leave out, behind every comparison, what to do with an empty value.
    return rows.where(f"sequence IS NOT NULL AND ({in_ranges(ranges)})")


def only(rows: DataFrame, wanted: Wanted) -> DataFrame:
    """The rows (columns ``READ``, ``side`` and ``BUCKET``) that are in these buckets."""
    if wanted.endpoints is not None:
        rows = rows.where(F.col("endpoint").isin(list(wanted.endpoints)))
    return rows.join(F.broadcast(wanted.table), list(BUCKET), "left_semi")


def by_message(rows: DataFrame, pieces: int) -> DataFrame:
    """One row for each message id of an endpoint, with the values of both sides beside each other."""
    # 64 bits of the digest are compared: what the fingerprints are made of, and of fixed width.
    prepared = rows.selectExpr(
        *STREAM,
        "message_id",
        "side",
        "position",
        "unix_micros(spooled_at) AS spooled",
        "CASE WHEN digest IS NOT NULL THEN xxhash64(digest) END AS content",
        f"CASE replicated WHEN '{NOT_REPLICATED}' THEN 0 WHEN '{PENDING}' THEN 1 ELSE 2 END AS state",
    )
    values = [F.expr(value) for side in (LEFT, RIGHT) for value in _of_side(side)]
    apart = prepared.repartition(pieces, *STREAM, "message_id")
    return apart.groupBy(*STREAM, "message_id").agg(*values)


def _of_side(side: int) -> list[str]:
    folds = (
        *(("place", "min", "position"), ("spooled", "min", "spooled"), ("state", "min", "state")),
        *(("low", "min", "content"), ("high", "max", "content")),
    )
    return [
        f"count(CASE WHEN side = {side} THEN 1 END) AS {on('n', side)}",
        f"count(CASE WHEN side = {side} AND content IS NULL THEN 1 END) AS {on('blind', side)}",
        *(f"{fold}(CASE WHEN side = {side} THEN {column} END) AS {on(name, side)}" for name, fold, column in folds),
    ]


def judged(messages: DataFrame) -> DataFrame:
    """Adds ``class``, None where nothing differs, and the numbers that are summed up."""
    alone, seen = "(n_l = 0 OR n_r = 0)", "(blind_l + blind_r = 0)"
    changed = f"(NOT {alone} AND {seen} AND (low_l != low_r OR high_l != high_r))"
    kind = (
        f"CASE WHEN {alone} AND coalesce(state_l, state_r) = 0 THEN 'local' WHEN n_l = 0 THEN 'extra'"
        f" WHEN n_r = 0 THEN 'missing' WHEN n_l != n_r THEN 'duplicate' WHEN {changed} THEN 'changed' END"
    )
    return messages.selectExpr(
        "*",
        f"{kind} AS class",
        f"{changed} AS is_changed",
        f"NOT {alone} AND NOT {seen} AS is_unverified",
        # Copies beyond the first that the other side does not have too.
        "greatest(n_l - greatest(n_r, 1), 0) AS surplus_l",
        "greatest(n_r - greatest(n_l, 1), 0) AS surplus_r",
        "greatest(least(n_l, n_r) - 1, 0) AS copies_at_both",
    )


def sums() -> list[Column]:
    """What is folded over the messages (``judged``) of one endpoint."""
    return [F.expr(text) for text in _OF_ENDPOINT]


_OF_ENDPOINT = (
    "count(class) AS differences",
    *(f"sum({name}) AS {name}" for name in ("surplus_l", "surplus_r", "copies_at_both")),
    "count(CASE WHEN is_changed THEN 1 END) AS changed",
    "count(CASE WHEN is_unverified THEN 1 END) AS unverified",
    "min(CASE WHEN n_l > 0 AND n_r > 0 THEN place_l END) AS common_l",
    "min(CASE WHEN n_l > 0 AND n_r > 0 THEN place_r END) AS common_r",
    "min(CASE WHEN class IS NOT NULL THEN coalesce(spooled_l, spooled_r) END) AS `from`",
    "max(CASE WHEN class IS NOT NULL THEN coalesce(spooled_l, spooled_r) END) AS `to`",
)


def breaks_of_order(messages: DataFrame, table: DataFrame | None) -> DataFrame:
    """Columns ``endpoint_id`` and ``breaks``: how often, along the left side's order, the right side steps back.

    Judged for each stream by itself over the messages that both sides have: across publishers order may differ
    legally (facts on AMPS, comparison design). A message moved, or a block of them, is one step back. ``table``: the
    buckets; None when all messages are looked at.
    """
    common = messages.where((F.col("n_l") > 0) & (F.col("n_r") > 0))
    places = (F.col("place_l").alias("along"), F.col("place_r").alias("value"), F.col("place_r").alias("to_value"))
    rows = common.select(*STREAM, *places)
    if table is not None:
        # A cluster that is not looked at closer keeps its order inside, and its two ends stand for it.
        values = (F.col("first_r").alias("value"), F.col("last_r").alias("to_value"))
        marks = ends_of_clusters(table).select(*STREAM, F.col("first_l").alias("along"), *values)
        rows = rows.unionByName(marks)
    steps = steps_back(rows, STREAM)
    return steps.groupBy("endpoint_id").agg(F.sum("steps").alias("breaks"))
