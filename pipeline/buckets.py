"""The one pass over both sides: a table of fingerprints, small enough to work with, and what must be looked at closer.

A bucket is a run of neighbouring numbers of one stream in one endpoint. Its fingerprint at one side is the count, sum
and exclusive or of a 64-bit hash of (stream, number, digest), modulo 2**64. Different contents have equal fingerprints
with a probability of at most 2**-64 for each bucket, unless somebody crafted them. Buckets are told apart by hashes of
names. Should two streams of an endpoint have the same, they share buckets, whose contents are compared as well: the name
is hashed again with each row, from another seed. Only their order would be judged as if it were one.

Its order is the sum of (position - first position) * hash: equal when the messages stand in the same places relative
to each other, however far the whole bucket has moved. Buckets that overlap form a cluster; one that has moved as a whole
keeps its order inside, and its two ends stand for it when its stream's order is judged. Any other is looked at closer.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from pipeline.rows import NOT_REPLICATED
from pipeline.sides import BUCKET, KEY, LEFT, RIGHT, STREAM, together

COLLISION = 2.0**-64
READ = (*KEY, "stream", "sequence", "position", "spooled_at", "size", "digest", "replicated")

# For each side of a bucket: name, and how it is folded from that side's row (which is there once or not at all).
_SIDE_VALUES = ("n", "sum", "xor", "placed", "first", "last", "oldest", "newest", "bytes", "local", "undigested")
_ENDS = (("first_l", F.min), ("first_r", F.min), ("last_l", F.max), ("last_r", F.max))
_COUNTS = frozenset({"n", "sum", "xor", "placed", "bytes", "local", "undigested"})


def table_of_buckets(
    left: DataFrame, right: DataFrame, pieces: int, *, with_digests: bool, with_local: bool
) -> DataFrame:
    """One row for each bucket of the rows of both sides (columns ``READ``): values ``*_l`` and ``*_r``, ``differs``,
    ``cluster``, ``is_drilled``, ``is_apart`` and ``is_in_question``. ``pieces``: of work, after the pass.
    Without ``with_local`` no row is of a message that is not replicated, which saves 7 % of the pass."""
    hashed = F.xxhash64("stream", "sequence", *(["digest"] if with_digests else [])).alias("hash")
    values = _values(with_local=with_local)
    folded = [rows.select("*", hashed).groupBy(*BUCKET).agg(*values) for rows in (left, right)]
    return _with_decision(_with_clusters(_paired(together(*folded), pieces)))


def _values(*, with_local: bool) -> list[Column]:
    """What is folded over the rows of one bucket, in the only reading of all rows."""
    is_local = F.coalesce(F.col("replicated") == NOT_REPLICATED, F.lit(False)) if with_local else F.lit(False)
    spooled = F.unix_micros("spooled_at")
    return [
        F.count(F.lit(1)).alias("n"),
        F.sum("hash").alias("sum"),
        F.bit_xor("hash").alias("xor"),
        F.sum(F.col("position") * F.col("hash")).alias("placed"),
        F.min("position").alias("first"),
        F.max("position").alias("last"),
        F.min(F.when(~is_local, spooled)).alias("oldest"),
        F.max(spooled).alias("newest"),
        F.sum("size").alias("bytes"),
        F.count(F.when(is_local, 1)).alias("local"),
        F.count(F.when(F.col("digest").isNull(), 1)).alias("undigested"),
    ]


def _paired(table: DataFrame, pieces: int) -> DataFrame:
    """One row for each bucket, with the values of both sides beside each other; a stream's buckets are together, so
    that nothing after this moves rows again."""
    # What the position of the first message adds to every product, taken away again: a shift alone is no difference.
    moved = table.withColumn("placed", F.expr("placed - first * sum"))
    values = [_of_side(name, side) for side in (LEFT, RIGHT) for name in _SIDE_VALUES]
    return moved.repartition(pieces, *STREAM).groupBy(*BUCKET).agg(*map(F.expr, values))


def _of_side(name: str, side: int) -> str:
    value = f"max(CASE WHEN side = {side} THEN {name} END)"
    return f"{f'coalesce({value}, 0)' if name in _COUNTS else value} AS {on(name, side)}"


def on(name: str, side: int) -> str:
    """``n_l`` or ``n_r``."""
    return f"{name}_{'l' if side == LEFT else 'r'}"


def _with_clusters(table: DataFrame) -> DataFrame:
    """Adds ``differs``; ``has_both``: only such a bucket has an order to compare; ``cluster``: its number."""
    along = _along()
    begins = F.col("first_l") > F.max("last_l").over(along.rowsBetween(Window.unboundedPreceding, -1))
    differs = " OR ".join(f"{on(name, LEFT)} != {on(name, RIGHT)}" for name in ("n", "sum", "xor", "placed"))
    return (
        table.selectExpr("*", f"{differs} AS differs", "n_l > 0 AND n_r > 0 AS has_both")
        .withColumn("begins", F.coalesce(begins.cast("int"), F.lit(1)))
        .withColumn("cluster", F.sum("begins").over(along))
    )


def _along() -> WindowSpec:
    return Window.partitionBy(*STREAM, "has_both").orderBy("first_l", "bucket")


def _with_decision(table: DataFrame) -> DataFrame:
    """Adds ``is_drilled``: a cluster is looked at closer as a whole, or not at all; ``is_apart``: the first bucket of
    a cluster that, at the right, does not follow the one before it; ``is_in_question``: the order of its stream is."""
    cluster = Window.partitionBy(*STREAM, "has_both", "cluster")
    shift = F.col("first_l") - F.col("first_r")
    is_rigid = F.min(shift).over(cluster) == F.max(shift).over(cluster)
    any_differs = F.max("differs").over(cluster)
    steps_back = F.lag("ends_r").over(_along()) > F.col("begins_r")
    is_questionable = F.col("is_apart") | (F.col("is_drilled") & F.col("has_both"))
    return (
        table.select(
            "*",
            (~F.col("has_both") | any_differs | ~is_rigid).alias("is_drilled"),
            F.min("first_r").over(cluster).alias("begins_r"),
            F.max("last_r").over(cluster).alias("ends_r"),
        )
        .withColumn("is_apart", F.col("has_both") & (F.col("begins") == 1) & F.coalesce(steps_back, F.lit(False)))
        .withColumn("is_in_question", F.max(is_questionable).over(Window.partitionBy(*STREAM)))
    )


def ends_of_clusters(table: DataFrame) -> DataFrame:
    """First and last position at both sides of every cluster that is not looked at closer, in a stream whose order is
    in question."""
    clusters = table.where("is_in_question AND NOT is_drilled").groupBy(*STREAM, "cluster")
    ends = clusters.agg(*[fold(name).alias(name) for name, fold in _ENDS])
    return ends.drop("cluster")


def endpoint_sums() -> Sequence[Column]:
    """What is folded over the buckets of one endpoint."""
    sums = [
        f"{fold}({on(name, side)}) AS {on(name, side)}"
        for side in (LEFT, RIGHT)
        for name, fold in (("n", "sum"), ("local", "sum"), ("bytes", "sum"), ("oldest", "min"), ("newest", "max"))
    ]
    return [*map(F.expr, sums), *map(F.expr, _OF_ENDPOINT)]


_OF_ENDPOINT = (
    "min(CASE WHEN NOT is_drilled THEN first_l END) AS common_l",
    "min(CASE WHEN NOT is_drilled THEN first_r END) AS common_r",
    "sum(CASE WHEN NOT is_drilled THEN greatest(undigested_l, undigested_r) ELSE 0 END) AS unverified",
    "count(*) AS buckets",
    "count(CASE WHEN is_drilled THEN 1 END) AS buckets_drilled",
    "count(CASE WHEN is_apart THEN 1 END) AS clusters_apart",
    "sum(CASE WHEN is_drilled THEN n_l + n_r ELSE 0 END) AS rows_drilled",
)
