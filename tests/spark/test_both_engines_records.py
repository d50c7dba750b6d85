"""Spark says what DuckDB says of dumps of AMPS and of past runs, too: one comparison of each kind for all cases by which
its rules are judged, and one of the oracle's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from orchestrator.clock import VirtualClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from pipeline.amps.collect import collect_dumps, dumps_of
from pipeline.amps.instance import Instance
from pipeline.amps.journals import JournalsOutcome, compare_journals
from pipeline.amps.sow import SowOutcome, SowSide, compare_sows
from pipeline.ask import Ask
from pipeline.collect import Job
from pipeline.engines.duck import Duck
from pipeline.engines.spark import Spark
from pipeline.history.history import HistoryOutcome, files_of, history_of
from pipeline.manifest import ServiceSnapshot
from pipeline.reconcile import Outcome, reconcile
from pipeline.sides import Side
from simulator.amps.embedded import SERVICE
from tests.spark import fabric, test_amps_journals_oracle, test_amps_sow, test_history_oracle
from tests.spark.dumps import NOON_MICROS, journal_text, write
from tests.spark.past import Night, inline, typed
from tests.spark.tables import rows_of
from tests.spark.test_amps_journals import damaged_text, left_behind, reaching_back
from tests.spark.test_amps_snapshots import logs, of_other_ages
from tests.spark.test_amps_sow import BY_ID_OF_EACH, TOPICS, every_cause, without_keys
from tests.spark.test_history import check_once, damage

pytestmark = pytest.mark.realtime
NOON = NOON_MICROS / 1e6


def told(outcome: JournalsOutcome | SowOutcome | Outcome | HistoryOutcome) -> dict[str, Any]:
    """What a report says, but for who made it and when."""
    said = outcome.report.model_dump(exclude={"created_at", "made_at", "checksum", "engine"})
    for name in ("engine", "overlooked_at_most"):
        said.get("work", {}).pop(name, None)
    return said


def check_equal(found: Any, known: Any, folder: Path) -> None:
    """Law: both engines say the same, and write the same tables."""
    assert told(found) == told(known)
    tables = rows_of(found, folder)
    assert tables == rows_of(known, folder) and any(tables.values())
    found.close()
    known.close()


def test_journals(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of what a fail-over left behind, logs that reach back less far and dumps with damage in them, as one pair of
    instances, Spark's report and tables are DuckDB's."""
    instances = []
    for side, name in enumerate(("ny", "nj")):
        for number, pair in enumerate((left_behind(), reaching_back())):
            write(tmp_path / name / "journal" / f"{number}.txt", journal_text(pair[side]))
        if side:
            write(tmp_path / name / "journal" / "2.txt", damaged_text())
        instances.append(Instance.of_journals(str(tmp_path / name)))
    left, right = instances
    found, known = (compare_journals(one, left, right, 0.5, VirtualClock()) for one in (Spark(spark), duck))
    assert len(known.report.topics) > 3 and known.report.right.unread_pieces == 5
    check_equal(found, known, tmp_path)


