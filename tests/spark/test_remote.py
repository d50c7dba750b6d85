"""Questions to a Spark Connect server, by a client that has no Java of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from orchestrator.errors import ComputationFailed
from pipeline.engines.duck import Duck
from pipeline.generator import TwoSites, write_small
from pipeline.java import find_java
from pipeline.session import SparkSettings, spark_session
from tests.spark import apart
from tests.spark.processes import PATIENCE_S, begun
from tests.spark.test_cluster import BRIEF, SEVERAL, SHAPE, TRUTH, Found, dumped, locally, sums

pytestmark = pytest.mark.realtime

SPARK_HOME = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def server(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server that PySpark brings, on loopback; its workers find the product."""
    port, place = apart.free_port(), tmp_path_factory.mktemp("server")
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": BRIEF,
        "spark.driver.memory": "900m",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": str(place),
        "spark.ui.enabled": "false",
    }
    conf = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = ["bash", str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", "--class", SERVER, *conf]
    told = {
        "SPARK_HOME": str(SPARK_HOME),
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with (place / "log").open("w") as log, apart.serving([*submit, "spark-internal"], port, told, log):
        yield f"sc://127.0.0.1:{port}"


def test_what_the_jvm_reads_and_what_python_reads(server: str, duck: Duck, tmp_path: Path) -> None:
    """Law: with --remote a command finds what it finds on this machine, to the last row, without a Java of its own: one
    whose messages the JVM reads, and one whose dumps Python reads at the server."""
    left, right = dumped(tmp_path)
    asked = {
        "reconcile": map(str, write_small(TwoSites(SHAPE), tmp_path / "exports")),
        "journals": (left, right),
    }
    found = tmp_path / "found"
    found.mkdir()
    commands = [[name, *given, "--remote", server, "--out", str(found / name)] for name, given in asked.items()]
    without_java = {"FAILOVER_STATE": str(tmp_path / "state"), "JAVA_HOME": "/nowhere", **apart.environment()}
    with begun([sys.executable, "-c", SEVERAL, json.dumps(commands)], without_java) as process:
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
