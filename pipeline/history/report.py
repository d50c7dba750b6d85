"""The history of runs as data for screen, JSON and page. Units: seconds, messages; times in ISO 8601. Needs no Spark."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict

FORMAT: Literal["failover.history/1"] = "failover.history/1"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Durations(_Strict):
    """Seconds of ``n`` durations: percentiles 5, 50 and 95, the longest, and the change in 30 days (None: too few)."""

    simulated: bool
    runbook: str
    step: str | None = None
    n: int
    p05: float
    p50: float
    p95: float
    longest: float
    trend: float | None


class Ending(_Strict):
    """The number of runs of a runbook with this outcome."""

    simulated: bool
    runbook: str
    outcome: str
    n: int


class Drain(_Strict):
    """Messages a second of ``n`` drains. ``hour``: the hour of the day, in UTC, of the start. ``backlog``: the smallest
    number of messages of this class, which reaches up to ten times this number."""

    simulated: bool
    service: str
    hour: int
    backlog: int
    n: int
    p05: float
    p50: float
    p95: float


class Retry(_Strict):
    """Of ``n`` intended actions: the number of repeated attempts (``again``), and of doubtful or refused outcomes."""

    simulated: bool
    site: str
    device: str | None
    action: str
    n: int
    again: int
    doubtful: int
    refused: int


class ReadingFailure(_Strict):
    """A reading that failed ``n`` times with this error."""

    simulated: bool
    site: str
    reading: str
    error: str
    n: int


class Drift(_Strict):
    """The ``n`` results of one check of a site or a service. ``changed_at`` None: the result never changed."""

    simulated: bool
    site: str | None
    service: str | None
    check: str
    n: int
    first: str
    last: str
    changes: int
    changed_at: str | None


class PredictionError(_Strict):
    """The errors of ``n`` forecasts made from earlier runs only: median error in seconds, and the share within range."""

    simulated: bool
    runbook: str
    step: str
    n: int
    off: float
    within: float


class Unread(_Strict):
    """A file that could not be used, and the reason."""

    file: str
    why: str


class HistoryReport(_Strict):
    """The whole report. ``unread`` names at most a hundred files; ``unread_files`` counts all. ``repeated_files``: files
    with runs that other files have too. Each run counts once."""

    format: Literal["failover.history/1"] = FORMAT
    made_at: str
    engine: str = "spark"
    runs: int
    checks: int
    repeated_files: int = 0
    unread_files: int
    unread: tuple[Unread, ...]
    endings: tuple[Ending, ...]
    outages: tuple[Durations, ...]
    phases: tuple[Durations, ...]
    drains: tuple[Drain, ...]
    retries: tuple[Retry, ...]
    failures: tuple[ReadingFailure, ...]
    drift: tuple[Drift, ...]
    prediction_errors: tuple[PredictionError, ...]

    def encoded(self) -> bytes:
        """The content of the report file."""
        return (json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()
