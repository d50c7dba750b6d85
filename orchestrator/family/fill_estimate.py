"""How fast a replication queue fills, when it will be full, and when its high mark is crossed. Pure arithmetic.

docs/sources/solace-procedure.md, uncontrolled 3: while the failed site is away its mate's replication queue grows. Once
it is full, publishers are refused, unless replication is suspended. This module reads no device and makes no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# The vendor's defaults for the event of a message spool's high mark (docs/sources/solace.md, 4.7), percent.
HIGH_SET, HIGH_CLEAR = 80.0, 60.0
# The quota itself is never reached if the last message that fits leaves a gap. So this level counts as full, percent.
FULL_AT = 99.9

Crossing = Literal["high", "clear"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading of a queue. ``at``: seconds since the epoch. ``None``: the device did not report the value."""

    at: float
    messages: int | None = None
    usage_mb: float | None = None
    quota_mb: float | None = None


@dataclass(frozen=True, slots=True)
class Filling:
    """The estimate from the readings so far; ``None`` is unknown.

    ``rate``: messages a second by which the queue grows, negative while it drains. If nothing is bound to the queue, it
    is the rate of the publishers. ``full_in_s``: seconds from the last reading until the quota is reached, 0.0 when it
    is reached; None also while the queue does not grow.
    """

    percent: float | None
    rate: float | None
    rate_mb: float | None
    full_in_s: float | None


def filling(samples: Sequence[Sample]) -> Filling:
    """The state of one queue and its estimate.

    A rate is taken over the newest half of the samples, but at least two samples. So it follows a change of speed, and
    one odd reading does not distort it.
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
    """The mark that was crossed: ``high`` upwards, ``clear`` back below the lower mark; None: neither, or unknown.

    There are two marks, so that a queue near one mark is not reported again and again.
    """
    if percent is None:
        return None
    if not is_high and percent >= high:
        return "high"
    return "clear" if is_high and percent < clear else None
