"""The request for a watch, its reports, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orchestrator.core.pair_position import End, PairPosition
from orchestrator.errors import FailoverError
from orchestrator.family.watch import Answers, WatchRow
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import PlanRequest


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """``suspend_at``: percent full at which replication is suspended; None: never. ``keeps_samples``: ``Keeper`` keeps
    every reading, not only the newest."""

    services: tuple[str, ...]
    everything: bool
    pair: str | None
    site: str | None
    inventory: Path | None
    interval_s: float
    suspend_at: float | None
    keeps_samples: bool = False

    def plan(self, runbook: str, services: Sequence[str], *, source: str | None, policy: ev.Policy) -> PlanRequest:
        """The request for a run on ``services``. ``source`` is the failed site."""
        everything = self.everything and not services
        return PlanRequest(runbook, self.inventory, services, everything, self.pair, source, policy)


class Keeper(Protocol):
    """Keeps the readings of a site."""

    def keep(
        self, site: str, answers: Answers, services: Sequence[str], at: float, *, simulated: bool, mate: str
    ) -> None:
        """Keep one round."""
        ...


@dataclass(frozen=True, slots=True)
class TargetRead:
    """One round of one service at one site. ``at``: seconds since the epoch, as in all reports here."""

    at: float
    service: str
    site: str
    row: WatchRow


@dataclass(frozen=True, slots=True)
class PositionRead:
    """One round of one service by its facets. ``is_alarm``: its position changed to one that is not good."""

    at: float
    service: str
    position: PairPosition
    ends: tuple[End, End]
    is_alarm: bool


@dataclass(frozen=True, slots=True)
class Suspending:
    """A run that suspends the replication of ``service`` is about to start."""

    service: str
    reason: str


@dataclass(frozen=True, slots=True)
class SuspensionEnded:
    """The end of an attempt to suspend. ``is_done``: the run ended as done."""

    at: float
    service: str
    site: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class WatchFailed:
    """A suspension could not start; the watch continues."""

    error: FailoverError


WatchEvent = TargetRead | PositionRead | Suspending | SuspensionEnded | WatchFailed
Listener = Callable[[WatchEvent], None]


@dataclass(frozen=True, slots=True)
class WatchResult:
    """``text``: the ending in words. ``services``: the known figures of each, for machines. ``site``: the only watched
    site, if the family watches only the active one. ``exit_code``: of the last suspension, 0 without one.
    ``interrupted``: the watch was stopped during a suspension: the outcome of the suspension, and the next command."""

    text: str
    services: Mapping[str, object]
    exit_code: int = 0
    site: str | None = None
    interrupted: tuple[str, str] | None = None
