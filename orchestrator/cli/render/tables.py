"""Turns a rich table into lines of text: as wide as the terminal, or in full width without a terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Literal

from rich.console import Console
from rich.table import Table

# The width without a terminal, where lines have no limit.
_UNLIMITED = 1_000


def lines_of(table: Table, *, is_whole: bool = False) -> Iterator[str]:
    """The lines of ``table``, without blanks at their ends. ``is_whole``: in full width, also on a terminal."""
    paper = io.StringIO()
    Console(
        file=paper,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if sys.stdout.isatty() and not is_whole else _UNLIMITED,
    ).print(table)
    for line in paper.getvalue().rstrip().splitlines():
        yield line.rstrip()


def plain_table(*columns: str, numbers: frozenset[str] = frozenset()) -> Table:
    """A table without lines around its cells. If the table is too wide, the text of the first column continues on the
    next line. It is not cut, because two cut service names could look the same."""
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if column in numbers else "left"
        table.add_column(column, justify=justify, overflow="ellipsis" if place else "fold")
    return table
