"""Decides which files and numbers a closer check reads: as few rows as possible with a few conditions for Parquet.

Parquet's statistics skip row groups and pages without a wanted number. A condition with many ranges is slow. So files
whose numbers are far apart are read separately, each with the ranges that concern it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pipeline.layout import ROWS_A_PAGE

Range = tuple[int, int]

# Each range adds 100 bytes to a method that the JVM compiles only below 8,000 bytes. Above, reading took several times
# as long.
RANGES_MAX = 48
# Each reading is planned separately. Planning takes longer than reading some unneeded pages.
READINGS_MAX = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """Files (their paths) that are read together, and the wanted ranges of numbers, both ends included."""

    files: Sequence[str]
    ranges: Sequence[Range]


def readings(spans: Mapping[str, Range], wanted: Iterable[Range]) -> list[Reading]:
    """A few readings that cover the ``wanted`` ranges. ``spans``: lowest and highest number of each file. Files without
    a wanted number are left out."""
    ranges = merged(wanted, RANGES_MAX * READINGS_MAX)
    concerned = sorted((*_concerning(ranges, span), path) for path, span in spans.items())
    files = [one for one in concerned if one[0] < one[1]]
    most = RANGES_MAX
    while len(groups := list(_grouped(files, most))) > READINGS_MAX:
        most *= 2
    return [
        Reading(
            [path for _, _, path in group], merged(ranges[group[0][0] : max(end for _, end, _ in group)], RANGES_MAX)
        )
        for group in groups
    ]


def rows_read(wanted: Sequence[Range], rows_wanted: int) -> int:
    """The approximate number of rows of both sides that are read for ``rows_wanted`` in these ranges. For each range and
    side, the rest of a page is read too."""
    return rows_wanted + 2 * ROWS_A_PAGE * len(merged(wanted, len(wanted)))


def _concerning(ranges: Sequence[Range], span: Range) -> tuple[int, int]:
    """The slice (start, end) of the ``ranges`` with numbers of ``span``. ``ranges`` are sorted and do not overlap."""
    return bisect_left(ranges, span[0], key=lambda one: one[1]), bisect_right(ranges, span[1], key=lambda one: one[0])


def _grouped(files: Sequence[tuple[int, int, str]], most: int) -> Iterator[list[tuple[int, int, str]]]:
    """Groups of files, in order. At most ``most`` ranges concern a group of several files."""
    group: list[tuple[int, int, str]] = []
    for file in files:
        if group and max(file[1], *(end for _, end, _ in group)) - group[0][0] > most:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def merged(ranges: Iterable[Range], most: int) -> list[Range]:
    """At most ``most`` ranges (both ends included) that cover the given ranges; the narrowest gaps are filled."""
    ordered = sorted(ranges)
    highest = list(accumulate((high for _, high in ordered), max))
    gaps = sorted((ordered[n + 1][0] - highest[n], n) for n in range(len(ordered) - 1))
    cuts = sorted(n for gap, n in gaps[::-1][: most - 1] if gap > 1)
    edges = [-1, *cuts, len(ordered) - 1]
    return [(ordered[before + 1][0], highest[last]) for before, last in pairwise(edges) if ordered]


def in_ranges(ranges: Sequence[Range]) -> str:
    """An SQL condition that halves the ranges at each comparison, so a number is compared with a few ranges only."""
    if len(ranges) < 2:
        return "".join(f"sequence BETWEEN {low}L AND {high}L" for low, high in ranges) or "false"
    half = len(ranges) // 2
    middle = ranges[half][0]
    below, above = in_ranges(ranges[:half]), in_ranges(ranges[half:])
    return f"(sequence < {middle}L AND ({below})) OR (sequence >= {middle}L AND ({above}))"
