"""Guarding a failed site: the part of a family. The loop, the runs and the journal are in
``orchestrator.operations.guard``.

A strategy reads both sites and decides by these readings. It never changes a device: only recorded runs of its runbooks
do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from orchestrator.family.contract import Adapter
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.model.outcome import Failure
from orchestrator.model.plan import ReadBefore
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side

# silent: the site does not answer. act: a run must make it safe. leave: it may be needed. safe: nothing is left to do.
# unclear: it answers, but too little is known to act or to leave it alone.
GuardKind = Literal["silent", "act", "leave", "safe", "unclear"]


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """``services``: the services to act on. ``fence``: also keep clients away. ``why``: in words. ``both_active``: the
    services for which both the site and its mate report that they are active."""

    kind: GuardKind
    why: str
    services: tuple[str, ...] = ()
    fence: bool = False
    both_active: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardTarget:
    """The target of a guard: ``services`` of ``site``, whose ``mate`` serves meanwhile. ``declared``: the adapter class
    of ``site``."""

    inventory: Inventory
    pair: Pair
    services: tuple[str, ...]
    site: str
    mate: str
    declared: type[Adapter]


class GuardSessions(Protocol):
    """Sessions with both sites that can only read. ``source`` is the guarded site, ``target`` its mate."""

    @property
    def read(self) -> Sequence[ReadBefore]:
        """The readings of the guarded services in the present round."""
        ...

    def start(self) -> None:
        """Start a round."""
        ...

    def ask(self, side: Side, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """One reading of one site, by service."""
        ...


class GuardStrategy(Protocol):
    """One family's strategy for one guard."""

    # Every runbook whose runs this guard may have led.
    runbooks: frozenset[str]
    # Does the site stay as its run left it? Otherwise it is guarded until it is restored.
    is_permanent: bool
    # Could the guard do only a part of what is needed?
    is_degraded: bool

    def assess(self) -> GuardDecision:
        """Take a round of readings, and decide what has to be done now."""
        ...

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """Refuse to guard a site that serves, or a healthy one: raises ``NotStarted``.

        ``failed``: a record says that the site failed. ``restored``: the run that has restored it since.
        """
        ...

    def warning(self) -> str:
        """A warning for the operator before the guard starts; empty: none."""
        ...

    def describe(self) -> str:
        """What the guard will do, in a sentence."""
        ...

    def runbook(self, now: GuardDecision) -> str:
        """The runbook for the run that carries out ``now``."""
        ...

    def refused(self, now: GuardDecision) -> str:
        """What is tried after that run was refused, in words; empty: the same run again."""
        ...


MakeGuard = Callable[[GuardTarget, GuardSessions], GuardStrategy]
