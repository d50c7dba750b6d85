"""Says of every message that only one site has whether something other than a loss explains it.

The time between the two snapshots explains two kinds: what was spooled after the other site was read, and what was
consumed before it was read. A message can only have been consumed when it stood at the head of its endpoint, before
the first message that both sites still hold; that consumers take messages in order is assumed, and stated.

Nothing is consumed out of a log or a SOW of AMPS. A log loses its oldest entries by and by, each instance by itself: what
is older than the other log may have been there (seed 002).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.buckets import on
from pipeline.layout import MICROS
from pipeline.manifest import EndpointSnapshot
from pipeline.report import NO_WHY
from pipeline.rows import KEPT, SOW, EndpointKey
from pipeline.sides import KEY, LEFT, RIGHT, endpoint_id

_PENDING = 1


@dataclass(frozen=True, slots=True)
class Setting:
    """What the explanations depend on, for one endpoint. ``first_common_*``: position of the first message that both
    sites hold; ``snapshot_*`` None: the endpoint does not exist there, or was not read."""

    key: EndpointKey
    first_common_l: int | None
    first_common_r: int | None
    snapshot_l: EndpointSnapshot | None
    snapshot_r: EndpointSnapshot | None
    active: str | None
    failover_at: float | None


_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in KEY),
        *(pa.field(on("first_common", side), pa.int64()) for side in (LEFT, RIGHT)),
        *(pa.field(on(name, side), pa.int64()) for side in (LEFT, RIGHT) for name in ("from", "to", "begins")),
        pa.field("active", pa.int32()),
        pa.field("failover", pa.int64()),
    ]
)


def explained(spark: SparkSession, differences: DataFrame, settings: Sequence[Setting], skew_s: float) -> DataFrame:
    """Adds the names of the endpoint, ``why`` (for missing and extra) and ``is_before`` (spooled until the fail-over;
    None when not known)."""
    # By way of Arrow, which needs no Python on the workers.
    columns = zip(*map(_row, settings), strict=True)
    table = spark.createDataFrame(pa.table(list(map(pa.array, columns, _SCHEMA.types)), schema=_SCHEMA))
    joined = differences.join(F.broadcast(table.select("*", endpoint_id())), "endpoint_id", "left")
    skew = F.lit(round(skew_s * MICROS))
    spooled = F.coalesce("spooled_l", "spooled_r")
    why = F.when(F.col("class") == "missing", _why(LEFT, RIGHT, skew)).when(
        F.col("class") == "extra", _why(RIGHT, LEFT, skew)
    )
    is_before = spooled <= F.col("failover") + skew
    return joined.select("*", why.alias("why"), is_before.alias("is_before"), spooled.alias("spooled"))


def _row(setting: Setting) -> tuple[object, ...]:
    times = [_micros(one) for side in (setting.snapshot_l, setting.snapshot_r) for one in _moments(side)]
    active: Mapping[str | None, int] = {"left": LEFT, "right": RIGHT}
    return (
        *(setting.key.service, setting.key.name, setting.key.kind),
        *(setting.first_common_l, setting.first_common_r, *times),
        active.get(setting.active),
        _micros(setting.failover_at),
    )


def _moments(snapshot: EndpointSnapshot | None) -> tuple[float | None, ...]:
    return (snapshot.taken_from, snapshot.taken_to, snapshot.begins_at) if snapshot else (None, None, None)


def _micros(moment: float | None) -> int | None:
    return None if moment is None else round(moment * MICROS)


def _why(own: int, other: int, skew: Column) -> Column:
    """Why the site ``own`` may have a message that ``other`` has not. A comparison with an unknown is never true."""
    at_head = F.coalesce(F.col(on("place", own)) < F.col(on("first_common", own)), F.lit(True))
    is_queued = (F.col(on("state", own)) == _PENDING) & (F.col("active") == own)
    came_later = F.col(on("spooled", own)) + skew >= F.col(on("from", other))
    other_read_later = F.col(on("from", own)) < F.col(on("to", other))
    is_older = F.col(on("spooled", own)) + skew < F.col(on("begins", other))
    is_undumped = (F.col("kind") == SOW) & F.col(on("to", other)).isNull()
    can_be_consumed = at_head & ~F.col("kind").isin(*KEPT)
    return (
        F.when(is_queued, "in-replication")
        .when(is_undumped, "not-dumped")
        .when(came_later, "after-snapshot")
        .when(is_older, "aged-out")
        .when(can_be_consumed & other_read_later, "consumed-between")
        .when(can_be_consumed & (F.col("active") == other), "consumed-unpropagated")
        .otherwise(NO_WHY)
    )
