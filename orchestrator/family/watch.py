"""Watching a pair: a family's readings in each round, and its display of each service. The rounds, the samples and the
suspension of replication are in ``orchestrator.operations.watch``. A family without this part is watched by its
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
    """A sentence. The operator should act upon an alarm."""

    text: str
    is_alarm: bool = False


@dataclass(frozen=True, slots=True)
class WatchRow:
    """The result of one round for one target: for machines, and for people."""

    figures: Figures
    lines: Sequence[WatchLine]


class Follower:
    """Follows one target from round to round. A family that can suspend replication overrides the last three."""

    def take(self, found: Mapping[str, Reading | Failure], now: float) -> WatchRow | None:
        """The result of one round from its answers, by reading; None: nothing to show."""
        raise NotImplementedError

    def figures(self) -> Figures | None:
        """The figures at the end, for machines; None: nothing was read."""
        raise NotImplementedError

    @property
    def percent_full(self) -> float | None:
        """How full the replication queue is, percent; None: unknown."""
        return None

    @property
    def is_suspended(self) -> bool | None:
        """Is the replication of the target suspended? None: unknown."""
        return None

    def reaches_in_s(self, percent: float) -> float | None:
        """Seconds from the last reading until the queue reaches ``percent``; None if it has, or if it is unknown."""
        del percent
        return None


@dataclass(frozen=True, slots=True)
class WatchPart:
    """``read``: one round of one site. ``follow``: a follower of one target. ``ended``: the sentence at its end.
    ``active_by``: the reading that shows which site is active, if only the active site is watched; empty: both are.
    ``suspends``: the runbook that suspends replication at the active site, without the name of the family; only with
    ``active_by``. Empty: there is none, and ``no_suspension`` gives the reason."""

    read: Callable[[Adapter, Sequence[str]], Answers]
    follow: Callable[[WatchTarget], Follower]
    ended: str
    active_by: str = ""
    suspends: str = ""
    no_suspension: str = ""
