"""Chooses the engine: the requested engine, or the engine that suits the size and the place of the input.

All checks of the request come before the start of an engine. A started engine is never replaced by the other engine: it
answers, or raises an error with the reason.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from orchestrator.errors import DefinitionError
from pipeline.engines.executor import Executor
from pipeline.leavings import make, remove, sweep
from pipeline.places import Place

if TYPE_CHECKING:
    from pipeline.engines.settings import Settings

EngineName = Literal["spark", "duckdb"]
# Up to this number of messages or entries, DuckDB on one machine is faster than Spark's start.
SPARK_ABOVE = 20_000_000
_SCRATCH = "failover-duckdb-"
_WITHOUT = "install failover[duckdb], which needs no Java, or failover[spark], which needs Java 17 or newer"
Say = Callable[[str], None]


def chosen(settings: Settings, places: Sequence[Place], rows: int) -> EngineName:
    """The engine for this number of rows at these places. Raises ``DefinitionError`` if it is not installed, or cannot
    do the request."""
    far = next((place for place in places if not place.is_local), None)
    asked = settings.engine
    if asked == "duckdb":
        _check_duckdb(settings, far)
        return "duckdb"
    if asked == "spark" or settings.names_a_cluster or far is not None or rows > SPARK_ABOVE:
        _check_spark()
        return "spark"
    if is_installed("duckdb"):
        return "duckdb"
    if not is_installed("pyspark"):
        raise DefinitionError("neither DuckDB nor Spark is installed", hint=_WITHOUT)
    return "spark"


def is_installed(library: str) -> bool:
    """Can this library be imported?"""
    try:
        return find_spec(library) is not None
    except ValueError:  # the library was hidden from Python's imports
        return False


def _check_duckdb(settings: Settings, far: Place | None) -> None:
    if settings.names_a_cluster:
        raise DefinitionError(
            "--engine duckdb cannot use a cluster", hint="leave out --master and --remote, or leave out --engine"
        )
    if far is not None:
        raise DefinitionError(
            f"DuckDB reads and writes only on this machine, not at {far.name}",
            hint="copy the data to this machine, or use --engine spark",
        )
    if not is_installed("duckdb"):
        raise DefinitionError("DuckDB is not installed", hint="install failover[duckdb]; it needs no Java")


def _check_spark() -> None:
    if not is_installed("pyspark"):
        raise DefinitionError(
            "Spark is not installed", hint="install failover[spark]; it also needs Java 17 or newer"
        )


@contextmanager
def engine_for(settings: Settings, name: EngineName, rows: int | None, say: Say) -> Iterator[Executor]:
    """The engine of this name, until the end of the block. Raises the errors of the engine."""
    if name == "duckdb":
        from pipeline.engines.duck import Duck

        with _scratch_in(settings.scratch or Path(tempfile.gettempdir())) as scratch:
            duck = Duck(scratch, memory=settings.memory, threads=os.cpu_count())
            try:
                yield duck
            finally:
                duck.close()
        return
    from pipeline.engines.spark import Spark
    from pipeline.session import spark_session
    from pipeline.watching import watched

    say("starting Spark")
    with spark_session(settings.for_spark(rows)) as session, watched(session, say):
        yield Spark(session)


@contextmanager
def _scratch_in(place: Path) -> Iterator[Path]:
    sweep(place, f"{_SCRATCH}*")
    scratch = make(place / f"{_SCRATCH}{uuid4().hex[:12]}")
    try:
        yield scratch
    finally:
        remove(scratch)
