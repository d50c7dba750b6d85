"""Reads exported runs and kept checks, and computes the history of both (``sql/history.sql``).

This process gets only data whose size depends on runbooks, steps, services and devices. The facts stay in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from orchestrator.clock import Clock, iso
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.reports.forecast import DrainForecast, Forecast, Range, StepForecast
from pipeline.engines.executor import Executor, Row, Script
from pipeline.history.reader import PARQUET
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
_ENDINGS = (".jsonl", ".json", PARQUET)
# A trend needs at least ``fewest`` points, because fewer are noise. Prediction errors are computed for forecasts from at
# most ``_REMEMBERED`` runs before the predicted run.
_NUMBERS = {"fewest": 3, "week": 7 * 86_400, "days_30": 30 * 86_400}
_REMEMBERED = 50
# The facts of fewer files than this are written to one file.
_FEW = 100_000
Say = Callable[[str], None]
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """The report and the forecast. ``write`` makes the table ``facts`` in a directory. ``close`` releases the engine's
    resources."""

    report: HistoryReport
    forecast: Forecast
    write: Callable[[Place], None]
    close: Callable[[], None]


def files_of(names: Sequence[str]) -> list[Place]:
    """The exports and kept checks at ``names`` (files or directories). Raises ``DefinitionError`` if there are none."""
    files = [file for name in names for file in _files(Place.of(name))]
    if not files:
        raise DefinitionError(
            f"no exports were found in {', '.join(names)}", hint="run `failover runs export --all --parquet DIR`"
        )
    return files


def history_of(engine: Executor, files: Sequence[Place], clock: Clock, say: Say = lambda _: None) -> HistoryOutcome:
    """The history of the runs and checks in ``files``."""
    say(f"reading {counted(len(files), 'file')}")
    engine.read("facts_read", "facts", files, {})
    script = Script("history", engine)
    told = script.rows("counts")
    counts = {row["kind"]: row["n"] for row in told}
    runs = sum(row["runs"] for row in told if row["kind"] == "run")
    script.view("facts")
    values = prepare(script)
    say(f"reading {counted(runs, 'run')}")
    made_at = iso(clock.now())
    report = HistoryReport(
        made_at=made_at,
        engine=engine.name,
        runs=runs,
        repeated_files=counts.get("run", 0) - runs,
        checks=script.rows("checks")[0]["n"],
        unread_files=counts.get("unread", 0),
        unread=_made(Unread, script.rows("unread", most=_UNREAD_SHOWN)),
        endings=_made(Ending, script.rows("endings")),
        outages=_made(Durations, script.rows("outages", **values)),
        phases=_made(Durations, script.rows("phases", **values)),
        drains=_made(Drain, script.rows("drains")),
        retries=_made(Retry, script.rows("retries")),
        failures=_made(ReadingFailure, script.rows("failures")),
        drift=_made(Drift, script.rows("drift")),
        prediction_errors=_made(PredictionError, script.rows("prediction_errors")),
    )

    def write(place: Place) -> None:
        engine.write(script.text("table"), place.child("facts"), is_small=len(files) < _FEW)

    return HistoryOutcome(report, _forecast(script, made_at, report.runs), write, engine.release)


def prepare(script: Script) -> dict[str, str]:
    """Make the views over ``facts`` that the tables need. Returns the parameters of some of the tables."""
    for section in ("done", "rates", "numbered"):
        script.view(section)
    script.view("foretold", remembered=_REMEMBERED, fewest=_NUMBERS["fewest"])
    return {"durations": script.text("durations", **_NUMBERS)}


def _files(place: Place) -> list[Place]:
    """The files at ``place``: the file itself, or the files in the directory with an ending of exports."""
    if not place.exists():
        raise DefinitionError(
            f"{place.name} does not exist", hint="`failover runs export --all --parquet DIR` makes this directory"
        )
    if not place.is_directory():
        return [place]
    return [file for file in place.files() if file.name.endswith(_ENDINGS)] + runs_in(place)


def _made(model: type[Model], rows: Sequence[Row]) -> tuple[Model, ...]:
    """The rows as models, in order."""
    return tuple(model(**_fields(model, row)) for row in rows)


def _fields(model: type[BaseModel], row: Row) -> dict[str, Any]:
    values = {name: value for name, value in row.items() if name in model.model_fields}
    if values.get("changed_at") is not None:
        values["changed_at"] = iso(values["changed_at"])
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def _range(row: Row) -> Range:
    return Range(**_fields(Range, row))


def _forecast(script: Script, made_at: str, runs: int) -> Forecast:
    return Forecast(
        made_at=made_at,
        runs=runs,
        steps=tuple(
            StepForecast(
                simulated=row["simulated"],
                place=row["place"],
                runbook=row["runbook"],
                step=row["name"],
                service=row["service"],
                seconds=_range(row),
            )
            for row in script.rows("step_forecasts")
        ),
        drains=tuple(
            DrainForecast(simulated=row["simulated"], place=row["place"], service=row["service"], rate=_range(row))
            for row in script.rows("drain_forecasts")
        ),
    )
