"""Reads exported runs and kept checks, and puts the history of both together.

The driver is given only what grows with runbooks, steps, services and devices; the facts themselves stay with Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock, iso
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

_UNREAD_SHOWN = 100
_ENDINGS = (".jsonl", ".json")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """The report, the forecast, and the facts they are made of. ``close`` lets go of what Spark holds."""

    report: HistoryReport
    forecast: Forecast
    facts: DataFrame
    close: Callable[[], None]


def history_of(spark: SparkSession, names: Sequence[str], clock: Clock, say: Say = lambda _: None) -> HistoryOutcome:
    """The history of what lies at ``names``: files or directories of exports and of kept checks.

    Raises ``DefinitionError`` when there is nothing. Whoever calls it does so inside of ``spark_faults``.
    """
    files = [file for name in names for file in _files(Place.of(name))]
    if not files:
        raise DefinitionError(
            f"there is no export in {', '.join(names)}", hint="failover runs export RUN -o DIR/RUN.jsonl"
        )
    say(f"reading {len(files)} files")
    facts = tables.read_facts(spark, files).persist(StorageLevel.MEMORY_AND_DISK)
    counts = {row["kind"]: row["count"] for row in facts.groupBy("kind").count().collect()}
    say(f"looking at {counts.get('run', 0)} runs")
    made_at = iso(clock.now())
    report = HistoryReport(
        made_at=made_at,
        runs=counts.get("run", 0),
        checks=facts.where("kind = 'check'").select("at").distinct().count(),
        unread_files=counts.get("unread", 0),
        unread=tuple(
            Unread(file=row["name"], why=row["state"])
            for row in facts.where("kind = 'unread'").orderBy("name").limit(_UNREAD_SHOWN).collect()
        ),
        endings=tuple(_ending(row) for row in _rows(tables.endings(facts), "runbook", "state")),
        outages=tuple(_durations(row) for row in _rows(tables.outages(facts), "runbook")),
        phases=tuple(_durations(row) for row in _rows(tables.phases(facts), "runbook", "number", "name")),
        drains=tuple(_drain(row) for row in _rows(tables.drains(facts), "service", "backlog", "hour")),
        retries=tuple(_retry(row) for row in _rows(tables.retries(facts), "site", "device", "name")),
        failures=tuple(_failure(row) for row in _rows(tables.failures(facts), "site", "name", "state")),
        drift=tuple(_drift(row) for row in _rows(tables.drift(facts), "site", "service", "name")),
        prediction_errors=tuple(_error(row) for row in _rows(tables.prediction_errors(facts), "runbook", "name")),
    )
    return HistoryOutcome(report, _forecast(facts, made_at, report.runs), facts, lambda: _release(facts))


def _release(facts: DataFrame) -> None:
    facts.unpersist()


def _files(place: Place) -> list[str]:
    """The names of the files at ``place``: itself, or those in it that end as exports do."""
    if not place.exists():
        raise DefinitionError(f"{place.name} is not there")
    if not place.is_directory():
        return [place.name]
    return [file.name for file in place.files() if file.name.endswith(_ENDINGS)]


def _rows(table: DataFrame, *order: str) -> list[Row]:
    return table.orderBy("simulated", *[F.col(name).asc_nulls_first() for name in order]).collect()


def _range(row: Row) -> Range:
    return Range(n=row["n"], p05=_round(row["p05"]), p50=_round(row["p50"]), p95=_round(row["p95"]))


def _round(value: float) -> float:
    return round(value, 3)


def _ending(row: Row) -> Ending:
    return Ending(simulated=row["simulated"], runbook=row["runbook"], outcome=row["state"], n=row["n"])


def _durations(row: Row) -> Durations:
    return Durations(
        simulated=row["simulated"],
        runbook=row["runbook"],
        step=row.asDict().get("name"),
        longest=_round(row["longest"]),
        trend=None if row["trend"] is None else _round(row["trend"]),
        **_range(row).model_dump(),
    )


def _drain(row: Row) -> Drain:
    return Drain(
        simulated=row["simulated"],
        service=row["service"],
        hour=row["hour"],
        backlog=row["backlog"],
        **_range(row).model_dump(),
    )


def _retry(row: Row) -> Retry:
    return Retry(
        simulated=row["simulated"],
        site=row["site"],
        device=row["device"],
        action=row["name"],
        n=row["n"],
        again=row["again"],
        doubtful=row["doubtful"],
        refused=row["refused"],
    )


def _failure(row: Row) -> ReadingFailure:
    named = {"site": row["site"], "reading": row["name"], "error": row["state"]}
    return ReadingFailure(simulated=row["simulated"], n=row["n"], **named)


def _drift(row: Row) -> Drift:
    return Drift(
        simulated=row["simulated"],
        site=row["site"],
        service=row["service"],
        check=row["name"],
        n=row["n"],
        first=row["first"],
        last=row["last"],
        changes=row["changes"],
        changed_at=None if row["changed_at"] is None else iso(row["changed_at"]),
    )


def _error(row: Row) -> PredictionError:
    return PredictionError(
        simulated=row["simulated"],
        runbook=row["runbook"],
        step=row["name"],
        n=row["n"],
        off=_round(row["off"]),
        within=_round(row["within"]),
    )


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
