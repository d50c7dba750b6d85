"""One frame of the live view: header, the rows that fit, totals, the question, the keys. Plain text with styles.

A frame is drawn several times a second, so this module makes the lines itself. A table of rich takes ten times as long.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

from orchestrator.ages import seconds
from orchestrator.cli.live.rows import ASKS, DONE, ENDED, LATE, STOPPED, TROUBLE, WAITS, Row, Totals
from orchestrator.cli.render.terminal import presentable

ALARM, NOTE, GOOD, LATE_STYLE, HEAD = "bold yellow", "dim", "green", "bold red", "bold"
_STATE_STYLE = {
    ASKS: ALARM,
    STOPPED: LATE_STYLE,
    TROUBLE: ALARM,
    LATE: LATE_STYLE,
    ENDED: ALARM,
    WAITS: NOTE,
    DONE: GOOD,
}

_WIDE, _TITLE_LEAST = 120, 20  # in cells: the width of a wide terminal, and the shortest useful title

Span = tuple[str, str]
Line = Sequence[Span]


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters for signs. A terminal whose encoding lacks them gets other ones."""

    dots: str = "…"
    full: str = "━"
    empty: str = "·"
    here: str = "▸"
    tick: str = "✓"


PLAIN = Signs("...", "#", ".", ">", "*")


@dataclass(slots=True)
class Frame:
    """The lines of one frame."""

    lines: list[Line] = field(default_factory=list)
    width: int = 80
    dots: str = "…"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The frame in the form that rich requires."""
        for line in self.lines:
            left = self.width
            for text, style in line:
                if left <= 0:
                    break
                shown = cut(text, left, self.dots)
                yield Segment(shown, console.get_style(style) if style else Style.null())
                left -= width_of(shown)
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class Columns:
    """The width of each column. 0 means that the column is left out."""

    service: int
    step: int
    title: int
    bar: int
    queue: int
    rate: int
    eta: int
    outage: int
    state: int


def columns_for(width: int, longest: int) -> Columns:
    """The columns that fit in ``width``. ``longest`` is the width of the widest service name. The name, the outage and
    the state get room first, then the other columns."""
    wide = width >= _WIDE
    service, outage, state = min(longest, max(12, width * 2 // 5)), 8 if wide else 6, 28 if wide else 14
    rest = width - service - outage - state - 2
    sizes = (("step", (5,)), ("queue", (11, 8)), ("eta", (7, 5)), ("rate", (9, 7)), ("bar", (16, 6)))
    found = {}
    for name, ways in sizes:
        found[name] = next((size for size in (ways if wide else ways[-1:]) if size < rest), 0)
        rest -= found[name] + 1 if found[name] else 0
    title = min(64, rest - 1) if wide and rest > _TITLE_LEAST else 0
    rest -= title + 1 if title else 0
    return Columns(service, title=title, outage=outage, state=max(0, state + rest), **found)


def heading(at: Columns) -> Line:
    """The names of the columns."""
    cells = [_left("service", at.service)]
    cells += [_right("step", at.step)] if at.step else []
    cells += [_left("", at.title)] if at.title else []
    cells += [_left("drain", at.bar)] if at.bar else []
    numbers = (("queue", at.queue), ("rate", at.rate), ("ETA", at.eta), ("outage", at.outage))
    cells += [_right(name, size) for name, size in numbers if size]
    return [(" ".join([*cells, _left("state", at.state)]), NOTE)]


def row_line(row: Row, name: str, at: Columns, steps: int, slo: float, signs: Signs, *, is_here: bool) -> Line:
    """The line of one service. ``name`` is its displayed name."""
    spans: list[Span] = [(_left(name, at.service), "reverse" if is_here else "")]
    if at.step:
        spans.append((f" {_right(f'{row.step}/{steps}' if row.step else '-', at.step)}", ""))
    if at.title:
        spans.append((f" {_left(cut(row.title, at.title, signs.dots), at.title)}", NOTE))
    if at.bar:
        spans.append((f" {_bar(row.done, at.bar, signs)}", GOOD))
    queue = "" if row.queue is None else f"{row.queue:,.0f}"
    rate = "" if row.rate is None else f"{row.rate:,.0f}/s"
    numbers = ((queue, at.queue), (rate, at.rate), (seconds(row.eta), at.eta))
    spans.append(("".join(f" {_right(number, size)}" for number, size in numbers if size), ""))
    is_late = row.outage is not None and row.outage >= slo
    spans.append((f" {_right(seconds(row.outage), at.outage)}", LATE_STYLE if is_late else ALARM))
    spans.append((f" {cut(row.state, at.state, signs.dots)}", _STATE_STYLE.get(row.rank, "")))
    return spans


def shortened(names: Sequence[str], width: int, dots: str) -> dict[str, str]:
    """Each name in ``width`` cells. Names that are too wide are cut at the end, in the middle, or at the start. The cut
    is made where most of the names stay different."""
    shown = {name: presentable(name) for name in names}
    long = [name for name in names if width_of(shown[name]) > width]
    half = (width - len(dots)) // 2
    ways: list[dict[str, str]] = [
        {name: cut(shown[name], width, dots) for name in long},
        {name: cut(shown[name], width - half, dots) + _tail(shown[name], half) for name in long},
        {name: dots + _tail(shown[name], width - len(dots)) for name in long},
    ]
    return shown | max(ways, key=lambda way: len(set(way.values())))


def totals_line(totals: Totals, left: str, slo: float) -> str:
    """The totals of all services in a sentence. ``left`` is the content of their queues in words."""
    parts = [f"{totals.done:,} of {totals.services:,} done"]
    parts += [f"{totals.asking:,} ask"] if totals.asking else []
    parts += [f"{totals.troubled:,} in trouble"] if totals.troubled else []
    parts += [f"{totals.ended:,} ended otherwise"] if totals.ended else []
    parts += [f"{totals.running:,} running"] if totals.running else []
    parts += [left] if left else []
    parts += [f"{totals.rate:,.0f}/s"] if totals.rate else []
    parts += [f"{totals.over_slo:,} with an outage of {seconds(slo)} or more"] if totals.over_slo else []
    return ", ".join(parts)


def folded(texts: Iterable[str], width: int) -> Iterator[str]:
    """The lines, broken at blanks. The parts keep the indent."""
    for text in texts:
        if width_of(text) <= width:
            yield text
            continue
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        if width_of(text) == len(text):
            yield from textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
        else:
            first, *rest = chop_cells(text, width)
            yield first
            yield from (f"{indent}{part}" for part in chop_cells("".join(rest).lstrip(), max(1, width - len(indent))))


def width_of(text: str) -> int:
    """The number of terminal cells of ``text``. Some characters take two cells."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int, dots: str) -> str:
    """``text``, cut to at most ``width`` cells."""
    if width_of(text) <= width:
        return text
    room = max(0, width - len(dots))
    return (chop_cells(text, room)[0] if room > 1 else "") + dots[:width]


def _tail(text: str, width: int) -> str:
    """The last part of ``text`` that fits in ``width`` cells."""
    while width_of(text) > width:
        text = text[1:]
    return text


def _bar(done: float | None, width: int, signs: Signs) -> str:
    if done is None:
        return " " * width
    full = round(done * width)
    return signs.full * full + signs.empty * (width - full)


def _left(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def _right(text: str, width: int) -> str:
    return f"{text:>{width}}"
