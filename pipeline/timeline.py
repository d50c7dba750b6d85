"""Loss and duplication by interval around the fail-over."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipeline.layout import MICROS
from pipeline.report import Interval
from pipeline.tally import Tally

# Intervals are widened until there are at most so many for a service, so the answer does not grow with the time.
_INTERVALS_MAX = 120
_WIDER = (2, 5, 10, 15, 30, 60, 120, 240, 720, 1440)


def intervals(
    differences: DataFrame, tallies: Sequence[Tally], origin: float | None, width_s: float
) -> tuple[Interval, ...]:
    """What differs, counted by when it was spooled. ``origin``: an interval begins there (seconds since the epoch)."""
    spans = [tally.span for tally in tallies if tally.span is not None]
    if not spans:
        return ()
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    width = round(_width(end - start, width_s) * MICROS)
    zero = round((origin or 0.0) * MICROS)
    number = F.floor((F.col("spooled") - zero) / width).cast("long")
    classes = [
        F.count(F.when(F.col("class") == name, 1)).alias(name)
        for name in ("missing", "extra", "duplicate", "changed")
    ]
    rows = differences.withColumn("number", number).groupBy("service", "number").agg(*classes)
    return tuple(
        Interval(
            service=row["service"],
            start=(zero + row["number"] * width) / MICROS,
            end=(zero + (row["number"] + 1) * width) / MICROS,
            missing=row["missing"],
            extra=row["extra"],
            duplicates=row["duplicate"],
            changed=row["changed"],
        )
        for row in rows.orderBy("service", "number").collect()
    )


def _width(span_s: float, wanted_s: float) -> float:
    """The wanted width, or the first wider one of which few enough cover the span."""
    for factor in (1, *_WIDER):
        if span_s <= wanted_s * factor * (_INTERVALS_MAX - 1):
            return wanted_s * factor
    return span_s / (_INTERVALS_MAX - 1)
