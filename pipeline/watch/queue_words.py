"""Events and state of a replication queue, in the words and with the figures of ``failover watch``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.solace.offers.outlook import Outlook, outlook
from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.ages import span
from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.family.fill_estimate import HIGH_SET
from pipeline.watch.arrivals import Rules
from pipeline.watch.course import Figures

# Events that need an operator's action. Other events end one of these, or are only recorded.
ALARMS: frozenset[str] = frozenset({"drain.stalled", "queue.full", "queue.high", "queue.full-soon", "queue.unknown"})


def sentence_of(kind: str, figures: Figures, rules: Rules) -> str:
    """The sentence for one event of ``Kind``."""
    read, percent = figures.read, f"{figures.seen.percent or 0.0:.0f}%"
    left = "an unknown number of messages" if read.messages is None else counted(read.messages, "message")
    stood, full_in = read.at - (figures.moved_at or read.at), figures.seen.full_in_s or 0.0
    sentences: Mapping[str, str] = {
        "drain.stalled": f"STALLED: no progress for {span(stood)} with {left} left, {_BOUND[read.bound]}",
        "drain.moving": f"the queue moves again, {left} left",
        "queue.drained": "the queue was read as empty",
        "queue.high": f"HIGH MARK: the queue is {percent} full, and its high mark is {HIGH_SET:.0f}%",
        "queue.clear": "the queue is below its high mark again",
        "queue.full": "FULL: the queue has reached its quota",
        "queue.room": "there is room in the queue again",
        "queue.full-soon": f"the queue is {percent} full and will be full in about {span(full_in)}",
        "queue.full-later": f"the queue will no longer be full within {span(rules.full_within_s)}",
        "queue.unknown": f"UNKNOWN: {read.failure or 'the device does not report how much is in the queue'}",
        "queue.known": f"the queue can be read again: {left}",
        "reading.late": f"a reading of {iso(read.at)} arrived after a newer one, so it is ignored: {left}",
    }
    return sentences[kind]


_BOUND: Mapping[bool | None, str] = {
    True: "although the mate's bridge is bound",
    False: "no bridge is bound to the queue",
    None: "it is unknown whether the mate's bridge is bound",
}


def figures_of(figures: Figures, service: str) -> dict[str, Any]:
    """The figures for machines; null is unknown."""
    read, told = figures.read, _outlook_of(figures, service)
    return {
        "messages": read.messages,
        "usage_mb": rounded(read.usage_mb),
        "quota_mb": read.quota_mb,
        "percent_full": rounded(figures.seen.percent),
        "rate_per_s": rounded(figures.seen.rate),
        "drain_rate_per_s": rounded(figures.drain_rate),
        "empty_in_s": rounded(figures.empty_in_s),
        "full_in_s": rounded(figures.seen.full_in_s),
        "moved_at": None if figures.moved_at is None else iso(figures.moved_at),
        "bound": read.bound,
        "suspended": None if read.rejects is None else not read.rejects,
        "state": told.state,
        "advice": told.advice,
        **({"failure": read.failure} if read.failure else {}),
    }


def standing(figures: Figures, service: str) -> str:
    """The state of the queue as a sentence for a person."""
    return f"UNKNOWN: {figures.read.failure}" if figures.read.failure else _outlook_of(figures, service).sentence


def rounded(value: float | None) -> float | None:
    """The value rounded to three decimal places; None stays None."""
    return None if value is None else round(value, 3)


def _outlook_of(figures: Figures, service: str) -> Outlook:
    read = figures.read
    queue = QueueDepth(
        messages=read.messages, usage_mb=read.usage_mb, quota_mb=read.quota_mb, rejects_on_discard=read.rejects
    )
    return outlook(service, queue, ReplicationStatus(role=read.role, queue_bound=read.bound), figures.seen)
