"""What ``failover guard`` looks at and does, apart for each family: ``posts_appliances`` and ``posts_amps``."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

from orchestrator.cli.sessions import reading_only
from orchestrator.cli.wiring import Tools
from orchestrator.contract import Adapter
from orchestrator.reports.standing import Standing
from orchestrator.site import Inventory, Pair


@dataclass(frozen=True, slots=True)
class Beat:
    """Whom a guard is put up for: ``services`` of ``site``, whose ``mate`` serves meanwhile."""

    inventory: Inventory
    pair: Pair
    services: tuple[str, ...]
    site: str
    mate: str


class Post(Protocol):
    """One family's part of a guard."""

    # Every runbook that it may have led.
    runbooks: frozenset[str]
    # Does what it did last? Otherwise the guard goes on until somebody has restored the site.
    lasts: bool
    # Could not everything be done that should be?
    is_short: bool

    def look(self) -> Standing:
        """What is to be done now."""
        ...

    def see_lost(self, now: Standing, *, failed: bool, restored: str | None) -> None:
        """Refuse to guard a site that serves, or one that is well: raises ``NotStarted``.

        ``failed``: a record says that it did; ``restored``: the run that brought it back since.
        """
        ...

    def notice(self) -> str:
        """What is to be known before it begins; empty: nothing."""
        ...

    def promise(self) -> str:
        """What it will do, in a sentence."""
        ...

    def runbook(self, now: Standing) -> str:
        """The runbook of the run that does it."""
        ...

    def refused(self, now: Standing) -> str:
        """That run was refused: what is tried instead, in words; empty: the same again."""
        ...


class Looks:
    """The sessions that a guard looks through, which can only look. No device is spoken to before they are used."""

    def __init__(self, tools: Tools, beat: Beat, stack: ExitStack) -> None:
        self.here: Adapter = stack.enter_context(reading_only(tools, beat.inventory.sites[beat.site]))
        self.there: Adapter = stack.enter_context(reading_only(tools, beat.inventory.sites[beat.mate]))
