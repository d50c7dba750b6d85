"""One Spark session for all tests of this folder that run in one process: a JVM costs seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.engines.spark import Spark
from pipeline.history.history import HistoryOutcome, files_of, history_of
from pipeline.java import find_java
from pipeline.session import SparkSettings, spark_session
from tests.spark.apart import free_port
from tests.spark.past import Night

# The JVM's second compiler would take the other core for longer than these small jobs last.
_BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
}
# Spark's own half of Spark Connect, in the JVM that is there.
_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
}


@pytest.fixture(scope="session")
def java() -> None:
    """A Java that Spark runs on; a test that needs one is skipped without, and says so."""
    try:
        find_java()
    except DefinitionError as error:
        pytest.skip(f"{error}; {error.hint}")


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session, which is a server of Spark Connect as well."""
    scratch = tmp_path_factory.mktemp("scratch")
    options = {**_BRIEF, **_SERVER, "spark.connect.grpc.binding.port": str(free_port())}
    with spark_session(SparkSettings("local[2]", "1g", 2, scratch, options)) as session:
        yield session


@pytest.fixture
def duck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duck]:
    """DuckDB, in this process."""
    engine = Duck(tmp_path_factory.mktemp("duck"), memory="1g", threads=2)
    yield engine
    engine.close()


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> Executor:
    """Each engine in its turn: what a test says holds of both."""
    if request.param == "duckdb":
        duck: Duck = request.getfixturevalue("duck")
        return duck
    return Spark(request.getfixturevalue("spark"))


@pytest.fixture(scope="session")
def night_of_runs(tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Six runs and their exports, for tests that only read them."""
    with pytest.MonkeyPatch.context() as environment:
        for name in ("STATE", "JOURNAL", "INVENTORY"):
            environment.delenv(f"FAILOVER_{name}", raising=False)
        night = Night(tmp_path_factory.mktemp("night"))
        night.pass_by()
    return night


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory, night_of_runs: Night) -> Iterator[HistoryOutcome]:
    """The history of these runs, as this machine makes it."""
    engine = Duck(tmp_path_factory.mktemp("duck"), memory="1g", threads=2)
    yield history_of(engine, files_of([str(night_of_runs.records)]), VirtualClock())
    engine.close()
