"""Makes data of two sites with known differences: which messages are missing, extra, duplicate, changed or displaced.

This is test support that ships with the product, so benchmarks and operators can use it too. One description makes
small exports through the real writer and large exports through Spark, with the same messages. Each message has a
number. Its id, position, time, content and its differences follow from that number.
"""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import VirtualClock
from pipeline.collect import ROWS_A_COMMIT, Job, collect
from pipeline.layout import DICTIONARIES, MICROS, ROWS_A_PAGE, SCHEMA, day_of, partition_path
from pipeline.manifest import DataFile, EndpointSnapshot, Manifest, ServiceSnapshot
from pipeline.parts import Bounds
from pipeline.places import write_whole
from pipeline.rows import Census, Cursor, EndpointKey, Message

SERVICE = "Trading_VPN"
STREAM = "rmid1:0d77c-b0b2e66aece"
START = 1_795_000_000.0
# Distance between two positions: a copy or a displaced message fits between them.
_ROOM = 4
# A displaced message is delivered this many messages too late.
_STRIDE = 5
_SITES = ("ny", "nj")
_LATER_S = 60.0


@dataclass(frozen=True, slots=True)
class Shape:
    """The data to make. ``messages`` is the number at one site before differences are made. ``skew`` is the share of the
    messages in the first endpoint. ``missing`` to ``displaced``: the number of messages with this kind of difference.
    ``seed`` decides which messages are chosen; no message is chosen twice.
    """

    messages: int
    endpoints: int = 200
    skew: float = 0.5
    missing: int = 0
    extra: int = 0
    duplicate: int = 0
    changed: int = 0
    displaced: int = 0
    seed: int = 1
    span_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Truth:
    """The numbers of the messages of each kind. ``missing`` are at the left only, ``extra`` at the right only."""

    missing: frozenset[int]
    extra: frozenset[int]
    duplicate: frozenset[int]
    changed: frozenset[int]
    displaced: frozenset[int]


