"""Messages as numbers: sets and queues of publish-sequence numbers, kept as intervals.

A backlog of a hundred thousand messages is one interval, so the cost does not depend on the number of messages. All
intervals are half-open: ``(3, 7)`` is 3, 4, 5, 6. This module does not depend on time, sites or devices. It must
never loop over single messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator

Run = tuple[int, int]


def overlap(one: Run, other: Run) -> Run | None:
    """The numbers that both runs have, or None."""
    start, stop = max(one[0], other[0]), min(one[1], other[1])
    return (start, stop) if start < stop else None


class Numbers:
    """A set of whole numbers: sorted, disjoint, non-adjacent intervals."""

    __slots__ = ("_starts", "_stops", "count")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        self.count = 0
        if isinstance(runs, Numbers):
            self._starts, self._stops, self.count = runs._starts.copy(), runs._stops.copy(), runs.count
            return
        for start, stop in runs:
            self.add(start, stop)

    def __iter__(self) -> Iterator[Run]:
        return iter(zip(self._starts, self._stops, strict=True))

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number < self._stops[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and self._starts == other._starts and self._stops == other._stops

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"Numbers({list(self)!r})"

    @property
    def highest(self) -> int | None:
        """The greatest member, or None."""
        return self._stops[-1] - 1 if self._stops else None

    def add(self, start: int, stop: int) -> None:
        """Make every number from ``start`` up to and without ``stop`` a member."""
        if start >= stop:
            return
        if self._stops and self._stops[-1] == start:  # the usual case: the next messages in order
            self._stops[-1] = stop
            self.count += stop - start
            return
        first = bisect_left(self._stops, start)
        last = bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self.count += stop - start - self._size(first, last)
        self._starts[first:last] = [start]
        self._stops[first:last] = [stop]

    def discard(self, start: int, stop: int) -> None:
        """Make none of these numbers a member."""
        if not self._starts or stop <= self._starts[0]:
            return
        first, last = self._touched(start, stop)
        if first >= last or start >= stop:
            return
        left, right = self._starts[first], self._stops[last - 1]
        if first + 1 == last and start <= left and stop < right:  # the usual case: the first numbers of a run
            self._starts[first] = stop
            self.count -= stop - left
            return
        starts, stops = [left], [start]
        if left >= start:
            starts, stops = [], []
        if stop < right:
            starts.append(stop)
            stops.append(right)
        self.count += sum(stops) - sum(starts) - self._size(first, last)
        self._starts[first:last] = starts
        self._stops[first:last] = stops

    def within(self, start: int, stop: int) -> list[Run]:
        """The members among these numbers."""
        first, last = self._touched(start, stop)
        if start >= stop:
            return []
        return [(max(start, self._starts[i]), min(stop, self._stops[i])) for i in range(first, last)]

    def missing(self, start: int, stop: int) -> list[Run]:
        """These numbers without the members."""
        if not self._stops or start >= self._stops[-1]:  # the usual case: later than all members
            return [(start, stop)] if start < stop else []
        found: list[Run] = []
        for low, high in self.within(start, stop):
            if start < low:
                found.append((start, low))
            start = high
        if start < stop:
            found.append((start, stop))
        return found

    def without(self, other: Numbers) -> Numbers:
        """A new set: the members that ``other`` does not have."""
        rest = Numbers(self)
        for start, stop in other:
            rest.discard(start, stop)
        return rest

    def clear(self) -> None:
        """Make the set empty."""
        self._starts.clear()
        self._stops.clear()
        self.count = 0

    def _touched(self, start: int, stop: int) -> tuple[int, int]:
        return bisect_right(self._stops, start), bisect_left(self._starts, stop)

    def _size(self, first: int, last: int) -> int:
        return sum(self._stops[first:last]) - sum(self._starts[first:last])


class Runs:
    """A queue of numbers in order of arrival. A number may occur several times, once for each copy of the message."""

    __slots__ = ("_runs", "count")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._runs: deque[Run] = deque()
        self.count = 0
        for start, stop in runs:
            self.push(start, stop)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __repr__(self) -> str:
        return f"Runs({list(self)!r})"

    def push(self, start: int, stop: int) -> None:
        """Put these numbers at the end, in rising order."""
        if start >= stop:
            return
        self.count += stop - start
        if self._runs and self._runs[-1][1] == start:
            start = self._runs.pop()[0]
        self._runs.append((start, stop))

    def extend(self, runs: Iterable[Run]) -> None:
        """Put each of ``runs`` at the end."""
        for start, stop in runs:
            self.push(start, stop)

    def pop(self, wanted: int) -> list[Run]:
        """Take up to ``wanted`` numbers from the front."""
        taken: list[Run] = []
        while wanted > 0 and self._runs:
            start, stop = self._runs.popleft()
            cut = min(stop, start + wanted)
            taken.append((start, cut))
            if cut < stop:
                self._runs.appendleft((cut, stop))
            wanted -= cut - start
            self.count -= cut - start
        return taken

    def slice(self, first: int, last: int) -> list[Run]:
        """The numbers at positions ``first`` up to and without ``last``, counted from the front. They stay in the
        queue."""
        found: list[Run] = []
        at = 0
        for start, stop in self._runs:
            if at >= last:
                break
            low, high = start + max(0, first - at), min(stop, start + last - at)
            if low < high:
                found.append((low, high))
            at += stop - start
        return found

    def remove(self, runs: Iterable[Run]) -> Runs:
        """Remove the first copy of each number in ``runs``. Returns the numbers that had no copy in the queue."""
        missing = Runs()
        for run in runs:
            missing.extend(self._remove_one(run))
        return missing

    def clear(self) -> None:
        """Make the queue empty."""
        self._runs.clear()
        self.count = 0

    def _remove_one(self, run: Run) -> list[Run]:
        wanted = [run]
        kept: list[Run] = []
        while wanted and self._runs:
            here = self._runs.popleft()
            pieces, wanted = _subtract(here, wanted)
            kept.extend(pieces)
        self._runs.extendleft(reversed(kept))
        self.count -= (run[1] - run[0]) - sum(stop - start for start, stop in wanted)
        return wanted


def _subtract(here: Run, wanted: list[Run]) -> tuple[list[Run], list[Run]]:
    """The rest of ``here`` without ``wanted``, and the part of ``wanted`` that was not in ``here``. Both are in order."""
    left: list[Run] = []
    missing: list[Run] = []
    at = here[0]
    for want in wanted:
        common = overlap(here, want)
        if common is None:
            missing.append(want)
            continue
        left.append((at, common[0]))
        at = common[1]
        missing.extend(((want[0], common[0]), (common[1], want[1])))
    left.append((at, here[1]))
    return [run for run in left if run[0] < run[1]], [run for run in missing if run[0] < run[1]]
