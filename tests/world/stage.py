"""Worlds for tests: a test names only what it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import VirtualClock
from simulator.solace.account import Tally
from simulator.solace.appliance import RoleName, VpnReplication
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout
from simulator.solace.node import SimulatedAppliance
from simulator.solace.world import World

SITES = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
PAIRS = (
    SiteLayout("ny", ("NY_Appliance1", "NY_Appliance2")),
    SiteLayout("nj", ("NJ_Appliance1", "NJ_Appliance2")),
)


class Stage:
    """A world, its clock, and short words for what tests do to it."""

    def __init__(self, world: World, clock: VirtualClock) -> None:
        self.world = world
        self.clock = clock

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def node(self, site: str, number: int = 1) -> SimulatedAppliance:
        return self.world.appliance(site, f"{site.upper()}_Appliance{number}")

    def role(self, site: str, role: RoleName, vpn: str = "V") -> None:
        self.node(site).set_role(vpn, role)

    def row(self, site: str, vpn: str = "V") -> VpnReplication:
        return self.node(site).replication(vpn)

    def depth(self, site: str = "ny", vpn: str = "V") -> int:
        return self.node(site).replication_queue(vpn).messages

    def tally(self, vpn: str = "V") -> Tally:
        return self.world.tally(vpn)

    def fault(self, *lines: str) -> None:
        self.world.inject(parse_faults(lines))


class Stages(Protocol):
    """``stage(ha=False, world={...}, **vpn)``: two sites, one VPN named V, New York active.

    ``world`` and ``vpn`` go into the layouts of these.
    """

    def __call__(self, *, ha: bool = False, world: Mapping[str, Any] | None = None, **vpn: Any) -> Stage: ...


class Adapters(Protocol):
    """``adapter(world, site)``: an adapter of that site of a world in memory. ``more`` goes into its ``Site``."""

    def __call__(self, world: World, site: str = "ny", *, read_only: bool = False, **more: Any) -> MockAdapter: ...
