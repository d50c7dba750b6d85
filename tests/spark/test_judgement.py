"""What is said of each service is what follows from its very messages: verdict, recovery point, intervals, holdings.

The oracle looks at messages; what it is held against looked at what was counted of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import floor

import pytest

from orchestrator.clock import VirtualClock
from pipeline.ask import Ask
from pipeline.engines.duck import Duck
from pipeline.reconcile import reconcile
from pipeline.report import Holding, Interval, Report, ServiceReport
from pipeline.rows import Message
from pipeline.sides import Side
from tests.spark.oracle import NOON, Case, Endpoint, Expected, compare
from tests.spark.services import FAILOVER, Service, some_service, write_services

SEEDS = range(7_000, 7_120)
SKEW = 1.0
WIDTH = 60.0


def is_local(message: Message) -> bool:
    return message.replicated == "not-replicated"


def is_old(message: Message) -> bool:
    return not is_local(message) and message.spooled_at <= FAILOVER + SKEW


def differs(found: Expected) -> bool:
    counts = (found.duplicates_left, found.duplicates_right, found.changed)
    return bool(found.missing or found.extra or any(counts))


def verdict(service: Service, failover: float | None) -> str:
    """docs/sources/solace-procedure.md, fail-back: safe when both sites hold the same, or nothing of before the
    fail-over is left where they do not."""
    apart = [case for case in service.cases if differs(compare(case, skew=SKEW))]
    if not apart:
        return "safe" if service.is_read_in_full else "unknown"
    if True in service.interrupted:
        return "not-safe"
    if failover is None:
        return "unknown"
    if any(is_old(one) for case in apart for side in (case.left, case.right) for one in side.messages):
        return "not-safe"
    return "safe" if service.is_read_in_full else "unknown"


def recovery_point(service: Service, failover: float | None) -> tuple[str, int, int | None]:
    """How, at least, at most: what only the site that gave up has, of before the fail-over."""
    if service.active is None or failover is None:
        return "unknown", 0, None
    gave_up = [case.left if service.active == "right" else case.right for case in service.cases]
    only_there: Counter[str] = Counter()
    for case in service.cases:
        found = compare(case, skew=SKEW)
        only_there += found.missing_before if service.active == "right" else found.extra_before
    silent = sum(
        found.missing_silent if service.active == "right" else found.extra_silent
        for found in (compare(case, skew=SKEW) for case in service.cases)
    )
    low = only_there["none"] - silent
    if not service.is_read_in_full:
        return "unknown", low, None
    if not any(is_old(one) for side in gave_up for one in side.messages):
        return "unknown", 0, None  # its spool may be gone, and what was not replicated with it
    perhaps = silent + sum(only_there[why] for why in ("consumed-between", "consumed-unpropagated", "expired"))
    return ("bounded", low, low + perhaps) if perhaps else ("proven", low, low)


def holding(side: Endpoint, beyond: int | None) -> Holding:
    messages = side.messages
    return Holding(
        messages=len(messages),
        local=sum(map(is_local, messages)),
        bytes=sum(one.size or 0 for one in messages),
        oldest_at=min((one.spooled_at for one in messages if not is_local(one)), default=None),
        newest_at=max((one.spooled_at for one in messages), default=None),
        is_whole=None if beyond is None else beyond == 0,
    )


def intervals(service: Service) -> list[Interval]:
    """Each difference once, in the interval in which it was spooled, counted from the fail-over."""
    found: dict[int, Counter[str]] = {}
    for case in service.cases:
        for kind, spooled in _classes(case):
            found.setdefault(floor((spooled - FAILOVER) / WIDTH), Counter())[kind] += 1
    return [
        Interval(service=service.name, start=FAILOVER + n * WIDTH, end=FAILOVER + (n + 1) * WIDTH, **found[n])
        for n in sorted(found)
    ]


def _classes(case: Case) -> Iterator[tuple[str, float]]:
    sides = [Counter(one.message_id for one in side.messages) for side in (case.left, case.right)]
    for name in sides[0].keys() | sides[1].keys():
        copies = [[one for one in side.messages if one.message_id == name] for side in (case.left, case.right)]
        there = copies[0] or copies[1]
        contents = [{one.digest for one in some} for some in copies]
        spooled = min(one.spooled_at for one in there)
        if not all(copies):
            if not any(map(is_local, there)):
                yield "missing" if copies[0] else "extra", spooled
        elif len(copies[0]) != len(copies[1]):
            yield "duplicates", spooled
        elif None not in contents[0] | contents[1] and contents[0] != contents[1]:
            yield "changed", spooled


@pytest.fixture(scope="module")
def services() -> list[Service]:
    return [some_service(seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def exports(services: list[Service], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Both sites' exports of all of them."""
    return write_services(services, tmp_path_factory.mktemp("services"))


@pytest.mark.parametrize("failover", [FAILOVER, None])
def test_as_the_oracle_says(
    duck: Duck, services: list[Service], exports: tuple[str, str], failover: float | None
) -> None:
    """Law: verdict and recovery point of every service, and every number of its endpoints' holdings, are the oracle's."""
    ask = Ask(failover_at=failover, interval_s=WIDTH, clock_skew_s=SKEW)
    outcome = reconcile(duck, Side.open(exports[0]), Side.open(exports[1]), ask, VirtualClock(NOON))
    outcome.close()
    report = outcome.report
    seen = check(report, services, failover)
    if failover is not None:
        assert list(report.intervals) == [one for service in services for one in intervals(service)]
        assert min(seen[word] for word in ("safe", "not-safe", "unknown", "proven", "bounded")) > 2, seen


def check(report: Report, services: Sequence[Service], failover: float | None) -> Counter[str]:
    """Verdicts, recovery points and holdings of ``services`` are the oracle's; which words were said, and how often."""
    told = {one.name: one for one in report.services}
    seen: Counter[str] = Counter()
    for service in services:
        found = told[service.name]
        assert (service.name, found.verdict) == (service.name, verdict(service, failover))
        rpo = (found.rpo.how, found.rpo.low, found.rpo.high)
        assert (service.name, rpo) == (service.name, recovery_point(service, failover))
        seen.update([found.verdict, found.rpo.how])
        _check_reasons(service, found)
        for number, case in enumerate(service.cases):
            [endpoint] = [one for one in found.endpoints if one.name == f"q{number}"]
            expected = [holding(s, b) for s, b in zip((case.left, case.right), service.beyond[number], strict=True)]
            assert [endpoint.left, endpoint.right] == expected, (service.name, number)
    return seen


def _check_reasons(service: Service, found: ServiceReport) -> None:
    """Law: no verdict without a reason; what it assumes is among them; a recovery point that is not sure says why."""
    assert found.reasons and found.rpo.reasons
    is_by_age = found.verdict == "safe" and any(one.differs for one in found.endpoints if not one.has_same_messages)
    assumed = "assumed: replication was never disabled or suspended" in found.reasons
    assert assumed == (is_by_age and True not in service.interrupted and None in service.interrupted), service.name
