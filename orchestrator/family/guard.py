"""Guarding a failed site: what a family brings to it. The loop, the runs and the journal are those of
``orchestrator.operations.guard``.

A strategy reads both sites and judges what it read. It never changes a device: that is left to recorded runs of its
runbooks.
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

# silent: it does not answer. act: a run has to make it safe. leave: it may be needed. safe: nothing is left to do.
# unclear: it answers, and not enough is known to act or to leave it alone.
GuardKind = Literal["silent", "act", "leave", "safe", "unclear"]


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """``services``: on which to act; ``fence``: keep clients off too; ``why``: in words. ``both_active``: the services
    for which it and its mate both report that they are active."""

    kind: GuardKind
    why: str
    services: tuple[str, ...] = ()
    fence: bool = False
    both_active: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardTarget:
    """What is guarded: ``services`` of ``site``, whose ``mate`` serves meanwhile. ``declared``: the class that speaks
    for ``site``."""

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
        """What the present round read of the guarded services."""
        ...

    def start(self) -> None:
        """Start a round."""
        ...

    def ask(self, side: Side, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """One reading of one site, by service."""
        ...


class GuardStrategy(Protocol):
    """One family's part of one guard."""

    # Every runbook that it may have led.
    runbooks: frozenset[str]
    # Does the site stay as its run left it? Otherwise it is guarded until it is restored.
    is_permanent: bool
    # Could it only do a part of what is needed?
    is_degraded: bool

    def assess(self) -> GuardDecision:
        """What has to be done now, by a round of readings."""
        ...

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """Refuse to guard a site that serves, or a healthy one: raises ``NotStarted``.

        ``failed``: a record says that it failed; ``restored``: the run that restored it since.
        """
        ...

    def warning(self) -> str:
        """What an operator has to know before it starts; empty: nothing."""
        ...

    def describe(self) -> str:
        """What it will do, in a sentence."""
        ...

    def runbook(self, now: GuardDecision) -> str:
        """The runbook of the run that does it."""
        ...

    def refused(self, now: GuardDecision) -> str:
        """That run was refused: what is tried instead, in words; empty: the same again."""
        ...


MakeGuard = Callable[[GuardTarget, GuardSessions], GuardStrategy]
