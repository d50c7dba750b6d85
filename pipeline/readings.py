"""Which files a closer check reads, and which numbers of them: as few rows as can be told to Parquet in a few conditions.

Row groups and pages without any wanted number are left out by their statistics. A condition of many ranges is slow, so
files whose numbers are far apart are read apart, each with the ranges that concern it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pipeline.layout import ROWS_A_PAGE

Range = tuple[int, int]

# Each range adds 100 bytes to a method that the JVM compiles only below 8,000; above, reading took several times as long.
RANGES_MAX = 48
# Each reading is planned by itself, which takes longer than to read some pages too many.
READINGS_MAX = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """Files (their paths) that are read in one go, and the wanted ranges of numbers, both ends included."""

    files: Sequence[str]
    ranges: Sequence[Range]


def readings(spans: Mapping[str, Range], wanted: Iterable[Range]) -> list[Reading]:
    """A few readings that cover what is ``wanted``. ``spans``: lowest and highest number of each file. A file without
    any wanted number is in none of them."""
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
    """About how many rows of both sides are read for ``rows_wanted`` in these ranges: with each range, at either side,
    what is beside it in its page."""
    return rows_wanted + 2 * ROWS_A_PAGE * len(merged(wanted, len(wanted)))


def _concerning(ranges: Sequence[Range], span: Range) -> tuple[int, int]:
    """From which to before which of the ``ranges``, in order and apart, have numbers of ``span``."""
    return bisect_left(ranges, span[0], key=lambda one: one[1]), bisect_right(ranges, span[1], key=lambda one: one[0])


def _grouped(files: Sequence[tuple[int, int, str]], most: int) -> Iterator[list[tuple[int, int, str]]]:
    """Files in order, together as long as no more than ``most`` ranges concern them."""
    group: list[tuple[int, int, str]] = []
    for file in files:
        if group and max(file[1], *(end for _, end, _ in group)) - group[0][0] > most:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def merged(ranges: Iterable[Range], most: int) -> list[Range]:
    """At most so many ranges (both ends included) that cover the given ones; the narrowest gaps are filled."""
    ordered = sorted(ranges)
    highest = list(accumulate((high for _, high in ordered), max))
    gaps = sorted((ordered[n + 1][0] - highest[n], n) for n in range(len(ordered) - 1))
    cuts = sorted(n for gap, n in gaps[::-1][: most - 1] if gap > 1)
    edges = [-1, *cuts, len(ordered) - 1]
    return [(ordered[before + 1][0], highest[last]) for before, last in pairwise(edges) if ordered]


def in_ranges(ranges: Sequence[Range]) -> str:
    """A condition that halves the ranges at each comparison: reading compares a number a few times, not with all."""
    if len(ranges) < 2:
        return "".join(f"sequence BETWEEN {low}L AND {high}L" for low, high in ranges) or "false"
    half = len(ranges) // 2
    middle = ranges[half][0]
    below, above = in_ranges(ranges[:half]), in_ranges(ranges[half:])
    return f"(sequence < {middle}L AND ({below})) OR (sequence >= {middle}L AND ({above}))"
