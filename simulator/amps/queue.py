"""One queue at one instance: the messages it holds, the messages it owns, the leases and the acknowledgements.

Sources: docs/sources/amps.md, 9.1. Only the owner delivers a message. An instance with proxied transfer also delivers
for an owner that it cannot reach. ``Assumptions.leases_kept`` says when the message of a gone consumer returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from simulator.world.intervals import Numbers, Run


def _numbers(value: object) -> Numbers:
    if isinstance(value, Numbers):
        return value
    if not isinstance(value, list):
        raise ValueError("a set of numbers is a list of runs")
    return Numbers((int(start), int(stop)) for start, stop in value)


# A set of message numbers that can be in the world's file.
Kept = Annotated[Numbers, PlainValidator(_numbers), PlainSerializer(list)]
ByPublisher = dict[str, Kept]


_NONE = Numbers()  # never changed


def numbers_of(numbers: ByPublisher, publisher: str) -> Numbers:
    """The numbers of one publisher. The caller may change them."""
    found = numbers.get(publisher)
    if found is None:
        found = numbers[publisher] = Numbers()
    return found


def count_of(numbers: Mapping[str, Numbers]) -> int:
    """The number of messages of all publishers."""
    return sum([one.count for one in numbers.values()])


@dataclass(slots=True)
class Lease:
    """Messages that a consumer has and will acknowledge at ``until``. If the consumer is gone, ``consumer`` is empty
    and the messages return to the queue at ``until``."""

    publisher: str
    start: int
    stop: int
    consumer: str
    since: float
    until: float


@dataclass(slots=True)
class Queue:
    """One queue at one instance. Moments are of world time."""

    held: ByPublisher = field(default_factory=dict)
    owned: ByPublisher = field(default_factory=dict)
    acked: ByPublisher = field(default_factory=dict)
    leases: list[Lease] = field(default_factory=list)
    proxied: bool = False
    transferred_in: int = 0
    transferred_out: int = 0
    inserts: int = 0
    deletes: int = 0

    def arrive(self, publisher: str, start: int, stop: int, *, owned: bool) -> None:
        """Messages were written to the log. The queue does not hold messages that were already acknowledged."""
        for run in self.acked.get(publisher, _NONE).missing(start, stop):
            self.inserts += run[1] - run[0]
            numbers_of(self.held, publisher).add(*run)
            if owned:
                numbers_of(self.owned, publisher).add(*run)

    def acknowledge(self, publisher: str, runs: Iterable[Run]) -> None:
        """Mark messages as acknowledged, at whichever instance they were consumed."""
        held, acked = numbers_of(self.held, publisher), numbers_of(self.acked, publisher)
        owned = numbers_of(self.owned, publisher)
        before = held.count
        for run in runs:
            acked.add(*run)
            held.discard(*run)
            owned.discard(*run)
        self.deletes += before - held.count

    def hear(self, other: Queue) -> None:
        """Take over the acknowledgements that another instance knows."""
        for publisher, numbers in other.acked.items():
            if self.acked.get(publisher) != numbers:
                self.acknowledge(publisher, list(numbers))

    def ready(self, publisher: str, elsewhere: Iterable[Numbers]) -> Numbers:
        """The messages that may be delivered here now: the owned ones. With proxied transfer: all held messages that no
        reachable instance (``elsewhere``) owns."""
        held = self.held.get(publisher, _NONE)
        if self.proxied:
            found = Numbers(held)
            for numbers in elsewhere:
                found = found.without(numbers)
        else:
            found = Numbers(self.owned.get(publisher, _NONE))
        for lease in self.leases:
            if lease.publisher == publisher:
                found.discard(lease.start, lease.stop)
        return found

    def give(self, other: Queue, limit: int) -> None:
        """Transfer up to ``limit`` owned messages to ``other``, if ``other`` holds them too."""
        for publisher in self.owned:
            theirs = other.held.get(publisher, _NONE)
            for start, stop in self.ready_to_give(publisher):
                for low, high in theirs.within(start, min(stop, start + limit)):
                    self.owned[publisher].discard(low, high)
                    numbers_of(other.owned, publisher).add(low, high)
                    self.transferred_out += high - low
                    other.transferred_in += high - low
                    limit -= high - low

    def can_give(self, other: Queue) -> bool:
        """Does this queue own a message without a lease that ``other`` holds too?"""
        return any(
            other.held.get(publisher, _NONE).within(start, stop)
            for publisher in self.owned
            for start, stop in self.ready_to_give(publisher)
        )

    @property
    def owns_any(self) -> bool:
        """Does this queue own a message?"""
        return any(self.owned.values())

    @property
    def has_ready(self) -> bool:
        """Does this queue own a message without a lease?"""
        return any(self.ready_to_give(publisher) for publisher in self.owned)

    def ready_to_give(self, publisher: str) -> list[Run]:
        """The owned messages without a lease."""
        found = Numbers(self.owned.get(publisher, _NONE))
        for lease in self.leases:
            if lease.publisher == publisher:
                found.discard(lease.start, lease.stop)
        return list(found)

    def release(self, consumer: str, until: float) -> None:
        """The consumer is gone. Its messages can be delivered again from ``until`` on."""
        for lease in self.leases:
            if lease.consumer == consumer:
                lease.consumer, lease.until = "", until

    def expire(self, now: float) -> None:
        """Return the messages of gone consumers whose time is over."""
        self.leases = [one for one in self.leases if one.consumer or one.until > now]

    @property
    def depth(self) -> int:
        """The number of messages that are not acknowledged."""
        return count_of(self.held)

    @property
    def backlog(self) -> int:
        """The number of messages with a lease."""
        return sum(one.stop - one.start for one in self.leases)