class TwoSites:
    """Both sites of a ``Shape``. The services failed over from left to right; right is active."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.first = int(shape.messages * shape.skew)
        self.each = max(1, -(-(shape.messages - self.first) // max(1, shape.endpoints - 1)))
        self.truth = _chosen(shape, self.endpoint)

    @property
    def failover_at(self) -> float:
        """The time between the first half of the messages and the second half."""
        return START + self.shape.span_s / 2

    def endpoint(self, number: int) -> int:
        """The endpoint of a message."""
        return 0 if number < self.first else 1 + (number - self.first) // self.each

    def name(self, endpoint: int) -> str:
        """The name of an endpoint."""
        return f"orders/q{endpoint:05d}"

    def all_keys(self) -> list[EndpointKey]:
        """Every endpoint that has a message."""
        last = self.endpoint(self.shape.messages - 1) if self.shape.messages else -1
        return [EndpointKey(SERVICE, self.name(number)) for number in range(last + 1)]

    def absent(self, side: int) -> frozenset[int]:
        """The messages that a side (0 left, 1 right) does not have."""
        return self.truth.extra if side == 0 else self.truth.missing

    def counts(self, side: int) -> Counter[EndpointKey]:
        """The number of messages in each endpoint of one side."""
        keys = self.all_keys()
        edges = [0, self.first, *range(self.first + self.each, self.shape.messages, self.each), self.shape.messages]
        found = Counter({key: high - low for key, (low, high) in zip(keys, pairwise(edges), strict=True)})
        found.subtract(keys[self.endpoint(number)] for number in self.absent(side))
        found.update(keys[self.endpoint(number)] for number in (self.truth.duplicate if side == 1 else ()))
        return found

    def messages(self, side: int) -> dict[EndpointKey, list[tuple[int, Message]]]:
        """Position and message of one side, by endpoint and in order."""
        absent = self.absent(side)
        found: dict[EndpointKey, list[tuple[int, Message]]] = {key: [] for key in self.all_keys()}
        for number in range(self.shape.messages):
            if number not in absent:
                rows = found[EndpointKey(SERVICE, self.name(self.endpoint(number)))]
                message = self._message(number, side)
                rows.append((self._position(number, side), message))
                if side == 1 and number in self.truth.duplicate:
                    rows.append((number * _ROOM + 2, message))
        return {key: sorted(rows, key=lambda row: row[0]) for key, rows in found.items()}

    def _position(self, number: int, side: int) -> int:
        if side == 1 and number in self.truth.displaced:
            return (number + _STRIDE) * _ROOM + 1
        return number * _ROOM

    def _message(self, number: int, side: int) -> Message:
        text = f"p{number}" + ("x" if side == 1 and number in self.truth.changed else "")
        return Message(
            message_id=f"{STREAM}-{number >> 32:08x}-{number & 0xFFFFFFFF:08x}",
            spooled_at=_spooled(self.shape, number) / MICROS,
            size=number % 2000,
            digest=hashlib.md5(text.encode(), usedforsecurity=False).digest(),
            replicated="replicated",
            redeliveries=0,
        )


def _micros(seconds: float) -> int:
    return round(seconds * MICROS)


def _spooled(shape: Shape, number: int) -> int:
    """The spooling time of a message, in microseconds since the epoch."""
    return _micros(START) + number * _micros(shape.span_s) // shape.messages


def _chosen(shape: Shape, endpoint: Callable[[int], int]) -> Truth:
    """Choose the messages of each kind. Displaced messages come first, because they need room. No message has two
    kinds."""
    chance = random.Random(shape.seed)
    apart = range(0, max(0, shape.messages - _STRIDE), 4 * _STRIDE)
    fitting = [number for number in apart if endpoint(number) == endpoint(number + _STRIDE)]
    displaced = frozenset(chance.sample(fitting, shape.displaced))
    taken = set(displaced)
    groups = []
    for wanted in (shape.missing, shape.extra, shape.duplicate, shape.changed):
        group: set[int] = set()
        while len(group) < wanted:
            number = chance.randrange(shape.messages)
            if number not in taken:
                taken.add(number)
                group.add(number)
        groups.append(frozenset(group))
    missing, extra, duplicate, changed = groups
    return Truth(missing, extra, duplicate, changed, displaced)


class _Recorded:
    """One side as a ``Source``: the messages that a collector would read from the device."""

    def __init__(self, rows: dict[EndpointKey, list[Message]], clock: VirtualClock) -> None:
        self._rows = rows
        self._clock = clock

    def endpoints(self) -> Sequence[EndpointKey]:
        return list(self._rows)

    def census(self, key: EndpointKey) -> Census:
        return Census(self._clock.now(), len(self._rows[key]), None, 0)

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        return iter(self._rows[key][0 if after is None else after.position + 1 :])


def write_small(two: TwoSites, directory: Path, *, bounds: Bounds | None = None) -> tuple[Path, Path]:
    """Write both sides through the real collector, into ``directory``/ny and /nj. Positions have no gaps, as with a
    queue browser."""
    for side, site in enumerate(_SITES):
        rows = {key: [message for _, message in rows] for key, rows in two.messages(side).items()}
        clock = VirtualClock(_read_at(two))
        collect(_Recorded(rows, clock), directory / site, _job(two, side), clock, bounds=bounds)
    return directory / _SITES[0], directory / _SITES[1]


def _read_at(two: TwoSites) -> float:
    return START + two.shape.span_s + _LATER_S


def _job(two: TwoSites, side: int) -> Job:
    role: Literal["active", "standby"] = "standby" if side == 0 else "active"
    services = [ServiceSnapshot(name=SERVICE, role=role, was_interrupted=False)]
    return Job(_SITES[side], services, failover_at=two.failover_at, simulated=True)


def write_large(
    spark: SparkSession, two: TwoSites, directory: Path, *, rows_a_file: int = ROWS_A_COMMIT
) -> tuple[Path, Path]:
    """Write the same messages through Spark, for sizes at which Python is too slow. Positions have gaps.

    The files are like the collector's files: endpoint by endpoint in order, with the same size and the same number of
    rows a group and a page. Only the encoding of numbers and ids differs: it is plain.
    """
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for side, site in enumerate(_SITES):
        for day, numbers in _days(two.shape):
            files = -(-len(numbers) // rows_a_file)
            rows = _large(two, side, spark.range(numbers.start, numbers.stop, 1, files).toDF("number"))
            target = directory / site / partition_path(site, SERVICE, day)
            rows.write.mode("overwrite").options(**_AS_COLLECTED).parquet(f"file:{target}")
        write_whole(directory / site / "manifest.json", _manifest(two, side, directory / site).encoded())
    return directory / _SITES[0], directory / _SITES[1]


_AS_COLLECTED = {
    "compression": "zstd",
    "parquet.block.row.count.limit": str(Bounds().rows_a_group),
    "parquet.page.row.count.limit": str(ROWS_A_PAGE),
    **{f"parquet.enable.dictionary#{name}": str(name in DICTIONARIES).lower() for name in SCHEMA.names},
}


def _days(shape: Shape) -> Iterator[tuple[str, range]]:
    """The messages of each day. Each partition is written separately, in order. Spark would sort by day, spill large
    data and merge it in another order."""
    numbers = range(shape.messages)
    begin = 0
    while begin < shape.messages:
        day = _day(shape, begin)
        end = bisect_right(numbers, day, key=lambda number: _day(shape, number))
        yield day, range(begin, end)
        begin = end


def _day(shape: Shape, number: int) -> str:
    return day_of(_spooled(shape, number) / MICROS)


def _large(two: TwoSites, side: int, rows: DataFrame) -> DataFrame:
    """The messages with these numbers at one side."""
    shape, truth = two.shape, two.truth
    kinds = {"gone": two.absent(side)}
    if side == 1:
        kinds |= {"twice": truth.duplicate, "changed": truth.changed, "late": truth.displaced}
    faults = [(number, kind) for kind, numbers in kinds.items() for number in numbers]
    number = F.col("number")
    late = F.when(F.col("fault") == "late", (number + _STRIDE) * _ROOM + 1).otherwise(number * _ROOM)
    copies = F.when(F.col("fault") == "twice", F.array(late, number * _ROOM + 2)).otherwise(F.array(late))
    text = F.concat(F.lit("p"), number, F.when(F.col("fault") == "changed", "x").otherwise(""))
    spooled = F.lit(_micros(START)) + F.expr(f"number * {_micros(shape.span_s)}L div {max(1, shape.messages)}L")
    halves = (F.shiftright(number, 32), number.bitwiseAND(0xFFFFFFFF))
    values: dict[str, Column] = {
        "endpoint": F.concat(F.lit("orders/q"), F.lpad(_endpoint(two).cast("string"), 5, "0")),
        "kind": F.lit("queue"),
        "message_id": F.concat_ws("-", F.lit(STREAM), *(F.lpad(F.lower(F.hex(half)), 8, "0") for half in halves)),
        "stream": F.lit(STREAM),
        "sequence": number,
        "position": F.explode(copies),
        "spooled_at": F.timestamp_micros(spooled),
        "size": number % 2000,
        "digest": F.unhex(F.md5(text)),
        "replicated": F.lit("replicated"),
        "redeliveries": F.lit(0),
    }
    table = rows.sparkSession.createDataFrame(faults, "number long, fault string")
    joined = rows.join(F.broadcast(table), "number", "left").where("fault IS NULL OR fault <> 'gone'")
    return joined.select(*[value.alias(name) for name, value in values.items()])


def _endpoint(two: TwoSites) -> Column:
    number = F.col("number")
    rest = F.floor((number - two.first) / two.each) + 1
    return F.when(number < two.first, 0).otherwise(rest).cast("int")


def _manifest(two: TwoSites, side: int, target: Path) -> Manifest:
    at = _read_at(two)
    job = _job(two, side)
    counts = two.counts(side)
    paths = sorted(target.glob("site=*/**/*.parquet"))
    return Manifest(
        site=job.site,
        simulated=True,
        failover_at=job.failover_at,
        started_at=at,
        finished_at=at,
        services=tuple(job.services),
        endpoints=tuple(
            EndpointSnapshot(service=key.service, name=key.name, messages=counts[key], taken_from=at, taken_to=at)
            for key in two.all_keys()
        ),
        files=tuple(
            DataFile(
                path=path.relative_to(target).as_posix(),
                rows=pq.read_metadata(path).num_rows,
                bytes=path.stat().st_size,
            )
            for path in paths
        ),
    )