def test_journals_of_the_oracle(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of logs that chance made, too; and it is what the oracle says."""
    pair = test_amps_journals_oracle.some_pair(2026)
    left, right = (one.write(tmp_path / str(number)) for number, one in enumerate(pair))
    skew = test_amps_journals_oracle.SKEW
    found, known = (compare_journals(one, left, right, skew, VirtualClock()) for one in (Spark(spark), duck))
    test_amps_journals_oracle.check(found, pair, tmp_path, 2026)
    check_equal(found, known, tmp_path)


def test_sow(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of a topic for every cause, of topics without keys, and with a part of a log that cannot be read, Spark's
    report and table are DuckDB's."""
    sides = every_cause(tmp_path)
    more = map(Instance.of_directory, without_keys(tmp_path / "more"))
    left, right = (_with(one, other) for one, other in zip(sides, more, strict=True))
    found, known = (compare_sows(one, left, right, 1.0, VirtualClock()) for one in (Spark(spark), duck))
    assert len(known.report.topics) > 6
    check_equal(found, known, tmp_path)


def _with(side: SowSide, other: Instance) -> SowSide:
    """One instance with the dumps of both."""
    own = side.instance
    dumps = Instance(own.name, own.journals + other.journals, {**own.sow, **other.sow})
    return SowSide(dumps, side.definitions)


def test_sow_of_the_oracle(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of instances that chance made, too; and it is what the oracle says."""
    pair = fabric.some_pair(2026, TOPICS)
    names = [site.write(tmp_path / str(number), TOPICS) for number, site in enumerate(pair)]
    left, right = (SowSide(Instance.of_directory(name), BY_ID_OF_EACH) for name in names)
    skew = test_amps_sow.SKEW
    found, known = (compare_sows(one, left, right, skew, VirtualClock()) for one in (Spark(spark), duck))
    test_amps_sow.check(found.report, *pair, 2026)
    check_equal(found, known, tmp_path)


def test_snapshots_of_amps(spark: SparkSession, duck: Duck, tmp_path: Path) -> None:
    """Law: of exports that were made of dumps, with logs of other ages, equal ones and one that was not read in full,
    Spark's report and table are DuckDB's."""
    damaged = logs(tmp_path / "torn", range(1, 51), range(5)) / "journal" / "0.txt"
    damaged.write_bytes(damaged.read_bytes().replace(b"client seq ", b"client sex ", 1))
    whole = [logs(tmp_path / name, range(1, 51), range(5)) for name in ("one", "two", "three")]
    dumps = {
        SERVICE: of_other_ages(tmp_path),
        "equal": (whole[0], whole[1]),
        "torn": (whole[2], damaged.parents[1]),
    }
    sides = []
    for side, (site, read_at) in enumerate((("ny", NOON + 110), ("nj", NOON + 95))):
        found = dumps_of({name: Instance.of_dumps(str(both[side])) for name, both in dumps.items()}, read_at)
        job = Job(site, [ServiceSnapshot(name=name) for name in sorted(dumps)])
        collect_dumps(found, tmp_path / f"export-{site}", job, VirtualClock(read_at))
        sides.append(Side.open(str(tmp_path / f"export-{site}")))
    ask = Ask(active="right", failover_at=NOON + 94, clock_skew_s=0.0)
    one, other = (reconcile(engine, sides[0], sides[1], ask, VirtualClock(NOON)) for engine in (Spark(spark), duck))
    assert len({service.verdict for service in other.report.services}) > 1
    check_equal(one, other, tmp_path)


def test_history(spark: SparkSession, duck: Duck, night_of_runs: Night, tmp_path: Path) -> None:
    """Law: of exports of runs as JSON Lines and as Parquet, of copies of them and of what cannot be read, Spark's
    history, forecast and facts are DuckDB's."""
    damage(night_of_runs, tmp_path / "records")
    for file in sorted(night_of_runs.records.iterdir())[:2]:
        (tmp_path / "records" / f"copy-{file.name}").write_bytes(file.read_bytes())
    tools = Tools(night_of_runs.folder, VirtualClock(), SecretStore(None), Registry(), inline)
    typed(tools, "runs", "export", "--all", "--parquet", str(tmp_path / "records" / "exported"))
    files = files_of([str(tmp_path / "records"), str(tmp_path / "records" / "exported")])
    found, known = (history_of(one, files, VirtualClock()) for one in (Spark(spark), duck))
    assert found.forecast == known.forecast
    assert known.report.repeated_files and known.report.unread_files
    check_equal(found, known, tmp_path)


def test_history_of_the_oracle(spark: SparkSession) -> None:
    """Law: every table of facts that chance made is the oracle's on Spark, too; what is in several files
    counts once."""
    check_once(Spark(spark))
    test_history_oracle.check(Spark(spark), 2026)
