"""The course of one service's replication queue at one site: a fold over its readings. Pure; says nothing, reads nothing.

Readings are taken in the order of their own time, not of their arrival: each waits until one has come that is younger
by the time allowed to late ones. So the events depend on the readings alone, never on how they came in batches, for as
long as none is late. One that comes after a younger one was taken changes nothing any more; it is told as an event.

Rates, and when a queue will be empty or full, are those of ``orchestrator.drain`` and ``orchestrator.filling``, over the
readings within a window of time. Stalled is what it is for a run (``orchestrator.state``, ``orchestrator.decide.wait``):
for so long no progress, though the last reading was not 0.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from orchestrator.drain import forecast
from orchestrator.filling import Filling, Sample, crossing, filling
from orchestrator.looks import LookLine
from orchestrator.readings import Role

# No service has more readings in memory than these, whatever the window; the oldest go first.
KEPT_MAX = 1_000
# Full "soon" ends only when the time left is so many times the one asked for: an estimate wavers.
_EASED = 2.0

# fmt: off
Kind = Literal[
    "drain.stalled", "drain.moving", "queue.drained", "queue.high", "queue.clear", "queue.full", "queue.room",
    "queue.full-soon", "queue.full-later", "queue.unknown", "queue.known", "reading.late",
]
# fmt: on


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked for, all in seconds. ``window_s``: of the readings that a rate is taken from. ``stall_s``: longer
    without progress is stalled. ``late_s``: how long a reading is waited for. ``full_within_s``: full sooner is told."""

    window_s: float = 300.0
    stall_s: float = 120.0
    late_s: float = 30.0
    full_within_s: float = 3_600.0


@dataclass(frozen=True, slots=True, order=True)
class Read:
    """One reading of a queue; None is unknown. ``look`` tells two of the same moment apart."""

    at: float
    look: str
    simulated: bool = field(compare=False)
    role: Role | None = field(default=None, compare=False)
    bound: bool | None = field(default=None, compare=False)
    messages: int | None = field(default=None, compare=False)
    usage_mb: float | None = field(default=None, compare=False)
    quota_mb: float | None = field(default=None, compare=False)
    rejects: bool | None = field(default=None, compare=False)
    failure: str = field(default="", compare=False)

    @classmethod
    def of(cls, line: LookLine) -> Read | None:
        """What a kept line says of the replication queue; None when it was not asked for one."""
        queue, status = line.replication_queue, line.replication
        if queue is None and "replication_queue" not in line.failures:
            return None
        role, bound = (None, None) if status is None else (status.role, status.queue_bound)
        if queue is None:
            failure = line.failures["replication_queue"] or "no reason was given"
            return cls(line.at, line.look, line.simulated, role, bound, failure=failure)
        figures = (queue.messages, queue.usage_mb, queue.quota_mb, queue.rejects_on_discard)
        return cls(line.at, line.look, line.simulated, role, bound, *figures)

    @property
    def is_unknown(self) -> bool:
        """Does it tell neither how many nor how much? What a standby does not tell is nothing to be told."""
        tells_nothing = self.messages is None and self.usage_mb is None
        return tells_nothing and (bool(self.failure) or self.role is not Role.STANDBY)


