"""The comparison for the reconcile benchmark: a full outer join of every message of two sites with its counterpart."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pipeline.engines.spark import Spark
from pipeline.sides import Side, common_services

KEY = ("service", "endpoint", "kind")
_PIECE_LOG2 = 16


_STREAM = (*KEY, "stream")


def bare(spark: SparkSession, sides: tuple[Side, Side]) -> Mapping[str, int]:
    """The total numbers of missing, extra, changed and duplicate messages. The order is not judged, and the numbers are
    not split by endpoint."""
    left, right = (_named(rows, letter) for rows, letter in zip(_rows(spark, sides), "lr", strict=True))
    joined = left.join(right, [*KEY, "message_id"], "full_outer")
    counted = joined.agg(
        F.count(F.when(F.isnull("position_r"), 1)).alias("missing"),
        F.count(F.when(F.isnull("position_l"), 1)).alias("extra"),
        F.count(F.when(F.col("digest_l") != F.col("digest_r"), 1)).alias("changed"),
        F.count("position_l").alias("from_left"),
    ).first()
    assert counted is not None
    return {
        "duplicate": counted["from_left"] - sides[0].manifest.messages,
        **{name: counted[name] for name in ("missing", "extra", "changed")},
    }


def _rows(spark: SparkSession, sides: tuple[Side, Side]) -> tuple[DataFrame, DataFrame]:
    Spark(spark).open_sides(*sides, common_services(*sides))
    return spark.table("rows_l"), spark.table("rows_r")


def _named(rows: DataFrame, letter: str) -> DataFrame:
    values = [F.col(name).alias(f"{name}_{letter}") for name in ("digest", "position", "micros")]
    return rows.select(*KEY, "message_id", *values)


def whole(spark: SparkSession, sides: tuple[Side, Side]) -> Mapping[str, int]:
    """The counts of a reconciliation, for every endpoint: the messages of each site with their times, missing, extra,
    changed and duplicate messages, and breaks of order. Missing and extra messages are not explained."""
    left, right = (_by_message(rows, letter) for rows, letter in zip(_rows(spark, sides), "lr", strict=True))
    endpoints = _by_endpoint(left.join(right, [*_STREAM, "message_id"], "full_outer")).collect()
    names = ("missing", "extra", "duplicate", "changed", "displaced")
    return {name: sum(endpoint[name] for endpoint in endpoints) for name in names}


def _by_message(rows: DataFrame, letter: str) -> DataFrame:
    values = {
        "n": F.count(F.lit(1)),
        "place": F.min("position"),
        "digest": F.min("digest"),
        "oldest": F.min("micros"),
        "newest": F.max("micros"),
        "bytes": F.sum("size"),
    }
    folds = [value.alias(f"{name}_{letter}") for name, value in values.items()]
    return rows.groupBy(*_STREAM, "message_id").agg(*folds)


def _by_endpoint(joined: DataFrame) -> DataFrame:
    """Count by endpoint. The order is judged in pieces, then between pieces; otherwise one task would sort half of all
    messages."""
    is_common = F.col("n_l").isNotNull() & F.col("n_r").isNotNull()
    messages = joined.select(
        "*",
        F.shiftright("place_l", _PIECE_LOG2).alias("piece"),
        F.when(is_common, F.col("place_l")).alias("along"),
        F.when(is_common, F.col("place_r")).alias("value"),
    )
    before = Window.partitionBy(*_STREAM, "piece").orderBy("along").rowsBetween(Window.unboundedPreceding, -1)
    is_back = F.last("value", ignorenulls=True).over(before) > F.col("value")
    counts = {
        "missing": F.count(F.when(F.isnull("n_r"), 1)),
        "extra": F.count(F.when(F.isnull("n_l"), 1)),
        "duplicate": F.sum(F.greatest(F.col("n_r") - F.col("n_l"), F.lit(0))),
        "changed": F.count(F.when(F.col("digest_l") != F.col("digest_r"), 1)),
        **{f"{name}_{letter}": F.sum(f"{name}_{letter}") for name in ("n", "bytes") for letter in "lr"},
    }
    spans = {
        **{f"oldest_{letter}": F.min(f"oldest_{letter}") for letter in "lr"},
        **{f"newest_{letter}": F.max(f"newest_{letter}") for letter in "lr"},
    }
    pieces = (
        messages.withColumn("is_back", is_back)
        .groupBy(*_STREAM, "piece")
        .agg(
            *[fold.alias(name) for name, fold in {**counts, **spans}.items()],
            F.count(F.when(F.col("is_back"), 1)).alias("backs"),
            F.min_by("value", "along").alias("begins"),
            F.max_by("value", "along").alias("ends"),
        )
    )
    steps_back = F.lag("ends").over(Window.partitionBy(*_STREAM).orderBy("piece")) > F.col("begins")
    placed = pieces.withColumn("breaks", F.col("backs") + F.coalesce(steps_back.cast("int"), F.lit(0)))
    return placed.groupBy(*KEY).agg(
        *[F.sum(name).alias(name) for name in counts],
        *[(F.min if name.startswith("oldest") else F.max)(name).alias(name) for name in spans],
        F.sum("breaks").alias("displaced"),
    )
