"""What earlier runs took, as a table that a dry run reads its ranges from. Written by ``failover pipeline history``.

Must never be read as a promise: every range shows its number of runs, and simulated runs never count as real ones.
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
    """The middle nine tenths of what was seen: percentiles 5, 50 and 95, of ``n`` of them."""

    n: int
    p05: float
    p50: float
    p95: float


class StepForecast(_Strict):
    """Seconds that a finished step took on one pair. ``service`` None: of all its services together. ``place``: its
    devices; None, in one that was kept before they were told apart: it tells nothing."""

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
    """``made_at``: ISO 8601. ``runs``: how many runs it is made of."""

    format: str = FORMAT
    made_at: str
    runs: int
    steps: tuple[StepForecast, ...]
    drains: tuple[DrainForecast, ...]

    @property
    def tells(self) -> bool:
        """Is there any range in it of runs enough?"""
        seen = (*(one.seconds for one in self.steps), *(one.rate for one in self.drains))
        return any(one.n >= FEWEST for one in seen)

    def seconds(self, runbook: str, step: str, service: str, *, place: str, simulated: bool) -> Range | None:
        """How long this step takes on this pair: of this service, else of all of them; None where too little is known."""
        found = {
            one.service: one.seconds
            for one in self.steps
            if (one.runbook, one.step, one.place, one.simulated) == (runbook, step, place, simulated)
        }
        return _first(found.get(service), found.get(None))

    def drain_rate(self, service: str, *, place: str, simulated: bool) -> Range | None:
        """How fast the queue drains on this pair, in messages a second: of this service, else of all of them."""
        found = {one.service: one.rate for one in self.drains if (one.place, one.simulated) == (place, simulated)}
        return _first(found.get(service), found.get(None))


def _first(*ranges: Range | None) -> Range | None:
    return next((one for one in ranges if one is not None and one.n >= FEWEST), None)


def read_forecast(path: Path) -> Forecast | None:
    """The forecast kept at ``path``; None when there is none. Raises ``DefinitionError`` for what is no forecast."""
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
            f"{path} is no forecast: {error.errors()[0]['msg']}", hint="failover pipeline history … --learn"
        ) from error
    if found.format != FORMAT:
        raise DefinitionError(f"{path} is a forecast of another version", hint="failover pipeline history … --learn")
    return found


def encoded(forecast: Forecast) -> bytes:
    """As it is kept."""
    return (json.dumps(forecast.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()
