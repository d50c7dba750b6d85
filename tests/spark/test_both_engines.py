"""Spark says what DuckDB says, to the last row: every case by which the rules are judged, in few comparisons.

The algorithm is one text for both, so a rule that is judged on DuckDB holds on Spark as long as both give the same rows.
Each plan is made here, and of each so many queries at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from orchestrator.clock import VirtualClock
from pipeline.ask import Ask
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.engines.spark import Spark
from pipeline.generator import Shape, TwoSites, write_large
from pipeline.reconcile import Outcome, reconcile
from pipeline.report import CLASSES, Report
from pipeline.rows import EndpointKey
from pipeline.sides import Side
from tests.spark.oracle import NOON, Endpoint, Expected, compare, some_case
from tests.spark.pairs import ODD, Pair, emptied, every_pair
from tests.spark.services import FAILOVER, Ends, plain_service, some_service, write_services
from tests.spark.tables import rows_of
from tests.spark.test_judgement import check
from tests.spark.test_reconcile import check_truth
from tests.spark.test_right_answers import rewrite, with_others, without_optional

SKEW = 1.0
# Of the cases of the oracle, in one service; and of whole services that chance puts together.
CASES, SERVICES = range(120), range(7_000, 7_024)
# What is looked at when it is asked for copies that both sites have.
COPIED = range(1_000, 1_060)
# From so many differences on they are counted where they are.
MANY = 1_001
# What Spark took when this was written. Whoever plans more of them makes every reconciliation slower.
JOBS = {"equal": 5, "drill": 14}
STAGES = {"equal": 12, "drill": 44}


@dataclass
class Counted:
    """What a session did in a block: jobs, and stages of them, those that need not be run again among them."""

    jobs: int = 0
    stages: int = 0


@contextmanager
def counting(session: SparkSession, name: str) -> Iterator[Counted]:
    """Counts what the session does in the block."""
    context, found = session.sparkContext, Counted()
    context.setJobGroup(name, name)
    try:
        yield found
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None takes it away
        tracker = context.statusTracker()
        told = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
        found.jobs = len(told)
        found.stages = sum(len(job.stageIds) for job in told if job is not None)


def ends_of(pair: Pair, side: int) -> Ends:
    """One side of a pair, read in full and at once."""
    return {EndpointKey(*key): (Endpoint(tuple(some), NOON, NOON), 0) for key, some in pair[side].items()}


def exports(folder: Path, *pairs: Pair, services: Any = ()) -> tuple[str, str]:
    """Both exports of all of these."""
    more = [{key: end for pair in pairs for key, end in ends_of(pair, side).items()} for side in (0, 1)]
    told = sorted({service for pair in pairs for service, _ in pair[0]})
    return write_services(services, folder, more, told)


def ask(engine: Executor, sides: tuple[str, str], **more: Any) -> Outcome:
    left, right = map(Side.open, sides)
    return reconcile(engine, left, right, Ask(**more), VirtualClock(NOON))


def told(report: Report) -> dict[str, Any]:
    """What a report says, but for who made it, and for which few of many differences an engine shows."""
    few = sum(one.missing + one.extra + one.duplicates + one.changed for one in report.intervals) < MANY
    said = report.model_dump(exclude={"created_at", "checksum", *(() if few else ("samples",))})
    for name in ("engine", "overlooked_at_most"):
        del said["work"][name]
    return said


def agreed(spark: SparkSession, duck: Duck, sides: tuple[str, str], folder: Path, **more: Any) -> Report:
    """Law: both engines say the same of these exports, and write the same table. What Spark said of them."""
    found, known = ask(Spark(spark), sides, **more), ask(duck, sides, **more)
    assert told(found.report) == told(known.report)
    assert rows_of(found, folder) == rows_of(known, folder)
    for outcome in (found, known):
        assert len({(one.kind, one.message_id, one.endpoint, one.service) for one in outcome.report.samples}) == len(
            outcome.report.samples
        )
        assert {one.kind for one in outcome.report.samples} <= {*CLASSES}
        outcome.close()
    return found.report


def test_every_case_looked_at_where_it_differs(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of every pair by which a rule is judged, of the oracle's cases and of whole services Spark says what DuckDB
    says, in a plan that drills, with more differences than are fetched; and it is what the oracle says. Whatever a
    service, and the directory of an export, is called, all of its messages are read."""
    cases = [some_case(seed) for seed in CASES]
    services = [some_service(seed) for seed in SERVICES]
    pair = every_pair()
    pair[0]["many", "q"], pair[1]["many", "q"] = emptied("left", MANY)[1]["a", "q"], []
    folder = tmp_path / "odd [a]{b}*? 取%20引"
    sides = exports(folder, pair, services=[*services, plain_service("oracle", cases)])
    asked = {"failover_at": FAILOVER, "clock_skew_s": SKEW, "everything_above": 2.0, "numbers_log2": 5}
    report = agreed(spark, duck, sides, tmp_path, **asked)
    assert report.work.plan == "drill"
    named = {(one.service, one.name): one for one in report.endpoints}
    for number, case in enumerate(cases):
        assert Expected.told(named["oracle", f"q{number}"]) == compare(case, skew=SKEW), CASES[number]
    assert sum(check(report, services, FAILOVER).values()) > 2 * len(services) - 1
    assert {(named[name, "q"].left.messages, named[name, "q"].missing.messages) for name in ODD} == {(30, 2)}


