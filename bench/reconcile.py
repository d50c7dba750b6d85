"""Reconciling two sites, against a bare scan, a full outer join and DuckDB on the same Parquet files.

Half of the messages are in one of 200 endpoints. A few are missing, extra, duplicate, changed or out of order. Every
method must find exactly these, or the benchmark stops. A new JVM is slow at first, so all methods run five times on
small data. Then they are measured in turn, three times, on large data. Above 20 million rows the full outer joins run
only once, because they take minutes. ``--rows`` counts both sides together.

The first part measures commands from the shell on 20,000 messages, for each engine and for DuckDB by hand. This is the
time that an operator waits, including the start of the process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench import _outer_join
from bench._by_hand import found
from orchestrator.clock import SystemClock
from pipeline.ask import Ask
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.engines.spark import Spark
from pipeline.generator import Shape, TwoSites, write_large, write_small
from pipeline.reconcile import reconcile
from pipeline.session import SparkSettings, spark_session
from pipeline.sides import Side, common_services
from pipeline.width import numbers_log2

ROWS = 1_000_000
_ROUNDS = 3
_JOINED_ONCE_ABOVE = 20_000_000
BROKEN = {"missing": 40, "extra": 30, "duplicate": 20, "changed": 20, "displaced": 10}
MEMORY = "3g"
_WARM_UP = 100_000
_WARM_UPS = 5

SCAN, OURS, ON_DUCKDB = "scan and aggregate", "reconcile", "reconcile on DuckDB"
DUCKDB = "DuckDB, the same algorithm by hand"
JOIN, JOIN_BARE = "full outer join, the same results", "full outer join, counts in all"
_RATIOS = (
    (OURS, SCAN, ""),
    (JOIN, OURS, ""),
    (JOIN_BARE, OURS, ""),
    (OURS, DUCKDB, ""),
    (ON_DUCKDB, DUCKDB, ""),
)
_SHELL_ROWS = 20_000

Found = Mapping[str, int]


def main(rows: int = ROWS) -> None:
    """Print the seconds of each method and the important ratios. ``rows``: messages of both sides together."""
    with tempfile.TemporaryDirectory(prefix="failover-bench-") as folder:
        place = Path(folder)
        _from_the_shell(place / "shell")
        with spark_session(SparkSettings(memory=MEMORY, scratch=place)) as spark:
            small, large = _made(spark, place / "small", _WARM_UP), _made(spark, place / "large", rows)
            duck = Duck(place, memory=MEMORY)
            for _ in range(_WARM_UPS):
                for way in _ways(spark, duck, small).values():
                    way()
            taken: dict[str, list[float]] = {}
            for number in range(_ROUNDS):
                for name, way in _ways(spark, duck, large).items():
                    if number < _rounds(name, rows):
                        taken.setdefault(name, []).append(_timed(name, way))
            duck.close()
    _print(rows, {name: median(seconds) for name, seconds in taken.items()})


def _from_the_shell(place: Path) -> None:
    sides = write_small(TwoSites(Shape(_SHELL_ROWS // 2, **BROKEN)), place)
    product = [sys.executable, "-m", "orchestrator.cli", "pipeline", "reconcile", *map(str, sides)]
    commands: Mapping[str, Sequence[str]] = {
        "failover pipeline reconcile": product,
        "failover pipeline reconcile --engine spark": [*product, "--engine", "spark"],
        "DuckDB by hand": [sys.executable, "-m", "bench._by_hand", *map(str, sides)],
    }
    print(f"{_SHELL_ROWS:,} messages in all, from the shell to the verdict, median of {_ROUNDS} rounds")
    taken: dict[str, list[float]] = {}
    for _ in range(_ROUNDS):
        for name, command in commands.items():
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            taken.setdefault(name, []).append(time.perf_counter() - start)
            if done.returncode not in (0, 4):
                raise SystemExit(done.stderr)
    for name, seconds in taken.items():
        print(f"  {name:<46} {median(seconds):8.2f} s")


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
    seen = way()
    seconds = time.perf_counter() - start
    wrong = {kind: count for kind, count in seen.items() if count != BROKEN[kind]}
    if wrong:
        raise SystemExit(f"{name} found {wrong}, and there are {BROKEN}")
    return seconds


def _ways(spark: SparkSession, duck: Duck, sides: tuple[Side, Side]) -> dict[str, Callable[[], Found]]:
    return {
        SCAN: lambda: _scan(spark, sides),
        OURS: lambda: _reconcile(Spark(spark), sides),
        ON_DUCKDB: lambda: _reconcile(duck, sides),
        JOIN_BARE: lambda: _outer_join.bare(spark, sides),
        JOIN: lambda: _outer_join.whole(spark, sides),
        DUCKDB: lambda: by_hand(sides),
    }


_FOLDED = """
SELECT service, endpoint, kind, count(*), bit_xor(xxhash64(stream, sequence, digest)), min(position), max(position),
    min(micros), max(micros), sum(size), count(CASE WHEN replicated = 'replicated' THEN 1 END)
FROM {rows} GROUP BY service, endpoint, kind
"""


def _scan(spark: SparkSession, sides: tuple[Side, Side]) -> Found:
    """Read the columns of a fingerprint once, and aggregate them by endpoint, each side separately."""
    Spark(spark).open_sides(*sides, common_services(*sides))
    left, right = (spark.sql(_FOLDED.format(rows=rows)) for rows in ("rows_l", "rows_r"))
    left.union(right).collect()
    return {}


def _reconcile(engine: Executor, sides: tuple[Side, Side]) -> Found:
    outcome = reconcile(engine, *sides, Ask(), SystemClock())
    outcome.close()
    endpoints = outcome.report.endpoints
    return {
        "missing": sum(one.missing.messages for one in endpoints),
        "extra": sum(one.extra.messages for one in endpoints),
        "duplicate": sum(one.duplicates_right for one in endpoints),
        "changed": sum(one.changed for one in endpoints),
        "displaced": sum(one.order_breaks for one in endpoints),
    }


def by_hand(sides: tuple[Side, Side]) -> Found:
    """Fingerprints by bucket, a closer check of different buckets, and their order, on the same files."""
    return found(sides[0].place.local, sides[1].place.local, numbers_log2(*sides))


if __name__ == "__main__":
    main()
