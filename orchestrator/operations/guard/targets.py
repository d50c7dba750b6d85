"""What ``failover guard`` looks at and does, apart for each family: ``targets_appliances`` and ``targets_amps``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import probe
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.model.outcome import Failure
from orchestrator.model.plan import ReadBefore
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools
from orchestrator.reports.guard_decision import GuardDecision


@dataclass(frozen=True, slots=True)
class GuardTarget:
    """Whom a guard is put up for: ``services`` of ``site``, whose ``mate`` serves meanwhile."""

    inventory: Inventory
    pair: Pair
    services: tuple[str, ...]
    site: str
    mate: str


class GuardStrategy(Protocol):
    """One family's part of a guard."""

    # Every runbook that it may have led.
    runbooks: frozenset[str]
    # Does what it did last? Otherwise the guard goes on until somebody has restored the site.
    is_permanent: bool
    # Could not everything be done that should be?
    is_degraded: bool

    @property
    def read(self) -> Sequence[ReadBefore]:
        """What the last round of readings found, for the record of the run that follows it."""
        ...

    def assess(self) -> GuardDecision:
        """What is to be done now."""
        ...

    def validate_guardable(self, now: GuardDecision, *, failed: bool, restored: str | None) -> None:
        """Refuse to guard a site that serves, or one that is well: raises ``NotStarted``.

        ``failed``: a record says that it did; ``restored``: the run that brought it back since.
        """
        ...

    def warning(self) -> str:
        """What is to be known before it begins; empty: nothing."""
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


class ReadOnlySessions:
    """The sessions of a guard, which can only read. No device is spoken to before they are used. What they read in one
    round is kept: ``read``, of the guarded services alone."""

    def __init__(self, tools: Tools, target: GuardTarget, stack: ExitStack) -> None:
        sites = target.inventory.sites
        self._clock, self._services = tools.clock, frozenset(target.services)
        self._adapters: dict[Side, Adapter] = {
            "source": stack.enter_context(reading_only(tools, sites[target.site])),
            "target": stack.enter_context(reading_only(tools, sites[target.mate])),
        }
        self.read: list[ReadBefore] = []

    def start(self) -> None:
        """A new round."""
        self.read = []

    def ask(self, side: Side, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """One reading of the guarded site (``source``) or of its mate."""
        at = self._clock.now()
        found = probe(self._adapters[side], reading, services)
        self.read += [
            ReadBefore(service=name, seen=ev.Seen(on=side, reading=reading, asked_at=at, value=value))
            for name, value in found.items()
            if name in self._services and not isinstance(value, Failure)
        ]
        return found
