"""What a watch is asked for, what it reports meanwhile, and how it ended."""

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
        """The request for a run on ``services``; ``source`` is the failed site."""
        everything = self.everything and not services
        return PlanRequest(runbook, self.inventory, services, everything, self.pair, source, policy)


class Keeper(Protocol):
    """Keeps what was read of a site."""

    def keep(
        self, site: str, answers: Answers, services: Sequence[str], at: float, *, simulated: bool, mate: str
    ) -> None:
        """One round."""
        ...


@dataclass(frozen=True, slots=True)
class TargetRead:
    """One round of one service at one site. ``at``: seconds since the epoch, as everywhere here."""

    at: float
    service: str
    site: str
    row: WatchRow


@dataclass(frozen=True, slots=True)
class PositionRead:
    """One round of one service by its facets. ``is_alarm``: it changed for the worse."""

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
    """A suspension was tried. ``is_done``: the run is done."""

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
    """``text``: the ending in words. ``services``: what is known of each, for machines. ``site``: the only one that was
    watched, where the family has but one active. ``exit_code``: that of the last suspension, 0 without one.
    ``interrupted``: it was stopped while it suspended replication: the outcome of that, and what to do."""

    text: str
    services: Mapping[str, object]
    exit_code: int = 0
    site: str | None = None
    interrupted: tuple[str, str] | None = None
