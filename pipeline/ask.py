"""The options of a reconciliation, and the values that follow from the options and the manifests."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.report import SideName
from pipeline.sides import Side


@dataclass(frozen=True, slots=True)
class Ask:
    """The options of a comparison. None: the manifests decide, or the value is unknown.

    ``active``: the site that serves clients now. ``failover_at``: seconds since the epoch. ``clock_skew_s``: how far
    the brokers' clocks may differ from ours. ``interval_s``: width of the intervals around the fail-over.
    ``everything_above``: a share of all rows. If more rows than this share are to be compared in detail, all rows are. If
    the detailed comparison would read more than this share, all rows are read.
    ``equal_duplicates``: also search for ids that both sites have several times. This search needs every row.
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
    """The time of the fail-over: from ``ask``, else from a manifest."""
    told = (ask.failover_at, left.manifest.failover_at, right.manifest.failover_at)
    return next((moment for moment in told if moment is not None), None)


def run_of(left: Side, right: Side, ask: Ask) -> str | None:
    """The run that the exports belong to: from ``ask``, else from the manifests unless they disagree."""
    told = {run for run in (left.manifest.run, right.manifest.run) if run is not None}
    return ask.run or (told.pop() if len(told) == 1 else None)


def active_of(left: Side, right: Side, ask: Ask, service: str) -> SideName | None:
    """The site that serves clients: from ``ask``, else from the manifests. None when both manifests claim it."""
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
