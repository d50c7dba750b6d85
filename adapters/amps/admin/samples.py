"""When a sampled statistic may be believed. AMPS takes its statistics anew only every ``Admin/Interval``.

What an instance shows may be older than what we did to it, so after an action of ours nothing that it could have
changed is believed for two intervals; nor is it when a session that acts begins, for a run that was killed may have
acted a moment before. That a link is calm is believed for as long as distinct samples have shown it, one after the
other. Nothing here asks a device.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.clock import Clock

SETTLED_INTERVALS = 2
# Samples that nobody looked at between two looks so far apart prove nothing.
_GAP_INTERVALS = 3
_GAP_S = 10.0


@dataclass(frozen=True, slots=True)
class _Calm:
    first: float
    last: float
    asked_at: float


class Samples:
    """What is remembered of one instance's samples. ``acts``: this session may change it."""

    def __init__(self, clock: Clock, *, acts: bool) -> None:
        self._clock = clock
        self._touched_at: float | None = clock.now() if acts else None
        self._calm: dict[tuple[str, float], _Calm] = {}

    def acted(self) -> None:
        """An action is about to leave, or has left, for this instance."""
        self._touched_at = self._clock.now()
        self._calm.clear()

    def is_settled(self, interval_s: float) -> bool:
        """Was every sample that can be shown now taken after our last action?"""
        touched = self._touched_at
        return touched is None or self._clock.now() - touched >= SETTLED_INTERVALS * interval_s

    def lasts_s(
        self, link: tuple[str, float], is_so: bool | None, stamp: float | None, interval_s: float
    ) -> float | None:
        """For how long ``link`` has been so, from the first such sample to this one. It goes by its name, and by what is
        asked of it: so many seconds behind at most.

        ``stamp``: when the sample was taken, by the instance's own clock; without one our own has to do.
        """
        if not is_so:
            self._calm.pop(link, None)
            return None if is_so is None else 0.0
        now = self._clock.now()
        stamp = now if stamp is None else stamp
        known = self._calm.get(link)
        gap = max(_GAP_INTERVALS * interval_s, _GAP_S)
        if known is None or stamp < known.last or now - known.asked_at > gap:
            known = _Calm(stamp, stamp, now)
        self._calm[link] = _Calm(known.first, stamp, now)
        return stamp - known.first
