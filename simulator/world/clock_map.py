"""Maps moments of world time to moments of the clock. World time pauses while no process runs the world.

A pause moves the clock but not world time. A message must keep the clock time at which it was sent. Otherwise each
pause would make an old message look younger, and a fail-back would look safer than it is. Nothing here moves a world
or reads the clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable


class Pauses:
    """Converts world time to seconds since the Unix epoch. Keeps the start of each stretch between two pauses."""

    __slots__ = ("_stretches",)

    def __init__(self, moment: float, epoch: float) -> None:
        self._stretches = [(moment, epoch)]  # (world time, clock), in order of world time

    def epoch(self, moment: float) -> float:
        """The clock time of ``moment``. A moment at a pause has two clock times: this returns the older one."""
        at = max(0, bisect_left(self._stretches, (moment,)) - 1)
        began, clock = self._stretches[at]
        return clock + moment - began

    def go_on(self, moment: float, epoch: float) -> None:
        """Start a new stretch: from world time ``moment`` on, the clock continues from ``epoch``."""
        if len(self._stretches) > 1 and self._stretches[-1][0] >= moment:
            del self._stretches[-1]  # the stretch is empty
        self._stretches.append((moment, epoch))

    def forget(self, before: float) -> None:
        """Drop the stretches that only moments before ``before`` need."""
        del self._stretches[: max(0, bisect_left(self._stretches, (before,)) - 1)]

    def dump(self) -> list[tuple[float, float]]:
        """Plain data for the world's file."""
        return list(self._stretches)

    @classmethod
    def load(cls, data: Iterable[Iterable[float]]) -> Pauses:
        """Rebuild the object from the data of ``dump``. Raises TypeError or ValueError for other data."""
        stretches = [(float(moment), float(epoch)) for moment, epoch in data]
        first, *more = stretches
        found = cls(*first)
        found._stretches.extend(more)
        return found
