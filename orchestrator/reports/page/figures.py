"""Formats numbers and moments for a document, and computes the geometry of its bars. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from orchestrator.reports.page.story import Gauge, ServiceStory, Span

# Bars are measured in percent of the width of their drawing.
WIDTH = 100.0
_NARROWEST = 0.3  # a step without duration is still visible
# The most ticks of an axis. More labels would not fit beside each other on paper.
_TICKS = 5
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_LOWER_KINDS = frozenset({"no active site", "both active"})
_MARK_KINDS = frozenset({"decision", "not led"})


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle. ``x`` and ``width`` are parts of ``WIDTH``. ``style`` is a class of the style sheet."""

    x: float
    width: float
    style: str
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the time axis, with its label."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars of a service. ``upper`` are its steps. ``lower`` are the times that its users noticed: no site active, or
    both. ``marks`` are waits for a decision or a resume, drawn in front of both."""

    upper: tuple[Bar, ...]
    lower: tuple[Bar, ...]
    marks: tuple[Bar, ...]


def seconds(value: float | None) -> str:
    """``20 ms``, ``3.44 s``, ``2 min 05 s``, ``1 h 02 min``; ``unknown``."""
    if value is None:
        return "unknown"
    if 0 < value < 0.1:
        return f"{value * 1000:.0f} ms"
    if value < 10:
        return f"{value:.2f} s"
    if value < 120:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"


def bars_of(service: ServiceStory, total: float) -> Bars:
    """The bars of a service, on an axis of ``total`` seconds."""
    placed = [(span, _bar(span, total)) for span in service.spans]
    return Bars(
        upper=tuple(bar for span, bar in placed if span.kind not in _LOWER_KINDS | _MARK_KINDS),
        lower=tuple(bar for span, bar in placed if span.kind in _LOWER_KINDS),
        marks=tuple(bar for span, bar in placed if span.kind in _MARK_KINDS),
    )


def _bar(span: Span, total: float) -> Bar:
    scale = WIDTH / total if total > 0 else 0.0
    width = max((span.end - span.start) * scale, _NARROWEST)
    took = f"{seconds(span.end - span.start)}{', still open at the last record' if span.is_open else ''}"
    title = f"{span.label}: {span.kind}, from {seconds(span.start)} on, {took}"
    x = min(span.start * scale, WIDTH - width)
    return Bar(round(x, 2), round(width, 2), span.kind.replace(" ", "-"), title)


def ticks(total: float) -> tuple[Tick, ...]:
    """Round moments on an axis of ``total`` seconds."""
    if total <= 0:
        return (Tick(0.0, "0"),)
    every = next((one for one in (*_fine(total), *_STEPS_S) if total / one <= _TICKS), None)
    if every is None:
        every = ceil(total / _TICKS / 86400) * 86400
    count = floor(total / every)
    return tuple(Tick(round(number * every * WIDTH / total, 2), _tick(number * every)) for number in range(count + 1))


def _fine(total: float) -> tuple[float, ...]:
    """Tick distances below a second, for short runs."""
    if total >= 1:
        return (0.2, 0.5)
    unit = 10.0 ** floor(log10(total / _TICKS))
    return (unit, 2 * unit, 5 * unit, 10 * unit)


def _tick(value: float) -> str:
    if value == 0:
        return "0"
    if value < 60:
        return f"{value:g} s"
    if value < 7200:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes}:{rest:02}" if rest else f"{minutes} min"
    return f"{value / 3600:g} h"


def curve(gauges: Sequence[Gauge], total: float, height: float) -> str:
    """The points of a line through the values that a wait followed. Empty for fewer than two values."""
    most = max((one.value for one in gauges), default=0.0)
    if len(gauges) < 2 or total <= 0 or most <= 0:
        return ""
    return " ".join(
        f"{one.at * WIDTH / total:.2f},{height - one.value / most * (height - 2) - 1:.1f}" for one in gauges
    )
