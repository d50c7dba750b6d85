"""A simulated copy of a pair of appliances: the names of the inventory, everything else drawn from the seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.counting import counted
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.family.rehearsal import (
    AWAY_S,
    DARK_S,
    REHEARSAL,
    SERVES_S,
    WELL_S,
    Prelude,
    Rehearsal,
    RehearsalClock,
    attested_fence,
    with_sides,
)
from orchestrator.model.inventory import Device, Inventory, Site
from simulator.solace.copies import copied_layout, darken, shut
from simulator.solace.faults import parse_fault
from simulator.solace.layout import WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS


class SolaceScene:
    """See ``Scene``. No appliance is read."""

    drills = ""

    def __init__(self, rehearsal: Rehearsal, registry: Registry, context: AdapterContext) -> None:
        del registry, context
        self._rehearsal = rehearsal
        self._layout = layout_of(rehearsal)
        self._world: World | None = None

    def fitted(self, fault: str) -> Iterator[str]:
        """See ``Scene``."""
        nodes = {site.name: site.nodes for site in self._layout.sites}
        return fitted_fault(fault, {name: nodes[name] for name in (self._rehearsal.source, self._rehearsal.target)})

    @contextmanager
    def up(self, clock: RehearsalClock, file: Path | None) -> Iterator[Inventory]:
        """See ``Scene``."""
        world = World(self._layout, clock, path=file)
        with WORLDS.standing(world, REHEARSAL, file=file, clock=clock) as (self._world, reference):
            yield copied_inventory(self._rehearsal, reference)

    def play(self, prelude: Prelude) -> None:
        """See ``Scene``."""
        assert self._world is not None  # it is up
        clock, kind, source = prelude.clock, self._rehearsal.kind, self._rehearsal.source
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
        home, other = self._rehearsal.pair.sites
        with world.request():
            for service in self._rehearsal.services:
                if self._rehearsal.both_active:
                    world.vpn(service).set_role(other, "active", by=REHEARSAL)
                else:
                    world.vpn(service).set_role(home, "standby", by=REHEARSAL)

    def lines(self) -> Iterator[str]:
        """See ``Scene``."""
        for vpn in self._layout.vpns:
            yield f"{vpn.name}: {vpn.publish_rate:,.0f} messages/s are published"

    def facts(self) -> dict[str, object]:
        """See ``Scene``."""
        return {"publish_rates": {vpn.name: vpn.publish_rate for vpn in self._layout.vpns}}

    def openness(self, intervals: int) -> str:
        """See ``Scene``."""
        return f"BOTH SITES WERE ACTIVE, {counted(intervals, 'time')}" if intervals else "never two active sites"


def fitted_fault(text: str, sites: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The fault with this pair's names. ``SOURCE/*`` stands for each node of the source, so a line with it becomes a
    line for each node; ``TARGET/*`` works in the same way. ``sites``: the source and then the target, each with its
    nodes."""
    text = with_sides(text, *sites)
    everywhere = next((site for site in sites if f"{site}/*" in text), None)
    nodes = [""] if everywhere is None else sites[everywhere]
    for node in nodes:
        fault = text.replace(f"{everywhere}/*", f"{everywhere}/{node}") if everywhere is not None else text
        parse_fault(fault)
        yield fault


def copied_inventory(rehearsal: Rehearsal, world: str) -> Inventory:
    """The pair as simulated sites: names and fence plans are kept, and nothing that leads to a device or a person."""
    sites = rehearsal.inventory.sites
    return rehearsal.copied({name: _copied(sites[name], world) for name in rehearsal.pair.sites})


def _copied(site: Site, world: str) -> Site:
    devices = tuple(Device(name=device.name) for device in site.devices)
    return Site(
        title=site.title, adapter="mock", devices=devices, options={"world": world}, fence=attested_fence(site)
    )


def layout_of(rehearsal: Rehearsal) -> WorldLayout:
    """The world of a rehearsal. At its start the source is active, but before a repair the home site is active."""
    one, other = (rehearsal.inventory.sites[name] for name in rehearsal.pair.sites)
    catches_up = rehearsal.kind in ("restore", "failback", "repair")
    active = one.name if rehearsal.kind == "repair" else rehearsal.source
    return copied_layout((one, other), rehearsal.services, seed=rehearsal.seed, active=active, catches_up=catches_up)
