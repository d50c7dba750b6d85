"""One replication queue that is watched: what was read of it, what that amounts to, and what happened to it. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from orchestrator.core.fill_estimate import Filling, Sample, crossing, filling
from orchestrator.model.readings_solace import QueueDepth

_SAMPLES_KEPT = 60
# How soon a suspension that did not work is tried again, seconds.
_RETRY_AFTER = 60.0

Happened = Literal["high", "clear", "full", "room", "suspended", "not-suspended"]


@dataclass(slots=True)
class WatchedQueue:
    """The queue of one service. ``seen``: what the readings so far say; ``advised``: what was said of it last;
    ``tried_at``: when its suspension was tried last, seconds since the epoch; ``in_the_way``: which run kept it from that
    then, or empty."""

    samples: list[Sample] = field(default_factory=list)
    seen: Filling = field(default_factory=lambda: filling(()))
    is_high: bool = False
    is_full: bool = False
    is_suspended: bool | None = None
    advised: str = ""
    tried_at: float | None = None
    in_the_way: str = ""

    def take(self, queue: QueueDepth, at: float) -> list[Happened]:
        """One more reading; what happened with it."""
        self.samples = [
            *self.samples[1 - _SAMPLES_KEPT :],
            Sample(at, queue.messages, queue.usage_mb, queue.quota_mb),
        ]
        self.seen = filling(self.samples)
        self.is_suspended = None if queue.rejects_on_discard is None else not queue.rejects_on_discard
        happened: list[Happened] = []
        crossed = crossing(self.is_high, self.seen.percent)
        if crossed is not None:
            self.is_high = crossed == "high"
            happened.append(crossed)
        is_full = self.seen.full_in_s == 0.0
        if is_full is not self.is_full and self.seen.percent is not None:
            self.is_full = is_full
            happened.append("full" if is_full else "room")
        return happened

    def wants_suspension(self, suspend_at: float | None, now: float) -> bool:
        """Is it so full, not suspended yet, and not tried a moment ago?"""
        if suspend_at is None or self.is_suspended is not False or self.seen.percent is None:
            return False
        is_due = self.tried_at is None or now - self.tried_at >= _RETRY_AFTER
        return is_due and self.seen.percent >= suspend_at

    def reaches_in_s(self, percent: float) -> float | None:
        """Seconds from the last reading until it is so full; None when it is, or nothing tells."""
        last, rate_mb = self._last, self.seen.rate_mb
        if not last.quota_mb or last.usage_mb is None or rate_mb is None or rate_mb <= 0:
            return None
        left_mb = last.quota_mb * percent / 100 - last.usage_mb
        return left_mb / rate_mb if left_mb > 0 else None

    def figures(self) -> dict[str, object]:
        """What is known of it, for machines; None is unknown. Rates are per second."""
        last = self._last
        return {
            "messages": last.messages,
            "usage_mb": _rounded(last.usage_mb),
            "quota_mb": last.quota_mb,
            "percent_full": _rounded(self.seen.percent),
            "rate_per_s": _rounded(self.seen.rate),
            "full_in_s": _rounded(self.seen.full_in_s),
            "suspended": self.is_suspended,
            "high": self.is_high,
        }

    @property
    def _last(self) -> Sample:
        return self.samples[-1] if self.samples else Sample(0.0)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