@dataclass(frozen=True, slots=True)
class Figures:
    """What the readings so far say. ``drain_rate``: messages a second by which the queue gets shorter, None when it does
    not or this is unknown. ``empty_in_s``, ``full_in_s``: seconds from ``read`` on. ``moved_at``: the last progress."""

    read: Read
    seen: Filling
    drain_rate: float | None
    empty_in_s: float | None
    moved_at: float | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a queue with the reading ``figures.read``."""

    kind: Kind
    figures: Figures


@dataclass(slots=True)
class Course:
    """All that is kept of one service at one site; bounded by the window, the time for late ones and ``KEPT_MAX``."""

    newest: float = 0.0
    waiting: list[Read] = field(default_factory=list)
    taken: list[Read] = field(default_factory=list)
    depth: int | None = None
    moved_at: float | None = None
    is_stalled: bool = False
    is_high: bool = False
    is_full: bool = False
    is_soon: bool = False
    is_unknown: bool = False
    readings: int = 0
    late: int = 0
    duplicates: int = 0

    @property
    def alarms(self) -> list[Kind]:
        """What began and has not ended, the worst first."""
        states: list[tuple[bool, Kind]] = [
            (self.is_full, "queue.full"),
            (self.is_stalled, "drain.stalled"),
            (self.is_unknown, "queue.unknown"),
            (self.is_high, "queue.high"),
            (self.is_soon, "queue.full-soon"),
        ]
        return [kind for is_so, kind in states if is_so]

    def copy(self) -> Course:
        """One that can go on without changing this one."""
        return replace(self, waiting=list(self.waiting), taken=list(self.taken))

    def arrive(self, read: Read, rules: Rules) -> Iterator[Event]:
        """One more reading has come: take it, or let it wait, and tell what happened with all that are taken now."""
        if any(read.look == other.look for other in (*self.waiting, *self.taken)):
            self.duplicates += 1
            return
        if self.taken and read.at < self.taken[-1].at:
            self.late += 1
            yield Event("reading.late", Figures(read, filling(()), None, None, self.moved_at))
            return
        self.readings += 1
        self.newest = max(self.newest, read.at)
        insort(self.waiting, read)
        while self.waiting and (self.waiting[0].at <= self.newest - rules.late_s or len(self.waiting) > KEPT_MAX):
            yield from self._take(self.waiting.pop(0), rules)

    def figures(self, rules: Rules) -> Figures:
        """What all the readings that came say, also those that still wait."""
        reads = _within([*self.taken, *self.waiting], rules)
        return _figures(reads, self.moved_at)

    def _take(self, read: Read, rules: Rules) -> Iterator[Event]:
        self.taken = _within([*self.taken, read], rules)
        kinds: list[Kind] = []
        if read.is_unknown is not self.is_unknown:
            self.is_unknown = read.is_unknown
            kinds.append("queue.unknown" if read.is_unknown else "queue.known")
        if read.messages is not None:
            kinds += self._progress(read, read.messages, rules)
        figures = _figures(self.taken, self.moved_at)
        kinds += self._room(figures, rules)
        yield from (Event(kind, figures) for kind in kinds)

    def _progress(self, read: Read, messages: int, rules: Rules) -> Iterator[Kind]:
        """Did it get shorter, and is it stalled?

        Where nothing new comes in, on a site that gave up its activity, only a depth below all of the window is
        progress, or one that only wavers would pass for it. On an active site publishers go on, and any fall shows
        that messages leave. A first reading after longer than the window begins anew: nobody knows what was meanwhile.
        """
        earlier = [one.messages for one in self.taken[:-1] if one.messages is not None]
        before, self.depth = self.depth, messages
        floor = min(earlier) if earlier and read.role is Role.STANDBY else before
        if messages == 0 or not before or (floor is not None and messages < floor):
            self.moved_at = read.at
            if self.is_stalled:
                self.is_stalled = False
                yield "drain.moving"
            if messages == 0 and before:
                yield "queue.drained"
        elif not earlier or self.moved_at is None:
            self.moved_at = read.at
        elif not self.is_stalled and read.at - self.moved_at > rules.stall_s:
            self.is_stalled = True
            yield "drain.stalled"

    def _room(self, figures: Figures, rules: Rules) -> Iterator[Kind]:
        """How full is it, and will it be full soon? An unknown usage changes nothing of what is known."""
        seen = figures.seen
        if seen.percent is None:
            return
        crossed = crossing(self.is_high, seen.percent)
        if crossed is not None:
            self.is_high = crossed == "high"
            yield "queue.high" if self.is_high else "queue.clear"
        is_full = seen.full_in_s == 0.0
        if is_full is not self.is_full:
            self.is_full = is_full
            yield "queue.full" if is_full else "queue.room"
        if is_full or seen.rate_mb is None:
            return
        left = seen.full_in_s
        if not self.is_soon and left is not None and left <= rules.full_within_s:
            self.is_soon = True
            yield "queue.full-soon"
        elif self.is_soon and (left is None or left > _EASED * rules.full_within_s):
            self.is_soon = False
            yield "queue.full-later"


def _within(reads: list[Read], rules: Rules) -> list[Read]:
    """The readings of the window that ends with the last of them."""
    return [one for one in reads if one.at >= reads[-1].at - rules.window_s][-KEPT_MAX:]


def _figures(reads: list[Read], moved_at: float | None) -> Figures:
    known = [(one.at, float(one.messages)) for one in reads if one.messages is not None]
    seen = filling([Sample(one.at, one.messages, one.usage_mb, one.quota_mb) for one in reads])
    # A forecast speaks from the last reading on; one that was not had leaves nothing to speak from.
    drain = forecast(known) if reads[-1].messages is not None else None
    rate, eta = (None, None) if drain is None else (drain.rate, drain.eta)
    return Figures(reads[-1], seen, rate, eta, moved_at)
