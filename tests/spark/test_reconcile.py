"""Two sides are compared exactly: the answers are those of the plain oracle, whatever the plan. DuckDB gives them here;
Spark is held to it in ``test_both_engines``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from pipeline.ask import Ask
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.generator import Shape, TwoSites, write_small
from pipeline.reconcile import Outcome, reconcile
from pipeline.report import Report
from pipeline.rows import Message, digest_of
from pipeline.sides import Side
from tests.spark.oracle import NOON, SERVICE, Case, Endpoint, Expected, compare, some_case, write
from tests.spark.pairs import EMPTIED, Pair, emptied, with_gaps, without_contents
from tests.spark.tables import tables_of

SKEW = 1.0


def run(engine: Executor, left: str, right: str, **ask: Any) -> Report:
    outcome = reconcile(engine, Side.open(left), Side.open(right), Ask(**ask), VirtualClock(NOON))
    outcome.close()
    return outcome.report


def wrong(
    report: Report, expected: dict[str, Expected], seeds: Sequence[int]
) -> list[tuple[int, Expected, Expected]]:
    """Seed, expectation and answer of every case that is answered wrongly."""
    told = {endpoint.name: Expected.told(endpoint) for endpoint in report.endpoints}
    assert told.keys() == expected.keys()
    return [(seeds[int(name[1:])], expected[name], told[name]) for name in expected if told[name] != expected[name]]


def rmid(number: int) -> str:
    return f"rmid1:0d77c-b0b2e66aece-00000000-{number:08x}"


def message(number: int, **changes: Any) -> Message:
    plain = Message(rmid(number), NOON - 1000 + number, digest=digest_of(b"x"), replicated="replicated")
    return replace(plain, **changes)


def pair(left: Sequence[Message], right: Sequence[Message]) -> Case:
    return Case(Endpoint(tuple(left)), Endpoint(tuple(right)))


def cases_of(sides: Pair) -> list[Case]:
    """The endpoints that both have, one after the other."""
    left, right = sides
    return [pair(left[key], right[key]) for key in left]


@settings(
    max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=60, max_size=90, unique=True), width=st.integers(1, 6))
def test_as_the_oracle_says(
    duck: Duck, tmp_path_factory: pytest.TempPathFactory, seeds: list[int], width: int
) -> None:
    """Whatever happened to the endpoints, every number of the report is the oracle's, however buckets are cut."""
    cases = [some_case(seed) for seed in seeds]
    report = run(duck, *write(cases, tmp_path_factory.mktemp("random")), numbers_log2=width, everything_above=2.0)
    expected = {f"q{number}": compare(case, skew=SKEW) for number, case in enumerate(cases)}
    assert not wrong(report, expected, seeds)


def test_equal_duplicates_on_request(duck: Duck, tmp_path: Path) -> None:
    """Copies that both sites have are found when sought, and every other number is the same in the full plan."""
    seeds = range(1000, 1060)
    cases = [some_case(seed, equal_duplicates=True) for seed in seeds]
    report = run(duck, *write(cases, tmp_path), equal_duplicates=True)
    expected = {f"q{number}": compare(case, skew=SKEW, equal_duplicates=True) for number, case in enumerate(cases)}
    assert report.work.plan == "everything"
    assert sum(one.duplicates_at_both for one in expected.values()) > 0
    assert not wrong(report, expected, seeds)


def test_known_truth_with_skew(duck: Duck, tmp_path: Path) -> None:
    """What the generator broke is what is found, the differences table names exactly those, and little is read."""
    two = TwoSites(FEW)
    left, right = (Side.open(str(side)) for side in write_small(two, tmp_path))
    outcome = reconcile(duck, left, right, Ask(numbers_log2=4), VirtualClock(NOON))
    check_truth(outcome, two, tmp_path)
    outcome.close()


FEW = Shape(4_000, endpoints=12, missing=3, extra=2, duplicate=2, changed=2, displaced=3)


def check_truth(outcome: Outcome, two: TwoSites, folder: Path) -> None:
    """What was broken is what was found, to the last row, by a closer look at little."""
    report = outcome.report
    assert report.work.plan == "drill"
    assert report.work.rows_drilled < report.work.rows / 10
    assert sum(one.missing.messages for one in report.endpoints) == two.shape.missing
    assert sum(one.extra.messages for one in report.endpoints) == two.shape.extra
    assert sum(one.duplicates_right for one in report.endpoints) == two.shape.duplicate
    assert sum(one.changed for one in report.endpoints) == two.shape.changed
    assert sum(one.order_breaks for one in report.endpoints) == two.shape.displaced
    rows = tables_of(outcome, folder)["differences"]
    found = {kind: {int(row["message_id"][-8:], 16) for row in rows if row["class"] == kind} for kind in KINDS}
    assert found == {kind: set(getattr(two.truth, kind)) for kind in KINDS}


KINDS = ("missing", "extra", "duplicate", "changed")


