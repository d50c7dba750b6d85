"""Reconciling two sites, against a bare scan, a full outer join and DuckDB on the same Parquet files.

Half of the messages are in one of 200 endpoints; a few are missing, extra, duplicate, changed, out of order. Every
way must find exactly these, or the benchmark stops. A new JVM is slow at first, so all ways run five times on small
data before they are measured, in turn, on the large: three times; the full outer joins once where there are more than
20 million rows, as they take minutes then. ``--rows`` counts both sides together.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

import duckdb
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench import _outer_join
from orchestrator.clock import SystemClock
from pipeline import buckets
from pipeline.ask import Ask
from pipeline.generator import Shape, TwoSites, write_large
from pipeline.reconcile import reconcile
from pipeline.session import SparkSettings, spark_session
from pipeline.sides import Side, rows_of_both
from pipeline.width import numbers_log2

ROWS = 1_000_000
_ROUNDS = 3
_JOINED_ONCE_ABOVE = 20_000_000
BROKEN = {"missing": 40, "extra": 30, "duplicate": 20, "changed": 20, "displaced": 10}
MEMORY = "3g"
_WARM_UP = 100_000
_WARM_UPS = 5
_SEEN = ("missing", "extra", "duplicate", "changed")

SCAN, OURS, DUCKDB = "scan and aggregate", "reconcile", "DuckDB, the same algorithm"
JOIN, JOIN_BARE = "full outer join, the same results", "full outer join, counts in all"
_RATIOS = (
    (OURS, SCAN, "(aim: at most 1.6)"),
    (JOIN, OURS, "(aim: at least 4)"),
    (JOIN_BARE, OURS, ""),
    (OURS, DUCKDB, "(aim: at most 2.5)"),
)

Found = Mapping[str, int]


def main(rows: int = ROWS) -> None:
    """Print seconds of each way and the ratios that matter. ``rows``: messages of both sides together."""
    with tempfile.TemporaryDirectory(prefix="failover-bench-") as folder:
        place = Path(folder)
        with spark_session(SparkSettings(memory=MEMORY, scratch=place)) as spark:
            small, large = _made(spark, place / "small", _WARM_UP), _made(spark, place / "large", rows)
            for _ in range(_WARM_UPS):
                for way in _ways(spark, small).values():
                    way()
            taken: dict[str, list[float]] = {}
            for number in range(_ROUNDS):
                for name, way in _ways(spark, large).items():
                    if number < _rounds(name, rows):
                        taken.setdefault(name, []).append(_timed(name, way))
    _print(rows, {name: median(seconds) for name, seconds in taken.items()})


def _rounds(name: str, rows: int) -> int:
    return 1 if name in (JOIN, JOIN_BARE) and rows > _JOINED_ONCE_ABOVE else _ROUNDS


def _print(rows: int, seconds: Mapping[str, float]) -> None:
    joins = ", of the joins one" if _rounds(JOIN, rows) == 1 else ""
    print(f"{rows:,} messages in all, median of {_ROUNDS} rounds{joins}, Spark with {MEMORY}")
    for name, value in seconds.items():
        print(f"  {name:<34} {value:8.2f} s  {rows / value / 1e6:6.2f} M rows/s")
    for over, under, aim in _RATIOS:
        print(f"  {f'{over} / {under}':<58} {seconds[over] / seconds[under]:6.2f}  {aim}".rstrip())


def _made(spark: SparkSession, place: Path, rows: int) -> tuple[Side, Side]:
    shape = Shape(rows // 2, **BROKEN)
    left, right = write_large(spark, TwoSites(shape), place)
    return Side.open(str(left)), Side.open(str(right))


def _timed(name: str, way: Callable[[], Found]) -> float:
    start = time.perf_counter()
    found = way()
    seconds = time.perf_counter() - start
    wrong = {kind: count for kind, count in found.items() if count != BROKEN[kind]}
    if wrong:
        raise SystemExit(f"{name} found {wrong}, and there are {BROKEN}")
    return seconds


def _ways(spark: SparkSession, sides: tuple[Side, Side]) -> dict[str, Callable[[], Found]]:
    return {
        SCAN: lambda: _scan(spark, sides),
        OURS: lambda: _reconcile(spark, sides),
        JOIN_BARE: lambda: _outer_join.bare(spark, sides),
        JOIN: lambda: _outer_join.whole(spark, sides),
        DUCKDB: lambda: _duckdb(sides),
    }


def _scan(spark: SparkSession, sides: tuple[Side, Side]) -> Found:
    """The columns that a fingerprint needs, read once and folded by endpoint, each side by itself."""
    left, right = (
        rows.groupBy("service", "endpoint", "kind").agg(
            F.count("*"),
            F.bit_xor(F.xxhash64("stream", "sequence", "digest")),
            *[fold("position") for fold in (F.min, F.max)],
            *[fold("spooled_at") for fold in (F.min, F.max)],
            F.sum("size"),
            F.count(F.when(F.col("replicated") == "replicated", 1)),
        )
        for rows in rows_of_both(spark, *sides, buckets.READ, 0)
    )
    left.union(right).collect()
    return {}


def _reconcile(spark: SparkSession, sides: tuple[Side, Side]) -> Found:
    outcome = reconcile(spark, *sides, Ask(), SystemClock())
    outcome.close()
    endpoints = outcome.report.endpoints
    return {
        "missing": sum(one.missing.messages for one in endpoints),
        "extra": sum(one.extra.messages for one in endpoints),
        "duplicate": sum(one.duplicates_right for one in endpoints),
        "changed": sum(one.changed for one in endpoints),
        "displaced": sum(one.order_breaks for one in endpoints),
    }


def _duckdb(sides: tuple[Side, Side]) -> Found:
    """Fingerprints by bucket, a closer look where they differ, and the order there, on the same files."""
    with duckdb.connect() as connection:
        width = numbers_log2(*sides)
        for number, side in enumerate(sides):
            files = [f"{side.place.path}/{file.path}" for file in side.manifest.files]
            connection.execute(
                f"CREATE VIEW side{number} AS SELECT {number} AS side, service, endpoint, kind, stream, sequence,"
                f" sequence >> {width} AS bucket, message_id, position, digest"
                f" FROM read_parquet({files!r}, hive_partitioning = true)"
            )
        connection.execute(_FINGERPRINTS.format(width=width))
        row = connection.execute(_DRILL).fetchone()
    assert row is not None
    return dict(zip((*_SEEN, "displaced"), row, strict=True))


_FINGERPRINTS = """
CREATE TABLE differing AS
WITH folded AS (
    SELECT side, service, endpoint, kind, stream, bucket, count(*) AS n, bit_xor(h) AS x, sum(h::HUGEINT) AS s,
        sum((position - low)::HUGEINT * (h % 4294967296)::HUGEINT) AS placed
    FROM (
        SELECT *, hash(stream, sequence, digest) AS h, 4 * (bucket << {width}) AS low
        FROM (SELECT * FROM side0 UNION ALL SELECT * FROM side1)
    )
    GROUP BY ALL
)
SELECT service, endpoint, kind, stream, bucket FROM folded
GROUP BY ALL
HAVING count(*) < 2 OR min(n) <> max(n) OR min(x) <> max(x) OR min(s) <> max(s) OR min(placed) <> max(placed)
"""
_DRILL = """
WITH near AS (
    SELECT * FROM (SELECT * FROM side0 UNION ALL SELECT * FROM side1)
    SEMI JOIN differing USING (service, endpoint, kind, stream, bucket)
), messages AS (
    SELECT service, endpoint, kind, stream, message_id,
        count(*) FILTER (side = 0) AS n_l, count(*) FILTER (side = 1) AS n_r,
        min(position) FILTER (side = 0) AS l, min(position) FILTER (side = 1) AS r,
        min(digest) FILTER (side = 0) AS d_l, min(digest) FILTER (side = 1) AS d_r
    FROM near GROUP BY ALL
), ordered AS (
    SELECT *, lag(r) OVER (PARTITION BY service, endpoint, kind, stream ORDER BY l) > r AS is_back
    FROM messages WHERE n_l > 0 AND n_r > 0
)
SELECT (SELECT count(*) FROM messages WHERE n_r = 0), (SELECT count(*) FROM messages WHERE n_l = 0),
    (SELECT sum(n_r - n_l) FROM ordered WHERE n_r > n_l), (SELECT count(*) FROM ordered WHERE d_l <> d_r),
    (SELECT count(*) FROM ordered WHERE is_back)
"""

if __name__ == "__main__":
    main()
