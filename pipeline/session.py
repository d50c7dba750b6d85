"""Starts and ends Spark: quiet, bounded by settings, on this machine or on a cluster, with the same code.

What Spark and its JVM say goes to a log file, whose name is told only when something went wrong. Under ``spark-submit``
the session that is there is used, and not ended. Ctrl-C ends a session and its JVM, too, whenever it comes.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import TimeoutExpired
from types import FrameType
from typing import IO
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from orchestrator.errors import ComputationFailed
from orchestrator.interpreter import SAFE_PATH, executable
from pipeline.faults import spark_faults
from pipeline.java import find_java
from pipeline.leavings import LOG, claim, hold, make, remove, sweep

NAME = "failover pipeline"
_GRACE_S = 10.0
_SCRATCH = "failover-spark-"

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
            # More than 32 files are else looked for by a job, which takes longer than one look after the other.
            "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
            "spark.local.dir": str(scratch),
        }
        elsewhere = {} if self.partitions is None else {"spark.sql.shuffle.partitions": str(self.partitions)}
        return {
            "spark.master": self.master or "local[*]",
            "spark.app.name": NAME,
            "spark.driver.memory": self.memory,
            "spark.driver.maxResultSize": "256m",
            "spark.driver.defaultJavaOptions": _quoted(f"-Djava.io.tmpdir={scratch}"),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.sql.catalogImplementation": "in-memory",
            # Hadoop gives what it writes the modes of a umask of its own, 022; results are their owner's alone.
            "spark.hadoop.fs.permissions.umask-mode": "077",
            "spark.ui.showConsoleProgress": "false",
            # Generated code is kept: a reconciliation has more than the 100 pieces that Spark keeps by itself.
            "spark.sql.codegen.cache.maxEntries": "1000",
            # What is held is read once or twice: to look for a shorter form of it takes longer than to hold it as it is.
            "spark.sql.inMemoryColumnarStorage.compressed": "false",
            # Nobody looks at the plans, which Spark else writes out anew at every stage of a query.
            "spark.sql.ui.explainMode": "simple",
            "spark.sql.maxPlanStringLength": "0",
            # Else every expression first asks Python's stack where it was written.
            "spark.python.sql.dataFrameDebugging.enabled": "false",
            **(here if self.is_local else elsewhere),
            # Workers of PySpark are started with -m, on whatever machine, in whatever directory.
            **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
            **_RELIED_ON,
            **self.options,
        }


def _quoted(option: str) -> str:
    """One option of a list of Java options, whatever is in it."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextmanager
def spark_session(settings: SparkSettings) -> Iterator[SparkSession]:
    """A session, ended with its JVM at the end of the block.

    Raises ``DefinitionError`` without a fitting Java, ``ComputationFailed`` when Spark does not start.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        yield _given_session()
        return
    with (
        _scratch_in(Path(settings.scratch or tempfile.gettempdir())) as scratch,
        (scratch / LOG).open("w+b") as log,
        _py4j_silent(),
    ):
        try:
            hold(log)
            with _python_and_java(scratch), _undisturbed():
                session = _start(settings.as_conf(scratch), log)
                claim(scratch, jvm_pid())
        except (PySparkException, Py4JError, OSError) as error:
            _end(None)
            raise ComputationFailed(f"Spark did not start: {_reason(log, error)}", hint=_hint(settings)) from error
        except KeyboardInterrupt:
            _drop_gateway()
            raise
        try:
            with spark_faults():
                yield session
        except KeyboardInterrupt:
            # It came between a question to the JVM and its answer, so nothing can be asked any more.
            _drop_gateway()
            raise
        except BaseException:
            _end(session)
            raise
        _end(session)


@contextmanager
def _scratch_in(place: Path) -> Iterator[Path]:
    """A directory of this process's, for as long as the block lasts. What killed ones left there goes first."""
    sweep(place, f"{_SCRATCH}*")
    scratch = make(place / f"{_SCRATCH}{uuid4().hex[:12]}")
    try:
        yield scratch
    finally:
        remove(scratch)


def jvm_pid() -> int | None:
    """The number of the JVM's process, if there is one."""
    jvm = SparkContext._jvm
    return None if jvm is None else int(jvm.java.lang.ProcessHandle.current().pid())


def _given_session() -> SparkSession:
    session = SparkSession.builder.appName(NAME).getOrCreate()
    for name, value in _RELIED_ON.items():
        session.conf.set(name, value)
    session.sparkContext.environment.update(SAFE_PATH)  # of its workers: there is no asking for a flag
    return session


@contextmanager
def _python_and_java(scratch: Path) -> Iterator[None]:
    """The environment that Spark's own start script reads, and where PySpark meets it; put back as they were."""
    python = {"PYSPARK_PYTHON": executable(), **SAFE_PATH}
    wanted = {"JAVA_HOME": str(find_java().home_for_spark(scratch)), **python}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    elsewhere, tempfile.tempdir = tempfile.tempdir, str(scratch)
    try:
        yield
    finally:
        tempfile.tempdir = elsewhere
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


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within this block a first Ctrl-C or SIGTERM waits for its end: a JVM that is being started is nobody's yet, and
    would be left behind. Then it means what it meant before, and not what PySpark would make of it: that asks the JVM
    something in the middle of another question."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)  # the next one does not wait

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


@contextmanager
def _py4j_silent() -> Iterator[None]:
    """Within this block the bridge to the JVM does not print what it raises, too; nor does it set up logging, which it
    does where nobody has."""
    root, bridge, nowhere = logging.getLogger(), logging.getLogger("py4j"), logging.NullHandler()
    root.addHandler(nowhere)
    propagate, bridge.propagate = bridge.propagate, False
    try:
        yield
    finally:
        bridge.propagate = propagate
        root.removeHandler(nowhere)


def _end(session: SparkSession | None) -> None:
    """Let go of the JVM when it has answered everything."""
    try:
        with suppress(PySparkException, Py4JError, OSError):
            if session is not None:
                session.stop()
            if SparkContext._gateway is not None:
                SparkContext._gateway.shutdown()
    finally:
        _drop_gateway()


def _drop_gateway() -> None:
    """Let go of the JVM as it is: it ends, and removes its files, when nobody holds its standard input any more."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
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
