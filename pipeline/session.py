"""Starts and ends Spark: quiet, bounded by settings, on this machine or on a cluster, with the same code.

Spark's public interface alone is used, so a Spark Connect server does as well (``remote``). What Spark and its JVM say
goes to a log file, whose name is told only when something went wrong. Under ``spark-submit`` the session that is there
is used, and not ended. Ctrl-C ends a session and its JVM, too, whenever it comes. A process starts one JVM at most.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO
from urllib.parse import urlsplit
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from orchestrator.errors import ComputationFailed, DefinitionError
from orchestrator.interpreter import SAFE_PATH, executable
from pipeline.faults import spark_faults
from pipeline.java import find_java
from pipeline.jvm import end_jvm, jvm_noted, output_to
from pipeline.leavings import LOG, claim, hold, make, remove, sweep

NAME = "failover pipeline"
# Below this many messages the compilers of the JVM cost more time than they save.
SMALL = 1_000_000
# Below this many the second compiler costs more time than it saves.
MEDIUM = 20_000_000
_SCRATCH = "failover-spark-"
# The default port of a Spark Connect server, and how long it may take to answer.
_CONNECT_PORT, _CONNECT_S = 15002, 10.0

# What the computations rely on, on any cluster. Sums of hashes are meant to wrap around, which ANSI mode forbids.
_RELIED_ON = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    # Cached tables have as few pieces as they need: the 200 of a server would cost more time than their rows.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # As other writers of Parquet do, and not as Spark 1 did.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    # The cause of a failure is in it.
    "spark.sql.pyspark.jvmStacktrace.enabled": "true",
}
# For a medium number: one compiler, which is quick to start. With 4 million messages, compiling takes 48% of the CPU time
# with both compilers, and 16% with one; with 20 million 45% and 10%.
_ONE_COMPILER = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"}
# For few messages: also a garbage collector without threads; plans not compiled.
_BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where and how much. ``master`` None: every core of this machine. ``remote``: a Spark Connect server. ``memory``
    bounds the JVM of this machine; what does not fit goes to ``scratch`` (default: the machine's temporary directory).
    ``options``: any Spark setting. ``messages``: how many are to be read, None when that is not known."""

    master: str | None = None
    memory: str = "2g"
    partitions: int | None = None
    scratch: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    remote: str | None = None
    messages: int | None = None

    @property
    def is_local(self) -> bool:
        """Does all of it run on this machine?"""
        return self.remote is None and (self.master is None or self.master.startswith("local"))

    @property
    def is_brief(self) -> bool:
        """Is it over before a JVM has warmed up?"""
        return self._is_below(SMALL)

    def _is_below(self, most: int) -> bool:
        return self.is_local and self.messages is not None and self.messages < most

    def as_conf(self, scratch: Path) -> dict[str, str]:
        """Everything as Spark's own names."""
        here = {
            "spark.ui.enabled": "false",
            # Less of two cores goes into collecting garbage than with Java's own choice.
            "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "8",
            # More than 32 files are else searched for by a job, which takes longer than one check after the other.
            "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
            "spark.local.dir": str(scratch),
            **(_ONE_COMPILER if self._is_below(MEDIUM) else {}),
            **(_BRIEF if self.is_brief else {}),
        }
        return {
            "spark.master": self.master or ("local[2]" if self.is_brief else "local[*]"),
            "spark.app.name": NAME,
            "spark.driver.memory": self.memory,
            "spark.driver.maxResultSize": "256m",
            "spark.driver.defaultJavaOptions": _quoted(f"-Djava.io.tmpdir={scratch}"),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.sql.catalogImplementation": "in-memory",
            # Hadoop gives what it writes the modes of a separate umask, 022; results are their owner's alone.
            "spark.hadoop.fs.permissions.umask-mode": "077",
            "spark.ui.showConsoleProgress": "false",
            # Generated code is kept: a reconciliation has more than the 100 pieces that Spark keeps by itself.
            "spark.sql.codegen.cache.maxEntries": "1000",
            # What is held is read once or twice: to search for a shorter form of it takes longer than to hold it as
            # it is.
            "spark.sql.inMemoryColumnarStorage.compressed": "false",
            # No page shows the plans, which Spark else writes out again at every stage of a query.
            "spark.sql.ui.explainMode": "simple",
            "spark.sql.maxPlanStringLength": "0",
            # Else every expression first asks Python's stack where it was written.
            "spark.python.sql.dataFrameDebugging.enabled": "false",
            **(here if self.is_local else {}),
            **({} if self.partitions is None else {"spark.sql.shuffle.partitions": str(self.partitions)}),
            # Workers of PySpark are started with -m, on whatever machine, in whatever directory.
            **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
            **_RELIED_ON,
            **self.options,
        }


