"""Contenders take turns at the same work, and one table shows the time of each.

A round of a contender returns its figures, and raises ``AssertionError`` if its answer is wrong. A contender that cannot
be installed or started is a row with the reason. This file must never leave out a contender.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from statistics import median

Round = Callable[[], Mapping[str, float]]
"""One round: figures by the name of their column."""


class Unavailable(Exception):
    """The contender cannot take part here. The text has the reason."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One contender. ``opened`` prepares a round, outside of the measured time. ``remark``: facts that the figures do not
    show. ``most``: the maximum number of rounds, for a slow contender. With fewer rounds than the contest, its rounds are
    spread over the contest, and it has no warm-up."""

    name: str
    opened: Callable[[], AbstractContextManager[Round]]
    remark: str = ""
    most: int = 99


@dataclass(frozen=True, slots=True)
class Contest:
    """One contest. ``columns`` are shown as ``median (least to most)``. ``plain`` columns are equal in each round, and
    are shown as one number. The ratios compare the first of ``columns`` with the contender ``against``."""

    title: str
    contenders: Sequence[Contender]
    columns: Sequence[str]
    against: str
    plain: Sequence[str] = ()
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one contender, by column, or the reason why there are none."""

    name: str
    figures: Mapping[str, Sequence[float]]
    remark: str
    failed: str = ""


def held(contest: Contest, rounds: int, *, warm: int = 1) -> list[Row]:
    """Hold the contest. Each round plays every contender once, so a busy machine affects all of them equally. The first
    ``warm`` rounds do not count."""
    figures: dict[str, dict[str, list[float]]] = {one.name: defaultdict(list) for one in contest.contenders}
    failed: dict[str, str] = {}
    turns = {one.name: _turns(one.most, rounds, warm) for one in contest.contenders}
    with ExitStack() as stack:
        playing: dict[str, Round] = {}
        for one in contest.contenders:
            try:
                playing[one.name] = stack.enter_context(one.opened())
            except Unavailable as error:
                failed[one.name] = f"not available: {error}"
            except AssertionError as error:
                failed[one.name] = f"WRONG before round 1: {error}"
        for number in range(warm + rounds):
            for name, play in [(name, play) for name, play in playing.items() if number in turns[name]]:
                print(
                    f"\r{contest.title}: round {number + 1} of {warm + rounds}, {name}\x1b[K", end="", file=sys.stderr
                )
                try:
                    taken = play()
                except AssertionError as error:
                    failed[name] = f"WRONG in round {number + 1}: {error}"
                    del playing[name]
                    continue
                for column, figure in taken.items():
                    if number >= warm:
                        figures[name][column].append(figure)
        print("\r\x1b[K", end="", file=sys.stderr)
    return [Row(one.name, figures[one.name], one.remark, failed.get(one.name, "")) for one in contest.contenders]


def _turns(most: int, rounds: int, warm: int) -> set[int]:
    if most >= rounds:
        return set(range(warm + rounds))
    return {warm + number * rounds // most for number in range(most)}


def table(contest: Contest, rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ["", *contest.columns, *contest.plain, f"ratio to {contest.against}", "rounds", "remark"]
    lines = [head, ["---"] * len(head)]
    base = next((_middle(row, contest.columns[0]) for row in rows if row.name == contest.against), None)
    for row in rows:
        if row.failed:
            lines.append([row.name, *["-"] * (len(contest.columns) + len(contest.plain) + 2), row.failed])
            continue
        shown = [_spread(row.figures[column], contest.digits) for column in contest.columns]
        shown += [" or ".join(f"{one:,g}" for one in sorted(set(row.figures[column]))) for column in contest.plain]
        own = _middle(row, contest.columns[0])
        ratio = "-" if base is None or own is None else f"{own / base:.2f}"
        lines.append([row.name, *shown, ratio, str(len(row.figures[contest.columns[0]])), row.remark])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def is_whole(rows: Sequence[Row]) -> bool:
    """Was every answer right? A contender that could not be installed does not count as a wrong answer."""
    return not any(row.failed.startswith("WRONG") for row in rows)


def _middle(row: Row, column: str) -> float | None:
    return None if row.failed or not row.figures[column] else median(row.figures[column])


def _spread(figures: Sequence[float], digits: int) -> str:
    return f"{median(figures):,.{digits}f} ({min(figures):,.{digits}f} to {max(figures):,.{digits}f})"
