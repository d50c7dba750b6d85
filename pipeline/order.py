"""Counts steps back: how often, along one order, another value falls. A long series is cut into pieces of work."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

PIECE_LOG2 = 16


def steps_back(rows: DataFrame, by: Sequence[str], *, piece_log2: int = PIECE_LOG2) -> DataFrame:
    """For each ``by``: ``steps``, the number of rows, ordered by ``along``, whose ``value`` is below the ``to_value`` of
    the row before. A row may stand for a run from ``value`` to ``to_value``; for a single one both are the same.

    Pieces are cut by ``along``; a run that reaches into the next piece is fine, as no other row lies inside of it.
    """
    piece = [*by, "piece"]
    along = Window.partitionBy(*piece).orderBy("along")
    inside = rows.withColumn("piece", F.shiftright("along", piece_log2)).withColumn(
        "is_back", F.lag("to_value").over(along) > F.col("value")
    )
    pieces = inside.groupBy(*piece).agg(
        F.count(F.when(F.col("is_back"), 1)).alias("backs"),
        F.min_by("value", "along").alias("begins"),
        F.max_by("to_value", "along").alias("ends"),
    )
    between = Window.partitionBy(*by).orderBy("piece")
    steps = F.col("backs") + F.coalesce((F.lag("ends").over(between) > F.col("begins")).cast("int"), F.lit(0))
    return pieces.select(*by, steps.alias("steps")).groupBy(*by).agg(F.sum("steps").alias("steps"))
