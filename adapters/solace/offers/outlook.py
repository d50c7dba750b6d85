"""Describes how a replication queue fills or drains, and advises what to do. Pure: figures in, sentences out.

docs/sources/solace-procedure.md, uncontrolled 3: with reject-msg-to-sender-on-discard a full
queue means that publishers are refused. Without it, a full queue means that messages are kept at the acting site only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.ages import span
from orchestrator.characters import typed
from orchestrator.counting import counted
from orchestrator.family.fill_estimate import HIGH_SET, Filling

State = Literal["unknown", "empty", "draining", "standing", "filling", "full"]
# An operator should be warned this many seconds before the queue is full.
_SOON_S = 3_600.0
# A time further ahead than this is not shown, seconds: a few minutes of readings are too few to predict it.
_TOLD_S = 30 * 86_400.0
# At a slower rate the queue counts as neither filling nor draining, messages a second.
_STILL = 0.01


@dataclass(frozen=True, slots=True)
class Outlook:
    """``sentence`` describes the queue. ``advice`` says what to do, or is empty."""

    state: State
    sentence: str
    advice: str = ""


def outlook(
    service: str,
    queue: QueueDepth,
    status: ReplicationStatus | None,
    seen: Filling,
    *,
    suspends_at: float | None = None,
) -> Outlook:
    """The state of one service's queue at the acting site. ``seen`` is computed from the readings up to this one.

    ``suspends_at``: percent at which replication is suspended without an operator.
    """
    state = _state(queue, seen)
    parts = [_count(queue.messages), _usage(queue, seen), *_speed(queue, seen)]
    if state == "full":
        parts.append("FULL")
    elif seen.full_in_s is not None and seen.full_in_s <= _TOLD_S:
        parts.append(f"full in about {span(seen.full_in_s)}")
    if queue.rejects_on_discard is False:
        parts.append("replication is suspended")
    bound = None if status is None else status.queue_bound
    parts.append(_BOUND[bound])
    advice = _advice(service, state, queue.rejects_on_discard, bound, seen, suspends_at)
    return Outlook(state, ", ".join(parts), advice)


_BOUND: Mapping[bool | None, str] = {
    True: "the mate's bridge is bound",
    False: "no bridge is bound to the queue",
    None: "unknown whether the mate's bridge is bound",
}


def _state(queue: QueueDepth, seen: Filling) -> State:
    if seen.full_in_s == 0.0:
        return "full"
    if queue.messages is None and queue.usage_mb is None:
        return "unknown"
    if queue.messages == 0:
        return "empty"
    pace = seen.rate if seen.rate is not None else seen.rate_mb
    if pace is None or abs(pace) < _STILL:
        return "standing"
    return "filling" if pace > 0 else "draining"


def _count(messages: int | None) -> str:
    return "an unknown number of messages" if messages is None else counted(messages, "message")


def _usage(queue: QueueDepth, seen: Filling) -> str:
    usage = "usage unknown" if queue.usage_mb is None else f"{queue.usage_mb:,.1f} MB"
    return usage if seen.percent is None else f"{usage}, {seen.percent:.1f}% full"


def _speed(queue: QueueDepth, seen: Filling) -> list[str]:
    if seen.rate is None:
        return ["rate not known yet"]
    if seen.rate < -_STILL and queue.messages == 0:
        return []  # it became empty at this reading and cannot decrease further
    if seen.rate < -_STILL and queue.messages:
        return [f"{seen.rate:+,.0f}/s", f"empty in about {span(queue.messages / -seen.rate)}"]
    return [f"{seen.rate:+,.0f}/s"]


def _advice(
    service: str,
    state: State,
    rejects: bool | None,
    bound: bool | None,
    seen: Filling,
    suspends_at: float | None,
) -> str:
    if rejects is False:
        return _while_suspended(state, bound)
    unknown = _what_is_unknown(rejects, seen)
    if state == "full" and not unknown:
        return (
            f"publishers are being refused; suspend replication at once ({_by_us(service)}), or bring the mate back"
        )
    if suspends_at is not None:
        return f"--suspend-at cannot act: {unknown}; {_BY_HAND}" if unknown else ""
    is_high = seen.percent is not None and seen.percent >= HIGH_SET
    if state != "full" and (state == "draining" or not (is_high or _is_soon(seen))):
        return ""
    if unknown:
        return f"{unknown}; {_BY_HAND}"
    return f"suspend replication before the queue is full, or publishers will be refused: {_by_us(service)}"


_BY_HAND = "check the device, and suspend replication there before the queue is full, or bring the mate back"


def _by_us(service: str) -> str:
    return f"`failover watch {typed(service)} --suspend-at {HIGH_SET:.0f}%`"


def _while_suspended(state: State, bound: bool | None) -> str:
    if state == "full":
        return (
            "messages published now are kept at this site only, and a fail-back would lose them; bring the mate back"
        )
    if bound:
        return "the mate takes messages again: `failover restore` has a step that lifts the suspension"
    return ""


def _what_is_unknown(rejects: bool | None, seen: Filling) -> str:
    """The value that a suspension needs and that the device does not report; empty if there is none."""
    if rejects is None:
        return "the device does not report whether publishers are refused once the queue is full"
    return "" if seen.percent is not None else "the device does not report how full the queue is"


def _is_soon(seen: Filling) -> bool:
    return seen.full_in_s is not None and seen.full_in_s <= _SOON_S
