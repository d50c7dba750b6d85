"""The vendor's rule for a safe fail-back after an uncontrolled fail-over, as a function of both sites' endpoints.

Pure. docs/sources/solace-procedure.md, fail-back: if replication was never disabled, the risk ends when all messages
from before the fail-over have been consumed at the acting site. This is shown if every endpoint holds the same number
of messages at both sites, or if its oldest message is younger than the fail-over.
"""

from __future__ import annotations

from adapters.solace.reading_models import EndpointDepth, Endpoints
from orchestrator.counting import counted
from orchestrator.model.comparisons import RISK_GATE, Rule
from orchestrator.model.plan import Outage
from orchestrator.model.reading import Reading


def unsafe_reasons(acting: Endpoints, returning: Endpoints, outage: Outage | None) -> list[str]:
    """The reasons why a move back from the ``acting`` site is not shown to be safe. Empty if it is shown to be safe.

    ``outage`` is None if the time of the fail-over is unknown. Then only equal counts can show that the move is safe.
    """
    reasons = []
    if outage is not None and outage.spool_lost:
        reasons.append("the returning site lost its message spool")
    if outage is not None and outage.suspended:
        reasons.append("replication was suspended since the fail-over")
    if outage is not None and outage.suspended is None:
        reasons.append("it is not known whether replication was suspended since the fail-over")
    others = {item.key: item for item in returning.items}
    reasons += [
        reason for item in acting.items if (reason := _of_endpoint(item, others.get(item.key), outage)) is not None
    ]
    return reasons


def is_shown_unsafe(acting: Endpoints, returning: Endpoints, outage: Outage | None) -> bool:
    """Does a reading show that the move back is not safe? An attestation does not overrule such a reading."""
    if outage is None:
        return False
    others = {item.key: item.messages for item in returning.items}
    return bool(outage.spool_lost or outage.suspended) or any(
        item.messages
        and others.get(item.key) not in (None, item.messages)
        and item.oldest_at is not None
        and item.oldest_at <= outage.at + outage.skew
        for item in acting.items
    )


def _of_endpoint(item: EndpointDepth, other: EndpointDepth | None, outage: Outage | None) -> str | None:
    name = f"{item.endpoint} {item.name}"
    if item.messages is None:
        return f"{name}: its depth is unknown"
    if item.messages == 0:
        return None
    if outage is not None and item.oldest_at is not None and item.oldest_at > outage.at + outage.skew:
        return None
    if other is not None and other.messages == item.messages:
        return None
    there = "unknown" if other is None or other.messages is None else str(other.messages)
    counts = f"{counted(item.messages, 'message')} here, {there} there"
    if outage is None:
        return f"{name}: {counts}, and the time of the fail-over is not known"
    if item.oldest_at is None:
        return f"{name}: {counts}, and the age of the oldest is unknown"
    age = item.oldest_at - outage.at
    when = f"{-age:.0f}s before" if age < 0 else f"{age:.0f}s after"
    return f"{name}: {counts}, the oldest from {when} the fail-over (clocks may differ by {outage.skew:.0f}s)"


def _reasons(source: Reading, target: Reading, outage: Outage | None) -> list[str] | None:
    if not isinstance(source, Endpoints) or not isinstance(target, Endpoints):
        return None
    return unsafe_reasons(source, target, outage)


def _is_unsafe(source: Reading, target: Reading, outage: Outage | None) -> bool:
    if not isinstance(source, Endpoints) or not isinstance(target, Endpoints):
        return False
    return is_shown_unsafe(source, target, outage)


FAILBACK_SAFE = Rule(
    "endpoints",
    "endpoint",
    "all safe",
    RISK_GATE,
    "the readings do not show that a fail-back is safe",
    _reasons,
    _is_unsafe,
    ("accept", "attest", "stop"),
)
