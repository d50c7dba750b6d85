"""Readings of one service at one site, taken in the order of their own time, not of their arrival. Pure.

Each waits until one has come that is younger by the time allowed to late ones. So the events depend on the readings
alone, never on how they came in batches, for as long as none is late. One that comes after a younger one was taken
changes nothing any more; it is told as an event. The meaning of a reading is decided where queues and links are followed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from orchestrator.family.fill_estimate import crossing

# No service has more readings in memory than these, whatever the window; the oldest go first.
KEPT_MAX = 1_000
# Full "soon" ends only when the time left is so many times the one asked for: an estimate wavers.
_EASED = 2.0


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked for, all in seconds. ``window_s``: of the readings that a rate is taken from. ``stall_s``: longer
    without progress is stalled. ``late_s``: how long a reading is waited for. ``full_within_s``: full sooner is told."""

    window_s: float = 300.0
    stall_s: float = 120.0
    late_s: float = 30.0
    full_within_s: float = 3_600.0


@dataclass(frozen=True, slots=True, order=True)
class Kept:
    """One reading. ``at``: seconds since the epoch; ``look`` tells two of the same moment apart."""

    at: float
    look: str
    simulated: bool = field(compare=False)


Taken = TypeVar("Taken", bound=Kept)
Seen = TypeVar("Seen", covariant=True)


@dataclass(frozen=True, slots=True)
class Event(Generic[Seen]):
    """Something that happened, with what was known right after the reading that told of it."""

    kind: str
    figures: Seen


@dataclass(slots=True)
class Arrivals(Generic[Taken, Seen]):
    """All that is kept of one service at one site; bounded by the window, the time for late ones and ``KEPT_MAX``."""

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
        """What started and has not ended, the worst first."""
        raise NotImplementedError

    def copy(self) -> Self:
        """One that can continue without changing this one."""
        return replace(self, waiting=list(self.waiting), taken=list(self.taken))

    def arrive(self, read: Taken, rules: Rules) -> Iterator[Event[Seen]]:
        """One more reading has come: take it, or let it wait, and tell what happened with all that are taken now."""
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
        """What all the readings that came say, also those that still wait."""
        return self.figures_of(_within([*self.taken, *self.waiting], rules))

    def room(
        self, what: str, percent: float | None, full_in_s: float | None, rules: Rules, *, is_told: bool
    ) -> Iterator[str]:
        """What happened to the room in ``what``, of which ``percent`` is taken. ``full_in_s``: None while it does not
        fill; where not ``is_told``, that is unknown. What is unknown changes nothing of what is known."""
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
        """What happened with ``read``, the newest of ``taken``."""
        raise NotImplementedError

    def figures_of(self, reads: list[Taken]) -> Seen:
        """What ``reads`` say."""
        raise NotImplementedError


def _within(reads: list[Taken], rules: Rules) -> list[Taken]:
    """The readings of the window that ends with the last of them."""
    return [one for one in reads if one.at >= reads[-1].at - rules.window_s][-KEPT_MAX:]
