"""Decides what to do about a failed site that is guarded, from the reports of the site and its mate. Pure.

docs/sources/solace-procedure.md, uncontrolled 2, and docs/sources/solace.md, 3.9: a failed site comes back as active,
which is its last state. Two sites may be active until the failed site is standby and its clients are kept away. A fence
on a site that serves alone would end the service, so the mate must first report that the mate itself is active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.solace.reading_models import Fence
from orchestrator.family.guard import GuardDecision
from orchestrator.model.readings import Reachability, Role


@dataclass(frozen=True, slots=True)
class GuardObservation:
    """The readings of one round. ``here`` is the guarded site, by service. ``there`` is the role that the mate reports,
    None if unknown. ``fence`` tells whether the nodes of the guarded site are open, None if that cannot be read.
    ``others`` are services for which the guarded site may be needed, so it must stay open to clients."""

    here: Mapping[str, Reachability]
    there: Mapping[str, Role | None]
    fence: Fence | None = None
    others: Sequence[str] = ()
    can_fence: bool = False


def decide_guard(observed: GuardObservation) -> GuardDecision:
    """What to do now."""
    if not any(one.answers for one in observed.here.values()):
        return GuardDecision("silent", next(iter(one.why for one in observed.here.values()), "it does not answer"))
    served = [service for service, role in observed.there.items() if role is Role.ACTIVE]
    if not served:
        return GuardDecision("leave", "it answers, but its mate does not report that it is active")
    active = [service for service in served if observed.here[service].role is Role.ACTIVE]
    may_fence = observed.can_fence and not observed.others
    doors = observed.fence.nodes if observed.fence is not None else ()
    is_open = may_fence and any(node.backbone_up for node in doors)
    if active or is_open:
        # A fence affects all served services. Without a fence, only the services that are active there are changed.
        why = _why(active, is_open=is_open)
        return GuardDecision("act", why, tuple(served if is_open else active), is_open, both_active=tuple(active))
    unknown = [observed.here[service] for service in served if observed.here[service].role is None]
    if unknown:
        return GuardDecision(
            "unclear", f"it answers, but does not report its role: {unknown[0].why or 'no reason given'}"
        )
    if may_fence and (observed.fence is None or observed.fence.closed is not True):
        return GuardDecision("unclear", "it is standby, but the readings do not show that every node is closed")
    return GuardDecision("safe", _safe(observed))


def _why(active: Sequence[str], *, is_open: bool) -> str:
    parts = [f"it is active for {', '.join(active)}, and SO IS ITS MATE"] if active else []
    return "; ".join([*parts, *(["its message backbone is up"] if is_open else [])])


def _safe(observed: GuardObservation) -> str:
    if observed.others:
        return f"it is standby; it stays open to clients, because it may be needed for {', '.join(observed.others)}"
    return "it is standby and fenced" if observed.can_fence else "it is standby; this program cannot fence it"
