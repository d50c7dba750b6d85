"""The lanes that may start now in a run with waves: first a canary alone, then a fixed number at a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from orchestrator.core.lane import Lane
from orchestrator.model.plan import Outcome, Waves


def to_begin(waves: Waves, lanes: Mapping[str, Lane], *, forgiven: Set[str]) -> Sequence[str]:
    """The ready lanes of the present wave, in the order of the plan. Empty if all of its lanes have started, or if too
    many lanes have failed.

    ``forgiven`` lanes ended before a person resumed the run, and do not count as failures.
    """
    if called_off(waves, lanes, forgiven=forgiven):
        return ()
    for wave in _in_waves(waves, lanes):
        if not all(lanes[service].ended for service in wave):
            return tuple(service for service in wave if lanes[service].status == "ready")
    return ()


def called_off(waves: Waves, lanes: Mapping[str, Lane], *, forgiven: Set[str]) -> bool:
    """Have so many lanes failed that no further lane starts? A failed canary is always enough."""
    failed = [
        service
        for service, lane in lanes.items()
        if lane.ended and lane.outcome is not Outcome.DONE and service not in forgiven
    ]
    return len(failed) >= waves.max_failed or waves.canary in failed


def _in_waves(waves: Waves, lanes: Mapping[str, Lane]) -> list[list[str]]:
    rest = [service for service in lanes if service != waves.canary]
    cut = [rest[start : start + waves.size] for start in range(0, len(rest), waves.size)]
    return [[waves.canary], *cut] if waves.canary is not None and waves.canary in lanes else cut