def test_plans_agree(duck: Duck, tmp_path: Path) -> None:
    """Drilling where it differs and looking at everything give the same report but for the plan."""
    two = TwoSites(Shape(1_500, endpoints=4, missing=5, extra=4, duplicate=3, changed=2, displaced=2))
    left, right = (str(side) for side in write_small(two, tmp_path))
    drilled = run(duck, left, right, numbers_log2=4, everything_above=2.0)
    whole = run(duck, left, right, numbers_log2=4, everything_above=-1.0)
    assert (drilled.work.plan, whole.work.plan) == ("drill", "everything")
    assert drilled.services == whole.services
    assert drilled.intervals == whole.intervals
    assert drilled.findings == whole.findings


def test_many_differences(duck: Duck, tmp_path: Path) -> None:
    """More than a thousand differences are counted where they are, and a few of each class are shown."""
    two = TwoSites(Shape(4_000, endpoints=4, missing=600, extra=500, duplicate=40, changed=3))
    report = run(duck, *(str(side) for side in write_small(two, tmp_path)), failover_at=NOON, interval_s=3600.0)
    told = {
        "missing": sum(one.missing.messages for one in report.endpoints),
        "extra": sum(one.extra.messages for one in report.endpoints),
        "duplicate": sum(one.duplicates_right for one in report.endpoints),
        "changed": sum(one.changed for one in report.endpoints),
    }
    assert (
        told
        == {kind: len(getattr(two.truth, kind)) for kind in KINDS}
        == dict(zip(KINDS, (600, 500, 40, 3), strict=True))
    )
    spans = report.intervals
    assert [sum(getattr(span, name) for span in spans) for name in SPANS] == [600, 500, 40, 3]
    # No more than five of each, each another one, and explained as the report counts them.
    assert Counter(sample.kind for sample in report.samples) == {
        "missing": 5,
        "extra": 5,
        "duplicate": 5,
        "changed": 3,
    }
    assert len({sample.message_id for sample in report.samples}) == 18
    for kind in ("missing", "extra"):
        counted = {why for one in report.endpoints for why in getattr(one, kind).by_why}
        assert {sample.why for sample in report.samples if sample.kind == kind} <= counted
    assert all(int(one.message_id[-8:], 16) in getattr(two.truth, one.kind) for one in report.samples)


SPANS = ("missing", "extra", "duplicates", "changed")


@pytest.mark.parametrize("which", EMPTIED)
def test_empty_and_identical_sides(duck: Duck, tmp_path: Path, which: str) -> None:
    """Identical sides need one pass and are safe; an empty side makes everything of the other extra."""
    left, right = (0 if which in some else 20 for some in (("left", "both"), ("both",)))
    report = run(duck, *write(cases_of(emptied(which)), tmp_path))
    (endpoint,) = report.endpoints
    assert (endpoint.left.messages, endpoint.right.messages) == (left, right)
    assert endpoint.missing.messages == 0
    assert endpoint.extra.messages == (20 if which == "left" else 0)
    if which == "left":
        assert report.services[0].verdict == "not-safe"
    else:
        assert report.work.plan == "fingerprints"
        assert report.services[0].verdict == "safe"
        assert not report.findings


def test_contents_unknown_and_local_messages(duck: Duck, tmp_path: Path) -> None:
    """Where one site's contents could not be read, ids are compared all the same, cheaply, and that is said. A message
    that is not replicated is at one site by design: neither missing, nor too old to fail back."""
    report = run(duck, *write(cases_of(without_contents()), tmp_path), numbers_log2=4)
    first, second = report.endpoints
    assert report.work.plan == "drill"
    assert (first.missing.messages, first.changed, first.unverified) == (1, 0, 299)
    assert "contents-not-compared" in {finding.code for finding in report.findings}
    assert (second.missing.messages, second.left.local) == (0, 1)
    assert second.left.oldest_at == NOON - 999


def test_a_site_cannot_be_its_own_mate(tmp_path: Path) -> None:
    """Two exports of one site are refused: the comparison would mean nothing."""
    left, _ = write([pair([], [])], tmp_path)
    with pytest.raises(DefinitionError, match="both exports are of site ny"):
        reconcile(None, Side.open(left), Side.open(left), Ask(), VirtualClock(NOON))  # type: ignore[arg-type]  # not used


def test_messages_of_an_endpoint_that_no_manifest_names(engine: Executor, tmp_path: Path) -> None:
    """Rows are told apart by hashes of names, and the manifests tell the names: an export that contradicts its own
    manifest is refused, and nothing of it is left out in silence."""
    sides = map(Side.open, write([pair([message(1)], [message(1)])], tmp_path))
    left, right = (replace(side, manifest=side.manifest.model_copy(update={"endpoints": ()})) for side in sides)
    with pytest.raises(DefinitionError, match="an endpoint that no manifest names"):
        reconcile(engine, left, right, Ask(), VirtualClock(NOON))


def test_intervals_around_the_failover(duck: Duck, tmp_path: Path) -> None:
    """Intervals begin at the fail-over, hold every difference once, and are widened when there would be too many."""
    report = run(duck, *write(cases_of(with_gaps()), tmp_path), interval_s=1.0, failover_at=NOON - 500)
    assert sum(span.missing for span in report.intervals) == 9
    widths = {round(span.end - span.start, 3) for span in report.intervals}
    assert widths == {10.0}
    assert {(span.start - (NOON - 500)) % 10.0 for span in report.intervals} == {0.0}
    assert {span.service for span in report.intervals} == {SERVICE}
