"""The request for a guard, its reports, and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.core.run import Run
from orchestrator.errors import FailoverError
from orchestrator.family.guard import GuardKind
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import PlanRequest

# The kind of the guard's last decision; or: the guard starts, it cannot do everything, another run has a service.
GuardState = GuardKind | Literal["guarding", "fence", "locked"]
Ending = Literal["stopped", "safe", "restored"]

# Functions that lead a run until it ends or pauses: a new run, or one whose record leads to ``Run``. They return its
# exit code.
Lead = Callable[[ev.Plan], int]
LeadAgain = Callable[[Journal, str, Run], int]


@dataclass(frozen=True, slots=True)
class GuardRequest:
    """Empty ``services``: every service of the pair. ``reason``: recorded with every run."""

    site: str
    services: tuple[str, ...]
    pair: str | None
    inventory: Path | None
    interval_s: float
    reason: str

    def plan(self, runbook: str, services: Sequence[str], pair: str | None) -> PlanRequest:
        """The request for a run on ``services`` of the guarded site. The run never waits for an operator's decision."""
        policy = ev.Policy(on_gate={"step-failed": "stop"}, reasons={"step-failed": self.reason})
        return PlanRequest(runbook, self.inventory, services, not services, pair, self.site, policy)


@dataclass(frozen=True, slots=True)
class GuardReport:
    """A change of state. ``at``: seconds since the epoch."""

    at: float
    state: GuardState
    text: str


@dataclass(frozen=True, slots=True)
class GuardFailed:
    """An error that the guard retries."""

    error: FailoverError


Listener = Callable[[GuardReport | GuardFailed], None]


@dataclass(frozen=True, slots=True)
class GuardResult:
    """``text``: the ending in words. ``exit_code``: of its last run, or of a later error; 0: the site was left in
    order. ``alarm``: the time when both sites were read as active; empty: never. ``is_degraded``: the guard could do
    only a part."""

    ending: Ending
    text: str
    exit_code: int
    alarm: str
    is_degraded: bool
