"""The driver is never given what grows with the messages: with next to nothing allowed to it, thousands that differ are
still counted, explained and written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.generator import Shape, TwoSites, write_small
from tests.spark.dumps import Kept, Logged, journal_text, sow_text, write

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parents[2]
MISSING, LOST = 9_000, 3_600

# A process has one session of Spark, and what a driver may be given is settled when that begins.
_SCRIPT = """
import json, sys
from pathlib import Path
from orchestrator.clock import VirtualClock
from pipeline.amps.instance import Instance, Topic
from pipeline.amps.journals import compare_journals
from pipeline.amps.keys import Definition
from pipeline.amps.sow import SowSide, compare_sows
from pipeline.ask import Ask
from pipeline.reconcile import reconcile
from pipeline.engines.spark import Spark
from pipeline.places import Place
from pipeline.session import SparkSettings, spark_session
from pipeline.sides import Side
from pyspark.errors import PySparkException
from py4j.protocol import Py4JError

ny, nj, left, right, scratch = sys.argv[1:]
brief = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.maxResultSize": "48k",
}
found = {}

def told(name, outcome, number):
    place = Path(scratch, name)
    place.mkdir()
    outcome.write(Place.of(str(place)))
    unread = place / "quarantine"
    found[name] = [number, spark.read.parquet(str(unread)).count() if unread.exists() else 0]
    outcome.close()

with spark_session(SparkSettings("local[2]", "900m", 1, Path(scratch), brief)) as spark:
    clock = VirtualClock()
    engine = Spark(spark)
    one = reconcile(engine, Side.open(ny), Side.open(nj), Ask(), clock)
    told("reconcile", one, sum(e.missing.messages for e in one.report.endpoints))
    sides = [Instance.of_directory(name) for name in (left, right)]
    one = compare_journals(engine, *sides, 1.0, clock)
    told("journals", one, sum(one.report.topics[0].missing.values()))
    keys = {Topic("orders", "json"): Definition(("/id",))}
    one = compare_sows(engine, *[SowSide(side, keys) for side in sides], 1.0, clock)
    told("sow", one, sum(one.report.topics[0].only_left.values()))
    counted = {name: spark.read.parquet(f"{scratch}/{name}/differences").count() for name in found}
    refused = []
    for name in found:
        try:
            spark.read.parquet(f"{scratch}/{name}/differences").collect()
        except (PySparkException, Py4JError) as error:
            refused += [name] if "maxResultSize" in str(error) else []
print(json.dumps([found, counted, refused]))
"""


def test_with_next_to_nothing_for_the_driver(java: None, tmp_path: Path) -> None:
    """Law: reconcile, journals and sow work with 48 KB for everything that the driver is given, though what
    differs is more: to read any of the tables at the driver is refused, so the bound holds."""
    shape = Shape(messages=19_000, endpoints=2, missing=MISSING)
    ny, nj = write_small(TwoSites(shape), tmp_path / "exports")
    # Keys that cannot be packed into less.
    data = [json.dumps({"id": sha256(b"%d" % n).hexdigest()}).encode() for n in range(LOST + 1)]
    logged = [Logged(100 + n, "77", n, data[n], at_s=1.0) for n in range(LOST + 1)]
    kept = [Kept(10**15 * 7 + n, 100 + n, data[n]) for n in range(LOST + 1)]
    for name, first in (("left", 0), ("right", LOST)):
        write(tmp_path / name / "journal" / "0.txt", journal_text(logged[first:]))
        write(tmp_path / name / "sow" / "orders.json.txt", sow_text(kept[first:]))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    places = [ny, nj, tmp_path / "left", tmp_path / "right", scratch]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *map(str, places)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found, written, refused = json.loads(done.stdout)
    assert found == {"reconcile": [MISSING, 0], "journals": [LOST, 0], "sow": [LOST, 0]}
    assert written == {"reconcile": MISSING, "journals": LOST, "sow": LOST}
    assert refused == ["reconcile", "journals", "sow"]
