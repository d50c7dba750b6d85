"""Which moment of world time was which moment of the clock, although a world stands still while no one runs it.

After a pause the clock is further on and world time is not. A message keeps the clock's time at which it was sent:
were it to move with each pause, an old message would look young, and a fail-back safer than it is. Nothing here moves
a world or asks for the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable


class Pauses:
    """From world time to seconds since the Unix epoch: stretches without a pause, each with where it started."""

    __slots__ = ("_stretches",)

    def __init__(self, moment: float, epoch: float) -> None:
        self._stretches = [(moment, epoch)]  # (world time, clock), in order of world time

    def epoch(self, moment: float) -> float:
        """When that was, by the clock. The moment at which a pause lies is the one before it: the older of two."""
        at = max(0, bisect_left(self._stretches, (moment,)) - 1)
        began, clock = self._stretches[at]
        return clock + moment - began

    def go_on(self, moment: float, epoch: float) -> None:
        """From this moment of world time on, the clock continues from there."""
        if len(self._stretches) > 1 and self._stretches[-1][0] >= moment:
            del self._stretches[-1]  # nothing happened in it
        self._stretches.append((moment, epoch))

    def forget(self, before: float) -> None:
        """No one will ask for a moment before this one."""
        del self._stretches[: max(0, bisect_left(self._stretches, (before,)) - 1)]

    def dump(self) -> list[tuple[float, float]]:
        """Plain data for the world's file."""
        return list(self._stretches)

    @classmethod
    def load(cls, data: Iterable[Iterable[float]]) -> Pauses:
        """What ``dump`` wrote. Raises TypeError or ValueError when it was not."""
        stretches = [(float(moment), float(epoch)) for moment, epoch in data]
        first, *more = stretches
        found = cls(*first)
        found._stretches.extend(more)
        return found
