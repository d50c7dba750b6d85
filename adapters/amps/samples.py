"""Decides when a sampled statistic is reliable. AMPS takes a new sample only every ``Admin/Interval``.

A statistic may be older than this program's last action. So after an action, no value that it could have changed is
used for two intervals. The same holds after the start of a session that acts, since a run that was killed may have
acted a moment before. A link counts as calm for as long as distinct samples have shown it, one after the other. This
module asks no device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.clock import Clock

SETTLED_INTERVALS = 2
# Two polls that are further apart have missed samples between them, so they prove nothing.
_GAP_INTERVALS = 3
_GAP_S = 10.0
# A slow interface, or a busy machine, makes every poll late. So the pace of the polls counts too, up to this limit.
_GAP_PACES = 2
_GAP_LONGEST_S = 120.0


class Gap(NamedTuple):
    """Two polls were ``apart_s`` seconds apart; up to ``most_s`` seconds they would have counted as consecutive."""

    apart_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class _Calm:
    first: float
    last: float
    disconnects: str | None


class Samples:
    """Remembers the samples of one instance. ``acts``: this session may change the instance."""

    def __init__(self, clock: Clock, *, acts: bool) -> None:
        self._clock = clock
        self._touched_at: float | None = clock.now() if acts else None
        self._calm: dict[tuple[str, float], _Calm] = {}
        self._polled_at: float | None = None
        self._paces = (0.0, 0.0)

    def acted(self) -> None:
        """Record that an action is about to be sent, or was sent, to this instance."""
        self._touched_at = self._clock.now()
        self._calm.clear()

    def is_settled(self, interval_s: float) -> bool:
        """Was every sample that can be shown now taken after this program's last action?"""
        touched = self._touched_at
        return touched is None or self._clock.now() - touched >= SETTLED_INTERVALS * interval_s

    def poll(self, interval_s: float) -> Gap | None:
        """Record that the links were read now. If the previous poll is too long ago, every count starts again, and the
        gap is returned.

        The limit grows with the pace of the polls. With a fixed limit, every count would start again if each poll takes
        longer.
        """
        now, before = self._clock.now(), self._polled_at
        self._polled_at = now
        if before is None:
            return None
        most = max(_GAP_INTERVALS * interval_s, _GAP_S, min(_GAP_PACES * max(self._paces), _GAP_LONGEST_S))
        self._paces = (self._paces[1], now - before)
        if now - before <= most:
            return None
        self._calm.clear()
        return Gap(now - before, most)

    def lasts_s(
        self, link: tuple[str, float], is_so: bool | None, stamp: float | None, disconnects: str | None = None
    ) -> float | None:
        """For how long ``is_so`` has been true for ``link``, from the first such sample to this one. ``link`` is the
        name, and the seconds that the link may be behind.

        ``stamp``: when the sample was taken, by the instance's own clock; None: this machine's clock counts.
        ``disconnects``: how often the link was lost (docs/sources/amps.md, 6.2). If that number changes, the count
        starts again.
        """
        if not is_so:
            self._calm.pop(link, None)
            return None if is_so is None else 0.0
        stamp = self._clock.now() if stamp is None else stamp
        known = self._calm.get(link)
        if known is None or stamp < known.last or known.disconnects != disconnects:
            known = _Calm(stamp, stamp, disconnects)
        self._calm[link] = _Calm(known.first, stamp, disconnects)
        return stamp - known.first
