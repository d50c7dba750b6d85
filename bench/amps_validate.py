"""AMPS validation against a plain pairwise loop, and its growth to a thousand instances with a hundred topics.

The fabric is a ring of regions with two instances each. Links are sync within the region, and async to the next region
and back. Half of an instance's topics are common to all instances, and half belong to its region. Every tenth instance
has a fault. The plain loop (``bench._amps_plain``) makes only the nine checks; the product also checks its other rules.
Both must find the same failures, or the benchmark stops.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.amps.config.configuration import parse_instance
from adapters.amps.config.model import Check, Instance
from adapters.amps.config.settings import ValidateOptions
from bench._amps_plain import Failure, plain_loop
from validator.fabric.fabric import Fabric
from validator.report import Level, ValidationReport
from validator.validate import report_on, validate

COMPARED = ((8, 40), (16, 40), (32, 40), (64, 40))
ALONE = ((125, 100), (250, 100), (500, 100), (1_000, 100))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds of both programs on one fabric, and whether they found the same failures."""

    instances: int
    topics: int
    plain_s: float
    product_s: float
    failures: int
    agree: bool


def main() -> None:
    """Print both tables."""
    print("a plain pairwise loop and the product on the same instances, read beforehand")
    print(f"{'instances':>9} {'topics':>6} {'plain s':>8} {'product s':>9} {'times':>6} {'failures':>8}")
    for instances, topics in COMPARED:
        row = compare(instances, topics)
        if not row.agree:
            raise SystemExit(f"{instances} x {topics}: the plain loop and the product disagree")
        times = f"{row.plain_s / row.product_s:>6.1f}"
        print(f"{instances:>9,} {topics:>6} {row.plain_s:>8.3f} {row.product_s:>9.3f} {times} {row.failures:>8}")
    print("\nthe product alone, reading the XML included; µs are of validating, by link and topic")
    print(
        f"{'instances':>9} {'topics':>6} {'links':>6} {'read s':>7} {'validate s':>10} {'µs each':>8} {'findings':>8}"
    )
    for instances, topics in ALONE:
        print(alone(instances, topics))


def compare(instances: int, topics: int) -> Comparison:
    """Measures the plain loop and the product on one fabric, and compares their failures."""
    fabric = [parse_instance(text, f"{index}.xml") for index, text in enumerate(configurations(instances, topics))]
    start = time.perf_counter()
    plain = plain_loop(fabric)
    between = time.perf_counter()
    report = validate(fabric)
    end = time.perf_counter()
    found = failures(report)
    return Comparison(instances, topics, between - start, end - between, len(plain), plain == found)


def failures(report: ValidationReport) -> set[Failure]:
    """The active checks of the nine that fail, in the form of the plain loop."""
    nine = set(Check)
    return {
        (each.check, each.source or "", each.destination or "", each.topic or "", each.message_type or "")
        for each in report.findings
        if each.level is Level.ERROR and each.check in nine
    }


def alone(instances: int, topics: int) -> str:
    """One row of the second table."""
    texts = configurations(instances, topics)
    start = time.perf_counter()
    read = [parse_instance(text, f"{index}.xml") for index, text in enumerate(texts)]
    between = time.perf_counter()
    fabric = Fabric(read, ValidateOptions())
    report = report_on(fabric)
    taken = time.perf_counter() - between
    each = taken / sum(edge.topics for edge in report.links) * 1e6
    size = f"{instances:>9,} {topics:>6} {len(report.links):>6,}"
    return f"{size} {between - start:>7.2f} {taken:>10.2f} {each:>8.1f} {len(report.findings):>8,}"


def configurations(instances: int, topics: int) -> list[str]:
    """The XML of a ring of regions. Both numbers must be even. Every tenth instance does not log one topic."""
    return [_configuration(index, instances, topics) for index in range(instances)]


def _configuration(index: int, instances: int, topics: int) -> str:
    region = _region(index)
    shared = [f"topic-{number}" for number in range(topics // 2)]
    own = [f"r{region}-topic-{number}" for number in range(topics // 2)]
    logged = [*own, *(shared[:-1] if index % 10 == 9 else shared)]
    stored = "".join(
        f"<Topic><Name>{name}</Name><MessageType>json</MessageType><Key>/id</Key></Topic>"
        for name in (own + shared)[::2]
    )
    destinations = "".join(
        _destination(mate, shared + own if _region(mate) == region else shared, is_near=_region(mate) == region)
        for mate in _mates(index, instances)
    )
    return (
        f"<AMPSConfig><Name>i{index}</Name><Group>r{region}</Group>"
        "<Transports><Transport><Name>amps-replication</Name><Type>amps-replication</Type>"
        "<InetAddr>10004</InetAddr></Transport></Transports>"
        f"<SOW>{stored}</SOW><TransactionLog><JournalDirectory>./journal</JournalDirectory>"
        f"{_entries(logged)}</TransactionLog><Replication>{destinations}</Replication></AMPSConfig>"
    )


def _mates(index: int, instances: int) -> Sequence[int]:
    """The other instance of the region, and the counterparts in the next region and the region before."""
    near = [index ^ 1, (index + 2) % instances, (index - 2) % instances]
    return [mate for mate in dict.fromkeys(near) if mate != index]


def _region(index: int) -> int:
    return index // 2


def _destination(mate: int, topics: Sequence[str], *, is_near: bool) -> str:
    name, sync = f"i{mate}", "sync" if is_near else "async"
    return (
        f"<Destination><Name>{name}</Name><SyncType>{sync}</SyncType><PassThrough>.*</PassThrough>{_entries(topics)}"
        f"<Transport><Type>amps-replication</Type><InetAddr>{name}.example.com:10004</InetAddr></Transport></Destination>"
    )


def _entries(names: Sequence[str]) -> str:
    return "".join(f"<Topic><Name>{name}</Name><MessageType>json</MessageType></Topic>" for name in names)


def instances_of(count: int, topics: int) -> list[Instance]:
    """The ring of regions as models, for tests."""
    return [parse_instance(text, f"{index}.xml") for index, text in enumerate(configurations(count, topics))]


if __name__ == "__main__":
    main()
