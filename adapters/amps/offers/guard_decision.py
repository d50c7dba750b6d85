"""Decides what to do about a failed AMPS instance that is guarded, from its reports and those of its mate. Pure.

After every start client transports are as configured (docs/sources/amps.md, 3.1), and they take connections
before recovery has finished. Sending clients away while the mate serves no client would end the service, so the mate
must let clients in first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.amps.reading_models import Transports
from orchestrator.family.guard import GuardDecision
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability


@dataclass(frozen=True, slots=True)
class GuardObservation:
    """The readings of one round, by service. ``here``: whether the guarded instance answers. ``doors``: its transports.
    ``there``: the transports of its mate."""

    here: Mapping[str, Reachability]
    doors: Mapping[str, Reading | Failure]
    there: Mapping[str, Reading | Failure]


def decide_guard(observed: GuardObservation) -> GuardDecision:
    """What to do now."""
    answering = [service for service, one in observed.here.items() if one.answers]
    if not answering:
        why = next((one.why for one in observed.here.values() if one.why), "no reason given")
        return GuardDecision("silent", f"it does not answer: {why}")
    served = [service for service in answering if _is_open(observed.there.get(service))]
    if not served:
        return GuardDecision("leave", "it answers, but its mate does not report that it lets clients in")
    is_closed_by = {service: _is_closed(observed.doors.get(service)) for service in served}
    open_here = tuple(service for service, is_closed in is_closed_by.items() if is_closed is False)
    if open_here:
        return GuardDecision("act", f"it lets clients in for {', '.join(open_here)}", open_here)
    unknown = [service for service, is_closed in is_closed_by.items() if is_closed is None]
    if unknown:
        found = observed.doors.get(unknown[0])
        why = found.text if isinstance(found, Failure) else "it does not report the state of its transports"
        return GuardDecision("unclear", f"it answers; whether it lets clients in is unknown: {why}")
    return GuardDecision(
        "safe", "it lets no client in; a restart could let clients in, so it stays guarded until it is restored"
    )


def _is_open(found: Reading | Failure | None) -> bool:
    return isinstance(found, Transports) and found.open is True


def _is_closed(found: Reading | Failure | None) -> bool | None:
    return found.closed if isinstance(found, Transports) else None
