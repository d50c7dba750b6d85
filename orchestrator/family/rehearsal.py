"""What a family brings to a rehearsal: a scene. A scene is a simulated copy of a pair, and the events in it before the
rehearsed command is typed.

The outage before a restore or a fail-back is played by the same runbooks as a real one, without waiting, on the
rehearsal's own record. So the rehearsed command finds the same state as after a real outage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from orchestrator.clock import Clock
from orchestrator.family.contract import AdapterContext
from orchestrator.family.moves import Kind
from orchestrator.family.registry import Registry
from orchestrator.model.inventory import FenceOption, Inventory, Pair, Site
from orchestrator.model.runbook import Choice

RehearsedKind = Literal[Kind, "repair"]
# Seconds of simulated time: how long the pair works normally, how long a site is lost before an operator acts, how long
# until it is back, and how long it then serves.
WELL_S, DARK_S, AWAY_S, SERVES_S = 10.0, 20.0, 60.0, 5.0
# The name of the simulated world, and of the actor that changes a role in it before the command.
REHEARSAL = "rehearsal"
_SIDE = re.compile(r"(?<![\w./-])(SOURCE|TARGET)(?![\w.-])")


class RehearsalClock(Clock, Protocol):
    """A clock whose time can be advanced at once."""

    def advance(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The content of a rehearsal. ``source``: the site that gives up its clients, is lost, comes back, or is to be
    active. ``more``: options of the rehearsed command, as typed. ``unread``: the sites whose devices must not be read,
    each with the reason. ``both_active``: a repair starts with two active sites, not with two standby sites."""

    kind: RehearsedKind
    inventory: Inventory
    pair: Pair
    services: tuple[str, ...]
    source: str
    seed: int
    more: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    both_active: bool = False

    @property
    def target(self) -> str:
        """The other site."""
        return next(name for name in self.pair.sites if name != self.source)

    def copied(self, sites: Mapping[str, Site]) -> Inventory:
        """The inventory of the copy: these ``sites``, and no address of a real device or person."""
        pair = self.pair.model_copy(update={"services": self.services})
        return Inventory(sites={name: sites[name] for name in self.pair.sites}, pairs=(pair,))


class Prelude(Protocol):
    """The runs before the rehearsed command, and their clock."""

    @property
    def clock(self) -> RehearsalClock: ...

    def lead(self, runbook: str, on_gate: Mapping[str, Choice]) -> None:
        """Lead one run, with these answers. Raises ``NotStarted`` when it does not end as done."""
        ...


class Scene(Protocol):
    """A simulated copy of a pair. ``drills``: the folder below ``examples/drills`` that holds the drills for it."""

    drills: str

    def fitted(self, fault: str) -> Iterable[str]:
        """The texts of a fault for this pair. In ``fault``, SOURCE and TARGET stand for the two ends. Raises
        ``DefinitionError``."""
        ...

    def up(self, clock: RehearsalClock, file: Path | None) -> AbstractContextManager[Inventory]:
        """Make the copy for the length of a block, kept in ``file`` if that is given. Yields its inventory."""
        ...

    def play(self, prelude: Prelude) -> None:
        """Play, without waiting, the events before the rehearsed command is typed. Raises ``NotStarted``."""
        ...

    def lines(self) -> Iterator[str]:
        """The parts of the copy, for people."""
        ...

    def facts(self) -> dict[str, object]:
        """The parts of the copy, for machines."""
        ...

    def openness(self, intervals: int) -> str:
        """The meaning of clients being served at both sites for this number of intervals; empty: none."""
        ...


# Makes the scene of a rehearsal. It may read the devices of the pair, through read-only sessions. Raises
# ``DefinitionError``.
MakeScene = Callable[[Rehearsal, Registry, AdapterContext], Scene]


def with_sides(fault: str, source: str, target: str) -> str:
    """``fault`` with the names of the two ends in place of SOURCE and TARGET."""
    return _SIDE.sub(lambda word: source if word[1] == "SOURCE" else target, fault)


def attested_fence(site: Site) -> tuple[FenceOption, ...]:
    """The fence plan of a copy: each command of the operator is replaced by an attestation."""
    fence = tuple(_attested(option) for option in site.fence)
    distinct = {option.kind: option for option in reversed(fence)}
    return tuple(option for option in fence if distinct[option.kind] is option)


def _attested(option: FenceOption) -> FenceOption:
    if option.command is None:
        return option
    return FenceOption(attest=f"the command {option.command} of the fence plan would be run here")
