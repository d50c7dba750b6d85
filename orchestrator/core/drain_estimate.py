"""The estimate of a drain: how much is left, how fast it falls, when it reaches zero, when to read again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.model.events import Seen
from orchestrator.model.reading import Elsewhere
from orchestrator.model.runbook import Progress, Side

# (when it was read, seconds since the epoch; the number)
Samples = Sequence[tuple[float, float]]


def number_left(follows: Progress, seen: Iterable[Seen]) -> float | None:
    """The rest of the number that a wait follows, by one round of readings; None: unknown."""
    found = {(one.on, one.reading): one for one in seen}
    own = _number(found.get((follows.on, follows.reading)), follows.field)
    if own is None or follows.up_to is None:
        return own
    goal = value_elsewhere(follows.up_to, found, (follows.on, follows.reading))
    return max(0.0, float(goal) - own) if isinstance(goal, int | float) else None


def value_elsewhere(
    other: Elsewhere, seen: Mapping[tuple[Side, str], Seen], compared: tuple[Side, str]
) -> object | None:
    """The value of the other site that the reading ``compared`` is compared with. None: unknown. The value is also
    unknown if it was asked for later than ``compared``: the other site may have issued more in between."""
    there, here = seen.get((other.on, other.reading)), seen.get(compared)
    if there is None or here is None or there.asked_at > here.asked_at:
        return None
    found: object = getattr(there.value, other.field, None)
    return found


def _number(seen: Seen | None, field: str) -> float | None:
    value = None if seen is None else getattr(seen.value, field, None)
    return None if value is None else float(value)


@dataclass(frozen=True, slots=True)
class Forecast:
    """``rate``: how fast ``depth`` falls, per second; None: unknown. ``eta``: seconds from the last reading to zero."""

    depth: float
    rate: float | None
    eta: float | None


def forecast(samples: Samples) -> Forecast | None:
    """The forecast from the readings so far; None when there are none.

    The rate is taken over the newest half of the samples, but at least two. So it follows a change of speed, and one odd
    reading does not distort it.
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
    """Seconds from the last reading to the next: the time until the number should be zero, within the given bounds."""
    seen = forecast(samples)
    if seen is None or seen.eta is None:
        # Without a rate: read again soon the first time, then at the longest interval.
        return shortest if len(samples) < 2 else longest
    return min(max(seen.eta, shortest), longest)
