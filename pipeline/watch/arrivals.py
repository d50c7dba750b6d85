"""Readings of one service at one site, taken in the order of their time, not of their arrival. Pure.

Each reading waits until another reading is younger by the allowed lateness. So the events depend only on the readings,
not on their batches, if no reading is late. A reading that arrives after a younger reading was taken changes nothing,
except that an event reports it. The modules for queues and links decide the meaning of a reading.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from orchestrator.family.fill_estimate import crossing

# The maximum number of readings of a service in memory, for any window. The oldest are removed first.
KEPT_MAX = 1_000
# Full "soon" ends only when the time left is this many times the configured time, because an estimate varies.
_EASED = 2.0


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of a watch, in seconds. ``window_s``: the window of readings for a rate. ``stall_s``: a longer time
    without progress is a stall. ``late_s``: the wait for late readings. ``full_within_s``: full within this time is
    reported."""

    window_s: float = 300.0
    stall_s: float = 120.0
    late_s: float = 30.0
    full_within_s: float = 3_600.0


@dataclass(frozen=True, slots=True, order=True)
class Kept:
    """One reading. ``at``: seconds since the epoch. ``look`` distinguishes two readings of the same time."""

    at: float
    look: str
    simulated: bool = field(compare=False)


Taken = TypeVar("Taken", bound=Kept)
Seen = TypeVar("Seen", covariant=True)


@dataclass(frozen=True, slots=True)
class Event(Generic[Seen]):
    """One event, with the figures right after the reading that caused it."""

    kind: str
    figures: Seen


@dataclass(slots=True)
class Arrivals(Generic[Taken, Seen]):
    """The data kept for one service at one site. The window, the wait for late readings and ``KEPT_MAX`` limit it."""

    newest: float = 0.0
    waiting: list[Taken] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    readings: int = 0
    late: int = 0
    duplicates: int = 0
    is_high: bool = False
    is_full: bool = False
    is_soon: bool = False

    @property
    def alarms(self) -> list[str]:
        """The active alarms, the worst first."""
        raise NotImplementedError

    def copy(self) -> Self:
        """A copy that can continue without changing this object."""
        return replace(self, waiting=list(self.waiting), taken=list(self.taken))

    def arrive(self, read: Taken, rules: Rules) -> Iterator[Event[Seen]]:
        """Take a new reading or let it wait. Returns the events of all readings that are taken now."""
        if any(read.look == other.look for other in (*self.waiting, *self.taken)):
            self.duplicates += 1
            return
        if self.taken and read.at < self.taken[-1].at:
            self.late += 1
            yield Event("reading.late", self.figures_of([read]))
            return
        self.readings += 1
        self.newest = max(self.newest, read.at)
        insort(self.waiting, read)
        while self.waiting and (self.waiting[0].at <= self.newest - rules.late_s or len(self.waiting) > KEPT_MAX):
            read = self.waiting.pop(0)
            self.taken = _within([*self.taken, read], rules)
            kinds = list(self.kinds_of(read, rules))
            yield from (Event(kind, self.figures_of(self.taken)) for kind in kinds)

    def figures(self, rules: Rules) -> Seen:
        """The figures of all readings so far, including waiting readings."""
        return self.figures_of(_within([*self.taken, *self.waiting], rules))

    def room(
        self, what: str, percent: float | None, full_in_s: float | None, rules: Rules, *, is_told: bool
    ) -> Iterator[str]:
        """The events of the room in ``what``. ``percent`` of it is in use. ``full_in_s``: seconds until full, None while
        it does not fill. ``is_told`` false: this time is unknown. Unknown values change no state."""
        if percent is None:
            return
        crossed = crossing(self.is_high, percent)
        if crossed is not None:
            self.is_high = crossed == "high"
            yield f"{what}.{crossed}"
        is_full = full_in_s == 0.0
        if is_full is not self.is_full:
            self.is_full = is_full
            yield f"{what}.full" if is_full else f"{what}.room"
        if is_full or not is_told:
            return
        if not self.is_soon and full_in_s is not None and full_in_s <= rules.full_within_s:
            self.is_soon = True
            yield f"{what}.full-soon"
        elif self.is_soon and (full_in_s is None or full_in_s > _EASED * rules.full_within_s):
            self.is_soon = False
            yield f"{what}.full-later"

    def kinds_of(self, read: Taken, rules: Rules) -> Iterator[str]:
        """The kinds of events of ``read``, the newest of ``taken``."""
        raise NotImplementedError

    def figures_of(self, reads: list[Taken]) -> Seen:
        """The figures of ``reads``."""
        raise NotImplementedError


def _within(reads: list[Taken], rules: Rules) -> list[Taken]:
    """The readings of the window that ends with the last reading."""
    return [one for one in reads if one.at >= reads[-1].at - rules.window_s][-KEPT_MAX:]
