"""The independent account of a fabric: what really became of the messages, whatever anybody reports.

It knows only what happened outside the machinery: what publishers were acknowledged, what readers received, and which
instances clients could publish at. It is never read by anything that decides. Moments are seconds of world time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from simulator.amps.queue import ByPublisher, numbers_of
from simulator.world.intervals import Numbers, Run

Interval = tuple[float, float]
# Moment, instance, what it is from now on (open, closed; sync, async; proxied, unproxied), and by whom: ``command``
# (an administrator's request), ``somebody`` (scripted), ``start`` (of the instance), ``schedule`` (its own actions).
Change = tuple[float, str, str, str]


@dataclass(frozen=True, slots=True)
class StreamTally:
    """The outcome of one publisher's messages, as one reader (a subscriber or a consumer) has them.

    ``lost``: acknowledged, never received, and at no instance from which the reader can still get them. ``stranded`` is
    the part of them that some instance still holds. ``waiting``: acknowledged, and on their way to the reader.
    ``duplicated`` counts deliveries beyond the first; ``out_of_order`` first deliveries of a message after a later one.
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
    """The account at one moment. ``both_open``: intervals in which clients could publish at two or more instances;
    ``outages``: at none. ``commands``: (instance, action, id) of what administrators did, in order."""

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
        """Of all streams together."""
        return sum(one.lost for one in self.streams)

    @property
    def stranded(self) -> int:
        """Of all streams together."""
        return sum(one.stranded for one in self.streams)

    @property
    def duplicated(self) -> int:
        """Of all streams together."""
        return sum(one.duplicated for one in self.streams)

    @property
    def out_of_order(self) -> int:
        """Of all streams together."""
        return sum(one.out_of_order for one in self.streams)

    @property
    def outage_seconds(self) -> float:
        """How long clients could publish nowhere."""
        return sum(end - start for start, end in self.outages)


@dataclass(slots=True)
class Receipts:
    """What one reader received, of each publisher."""

    received: ByPublisher = field(default_factory=dict)
    duplicated: dict[str, int] = field(default_factory=dict)
    out_of_order: dict[str, int] = field(default_factory=dict)

    def deliver(self, publisher: str, runs: Iterable[Run]) -> None:
        """These arrived, in this order."""
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
    """What is written down while time runs."""

    acknowledged: ByPublisher = field(default_factory=dict)
    readers: dict[str, Receipts] = field(default_factory=dict)
    open: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    commands: list[tuple[str, str, str]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def acknowledge(self, publisher: str, start: int, stop: int) -> None:
        """The publisher was told that these are persisted."""
        numbers_of(self.acknowledged, publisher).add(start, stop)

    def deliver(self, reader: str, publisher: str, runs: Iterable[Run]) -> None:
        """A reader received these."""
        if reader not in self.readers:
            self.readers[reader] = Receipts()
        self.readers[reader].deliver(publisher, runs)

    def note_open(self, moment: float, instances: tuple[str, ...]) -> None:
        """From ``moment`` on clients can publish at exactly these."""
        if not self.open or self.open[-1][1] != instances:
            self.open.append((moment, instances))

    def stream(self, publisher: str, reader: str, reachable: Numbers, held: Callable[[str], Numbers]) -> StreamTally:
        """``reachable``: what the reader can still get; ``held``: what any instance has of a publisher, running or not,
        asked only where something is lost."""
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
        """The whole account; ``pairs``: instances of which clients should use one at a time (none: all of them)."""
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
