"""A reconciliation on the screen: what it says of each service, and of which service it says it."""

from __future__ import annotations

import pytest

from pipeline.narrate import lines_of
from pipeline.report import EndpointReport, Holding, Interval, Report, Rpo, ServiceReport, SideReport, Uncommon, Work

NOON = 1_800_000_000.0


def service(name: str, rpo: Rpo, *endpoints: EndpointReport) -> ServiceReport:
    return ServiceReport(
        name=name,
        active="right",
        failover_at=NOON,
        verdict="not-safe",
        reasons=("old ones wait",),
        rpo=rpo,
        endpoints=endpoints,
    )


def report(*services: ServiceReport, intervals: tuple[Interval, ...] = ()) -> Report:
    sides = [
        SideReport(site=site, manifest="0" * 64, taken_from=NOON, taken_to=NOON, messages=7) for site in ("ny", "nj")
    ]
    work = Work(plan="drill", buckets=9, buckets_drilled=1, rows=14, rows_drilled=3, overlooked_at_most=4.9e-19)
    return Report(
        created_at=NOON,
        clock_skew_s=1.0,
        left=sides[0],
        right=sides[1],
        work=work,
        services=services,
        intervals=intervals,
    )


def test_each_interval_stands_under_its_service() -> None:
    """Law: two services with losses in the same minute can be told apart, and what differs is a row with its numbers."""
    missing = EndpointReport(
        service="a", name="orders", kind="queue", left=Holding(messages=7), right=Holding(messages=4)
    ).model_copy(update={"missing": Uncommon(by_why={"none": 3}), "duplicates_right": 1, "order_breaks": 2})
    spans = tuple(Interval(service=name, start=NOON, end=NOON + 60, missing=3) for name in "ab")
    lines = list(lines_of(report(service("a", Rpo(how="proven"), missing), intervals=spans)))
    assert (
        "  orders                                7          4          3          0          1          0      2"
        in lines
    )
    rows = [number for number, line in enumerate(lines) if line.startswith("  2027-01-15T08:00:00.000Z")]
    assert [lines[number - 1] for number in rows] == ["  a", "  b"]
    assert "the probability that a message that differs was overlooked is at most 4.9e-19" in lines


@pytest.mark.parametrize(
    ("rpo", "words"),
    [
        (Rpo(how="proven", low=3, high=3), "3 messages, proven"),
        (Rpo(how="bounded", low=3, high=1_005, reasons=("some aged",)), "between 3 and 1,005 messages; some aged"),
        (Rpo(how="unknown", low=2, reasons=("one is unread",)), "unknown, at least 2; one is unread"),
        (Rpo(how="unknown", reasons=("who serves is not known",)), "unknown; who serves is not known"),
    ],
)
def test_how_a_loss_is_known(rpo: Rpo, words: str) -> None:
    """Law: a number of lost messages never stands without how it is known."""
    assert f"  lost by the fail-over: {words}" in list(lines_of(report(service("a", rpo))))
