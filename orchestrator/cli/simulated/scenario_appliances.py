"""A simulated copy of a pair of appliances: the names of the inventory, everything else drawn from the seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.cli.simulated.scenario import (
    AWAY_S,
    DARK_S,
    REHEARSAL,
    SERVES_S,
    WELL_S,
    Cast,
    Prelude,
    RehearsalClock,
    acted_fence,
)
from orchestrator.counting import counted
from orchestrator.model.inventory import Device, Inventory, Site
from orchestrator.operations.rehearsal.drills import faults_for
from simulator.solace.copies import copied_layout, darken, shut
from simulator.solace.layout import WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS


class ApplianceScene:
    """See ``scenes.Scene``."""

    service_option = "--vpn"

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._layout = layout_of(cast)
        self._world: World | None = None

    def faults(self, texts: Iterable[str]) -> list[str]:
        """See ``scenes.Scene``."""
        nodes = {site.name: site.nodes for site in self._layout.sites}
        return faults_for(texts, {name: nodes[name] for name in (self._cast.source, self._cast.target)})

    @contextmanager
    def up(self, clock: RehearsalClock, file: Path | None) -> Iterator[Inventory]:
        """See ``scenes.Scene``."""
        world = World(self._layout, clock, path=file)
        with WORLDS.standing(world, REHEARSAL, file=file, clock=clock) as (self._world, reference):
            yield copied_inventory(self._cast, reference)

    def play(self, prelude: Prelude) -> None:
        """See ``scenes.Scene``."""
        assert self._world is not None  # it is up
        clock, kind, source = prelude.clock, self._cast.kind, self._cast.source
        clock.advance(WELL_S)
        if kind == "controlled":
            return
        if kind == "uncontrolled":
            darken(self._world, source)
            clock.advance(DARK_S)
            return
        if kind == "repair":
            self._make_alike(self._world)
            clock.advance(SERVES_S)
            return
        darken(self._world, source, AWAY_S)
        shut(self._world, source)
        prelude.lead("solace/uncontrolled", {"unfenced": "attest"})
        clock.advance(AWAY_S)
        if kind == "failback":
            prelude.lead("solace/restore", {})
            clock.advance(SERVES_S)

    def _make_alike(self, world: World) -> None:
        """A person makes the other site active too, or the active one standby."""
        home, other = self._cast.pair.sites
        with world.request():
            for service in self._cast.services:
                if self._cast.both_active:
                    world.vpn(service).set_role(other, "active", by=REHEARSAL)
                else:
                    world.vpn(service).set_role(home, "standby", by=REHEARSAL)

    def lines(self) -> Iterator[str]:
        """See ``scenes.Scene``."""
        for vpn in self._layout.vpns:
            yield f"{vpn.name}: {vpn.publish_rate:,.0f} messages/s are published"

    def facts(self) -> dict[str, object]:
        """See ``scenes.Scene``."""
        return {"publish_rates": {vpn.name: vpn.publish_rate for vpn in self._layout.vpns}}

    def openness(self, intervals: int) -> str:
        """See ``scenes.Scene``."""
        return f"BOTH SITES WERE ACTIVE, {counted(intervals, 'time')}" if intervals else "never two active sites"


def copied_inventory(cast: Cast, world: str) -> Inventory:
    """The pair as simulated sites: names and fence plans are kept, and nothing that leads to a device or a person."""
    return cast.copied({name: _copied(cast.inventory.sites[name], world) for name in cast.pair.sites})


def _copied(site: Site, world: str) -> Site:
    devices = tuple(Device(name=device.name) for device in site.devices)
    return Site(title=site.title, adapter="mock", devices=devices, options={"world": world}, fence=acted_fence(site))


def layout_of(cast: Cast) -> WorldLayout:
    """The world of a rehearsal; its source is active when it starts, and before a repair the home site."""
    one, other = (cast.inventory.sites[name] for name in cast.pair.sites)
    catches_up = cast.kind in ("restore", "failback", "repair")
    active = one.name if cast.kind == "repair" else cast.source
    return copied_layout((one, other), cast.services, seed=cast.seed, active=active, catches_up=catches_up)
