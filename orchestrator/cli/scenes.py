"""How things stand when a rehearsal begins: the simulated copy, and the outage that a restore or a fail-back follows.

An outage is played out by the same runbooks as the real one, in no time, on the rehearsal's own record; so the
rehearsed command finds what it would find after a night of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from adapters.mock.layout import WorldLayout
from adapters.mock.rehearsal import copied_layout, darken, shut
from adapters.mock.world import World
from adapters.mock.worlds import WORLDS
from orchestrator import events as ev
from orchestrator.cli.leading import new_run_name
from orchestrator.cli.planning import Wish as PlanWish
from orchestrator.cli.planning import make_plan
from orchestrator.cli.wiring import Tools
from orchestrator.clock import Clock
from orchestrator.engine import Engine
from orchestrator.errors import NotStarted
from orchestrator.fleet import InlineFleet
from orchestrator.lease import create_run
from orchestrator.runbook import Choice
from orchestrator.site import Device, FenceOption, Inventory, Pair, Site
from orchestrator.state import begin
from orchestrator.version import VERSION

Kind = Literal["controlled", "uncontrolled", "restore", "failback"]
# Seconds of simulated time: how long the pair runs well, how long a lost site is dark before somebody acts, how long
# until it is back, and how long it then serves.
_WELL, _DARK, _AWAY, _SERVES = 10.0, 20.0, 60.0, 5.0
_ATTESTED = "kept away in the rehearsal's prelude"
_NAME = "rehearsal"


class RehearsalClock(Clock, Protocol):
    """Time that can be let pass at once."""

    def advance(self, seconds: float) -> None: ...


def copied_inventory(inventory: Inventory, pair: Pair, services: Sequence[str], world: str) -> Inventory:
    """``pair`` as simulated sites: names and fence plans are kept, and nothing that leads to a device or a person."""
    sites = {name: _copied(inventory.sites[name], world) for name in pair.sites}
    return Inventory(sites=sites, pairs=(pair.model_copy(update={"services": tuple(services)}),))


def _copied(site: Site, world: str) -> Site:
    devices = tuple(Device(name=device.name) for device in site.devices)
    fence = tuple(_acted(option) for option in site.fence)
    distinct = {option.kind: option for option in reversed(fence)}
    kept = tuple(option for option in fence if distinct[option.kind] is option)
    return Site(title=site.title, adapter="mock", devices=devices, options={"world": world}, fence=kept)


def _acted(option: FenceOption) -> FenceOption:
    """A command of the operator's own is not run in a rehearsal; somebody says that it would have been."""
    if option.command is None:
        return option
    return FenceOption(attest=f"the command {option.command} of the fence plan would be run here")


def inventory_text(inventory: Inventory) -> str:
    """As a file has it; JSON is YAML."""
    plain = inventory.model_dump(mode="json", exclude_defaults=True)
    for site in plain["sites"].values():
        site.pop("name", None)
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


@contextmanager
def simulated_pair(layout: WorldLayout, clock: Clock, file: Path | None) -> Iterator[tuple[World, str]]:
    """A world, and what a site's option ``world`` says of it; with ``file`` it is kept there."""
    world = World(layout, clock, path=file)
    if file is None:
        reference = WORLDS.register(_NAME, world)
        try:
            yield world, reference
        finally:
            WORLDS.forget(_NAME)
        return
    world.save()
    kept = WORLDS.acquire(str(file), clock)
    try:
        yield kept, str(file)
    finally:
        WORLDS.release(kept)


def layout_for(
    kind: Kind, sites: tuple[Site, Site], services: Sequence[str], *, seed: int, source: str
) -> WorldLayout:
    """The world of a rehearsal; ``source`` is active when it begins."""
    catches_up = kind in ("restore", "failback")
    return copied_layout(sites, services, seed=seed, active=source, catches_up=catches_up)


@dataclass(frozen=True, slots=True)
class Prelude:
    """What happens before the rehearsed command is typed. ``source`` is the site that gives up activity, or is lost."""

    tools: Tools
    clock: RehearsalClock
    world: World
    inventory: Path
    services: tuple[str, ...]
    source: str

    def play(self, kind: Kind) -> None:
        """Let it happen, in no time. Raises ``NotStarted`` when it does not come out as it has to."""
        self.clock.advance(_WELL)
        if kind == "controlled":
            return
        if kind == "uncontrolled":
            darken(self.world, self.source)
            self.clock.advance(_DARK)
            return
        darken(self.world, self.source, _AWAY)
        shut(self.world, self.source)
        self._lead("solace/uncontrolled", {"unfenced": "attest"})
        self.clock.advance(_AWAY)
        if kind == "failback":
            self._lead("solace/restore", {})
            self.clock.advance(_SERVES)

    def _lead(self, runbook: str, on_gate: Mapping[str, Choice]) -> None:
        policy = ev.Policy(on_gate=on_gate, reason=_ATTESTED)
        plan = make_plan(
            self.tools, PlanWish(runbook, self.inventory, self.services, False, None, self.source, policy)
        )
        now = self.clock.now()
        created = ev.RunCreated(plan=plan, by=_NAME, version=VERSION)
        with closing(self.tools.journal()) as journal:
            lease, writer = create_run(journal, self.clock, new_run_name(now), created)
            run = begin(ev.Record(run=lease.run, seq=1, at=now, lane=None, event=created))
            fleet = InlineFleet(self.tools.make_adapters(plan), lease, self.clock)
            ended = Engine(journal, lease, writer, run, fleet, self.clock, by=_NAME).run()
        if ended.outcome is not ev.Outcome.DONE:
            raise NotStarted(f"the prelude of the rehearsal, {runbook}, ended {ended.outcome}")
