"""Loss and duplication by interval around the fail-over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.engines.executor import Row
from pipeline.layout import MICROS
from pipeline.report import CLASSES, Interval
from pipeline.tally import Tally

# Intervals are widened until a service has at most this many, so the answer does not grow with the time span.
_INTERVALS_MAX = 120
_WIDER = (2, 5, 10, 15, 30, 60, 120, 240, 720, 1440)


@dataclass(frozen=True, slots=True)
class Scale:
    """The start of one interval and the width of each interval, in microseconds."""

    zero: int
    width: int

    @classmethod
    def of(cls, tallies: Iterable[Tally], origin: float | None, width_s: float) -> Scale:
        """``origin``: the start of one interval (seconds since the epoch). ``width_s``: the wanted width."""
        spans = [tally.span for tally in tallies if tally.span is not None]
        whole = max((last for _, last in spans), default=0.0) - min((first for first, _ in spans), default=0.0)
        return cls(round((origin or 0.0) * MICROS), round(_width(whole, width_s) * MICROS))

    def start(self, number: int) -> float:
        """The start of an interval, in seconds since the epoch."""
        return (self.zero + number * self.width) / MICROS


def intervals(rows: Sequence[Row], scale: Scale) -> tuple[Interval, ...]:
    """The intervals with differences. ``rows``: the number of differences of each ``class``, by ``service`` and interval
    (``number``). A message that is local to a site by design is not a difference."""
    counts: dict[tuple[str, int], Counter[str]] = {}
    for row in rows:
        if row["class"] in CLASSES:
            counts.setdefault((row["service"], row["number"]), Counter())[row["class"]] += row["count"]
    return tuple(
        Interval(
            service=service,
            start=scale.start(number),
            end=scale.start(number + 1),
            missing=found["missing"],
            extra=found["extra"],
            duplicates=found["duplicate"],
            changed=found["changed"],
        )
        for (service, number), found in sorted(counts.items())
    )


def _width(span_s: float, wanted_s: float) -> float:
    """The wanted width, or the smallest wider width with few enough intervals for the span."""
    for factor in (1, *_WIDER):
        if span_s <= wanted_s * factor * (_INTERVALS_MAX - 1):
            return wanted_s * factor
    return span_s / (_INTERVALS_MAX - 1)
