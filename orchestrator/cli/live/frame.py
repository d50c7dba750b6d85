"""One picture of the live view: header, rows that fit, totals, the question, the keys. Plain text with styles.

It is drawn several times a second, so it makes its lines itself: a table of rich takes ten times as long.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style

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

Span = tuple[str, str]
Line = Sequence[Span]


@dataclass(frozen=True, slots=True)
class Signs:
    """Characters, as far as the terminal's encoding has them."""

    dots: str = "…"
    full: str = "━"
    empty: str = "·"
    here: str = "▸"
    tick: str = "✓"


PLAIN = Signs("...", "#", ".", ">", "*")


@dataclass(slots=True)
class Frame:
    """The lines of one picture."""

    lines: list[Line] = field(default_factory=list)
    width: int = 80

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich wants it."""
        for line in self.lines:
            left = self.width
            for text, style in line:
                if left <= 0:
                    break
                yield Segment(text[:left], console.get_style(style) if style else Style.null())
                left -= len(text)
            yield Segment.line()


@dataclass(frozen=True, slots=True)
class Columns:
    """How wide each column is; 0: it is left out."""

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
    """Columns that fit in ``width``; ``longest``: the longest name of a service."""
    wide = width >= 120
    bar, queue, rate, eta, outage = (16, 11, 9, 7, 8) if wide else (6, 8, 7, 5, 6)
    step, gaps = 5, 8 if wide else 7
    rest = width - (step + bar + queue + rate + eta + outage + gaps)
    service = min(longest, max(8, rest // 2 if not wide else rest // 4))
    state = min(28, rest - service) if wide else rest - service
    title = min(64, rest - service - state) if wide else 0
    return Columns(service, step, max(0, title), bar, queue, rate, eta, outage, max(0, state))


def heading(at: Columns) -> Line:
    """The names of the columns."""
    cells = [_left("service", at.service), _right("step", at.step)]
    cells += [_left("", at.title)] if at.title else []
    cells += [_left("drain", at.bar), _right("queue", at.queue), _right("rate", at.rate), _right("ETA", at.eta)]
    cells += [_right("outage", at.outage), _left("state", at.state)]
    return [(" ".join(cells), NOTE)]


def row_line(row: Row, at: Columns, steps: int, slo: float, signs: Signs, *, is_here: bool) -> Line:
    """One service."""
    name = _cut(presentable(row.service), at.service, signs)
    spans: list[Span] = [(_left(name, at.service), "reverse" if is_here else "")]
    spans.append((f" {_right(f'{row.step}/{steps}' if row.step else '-', at.step)}", ""))
    if at.title:
        spans.append((f" {_left(_cut(row.title, at.title, signs), at.title)}", NOTE))
    spans.append((f" {_bar(row.done, at.bar, signs)}", GOOD))
    queue = "" if row.queue is None else f"{row.queue:,.0f}"
    rate = "" if row.rate is None else f"{row.rate:,.0f}/s"
    numbers = (_right(queue, at.queue), _right(rate, at.rate), _right(seconds(row.eta), at.eta))
    spans.append((f" {' '.join(numbers)}", ""))
    is_late = row.outage is not None and row.outage >= slo
    spans.append((f" {_right(seconds(row.outage), at.outage)}", LATE_STYLE if is_late else ALARM))
    spans.append((f" {_cut(row.state, at.state, signs)}", _STATE_STYLE.get(row.rank, "")))
    return spans


def totals_line(totals: Totals, left: str, slo: float) -> str:
    """All services in a sentence. ``left``: what their queues hold, in words."""
    parts = [f"{totals.done} of {totals.services} done"]
    parts += [f"{totals.running} running"] if totals.running else []
    parts += [f"{totals.asking} ask"] if totals.asking else []
    parts += [f"{totals.troubled} in trouble"] if totals.troubled else []
    parts += [left] if left else []
    parts += [f"{totals.rate:,.0f}/s"] if totals.rate else []
    parts += [f"{totals.over_slo} out for {seconds(slo)} or more"] if totals.over_slo else []
    return ", ".join(parts)


def seconds(number: float | None) -> str:
    """``7s``, ``3m12s``, ``2h05m``; empty for None."""
    if number is None:
        return ""
    whole = int(number)
    if whole < 100:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def folded(texts: Iterable[str], width: int) -> Iterator[str]:
    """The lines, broken at blanks, with their indent kept."""
    for text in texts:
        if len(text) <= width:
            yield text
            continue
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        yield from textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False, drop_whitespace=True)


def _bar(done: float | None, width: int, signs: Signs) -> str:
    if done is None:
        return " " * width
    full = round(done * width)
    return signs.full * full + signs.empty * (width - full)


def _cut(text: str, width: int, signs: Signs) -> str:
    return text if len(text) <= width else text[: max(0, width - len(signs.dots))] + signs.dots[:width]


def _left(text: str, width: int) -> str:
    return f"{text:<{width}}"


def _right(text: str, width: int) -> str:
    return f"{text:>{width}}"
