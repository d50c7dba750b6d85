"""Reads and shows, for a watch, the replication queue of a message VPN at the acting site. No decision is made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from adapters.solace.offers.outlook import outlook
from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.characters import typed
from orchestrator.family.contract import Adapter
from orchestrator.family.fill_estimate import HIGH_SET, Sample, crossing, filling
from orchestrator.family.reachability import probe
from orchestrator.family.watch import Answers, Follower, WatchLine, WatchPart, WatchRow, WatchTarget
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role

READINGS = ("replication_queue", "replication")
_SAMPLES_KEPT = 60

Happened = Literal["high", "clear", "full", "room"]
_HAPPENED: Mapping[Happened, str] = {
    "high": "HIGH MARK: the queue is {percent:.0f}% full, the mark is at {mark:.0f}%",
    "clear": "the queue is below its high mark again",
    "full": "FULL: the queue has reached its quota",
    "room": "there is room in the queue again",
}


class QueueFollower(Follower):
    """Follows the queue of one service."""

    def __init__(self, target: WatchTarget) -> None:
        self._target = target
        self._samples: list[Sample] = []
        self._seen = filling(())
        self._is_high = self._is_full = False
        self._is_suspended: bool | None = None
        self._advised = ""

    def take(self, found: Mapping[str, Reading | Failure], now: float) -> WatchRow | None:
        """See ``Follower``."""
        queue, status = found["replication_queue"], found["replication"]
        if isinstance(queue, Failure):
            unread = WatchLine(f"UNKNOWN: {queue.text}", is_alarm=True)
            return WatchRow({"state": "unknown", "error": queue.text}, [unread])
        if not isinstance(queue, QueueDepth):
            return None
        happened = self._sampled(queue, now)
        known = status if isinstance(status, ReplicationStatus) else None
        judged = outlook(self._target.service, queue, known, self._seen, suspends_at=self._target.suspend_at)
        if known is not None and known.role is Role.STANDBY:
            judged = replace(judged, advice=self._elsewhere())
        lines = [WatchLine(judged.sentence), *map(self._line, happened)]
        if judged.advice and judged.advice != self._advised:
            lines.append(WatchLine(f"what to do: {judged.advice}", is_alarm=True))
        self._advised = judged.advice
        return WatchRow(
            {**self.figures(), "state": judged.state, "happened": happened, "advice": judged.advice}, lines
        )

    def figures(self) -> dict[str, object]:
        """See ``Follower``; None is unknown. Rates are per second."""
        last = self._last
        return {
            "messages": last.messages,
            "usage_mb": _rounded(last.usage_mb),
            "quota_mb": last.quota_mb,
            "percent_full": _rounded(self._seen.percent),
            "rate_per_s": _rounded(self._seen.rate),
            "full_in_s": _rounded(self._seen.full_in_s),
            "suspended": self._is_suspended,
            "high": self._is_high,
        }

    @property
    def percent_full(self) -> float | None:
        """See ``Follower``."""
        return self._seen.percent

    @property
    def is_suspended(self) -> bool | None:
        """See ``Follower``."""
        return self._is_suspended

    def reaches_in_s(self, percent: float) -> float | None:
        """See ``Follower``."""
        last, rate_mb = self._last, self._seen.rate_mb
        if not last.quota_mb or last.usage_mb is None or rate_mb is None or rate_mb <= 0:
            return None
        left_mb = last.quota_mb * percent / 100 - last.usage_mb
        return left_mb / rate_mb if left_mb > 0 else None

    def _sampled(self, queue: QueueDepth, at: float) -> list[Happened]:
        """Add a reading and return the events since the previous reading."""
        sample = Sample(at, queue.messages, queue.usage_mb, queue.quota_mb)
        self._samples = [*self._samples[1 - _SAMPLES_KEPT :], sample]
        self._seen = filling(self._samples)
        self._is_suspended = None if queue.rejects_on_discard is None else not queue.rejects_on_discard
        happened: list[Happened] = []
        crossed = crossing(self._is_high, self._seen.percent)
        if crossed is not None:
            self._is_high = crossed == "high"
            happened.append(crossed)
        is_full = self._seen.full_in_s == 0.0
        if is_full is not self._is_full and self._seen.percent is not None:
            self._is_full = is_full
            happened.append("full" if is_full else "room")
        return happened

    def _line(self, event: Happened) -> WatchLine:
        text = _HAPPENED[event].format(percent=self._seen.percent or 0.0, mark=HIGH_SET)
        return WatchLine(text, is_alarm=event in ("high", "full"))

    def _elsewhere(self) -> str:
        """The advice about the queue of a site that gave up its activity."""
        target = self._target
        return (
            f"{target.site} is standby, so nothing more is published into this queue; once {target.mate} serves, follow "
            f"its queue: `failover watch {typed(target.service)} --site {target.mate}`"
        )

    @property
    def _last(self) -> Sample:
        return self._samples[-1] if self._samples else Sample(0.0)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _read(adapter: Adapter, services: Sequence[str]) -> Answers:
    return {name: probe(adapter, name, services) for name in READINGS}


WATCH = WatchPart(
    read=_read,
    follow=QueueFollower,
    ended="stopped; the queue is no longer watched",
    active_by="replication",
    suspends="suspend",
)
