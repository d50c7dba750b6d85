"""What is asked of a reconciliation, and what follows from the question and the manifests together."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.report import SideName
from pipeline.sides import Side


@dataclass(frozen=True, slots=True)
class Ask:
    """What to compare, and what is known besides. None: as the manifests say, or unknown.

    ``active``: the site that serves clients now. ``failover_at``: seconds since the epoch. ``clock_skew_s``: how far
    the brokers' clocks may be apart from ours. ``interval_s``: width of the intervals around the fail-over.
    ``everything_above``: share of rows to be read in detail from which on nothing is left out first; from the same
    share of rows to be read for it, all are read.
    ``equal_duplicates``: also seek ids that both sites hold several times, which needs every row.
    ``numbers_log2``: how wide a bucket of fingerprints is (default: as ``pipeline.width`` judges).
    """

    active: SideName | None = None
    failover_at: float | None = None
    run: str | None = None
    clock_skew_s: float = 1.0
    interval_s: float = 60.0
    everything_above: float = 0.5
    equal_duplicates: bool = False
    numbers_log2: int | None = None


def failover_of(left: Side, right: Side, ask: Ask) -> float | None:
    """When the fail-over was: as asked, else as a manifest says."""
    told = (ask.failover_at, left.manifest.failover_at, right.manifest.failover_at)
    return next((moment for moment in told if moment is not None), None)


def run_of(left: Side, right: Side, ask: Ask) -> str | None:
    """The run that the exports were taken for: as asked, else as both manifests say."""
    told = {run for run in (left.manifest.run, right.manifest.run) if run is not None}
    return ask.run or (told.pop() if len(told) == 1 else None)


def active_of(left: Side, right: Side, ask: Ask, service: str) -> SideName | None:
    """The site that serves clients: as asked, else the one whose manifest says so, unless both do."""
    if ask.active is not None:
        return ask.active
    roles = [
        None if one is None else one.role for one in (left.manifest.service(service), right.manifest.service(service))
    ]
    match roles:
        case ["active", "standby" | None]:
            return "left"
        case ["standby" | None, "active"]:
            return "right"
        case _:
            return None
