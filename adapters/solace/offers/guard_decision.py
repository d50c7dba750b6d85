"""What to do about a failed site that is guarded, judged by what it and its mate report. Pure.

docs/sources/solace-procedure.md, uncontrolled 2, and docs/sources/solace.md, 3.9: a failed site comes back as active,
which is its last state; until it is standby and its clients are kept away, two sites may be active. Fencing a
site that serves alone would end the service, so the mate has to report that *it* is active first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.solace.reading_models import Fence
from orchestrator.family.guard import GuardDecision
from orchestrator.model.readings import Reachability, Role


@dataclass(frozen=True, slots=True)
class GuardObservation:
    """What one round found. ``here``: the guarded site, by service; ``there``: the role that its mate reports, None
    unknown; ``fence``: the guarded site's doors, None where they cannot be read. ``others``: services for which the
    guarded site may be needed, so that it must stay open to clients."""

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
        return GuardDecision("leave", "it answers, and its mate does not say that it is active itself")
    active = [service for service in served if observed.here[service].role is Role.ACTIVE]
    may_fence = observed.can_fence and not observed.others
    doors = observed.fence.nodes if observed.fence is not None else ()
    is_open = may_fence and any(node.backbone_up for node in doors)
    if active or is_open:
        # Its doors concern all of them; without a fence, only those that are active there.
        why = _why(active, is_open=is_open)
        return GuardDecision("act", why, tuple(served if is_open else active), is_open, both_active=tuple(active))
    unknown = [observed.here[service] for service in served if observed.here[service].role is None]
    if unknown:
        return GuardDecision(
            "unclear", f"it answers, and does not report its role: {unknown[0].why or 'no reason given'}"
        )
    if may_fence and (observed.fence is None or observed.fence.closed is not True):
        return GuardDecision("unclear", "it is standby, and not every node could be read as closed")
    return GuardDecision("safe", _safe(observed))


def _why(active: Sequence[str], *, is_open: bool) -> str:
    parts = [f"it is active for {', '.join(active)}, and SO IS ITS MATE"] if active else []
    return "; ".join([*parts, *(["its message backbone is up"] if is_open else [])])


def _safe(observed: GuardObservation) -> str:
    if observed.others:
        return f"it is standby; it stays open to clients, because it may be needed for {', '.join(observed.others)}"
    return "it is standby and fenced" if observed.can_fence else "it is standby; this program cannot fence it"
