"""Slow devices: the drawn durations of the calls of a site. Shared by all processes of a simulated run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from proof.simulation.effects import SLOW
from proof.simulation.story import Slow


class Slowness:
    """The slow calls. ``effects`` counts those that occurred."""

    def __init__(self, slow: Sequence[Slow], effects: Counter[str]) -> None:
        self._effects = effects
        self._left = [(one, [one.skip, one.times]) for one in slow]

    def of(self, site: str, name: str) -> tuple[float, float]:
        """The seconds that the next call takes before it reaches the device, and the seconds afterwards."""
        before = after = 0.0
        for slow, left in self._left:
            if slow.site != site or slow.reading not in ("", name) or left[1] <= 0:
                continue
            if left[0]:
                left[0] -= 1
                continue
            left[1] -= 1
            self._effects[f"{SLOW}: {'after' if slow.after else 'before'}"] += 1
            if slow.after:
                after += slow.seconds
            else:
                before += slow.seconds
        return before, after
