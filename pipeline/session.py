"""Starts and ends Spark without output, limited by settings. The same code runs on this machine and on a cluster.

Only Spark's public interface is used, so a Spark Connect server works too (``remote``). The output of Spark and its JVM
goes to a log file; the error of a failed start quotes it. Under ``spark-submit`` the existing session is used, and not
ended. Ctrl-C also ends a session and its JVM, at any time. A process starts one JVM at most.
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
# Below this number of messages, the JVM's compilers cost more time than they save.
SMALL = 1_000_000
# Below this number of messages, the second compiler costs more time than it saves.
MEDIUM = 20_000_000
_SCRATCH = "failover-spark-"
# The default port of a Spark Connect server, and the time limit for its answer.
_CONNECT_PORT, _CONNECT_S = 15002, 10.0

# Settings that the computations need on any cluster. Sums of hashes must wrap around, which ANSI mode forbids.
_RELIED_ON = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.adaptive.enabled": "true",
    # Cached tables have as few partitions as possible: a server's 200 partitions would cost more time than their rows.
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # Like other Parquet writers, and unlike Spark 1.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    # The stack trace contains the cause of a failure.
    "spark.sql.pyspark.jvmStacktrace.enabled": "true",
}
# For a medium number: only the compiler that starts fast. With 4 million messages, compiling takes 48% of the CPU time
# with both compilers, and 16% with one compiler. With 20 million messages it takes 45% and 10%.
_ONE_COMPILER = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC"}
# For few messages: also a single-threaded garbage collector, and no compilation of plans.
_BRIEF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs, and its limits. ``master`` None: every core of this machine. ``remote``: a Spark Connect server.
    ``memory`` limits the JVM of this machine. Data that does not fit goes to ``scratch`` (default: the machine's
    temporary directory). ``options``: any Spark setting. ``messages``: the number to read, None when unknown."""

    master: str | None = None
    memory: str = "2g"
    partitions: int | None = None
    scratch: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    remote: str | None = None
    messages: int | None = None

    @property
    def is_local(self) -> bool:
        """Does Spark run on this machine only?"""
        return self.remote is None and (self.master is None or self.master.startswith("local"))

    @property
    def is_brief(self) -> bool:
        """Does the computation end before a JVM has warmed up?"""
        return self._is_below(SMALL)

    def _is_below(self, most: int) -> bool:
        return self.is_local and self.messages is not None and self.messages < most

    def as_conf(self, scratch: Path) -> dict[str, str]:
        """All settings, by Spark's own names."""
        here = {
            "spark.ui.enabled": "false",
            # On two cores, this collector takes less time than Java's default.
            "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "8",
            # By default a Spark job searches for more than 32 files, which takes longer than checking them in sequence.
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
            # Hadoop writes files with its own umask, 022. Only their owner may read results.
            "spark.hadoop.fs.permissions.umask-mode": "077",
            "spark.ui.showConsoleProgress": "false",
            # Keep the generated code: a reconciliation has more pieces than the 100 that Spark keeps by default.
            "spark.sql.codegen.cache.maxEntries": "1000",
            # Cached tables are read once or twice, so compressing them takes longer than keeping them uncompressed.
            "spark.sql.inMemoryColumnarStorage.compressed": "false",
            # No page shows the plans. By default Spark writes them again at every stage of a query.
            "spark.sql.ui.explainMode": "simple",
            "spark.sql.maxPlanStringLength": "0",
            # Otherwise every expression first searches Python's stack for its line of code.
            "spark.python.sql.dataFrameDebugging.enabled": "false",
            **(here if self.is_local else {}),
            **({} if self.partitions is None else {"spark.sql.shuffle.partitions": str(self.partitions)}),
            # PySpark starts its workers with -m, on any machine and in any directory.
            **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
            **_RELIED_ON,
            **self.options,
        }


def _quoted(option: str) -> str:
    """An option, quoted for a list of Java options."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def is_given() -> bool:
    """Was this process started by ``spark-submit``, which provides a session?"""
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
        session.sparkContext.environment.update(SAFE_PATH)  # for its workers: they take no flag for it
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
            # Ctrl-C came between a request to the JVM and the answer, so the JVM can no longer be used.
            end_jvm()
            raise
        except BaseException:
            _stop(session)
            raise
        _stop(session)


def _check_answers(url: str) -> None:
    """Raises ``ComputationFailed`` when nothing listens at ``url``. Spark's own client would retry for many minutes."""
    address = urlsplit(url)
    try:
        with socket.create_connection((address.hostname, address.port or _CONNECT_PORT), _CONNECT_S):
            pass
    except (OSError, ValueError) as error:
        raise ComputationFailed(
            f"no Spark Connect server answers at {url}: {getattr(error, 'strerror', None) or error}",
            hint="check that the server is started and that this machine can reach it",
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
            hint="check that the server is started and that this machine can reach it",
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
    """A directory of this process for the time of the block. Directories of killed processes are removed first."""
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
    """Sets the environment for Spark's start script, and the temporary directory that PySpark and the script use to
    communicate. Restores both after the block."""
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
    """Within this block a first Ctrl-C or SIGTERM waits for the end of the block. Otherwise a starting JVM would be left
    behind, because it is not noted yet. After the block the former signal handlers are active again, not PySpark's
    handler, which would send the JVM a request in the middle of another request."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(number, signal.SIG_DFL)  # a second signal does not wait

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
    """Within this block Py4J does not print the errors that it raises, and does not set up logging. By default it sets
    up logging if the program has not."""
    root, bridge, nowhere = logging.getLogger(), logging.getLogger("py4j"), logging.NullHandler()
    root.addHandler(nowhere)
    propagate, bridge.propagate = bridge.propagate, False
    try:
        yield
    finally:
        bridge.propagate = propagate
        root.removeHandler(nowhere)


def _stop(session: SparkSession) -> None:
    """Stop the session after the JVM has answered all requests. The JVM ends with this process."""
    with suppress(PySparkException, Py4JError, OSError):
        session.stop()


def _reason(log: IO[bytes], error: Exception) -> str:
    """The line of the log that names an error; else the first line of ``error``."""
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
        return f"the memory is {settings.memory}, and the scratch space is in {settings.scratch or tempfile.gettempdir()}"
    return f"check that the cluster at {settings.master} runs and that it can reach this machine"