def _quoted(option: str) -> str:
    """One option of a list of Java options, whatever is in it."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def is_given() -> bool:
    """Was this process started by ``spark-submit``, which has a session for it?"""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def spark_session(settings: SparkSettings) -> Iterator[SparkSession]:
    """A session, ended at the end of the block; its JVM ends with this process.

    Raises ``DefinitionError`` without a fitting Java, ``ComputationFailed`` when Spark does not start.
    """
    if settings.remote is not None:
        yield from _remote_session(settings.remote, settings)
        return
    if is_given():
        session = SparkSession.builder.appName(NAME).getOrCreate()
        _with_relied_on(session)
        session.sparkContext.environment.update(SAFE_PATH)  # of its workers: there is no asking for a flag
        with spark_faults():
            yield session
        return
    with (
        _scratch_in(Path(settings.scratch or tempfile.gettempdir())) as scratch,
        (scratch / LOG).open("w+b") as log,
        _py4j_silent(),
    ):
        try:
            hold(log)
            with _python_and_java(scratch), _undisturbed(), output_to(log), jvm_noted():
                session = _start(settings.as_conf(scratch))
                claim(scratch)
        except (PySparkException, Py4JError, OSError, RuntimeError) as error:
            end_jvm()
            raise ComputationFailed(f"Spark did not start: {_reason(log, error)}", hint=_hint(settings)) from error
        except KeyboardInterrupt:
            end_jvm()
            raise
        try:
            with spark_faults():
                yield session
        except KeyboardInterrupt:
            # It came between a request to the JVM and its answer, so the JVM can no longer be used.
            end_jvm()
            raise
        except BaseException:
            _stop(session)
            raise
        _stop(session)


def _check_answers(url: str) -> None:
    """Raises ``ComputationFailed`` when nothing listens there: Spark's own client asks again for many minutes."""
    address = urlsplit(url)
    try:
        with socket.create_connection((address.hostname, address.port or _CONNECT_PORT), _CONNECT_S):
            pass
    except (OSError, ValueError) as error:
        raise ComputationFailed(
            f"no Spark Connect server answers at {url}: {getattr(error, 'strerror', None) or error}",
            hint="is it started, and may this machine reach it?",
        ) from error


def _remote_session(url: str, settings: SparkSettings) -> Iterator[SparkSession]:
    _check_answers(url)
    try:
        session = SparkSession.builder.remote(url).appName(NAME).getOrCreate()
        _with_relied_on(session)
        for name, value in settings.options.items():
            session.conf.set(name, value)
    except ImportError as error:
        raise DefinitionError(
            f"Spark Connect is not installed: {error}".splitlines()[0], hint="pip install 'pyspark[connect]'"
        ) from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise ComputationFailed(
            f"no Spark Connect server answers at {url}: {(str(error) or type(error).__name__).splitlines()[0]}",
            hint="is it started, and may this machine reach it?",
        ) from error
    try:
        with spark_faults():
            yield session
    except KeyboardInterrupt:
        with suppress(PySparkException, OSError):
            session.interruptAll()
        raise
    finally:
        with suppress(PySparkException, OSError):
            session.stop()


@contextmanager
def _scratch_in(place: Path) -> Iterator[Path]:
    """A directory of this process's, for as long as the block lasts. What killed ones left there goes first."""
    sweep(place, f"{_SCRATCH}*")
    scratch = make(place / f"{_SCRATCH}{uuid4().hex[:12]}")
    try:
        yield scratch
    finally:
        remove(scratch)


def _with_relied_on(session: SparkSession) -> None:
    for name, value in _RELIED_ON.items():
        session.conf.set(name, value)


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


def _start(conf: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Within this block a first Ctrl-C or SIGTERM waits for its end: a JVM that is being started is no one's yet, and
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
    does where no one has."""
    root, bridge, nowhere = logging.getLogger(), logging.getLogger("py4j"), logging.NullHandler()
    root.addHandler(nowhere)
    propagate, bridge.propagate = bridge.propagate, False
    try:
        yield
    finally:
        bridge.propagate = propagate
        root.removeHandler(nowhere)


def _stop(session: SparkSession) -> None:
    """Let go of the session when the JVM has answered everything; the JVM ends with this process."""
    with suppress(PySparkException, Py4JError, OSError):
        session.stop()


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
