"""Starts and ends Spark: quiet, bounded by settings, on this machine or on a cluster, with the same code.

What Spark and its JVM say goes to a log file, whose name is told only when something went wrong. Under ``spark-submit``
the session that is there is used, and not ended.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired
from typing import IO

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from orchestrator.errors import ComputationFailed
from pipeline.faults import spark_faults
from pipeline.java import find_java

NAME = "failover pipeline"
_GRACE_S = 10.0

# What the computations rely on, on any cluster. Sums of hashes are meant to wrap around, which ANSI mode forbids.
_RELIED_ON = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where and how much. ``master`` None: every core of this machine. ``memory`` bounds the JVM of this machine; what
    does not fit goes to ``scratch`` (default: the machine's temporary directory). ``options``: any Spark setting."""

    master: str | None = None
    memory: str = "2g"
    partitions: int | None = None
    scratch: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Does all of it run on this machine?"""
        return self.master is None or self.master.startswith("local")

    def as_conf(self, scratch: Path) -> dict[str, str]:
        """Everything as Spark's own names."""
        here = {
            "spark.ui.enabled": "false",
            # Less of two cores goes into collecting garbage than with Java's own choice.
            "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(self.partitions or 8),
            "spark.local.dir": str(scratch),
        }
        elsewhere = {} if self.partitions is None else {"spark.sql.shuffle.partitions": str(self.partitions)}
        return {
            "spark.master": self.master or "local[*]",
            "spark.app.name": NAME,
            "spark.driver.memory": self.memory,
            "spark.driver.maxResultSize": "256m",
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.sql.catalogImplementation": "in-memory",
            "spark.ui.showConsoleProgress": "false",
            # Generated code is kept: a reconciliation has more than the 100 pieces that Spark keeps by itself.
            "spark.sql.codegen.cache.maxEntries": "1000",
            # Else every expression first asks Python's stack where it was written.
            "spark.python.sql.dataFrameDebugging.enabled": "false",
            **(here if self.is_local else elsewhere),
            **_RELIED_ON,
            **self.options,
        }


@contextmanager
def spark_session(settings: SparkSettings) -> Iterator[SparkSession]:
    """A session, ended with its JVM at the end of the block.

    Raises ``DefinitionError`` without a fitting Java, ``ComputationFailed`` when Spark does not start.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        yield _given_session()
        return
    with (
        tempfile.TemporaryDirectory(
            prefix="failover-spark-", dir=settings.scratch, ignore_cleanup_errors=True
        ) as own,
        (Path(own) / "spark.log").open("w+b") as log,
    ):
        scratch = Path(own)
        try:
            with _python_and_java(scratch):
                session = _start(settings.as_conf(scratch), log)
        except (PySparkException, Py4JError, OSError) as error:
            _end_gateway()
            raise ComputationFailed(f"Spark did not start: {_reason(log, error)}", hint=_hint(settings)) from error
        try:
            with spark_faults():
                yield session
        finally:
            with suppress(PySparkException, Py4JError, OSError):
                session.stop()
            _end_gateway()


def _given_session() -> SparkSession:
    session = SparkSession.builder.appName(NAME).getOrCreate()
    for name, value in _RELIED_ON.items():
        session.conf.set(name, value)
    return session


@contextmanager
def _python_and_java(scratch: Path) -> Iterator[None]:
    """The environment that Spark's own start script reads; put back as it was."""
    wanted = {"JAVA_HOME": str(find_java().home_for_spark(scratch)), "PYSPARK_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start(conf: Mapping[str, str], log: IO[bytes]) -> SparkSession:
    spark_conf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    gateway = launch_gateway(spark_conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=spark_conf, gateway=gateway)
    # When the JVM goes away, this server of PySpark's would print that on the screen; who needs to know hears it.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    return SparkSession(context)


def _end_gateway() -> None:
    """Let go of the JVM: it ends when nobody holds its standard input any more. Ctrl-C is Python's own again."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gateway = SparkContext._gateway
    if gateway is None:
        return
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    process.stdin.close()
    try:
        process.wait(_GRACE_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _reason(log: IO[bytes], error: Exception) -> str:
    """The line of the log that a person can use; else the error's own first line."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    wanted = ("Error", "Exception", "error:", "Invalid")
    found = next(
        (n for n, line in enumerate(lines) if any(word in line for word in wanted) and "WARN" not in line), None
    )
    if found is None:
        return (str(error) or type(error).__name__).strip().splitlines()[0]
    return " ".join(line.strip() for line in lines[found : found + 2])[:300]


def _hint(settings: SparkSettings) -> str:
    if settings.is_local:
        return f"memory is set to {settings.memory}, scratch space to {settings.scratch or tempfile.gettempdir()}"
    return f"is the cluster at {settings.master} there, and can it reach this machine?"
