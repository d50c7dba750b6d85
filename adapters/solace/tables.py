"""The shapes that Solace's tables and label lists share. Pure functions over lines of text; no meaning is given here.

Tables are cut by the columns of their rule (``---- - -``), never by white space, because names contain blanks and cells
may be blank (docs/sources/solace.md, 3.2 and 3.5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from adapters.solace.dialect import SOLACE

_RULE = re.compile(r"\s*-{2,}(?: +-+)*\s*")
_DASHES = re.compile(r"-+")


class Span(NamedTuple):
    """Columns ``start`` up to, but not including, ``end``."""

    start: int
    end: int


class Label(NamedTuple):
    """``Label : value``; ``indent`` counts the blanks before it."""

    indent: int
    name: str
    value: str


def lines_of(text: str) -> list[str]:
    """The lines that hold something, without blanks at their ends; prompts alone on a line are left out."""
    lines = (line.rstrip() for line in text.split("\n"))
    return [line for line in lines if line and SOLACE.prompt_in(line.strip()) is None]


def label_in(line: str) -> Label | None:
    """The label and value of ``line``, cut at its first colon; None when it has no such shape."""
    name, colon, value = line.partition(":")
    if not colon or not name.strip() or (value and not value[0].isspace()):
        return None
    return Label(len(name) - len(name.lstrip()), name.strip(), value.strip())


def rule_in(line: str) -> tuple[Span, ...] | None:
    """The columns that a rule draws; None when ``line`` is not a rule."""
    if _RULE.fullmatch(line) is None:
        return None
    return tuple(Span(found.start(), found.end()) for found in _DASHES.finditer(line))


def cut(line: str, spans: Sequence[Span]) -> list[str] | None:
    """The cells of ``line`` under ``spans``; the last one runs to the end of the line.

    None if there is text left of the columns or between them, or if the line ends before the last column starts.
    """
    starts = [span.start for span in spans]
    gaps = [Span(left.end, right.start) for left, right in pairwise(spans)]
    if len(line) <= starts[-1] or line[: starts[0]].strip() or any(line[gap.start : gap.end].strip() for gap in gaps):
        return None
    ends = [span.end for span in spans[:-1]] + [len(line)]
    return [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def letters_in(header: str, rule: Sequence[Span]) -> dict[str, Span] | None:
    """Where the flag letters of ``header`` are, by capital letter, if each has a one-dash column of the rule under it.

    None if a letter has no such column, or comes twice. The rule may have columns without a letter
    (docs/sources/solace-procedure.md, controlled 1).
    """
    narrow = {span.start: span for span in rule if span.end - span.start == 1}
    found: dict[str, Span] = {}
    for match in re.finditer(r"(?<=\s)[A-Za-z](?=\s|$)", header):
        span, letter = narrow.get(match.start()), match.group().upper()
        if span is None or letter in found:
            return None
        found[letter] = span
    return found
