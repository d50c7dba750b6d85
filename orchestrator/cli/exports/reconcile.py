"""Runs ``failover pipeline reconcile`` and prints the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import cast

from orchestrator.cli.render.terminal import presentable, say_unless, show_document, show_json
from orchestrator.cli.spark_options import SparkOptions
from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.model.findings import Finding, Level, worst

FINDINGS = 4
# The libraries of the extras, by their imported names.
_PARQUET = {"pyarrow": "PyArrow"}
_ENGINES = {"pyspark": "Spark", "py4j": "Spark", "duckdb": "DuckDB", **_PARQUET}


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """The typed request."""

    active: str | None
    failover_at: str | None
    run: str | None
    skew_s: float
    interval_s: float
    equal_duplicates: bool


def engine_installed() -> AbstractContextManager[None]:
    """A block that runs an engine. A missing library of the extras becomes one sentence."""
    hint = "install failover[duckdb], which needs no Java, or failover[spark], which needs Java 17 or newer"
    return _installed(_ENGINES, hint)


def parquet_installed() -> AbstractContextManager[None]:
    """A block that writes Parquet without an engine. A missing library of the extras becomes one sentence."""
    return _installed(_PARQUET, "install failover[duckdb] or failover[spark]; Java is not needed for this")


@contextmanager
def _installed(libraries: Mapping[str, str], hint: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        lacking = (error.name or "").split(".")[0]
        if lacking not in libraries:
            raise
        raise DefinitionError(f"{libraries[lacking]} is not installed", hint=hint) from error


def reconcile_exports(
    clock: Clock,
    left: str,
    right: str,
    request: ReconcileRequest,
    spark: SparkOptions,
    out: str | None,
    *,
    as_json: bool,
) -> int:
    """Compare two exports and print the result. Returns the exit code: 0, or 4 if a person should check it."""
    with engine_installed():
        from pipeline.ask import Ask
        from pipeline.commands import run_reconcile
        from pipeline.moments import moment
        from pipeline.narrate import lines_of
        from pipeline.report import SideName

        if request.active not in (None, "left", "right"):
            raise DefinitionError(f"--active: {request.active!r} is not a side; use left or right")
        ask = Ask(
            active=cast("SideName | None", request.active),
            failover_at=None if request.failover_at is None else moment(request.failover_at, "--failover-at"),
            run=request.run,
            clock_skew_s=request.skew_s,
            interval_s=request.interval_s,
            equal_duplicates=request.equal_duplicates,
        )
        report = run_reconcile(left, right, ask, spark.settings(), out, clock, say_unless(as_json))
    code = code_for(report.findings)
    if as_json:
        show_json({"result": {**report.model_dump(mode="json"), "exit_code": code}})
    else:
        for line in lines_of(report):
            show_document(presentable(line))
    return code


def code_for(findings: tuple[Finding, ...]) -> int:
    """The exit code: 4 if a finding is an error or unknown, else 0."""
    return FINDINGS if worst(findings) in (Level.ERROR, Level.UNKNOWN) else 0
