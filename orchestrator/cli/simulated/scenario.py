"""How things stand when a rehearsal begins: a simulated copy of a pair, and the outage that a restore or a fail-back
follows. What every family's scene has in common; ``scenario_appliances`` and ``scenario_amps`` are the two there are.

An outage is played out by the same runbooks as the real one, in no time, on the rehearsal's own record; so the
rehearsed command finds what it would find after a night of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from orchestrator.clock import Clock
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.engine.held import hold_new
from orchestrator.errors import NotStarted
from orchestrator.model import events as ev
from orchestrator.model.inventory import FenceOption, Inventory, Pair, Site
from orchestrator.model.runbook import Choice
from orchestrator.operations.runs.lead import new_run_name
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.runtime import Tools
from orchestrator.version import VERSION

Kind = Literal["controlled", "uncontrolled", "restore", "failback", "repair"]
# Seconds of simulated time: how long the pair runs well, how long a lost site is dark before somebody acts, how long
# until it is back, and how long it then serves.
WELL_S, DARK_S, AWAY_S, SERVES_S = 10.0, 20.0, 60.0, 5.0
_ATTESTED = "kept away in the rehearsal's prelude"
# Who leads the prelude, and what its world is called.
REHEARSAL = "rehearsal"


class RehearsalClock(Clock, Protocol):
    """Time that can be let pass at once."""

    def advance(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Cast:
    """What is rehearsed. ``source`` is the site that gives up its clients, is lost, comes back, or is to be active.
    ``more`` are options of the rehearsed command, as they were typed; ``offline``: no device is looked at.
    ``both_active``: a repair starts with two active sites, not with two standby ones."""

    kind: Kind
    inventory: Inventory
    pair: Pair
    services: tuple[str, ...]
    source: str
    seed: int
    more: tuple[str, ...] = ()
    offline: bool = False
    both_active: bool = False

    @property
    def target(self) -> str:
        """The other site."""
        return next(name for name in self.pair.sites if name != self.source)

    def copied(self, sites: Mapping[str, Site]) -> Inventory:
        """The inventory of the copy: these ``sites``, and nothing that leads to a device or a person."""
        pair = self.pair.model_copy(update={"services": self.services})
        return Inventory(sites={name: sites[name] for name in self.pair.sites}, pairs=(pair,))


class Scene(Protocol):
    """A simulated copy of a pair."""

    # How a service is named on the command line.
    service_option: str

    def faults(self, texts: Iterable[str]) -> list[str]:
        """What will go wrong, in the words of this pair. Raises ``DefinitionError``."""
        ...

    def up(self, clock: RehearsalClock, file: Path | None) -> AbstractContextManager[Inventory]:
        """The copy stands, kept in ``file`` if there is one; its inventory."""
        ...

    def play(self, prelude: Prelude) -> None:
        """Let happen, in no time, what happens before the rehearsed command is typed. Raises ``NotStarted``."""
        ...

    def lines(self) -> Iterator[str]:
        """What the copy is made of, for people."""
        ...

    def facts(self) -> dict[str, object]:
        """The same for machines."""
        ...

    def openness(self, intervals: int) -> str:
        """What it means that clients were served at both sites so many times."""
        ...


@dataclass(frozen=True, slots=True)
class Prelude:
    """The runs before the rehearsed command. ``inventory``: the file of the copy's."""

    tools: Tools
    clock: RehearsalClock
    inventory: Path
    cast: Cast

    def lead(self, runbook: str, on_gate: Mapping[str, Choice]) -> None:
        """Lead one run, with these answers. Raises ``NotStarted`` when it does not come out as it has to."""
        cast = self.cast
        policy = ev.Policy(on_gate=on_gate, reasons=dict.fromkeys(on_gate, _ATTESTED))
        plan = make_plan(
            self.tools, PlanRequest(runbook, self.inventory, cast.services, False, None, cast.source, policy)
        )
        created = ev.RunCreated(plan=plan, by=REHEARSAL, version=VERSION)
        with closing(self.tools.journal()) as journal:
            held = hold_new(journal, self.clock, new_run_name(self.clock.now()), created)
            fleet = InlineFleet(self.tools.make_adapters(plan), held.lease, self.clock)
            ended = Engine(journal, *held, fleet, self.clock, by=REHEARSAL).run()
        if ended.outcome is not ev.Outcome.DONE:
            raise NotStarted(f"the prelude of the rehearsal, {runbook}, ended {ended.outcome}")


def acted_fence(site: Site) -> tuple[FenceOption, ...]:
    """The fence plan, in which somebody says that a command of the operator's own would have been run."""
    fence = tuple(_acted(option) for option in site.fence)
    distinct = {option.kind: option for option in reversed(fence)}
    return tuple(option for option in fence if distinct[option.kind] is option)


def _acted(option: FenceOption) -> FenceOption:
    if option.command is None:
        return option
    return FenceOption(attest=f"the command {option.command} of the fence plan would be run here")


def inventory_text(inventory: Inventory) -> str:
    """As a file has it; JSON is YAML."""
    plain = inventory.model_dump(mode="json", exclude_defaults=True)
    for site in plain["sites"].values():
        site.pop("name", None)
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
