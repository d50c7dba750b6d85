"""A table of the times that earlier runs took, written by ``failover pipeline history``. A dry run reads its ranges.

The table must never be read as a promise. Every range shows its number of runs, and simulated runs never count as real
runs.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from orchestrator.errors import DefinitionError
from orchestrator.files import read_own

FORMAT = "failover forecast 1"
NAME = "forecast.json"
# Fewer values give no range.
FEWEST = 3


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Range(_Strict):
    """The middle nine tenths of ``n`` values: percentiles 5, 50 and 95."""

    n: int
    p05: float
    p50: float
    p95: float


class StepForecast(_Strict):
    """Seconds that a finished step took on one pair. ``service`` is None for all services together. ``place`` identifies
    the devices of the pair. None in a forecast from before devices were recorded. Such an entry is not used."""

    simulated: bool
    place: str | None = None
    runbook: str
    step: str
    service: str | None
    seconds: Range


class DrainForecast(_Strict):
    """Messages a second that left a replication queue while a run waited for it. ``place`` and ``service`` as
    for a step."""

    simulated: bool
    place: str | None = None
    service: str | None
    rate: Range


class Forecast(_Strict):
    """The whole table. ``made_at`` is ISO 8601. ``runs`` is the number of runs that it was made from."""

    format: str = FORMAT
    made_at: str
    runs: int
    steps: tuple[StepForecast, ...]
    drains: tuple[DrainForecast, ...]

    @property
    def tells(self) -> bool:
        """Does the table have a range with enough values?"""
        seen = (*(one.seconds for one in self.steps), *(one.rate for one in self.drains))
        return any(one.n >= FEWEST for one in seen)

    def seconds(self, runbook: str, step: str, service: str, *, place: str, simulated: bool) -> Range | None:
        """The seconds of this step on this pair, for this service or else for all services. None if there are too few
        values."""
        found = {
            one.service: one.seconds
            for one in self.steps
            if (one.runbook, one.step, one.place, one.simulated) == (runbook, step, place, simulated)
        }
        return _first(found.get(service), found.get(None))

    def drain_rate(self, service: str, *, place: str, simulated: bool) -> Range | None:
        """The drain rate of the queue on this pair in messages a second, for this service or else for all services. None
        if there are too few values."""
        found = {one.service: one.rate for one in self.drains if (one.place, one.simulated) == (place, simulated)}
        return _first(found.get(service), found.get(None))


def _first(*ranges: Range | None) -> Range | None:
    return next((one for one in ranges if one is not None and one.n >= FEWEST), None)


def read_forecast(path: Path) -> Forecast | None:
    """The forecast kept at ``path``, or None if there is no file. Raises ``DefinitionError`` if the file is unreadable or
    no forecast."""
    try:
        text = read_own(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DefinitionError(f"the forecast {path} cannot be read: {error.strerror}", hint="remove it") from error
    try:
        found = Forecast.model_validate_json(text)
    except ValidationError as error:
        raise DefinitionError(
            f"{path} is not a forecast: {error.errors()[0]['msg']}",
            hint="make a new forecast: failover pipeline history … --learn",
        ) from error
    if found.format != FORMAT:
        raise DefinitionError(
            f"{path} is a forecast of another version",
            hint="make a new forecast: failover pipeline history … --learn",
        )
    return found


def encoded(forecast: Forecast) -> bytes:
    """The forecast as the bytes of its file."""
    return (json.dumps(forecast.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()
