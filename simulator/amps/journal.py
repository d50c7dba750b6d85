"""The transaction log of one instance: messages in write order, in journal files.

A message is (publisher, sequence number). Similar neighbours share one entry. A position is the number of messages
written before it since the log started. Only whole files are removed, oldest first, without gaps
(docs/sources/amps.md, 3.2). Nothing here depends on links or time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Literal

from simulator.world.intervals import Numbers

_position = attrgetter("position")
_TOGETHER_S = 1.0  # seconds: neighbours written within this time share one entry


@dataclass(slots=True)
class Entry:
    """Messages ``first`` up to and without ``stop`` of one publisher, at ``position`` in the log.

    ``path``: the instances that the messages passed before this one. The first is where they were published. ``key`` and
    ``data`` belong to a single message of known content. Without them, message n is record n modulo ``keys``.
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
        """The number of messages."""
        return self.stop - self.first

    @property
    def end(self) -> int:
        """The position after the last message of this entry."""
        return self.position + self.stop - self.first

    def last_before(self, position: int) -> int:
        """The number of the last message of this entry before ``position``, which is after the first message."""
        return min(self.stop, self.first + position - self.position) - 1

    def part(self, start: int, end: int) -> Entry:
        """The messages of this entry between two positions within it."""
        first = self.first + start - self.position
        return self._copied(start, first, first + end - start, self.path, self.at)

    def above(self, number: int) -> Entry:
        """The messages of this entry with a number above ``number``. Returns the entry itself if that is all of them."""
        return self if self.first > number else self.part(self.position + number + 1 - self.first, self.end)

    def passed_on(self, by: str, at: float) -> Entry:
        """The same messages as they arrive at another instance."""
        return self._copied(self.position, self.first, self.stop, (*self.path, by), at)

    def _copied(self, position: int, first: int, stop: int, path: tuple[str, ...], at: float) -> Entry:
        # Not ``replace``, which takes five times as long. This runs for every message that is passed on.
        return Entry(
            position, self.publisher, first, stop, self.topic, path, at, self.keys, self.key, self.data, self.kind
        )

    def continues(self, other: Entry) -> bool:
        """Can this entry be merged with ``other``, the entry before it?"""
        return (
            self.first == other.stop
            and self.publisher == other.publisher
            and self.at - other.at < _TOGETHER_S
            and self.topic == other.topic
            and self.path == other.path
            and self.keys == other.keys
            and self.key is None
            and other.key is None
        )

    def touched(self) -> Sequence[str]:
        """The SOW keys of the messages, in the order of the last message of each key."""
        if self.key is not None:
            return (self.key,)
        names, count = _names_of(self.keys), min(self.count, self.keys)
        begin = (self.stop - count) % self.keys
        return (names[begin:] + names[:begin])[:count]


@lru_cache
def _names_of(keys: int) -> tuple[str, ...]:
    return tuple(map(str, range(keys)))


@dataclass(slots=True)
class JournalFile:
    """One journal file: its number and its entries."""

    number: int
    entries: list[Entry] = field(default_factory=list)
    archived: bool = False
    compressed: bool = False

    @property
    def messages(self) -> int:
        """The number of messages in the file."""
        return self.entries[-1].end - self.entries[0].position if self.entries else 0

    def since(self, position: int) -> list[Entry]:
        """The entries from the one that contains ``position``, or from the first."""
        entries = self.entries
        for near in (-1, -2):  # nearly all readers are at the end
            if entries[near].position <= position or len(entries) == -near:
                return entries[near:]
        return entries[max(0, bisect_right(entries, position, key=_position) - 1) :]


def journal_name(number: int, *, compressed: bool) -> str:
    """The name of the file in the journal directory."""
    return f"{number:010d}.journal" + (".gz" if compressed else "")


@dataclass(slots=True)
class Journal:
    """All journals of one instance, oldest first. The last one is being written. Only a single journal can be empty."""

    file_messages: int
    files: list[JournalFile] = field(default_factory=lambda: [JournalFile(1)])
    next: int = 0  # the position of the next message

    def __post_init__(self) -> None:
        if not self.files:
            raise ValueError("an instance always has a journal that is being written")

    @property
    def lowest(self) -> int:
        """The position of the oldest message still there."""
        entries = self.files[0].entries
        return entries[0].position if entries else self.next

    @property
    def is_empty(self) -> bool:
        """Are there no messages in the log?"""
        return self.lowest == self.next

    @property
    def first_at(self) -> float | None:
        """When the oldest message was written, or None."""
        entries = self.files[0].entries
        return entries[0].at if entries else None

    @property
    def last_at(self) -> float | None:
        """When the newest message was written, or None."""
        entries = self.files[-1].entries
        return entries[-1].at if entries else None

    def append(self, entry: Entry) -> None:
        """Write ``entry`` at the end and set its position. The log then owns ``entry``."""
        last = self.files[-1]
        if last.entries and self.next - last.entries[0].position >= self.file_messages:
            last = JournalFile(last.number + 1)
            self.files.append(last)
        if last.entries and entry.continues(last.entries[-1]):
            last.entries[-1].stop = entry.stop
        else:
            entry.position = self.next
            last.entries.append(entry)
        self.next += entry.stop - entry.first

    def between(self, start: int, end: int) -> Sequence[Entry]:
        """The entries from ``start`` up to ``end``. Entries are cut to this range. Removed messages are skipped."""
        if start >= end:
            return ()  # the usual case: the link or reader has all messages
        found = self.since(start)
        if not found:
            return ()
        if end < self.next and found[-1].end > end:
            del found[bisect_left(found, end, key=_position) :]
            if found and found[-1].end > end:
                found[-1] = found[-1].part(found[-1].position, end)
        if found and found[0].position < start:
            found[0] = found[0].part(start, found[0].end)
        return found

    def since(self, start: int) -> list[Entry]:
        """The entries from ``start`` on. The first entry may start before ``start``."""
        if start >= self.next:
            return []
        last = self.files[-1]
        if last.entries[0].position <= start:
            return last.since(start)
        at = max(0, bisect_right(self.files, start, key=_begin) - 1)
        found = self.files[at].since(start)
        for file in self.files[at + 1 :]:
            found += file.entries
        return found

    def all(self) -> Sequence[Entry]:
        """All entries that are still in the log."""
        return self.between(self.lowest, self.next)

    def numbers(self, publisher: str, start: int = 0) -> Numbers:
        """The messages of one publisher that are at ``start`` or later."""
        return Numbers(
            (one.first, one.stop)
            for one in self.between(max(start, self.lowest), self.next)
            if one.publisher == publisher
        )

    def find(self, publisher: str, number: int) -> int | None:
        """The position of a message, or the newest position if the message occurs twice."""
        for file in reversed(self.files):
            for entry in reversed(file.entries):
                if entry.publisher == publisher and entry.first <= number < entry.stop:
                    return entry.position + number - entry.first
        return None

    def remove(self, files: int) -> None:
        """Remove the oldest ``files`` files. ``files`` must be less than the number of files."""
        self.files = self.files[files:]

    def removable(self, acknowledged: int, before: float | None = None) -> int:
        """The number of the oldest files that contain only messages acknowledged and written before ``before``. The
        file being written is never counted."""
        count = 0
        for file in self.files[:-1]:
            if file.entries[-1].end > acknowledged:
                break
            if before is not None and file.entries[-1].at >= before:
                break
            count += 1
        return count


def _begin(file: JournalFile) -> int:
    return file.entries[0].position
