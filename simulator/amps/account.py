"""The independent account of a fabric: the real fate of the messages, independent of all reports.

The account records only events outside the engine: messages acknowledged to publishers, messages received by readers,
and the instances at which clients could publish. No decision may use the account. Moments are seconds of world time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from simulator.amps.queue import ByPublisher, numbers_of
from simulator.world.intervals import Numbers, Run

Interval = tuple[float, float]
# Moment, instance, new state (open, closed; sync, async; proxied, unproxied), and origin: ``command`` (an
# administrator's request), ``somebody`` (scripted), ``start`` (of the instance), ``schedule`` (its own actions).
Change = tuple[float, str, str, str]


@dataclass(frozen=True, slots=True)
class StreamTally:
    """The outcome of one publisher's messages for one reader (a subscriber or a consumer).

    ``lost``: messages acknowledged, not received, and not at an instance from which the reader can still get them.
    ``stranded``: the lost messages that some instance still holds. ``waiting``: messages acknowledged and on their way to
    the reader. ``duplicated``: deliveries after the first one. ``out_of_order``: messages first delivered after a later
    message.
    """

    publisher: str
    reader: str
    acknowledged: int
    received: int
    waiting: int
    lost: int
    stranded: int
    duplicated: int
    out_of_order: int


@dataclass(frozen=True, slots=True)
class FabricTally:
    """The account at one moment. ``both_open``: intervals in which clients could publish at two or more instances.
    ``outages``: intervals in which they could publish at none. ``commands``: (instance, action, id) of each
    administrator's action, in order."""

    streams: tuple[StreamTally, ...]
    both_open: tuple[Interval, ...]
    outages: tuple[Interval, ...]
    commands: tuple[tuple[str, str, str], ...]

    @property
    def acknowledged(self) -> int:
        """Messages acknowledged to their publishers, each counted once."""
        return sum({one.publisher: one.acknowledged for one in self.streams}.values())

    @property
    def lost(self) -> int:
        """The lost messages of all streams."""
        return sum(one.lost for one in self.streams)

    @property
    def stranded(self) -> int:
        """The stranded messages of all streams."""
        return sum(one.stranded for one in self.streams)

    @property
    def duplicated(self) -> int:
        """The duplicated messages of all streams."""
        return sum(one.duplicated for one in self.streams)

    @property
    def out_of_order(self) -> int:
        """The messages of all streams that arrived out of order."""
        return sum(one.out_of_order for one in self.streams)

    @property
    def outage_seconds(self) -> float:
        """The total time in which clients could publish at no instance."""
        return sum(end - start for start, end in self.outages)


@dataclass(slots=True)
class Receipts:
    """The messages that one reader received from each publisher."""

    received: ByPublisher = field(default_factory=dict)
    duplicated: dict[str, int] = field(default_factory=dict)
    out_of_order: dict[str, int] = field(default_factory=dict)

    def deliver(self, publisher: str, runs: Iterable[Run]) -> None:
        """Messages of a publisher arrived, in this order."""
        known = numbers_of(self.received, publisher)
        for start, stop in runs:
            highest = known.highest
            if highest is not None and start <= highest:
                again = sum(b - a for a, b in known.within(start, stop))
                late = min(stop, highest + 1) - start - again
                self.duplicated[publisher] = self.duplicated.get(publisher, 0) + again
                self.out_of_order[publisher] = self.out_of_order.get(publisher, 0) + late
            known.add(start, stop)


@dataclass(slots=True)
class FabricLedger:
    """The records of the account while time runs."""

    acknowledged: ByPublisher = field(default_factory=dict)
    readers: dict[str, Receipts] = field(default_factory=dict)
    open: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    commands: list[tuple[str, str, str]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def acknowledge(self, publisher: str, start: int, stop: int) -> None:
        """The publisher received the acknowledgement that these messages are persisted."""
        numbers_of(self.acknowledged, publisher).add(start, stop)

    def deliver(self, reader: str, publisher: str, runs: Iterable[Run]) -> None:
        """A reader received these messages."""
        if reader not in self.readers:
            self.readers[reader] = Receipts()
        self.readers[reader].deliver(publisher, runs)

    def note_open(self, moment: float, instances: tuple[str, ...]) -> None:
        """From ``moment`` on clients can publish at exactly these instances."""
        if not self.open or self.open[-1][1] != instances:
            self.open.append((moment, instances))

    def stream(self, publisher: str, reader: str, reachable: Numbers, held: Callable[[str], Numbers]) -> StreamTally:
        """The outcome of one publisher's messages for one reader.

        ``reachable``: the messages that the reader can still get. ``held``: returns the messages of a publisher at any
        instance, running or not. It is called only if messages are lost.
        """
        acknowledged = self.acknowledged.get(publisher, Numbers())
        receipts = self.readers.get(reader, Receipts())
        outstanding = acknowledged.without(receipts.received.get(publisher, Numbers()))
        lost = outstanding.without(reachable)
        return StreamTally(
            publisher=publisher,
            reader=reader,
            acknowledged=acknowledged.count,
            received=receipts.received.get(publisher, Numbers()).count,
            waiting=outstanding.count - lost.count,
            lost=lost.count,
            stranded=lost.count - lost.without(held(publisher)).count if lost else 0,
            duplicated=receipts.duplicated.get(publisher, 0),
            out_of_order=receipts.out_of_order.get(publisher, 0),
        )

    def tally(self, now: float, streams: Sequence[StreamTally], pairs: Sequence[frozenset[str]]) -> FabricTally:
        """The whole account. ``pairs``: sets of instances of which clients should use one at a time (empty: all
        instances)."""
        return FabricTally(
            streams=tuple(streams),
            both_open=self._spans(now, lambda found: _together(found, pairs)),
            outages=self._spans(now, lambda found: not found),
            commands=tuple(self.commands),
        )

    def _spans(self, now: float, wanted: Callable[[tuple[str, ...]], bool]) -> tuple[Interval, ...]:
        spans: list[Interval] = []
        for (start, found), (end, _) in pairwise([*self.open, (now, ())]):
            if wanted(found) and end > start:
                start = spans.pop()[0] if spans and spans[-1][1] == start else start
                spans.append((start, end))
        return tuple(spans)


def _together(found: tuple[str, ...], pairs: Sequence[frozenset[str]]) -> bool:
    if not pairs:
        return len(found) > 1
    return any(len(pair.intersection(found)) > 1 for pair in pairs)
