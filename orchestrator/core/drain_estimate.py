"""How fast a number falls, when it will reach zero, and when to look again. Pure arithmetic on past readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# (when it was read, seconds since the epoch; the number)
Samples = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Forecast:
    """``rate``: messages per second leaving, None when unknown. ``eta``: seconds from the last reading to zero."""

    depth: float
    rate: float | None
    eta: float | None


def forecast(samples: Samples) -> Forecast | None:
    """What the readings so far say; None when there are none.

    The rate is taken over the newest half of the samples but at least two, so that it follows a change of speed and
    is not thrown by one odd reading.
    """
    if not samples:
        return None
    depth = samples[-1][1]
    if depth <= 0:
        return Forecast(depth, None, 0.0)
    recent = samples[-max(2, len(samples) // 2) :]
    elapsed = recent[-1][0] - recent[0][0]
    fallen = recent[0][1] - recent[-1][1]
    if elapsed <= 0 or fallen <= 0:
        return Forecast(depth, None, None)
    rate = fallen / elapsed
    return Forecast(depth, rate, depth / rate)


def next_look(samples: Samples, *, shortest: float, longest: float) -> float:
    """Seconds from the last reading to the next: when the number should be zero, within the given bounds."""
    seen = forecast(samples)
    if seen is None or seen.eta is None:
        # Nothing to go by: look soon the first time, then at the slowest pace.
        return shortest if len(samples) < 2 else longest
    return min(max(seen.eta, shortest), longest)
