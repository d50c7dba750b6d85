"""Watching a pair: what a family reads in each round, and what it shows of each service. The rounds, the samples and the
suspension of replication are those of ``orchestrator.operations.watch``. A family that brings no part is watched by its
facets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.family.contract import Adapter
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

# By reading and service.
Answers = Mapping[str, Mapping[str, Reading | Failure]]
Figures = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """One service at one site. ``suspend_at``: percent full at which the watch suspends replication; None: never."""

    service: str
    site: str
    mate: str
    suspend_at: float | None = None


@dataclass(frozen=True, slots=True)
class WatchLine:
    """A sentence; an alarm is one that an operator should act upon."""

    text: str
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class WatchRow:
    """What one round found of one target: for machines, and for people."""

    figures: Figures
    lines: Sequence[WatchLine]


class Follower:
    """Follows one target from round to round. A family that can suspend replication overrides the last three."""

    def take(self, found: Mapping[str, Reading | Failure], now: float) -> WatchRow | None:
        """The answers of one round, by reading; None: nothing to show."""
        raise NotImplementedError

    def figures(self) -> Figures | None:
        """What is known at the end, for machines; None: nothing was read."""
        raise NotImplementedError

    @property
    def percent_full(self) -> float | None:
        """How full it is; None: unknown."""
        return None

    @property
    def is_suspended(self) -> bool | None:
        """Is its replication suspended? None: unknown."""
        return None

    def reaches_in_s(self, percent: float) -> float | None:
        """Seconds from the last reading until it is so full; None when it is, or it is unknown."""
        del percent
        return None


@dataclass(frozen=True, slots=True)
class WatchPart:
    """``read``: one round of one site. ``follow``: a follower of one target. ``ended``: the sentence at its end.

    ``active_by``: the reading that shows which site is active, where only that one is watched; empty: both are.
    ``suspends``: the runbook that suspends replication at the active site, without the name of the family; only with
    ``active_by``. Empty: there is none, and ``no_suspension`` says why.
    """

    read: Callable[[Adapter, Sequence[str]], Answers]
    follow: Callable[[WatchTarget], Follower]
    ended: str
    active_by: str = ""
    suspends: str = ""
    no_suspension: str = ""
