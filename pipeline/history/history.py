"""Reads exported runs and kept checks, and puts the history of both together.

The driver is given only what grows with runbooks, steps, services and devices; the facts themselves stay with Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock, iso
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.reports.forecast import DrainForecast, Forecast, Range, StepForecast
from pipeline.history import tables
from pipeline.history.report import (
    Drain,
    Drift,
    Durations,
    Ending,
    HistoryReport,
    PredictionError,
    ReadingFailure,
    Retry,
    Unread,
)
from pipeline.places import Place
from pipeline.runs import runs_in

_UNREAD_SHOWN = 100
_ENDINGS = (".jsonl", ".json", tables.PARQUET)
Say = Callable[[str], None]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """The report, the forecast, and the facts they are made of. ``close`` lets go of what Spark holds."""

    report: HistoryReport
    forecast: Forecast
    facts: DataFrame
    close: Callable[[], None]


def files_of(names: Sequence[str]) -> list[str]:
    """The exports and kept checks at ``names``, which are files or directories. Raises ``DefinitionError``: none."""
    files = [file for name in names for file in _files(Place.of(name))]
    if not files:
        raise DefinitionError(
            f"there is no export in {', '.join(names)}", hint="failover runs export --all --parquet DIR"
        )
    return files


def history_of(spark: SparkSession, files: Sequence[str], clock: Clock, say: Say = lambda _: None) -> HistoryOutcome:
    """The history of what lies in ``files``. Whoever calls it does so inside of ``spark_faults``."""
    say(f"reading {counted(len(files), 'file')}")
    read = tables.read_facts(spark, files).persist(StorageLevel.MEMORY_AND_DISK)
    told = read.groupBy("kind").agg(F.count("*").alias("n"), F.countDistinct("run").alias("runs")).collect()
    counts = {row["kind"]: row["n"] for row in told}
    runs = sum(row["runs"] for row in told if row["kind"] == "run")
    facts = tables.each_once(read)
    say(f"looking at {counted(runs, 'run')}")
    made_at = iso(clock.now())
    report = HistoryReport(
        made_at=made_at,
        runs=runs,
        repeated_files=counts.get("run", 0) - runs,
        checks=facts.where("kind = 'check'").select("at").distinct().count(),
        unread_files=counts.get("unread", 0),
        unread=tuple(
            Unread(file=row["file"], why=row["state"])
            for row in facts.where("kind = 'unread'").orderBy("file").limit(_UNREAD_SHOWN).collect()
        ),
        endings=_made(Ending, tables.endings(facts), "runbook", "outcome"),
        outages=_made(Durations, tables.outages(facts), "runbook"),
        phases=_made(Durations, tables.phases(facts), "runbook", "number", "step"),
        drains=_made(Drain, tables.drains(facts), "service", "backlog", "hour"),
        retries=_made(Retry, tables.retries(facts), "site", "device", "action"),
        failures=_made(ReadingFailure, tables.failures(facts), "site", "reading", "error"),
        drift=_made(Drift, tables.drift(facts), "site", "service", "check"),
        prediction_errors=_made(PredictionError, tables.prediction_errors(facts), "runbook", "step"),
    )

    def close() -> None:
        read.unpersist()

    return HistoryOutcome(report, _forecast(facts, made_at, report.runs), facts, close)


def _files(place: Place) -> list[str]:
    """The names of the files at ``place``: itself, or those in it that end as exports do."""
    if not place.exists():
        raise DefinitionError(f"{place.name} is not there")
    if not place.is_directory():
        return [place.name]
    return [file.name for file in place.files() if file.name.endswith(_ENDINGS)] + [
        file.name for file in runs_in(place)
    ]


def _rows(table: DataFrame, *order: str) -> list[Row]:
    return table.orderBy("simulated", *[F.col(name).asc_nulls_first() for name in order]).collect()


def _made(model: type[Model], table: DataFrame, *order: str) -> tuple[Model, ...]:
    """The rows of ``table`` as models, in order."""
    return tuple(model(**_fields(model, row)) for row in _rows(table, *order))


def _fields(model: type[BaseModel], row: Row) -> dict[str, Any]:
    values = {name: value for name, value in row.asDict().items() if name in model.model_fields}
    if values.get("changed_at") is not None:
        values["changed_at"] = iso(values["changed_at"])
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def _range(row: Row) -> Range:
    return Range(**_fields(Range, row))


def _forecast(facts: DataFrame, made_at: str, runs: int) -> Forecast:
    steps = _rows(tables.step_forecasts(facts), "runbook", "name", "service")
    drains = _rows(tables.drain_forecasts(facts), "service")
    return Forecast(
        made_at=made_at,
        runs=runs,
        steps=tuple(
            StepForecast(
                simulated=row["simulated"],
                runbook=row["runbook"],
                step=row["name"],
                service=row["service"],
                seconds=_range(row),
            )
            for row in steps
        ),
        drains=tuple(
            DrainForecast(simulated=row["simulated"], service=row["service"], rate=_range(row)) for row in drains
        ),
    )
