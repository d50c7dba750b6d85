"""Questions to a Spark Connect server, by a client that has no Java of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orchestrator.errors import ComputationFailed
from pipeline.engines.duck import Duck
from pipeline.generator import TwoSites, write_small
from pipeline.session import SparkSettings, spark_session
from tests.spark import apart
from tests.spark.processes import PATIENCE_S, begun
from tests.spark.test_cluster import SHAPE, TRUTH, Found, dumped, locally, sums

pytestmark = pytest.mark.realtime

# What a session of a server may be set to, though the computations need it otherwise.
CONTRARY = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "Asia/Tokyo"}

# The first command finds such a session, and each one after it has a new one.
CLIENT = """
import json, sys
from orchestrator.cli.main import main
from pyspark.sql import SparkSession
url, contrary, commands = json.loads(sys.argv[1])
builder = SparkSession.builder.remote(url)
for name, value in contrary.items():
    builder = builder.config(name, value)
assert builder.getOrCreate().conf.get("spark.sql.ansi.enabled") == "true"
print(json.dumps([main(["pipeline", *arguments]) for arguments in commands]))
"""


@pytest.fixture
def server(spark: SparkSession) -> str:
    """The server that PySpark brings, on loopback, in the JVM of the other tests; its workers find the product."""
    return f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"


def test_what_the_jvm_reads_and_what_python_reads(server: str, duck: Duck, tmp_path: Path) -> None:
    """Law: with --remote a command finds what it finds on this machine, to the last row, without a Java of its own,
    whatever a session of the server is set to: one whose messages the JVM reads, and one whose dumps Python reads at the
    server."""
    left, right = dumped(tmp_path)
    asked = {
        "reconcile": map(str, write_small(TwoSites(SHAPE), tmp_path / "exports")),
        "journals": (left, right),
    }
    found = tmp_path / "found"
    found.mkdir()
    commands = [[name, *given, "--remote", server, "--out", str(found / name)] for name, given in asked.items()]
    without_java = {"FAILOVER_STATE": str(tmp_path / "state"), "JAVA_HOME": "/nowhere", **apart.environment()}
    with begun([sys.executable, "-c", CLIENT, json.dumps([server, CONTRARY, commands])], without_java) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert out.splitlines()[-1:] == ["[4, 4]"], err[-2000:]
    assert sums(found / "reconcile") == TRUTH
    assert Found.at(found / "journals") == locally(duck, left, right, tmp_path)["journals"]


def test_no_server_answers() -> None:
    """Law: where nothing listens, that is told at once, with the address; Spark's own client would ask for minutes."""
    url = f"sc://127.0.0.1:{apart.free_port()}"
    with (
        pytest.raises(ComputationFailed, match=f"no Spark Connect server answers at {url}: Connection refused"),
        spark_session(SparkSettings(remote=url)),
    ):
        pass
