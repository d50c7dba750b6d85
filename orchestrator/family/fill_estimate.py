"""How fast a replication queue fills, when it will be full, and when its high mark is crossed. Pure arithmetic.

docs/sources/solace-procedure.md, uncontrolled 3: while the failed site is away its mate's replication queue grows,
and once it is full publishers are refused, unless replication is suspended. Nothing here reads a device or decides
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# The vendor's defaults for the event of a message spool's high mark (docs/sources/solace.md, 4.7), percent.
HIGH_SET, HIGH_CLEAR = 80.0, 60.0
# Where the last message that still fitted leaves a gap, the quota itself is never reached, percent.
FULL_AT = 99.9

Crossing = Literal["high", "clear"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of a queue. ``at``: seconds since the epoch; ``None`` is what the device did not report."""

    at: float
    messages: int | None = None
    usage_mb: float | None = None
    quota_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Filling:
    """What the readings so far say; ``None`` is unknown.

    ``rate``: messages a second by which the queue grows, negative while it drains. With nothing bound to the queue
    that is what publishers send. ``full_in_s``: seconds from the last reading until the quota is reached, 0.0 when it
    is; None also while the queue does not grow.
    """

    percent: float | None
    rate: float | None
    rate_mb: float | None
    full_in_s: float | None


def filling(samples: Sequence[Sample]) -> Filling:
    """The state and the outlook of one queue.

    A rate is taken over the newest half of the samples but at least two, so that it follows a change of speed and is
    not thrown by one odd reading.
    """
    if not samples:
        return Filling(None, None, None, None)
    last = samples[-1]
    percent = None if last.usage_mb is None or not last.quota_mb else 100.0 * last.usage_mb / last.quota_mb
    rate = _growth([(one.at, one.messages) for one in samples])
    rate_mb = _growth([(one.at, one.usage_mb) for one in samples])
    return Filling(percent, rate, rate_mb, _full_in(last, rate_mb))


def _growth(values: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(at, value) for at, value in values if value is not None]
    recent = known[-max(2, len(known) // 2) :]
    if len(recent) < 2 or recent[-1][0] <= recent[0][0]:
        return None
    return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])


def _full_in(last: Sample, rate_mb: float | None) -> float | None:
    if last.usage_mb is None or not last.quota_mb:
        return None
    left = last.quota_mb - last.usage_mb
    if left <= last.quota_mb * (1 - FULL_AT / 100):
        return 0.0
    return left / rate_mb if rate_mb is not None and rate_mb > 0 else None


def crossing(
    is_high: bool, percent: float | None, *, high: float = HIGH_SET, clear: float = HIGH_CLEAR
) -> Crossing | None:
    """Was the high mark crossed, upwards (``high``) or back below the lower one (``clear``)? None: neither, or unknown.

    Two marks, so that a queue at the border is not reported again and again.
    """
    if percent is None:
        return None
    if not is_high and percent >= high:
        return "high"
    return "clear" if is_high and percent < clear else None