def test_every_case_looked_at_as_a_whole(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: the same of the plan that looks at everything, which finds copies that both sites have, too."""
    cases = [some_case(seed, equal_duplicates=True) for seed in COPIED]
    sides = exports(tmp_path, every_pair(), services=[plain_service("oracle", cases)])
    report = agreed(spark, duck, sides, tmp_path, equal_duplicates=True, failover_at=FAILOVER, interval_s=5.0)
    assert report.work.plan == "everything"
    named = {(one.service, one.name): one for one in report.endpoints}
    for number, case in enumerate(cases):
        expected = compare(case, skew=SKEW, equal_duplicates=True)
        assert Expected.told(named["oracle", f"q{number}"]) == expected, COPIED[number]


def test_equal_sides_need_one_query(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: equal sides are safe, whichever of the columns that may be absent a writer left out, and whatever others it
    added; and they take one query: so many jobs and stages as are counted here, and no more."""
    ((keys, _), messages) = emptied("none"), emptied("none")[0]["a", "q"]
    both = {**keys, ("b", "q"): messages, ("c", "q"): []}
    sides = exports(tmp_path, (both, both))
    rewrite(Path(sides[0]), without_optional)
    rewrite(Path(sides[0]), with_others, service="b")
    with counting(spark, "equal") as count:
        found = ask(Spark(spark), sides)
        found.close()
    report = agreed(spark, duck, sides, tmp_path)
    assert (report.work.plan, {one.verdict for one in report.services}) == ("fingerprints", {"safe"})
    assert count.jobs <= JOBS["equal"] and count.stages <= STAGES["equal"], count


def test_what_is_held_has_few_pieces(spark: SparkSession, tmp_path: Path) -> None:
    """Law: where a server cuts everything into many pieces, what is held of few messages has few of them all the same."""
    usual = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", "64")
    try:
        found = ask(Spark(spark), exports(tmp_path, emptied("none")))
        assert spark.table("buckets").rdd.getNumPartitions() < 8
        found.close()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", usual)


def test_a_closer_look_needs_so_many_queries(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of what Spark wrote, both engines find what was broken, to the last row, by reading little; and Spark takes
    so many jobs and stages for it as are counted here, and no more."""
    two = TwoSites(Shape(2_000, endpoints=6, missing=3, extra=2, duplicate=2, changed=2, displaced=3))
    left, right = write_large(spark, two, tmp_path, rows_a_file=1_000)
    sides = str(left), str(right)
    with counting(spark, "drill") as count:
        found = ask(Spark(spark), sides, numbers_log2=4)
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false"  # few rows are planned once
    known = ask(duck, sides, numbers_log2=4)
    for outcome in (found, known):
        check_truth(outcome, two, tmp_path)
        outcome.close()
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert told(found.report) == told(known.report)
    assert count.jobs <= JOBS["drill"] and count.stages <= STAGES["drill"], count
