"""The transaction log of one instance: messages in the order in which they were written, in journal files.

A message is (publisher, sequence number); equal neighbours stand together as one entry. A position is a count of
messages written since the log began. Files are removed whole, oldest first, never with a gap (facts section 3.2).
Nothing here knows of links or time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from adapters.mock.numbers import Numbers, Run

_TOGETHER_S = 1.0  # neighbours written within this are one entry


@dataclass(slots=True)
class Entry:
    """Messages ``first`` up to and without ``stop`` of one publisher, at ``position`` in the log.

    ``path``: the instances it passed before this one, the first being where it was published. ``key`` and ``data``
    belong to a single message of known content; without them, message n is record n modulo ``keys``.
    """

    position: int
    publisher: str
    first: int
    stop: int
    topic: str
    path: tuple[str, ...]
    at: float
    keys: int = 1
    key: str | None = None
    data: str = ""
    kind: Literal["publish", "sow_delete"] = "publish"

    @property
    def count(self) -> int:
        """How many messages."""
        return self.stop - self.first

    @property
    def end(self) -> int:
        """The position behind it."""
        return self.position + self.count

    def part(self, start: int, end: int) -> Entry:
        """Its messages between two positions that it covers."""
        first = self.first + start - self.position
        return replace(self, position=start, first=first, stop=first + end - start)

    def continues(self, other: Entry) -> bool:
        """Could it stand together with ``other``, the entry before it?"""
        same = (self.publisher, self.topic, self.path, self.keys) == (
            other.publisher,
            other.topic,
            other.path,
            other.keys,
        )
        plain = self.key is None and other.key is None
        return same and plain and self.first == other.stop and self.at - other.at < _TOGETHER_S

    def records(self) -> Iterator[tuple[str, int]]:
        """The SOW keys that it touches, each with the last message that does."""
        if self.key is not None:
            yield self.key, self.stop - 1
            return
        for number in range(max(self.first, self.stop - self.keys), self.stop):
            yield str(number % self.keys), number


@dataclass(slots=True)
class JournalFile:
    """One journal. ``messages`` in it; the moments of its oldest and newest."""

    number: int
    entries: list[Entry] = field(default_factory=list)
    archived: bool = False
    compressed: bool = False

    @property
    def messages(self) -> int:
        """How many messages are in it."""
        return self.entries[-1].end - self.entries[0].position if self.entries else 0

    @property
    def file_name(self) -> str:
        """As it stands in the journal directory."""
        return f"{self.number:010d}.journal" + (".gz" if self.compressed else "")


@dataclass(slots=True)
class Journal:
    """All journals of one instance, oldest first; the last one is being written."""

    file_messages: int
    files: list[JournalFile] = field(default_factory=lambda: [JournalFile(1)])
    next: int = 0  # the position of the next message

    @property
    def lowest(self) -> int:
        """The position of the oldest message still there."""
        return next((one.entries[0].position for one in self.files if one.entries), self.next)

    @property
    def is_empty(self) -> bool:
        """Does it hold no message at all?"""
        return self.lowest == self.next

    @property
    def first_at(self) -> float | None:
        """When its oldest message was written."""
        return next((one.entries[0].at for one in self.files if one.entries), None)

    @property
    def last_at(self) -> float | None:
        """When its newest message was written."""
        return next((one.entries[-1].at for one in reversed(self.files) if one.entries), None)

    def append(self, entry: Entry) -> Entry:
        """Write ``entry`` at the end; returns it with its position."""
        written = replace(entry, position=self.next)
        last = self.files[-1]
        if last.messages >= self.file_messages:
            last = JournalFile(last.number + 1)
            self.files.append(last)
        if last.entries and written.continues(last.entries[-1]):
            last.entries[-1].stop = written.stop
        else:
            last.entries.append(replace(written))
        self.next = written.end
        return written

    def between(self, start: int, end: int) -> Iterator[Entry]:
        """What stands from ``start`` up to ``end``, entries cut where they reach beyond; what is removed is skipped."""
        if start >= min(end, self.next):
            return  # as for most links and readers at most steps: they have everything
        for file in self.files[self._file_of(start) :]:
            if not file.entries or file.entries[-1].end <= start:
                continue
            first = max(0, bisect_right(file.entries, start, key=lambda one: one.position) - 1)
            for entry in file.entries[first:]:
                if entry.position >= end:
                    return
                low, high = max(start, entry.position), min(end, entry.end)
                if low < high:
                    yield entry if (low, high) == (entry.position, entry.end) else entry.part(low, high)

    def all(self) -> Iterator[Entry]:
        """Everything still there."""
        return self.between(self.lowest, self.next)

    def numbers(self, publisher: str, start: int = 0) -> Numbers:
        """The messages of one publisher that stand at ``start`` or later."""
        return Numbers(
            (one.first, one.stop)
            for one in self.between(max(start, self.lowest), self.next)
            if one.publisher == publisher
        )

    def find(self, publisher: str, number: int) -> int | None:
        """The position of a message; the newest, if it stands there twice."""
        for file in reversed(self.files):
            for entry in reversed(file.entries):
                if entry.publisher == publisher and entry.first <= number < entry.stop:
                    return entry.position + number - entry.first
        return None

    def remove(self, files: int) -> None:
        """Remove the oldest ``files`` files, fewer than there are."""
        self.files = self.files[files:]

    def removable(self, acknowledged: int, before: float | None = None) -> int:
        """How many of the oldest files hold only what is acknowledged, and what was written before that moment. The
        one being written is never among them."""
        count = 0
        for file in self.files[:-1]:
            if file.entries[-1].end > acknowledged:
                break
            if before is not None and file.entries[-1].at >= before:
                break
            count += 1
        return count

    def _file_of(self, position: int) -> int:
        after = bisect_right(
            self.files, position, key=lambda one: one.entries[0].position if one.entries else self.next
        )
        return max(0, after - 1)


def runs_above(entry: Entry, highest: int) -> Run | None:
    """The messages of ``entry`` with a number above ``highest``."""
    first = max(entry.first, highest + 1)
    return (first, entry.stop) if first < entry.stop else None
