"""Builders for worlds: a test names only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from adapters.mock.adapter import MockAdapter
from adapters.mock.faults import parse_faults
from adapters.mock.layout import SiteLayout, VpnLayout, WorldLayout
from adapters.mock.world import World
from adapters.mock.worlds import WORLDS
from orchestrator.clock import VirtualClock
from orchestrator.contract import Setting
from orchestrator.site import Device, Site

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

    def node(self, site: str, number: int = 1) -> Any:
        return self.world.appliance(site, f"{site.upper()}_Appliance{number}")

    def role(self, site: str, role: Any, vpn: str = "V") -> None:
        self.node(site).set_role(vpn, role)

    def row(self, site: str, vpn: str = "V") -> Any:
        return self.node(site).replication(vpn)

    def depth(self, site: str = "ny", vpn: str = "V") -> int:
        return int(self.node(site).replication_queue(vpn).messages)

    def tally(self, vpn: str = "V") -> Any:
        return self.world.tally(vpn)

    def fault(self, *lines: str) -> None:
        self.world.afflict(parse_faults(lines))


class Secretless:
    """Hands out nothing: the simulated sites ask for no secret."""

    def reveal(self, reference: object, *, what: str) -> str:
        raise AssertionError(f"asked for {what}")


class Allowed:
    """A permit that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def check(self) -> None:
        self.asked += 1


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stage(clock: VirtualClock) -> Callable[..., Stage]:
    """``stage(ha=False, world={...}, **vpn)``: two sites, one VPN named V, New York active."""

    def build(*, ha: bool = False, world: dict[str, Any] | None = None, **vpn: Any) -> Stage:
        layout = WorldLayout(sites=PAIRS if ha else SITES, vpns=(VpnLayout("V", **vpn),))
        return Stage(World(replace(layout, **(world or {})), clock), clock)

    return build


@pytest.fixture
def adapter(clock: VirtualClock) -> Iterator[Callable[..., MockAdapter]]:
    """``adapter(world, site)``: an adapter of that site of a world in memory."""
    names: list[str] = []

    def build(world: World, site: str = "ny", *, read_only: bool = False, **more: Any) -> MockAdapter:
        name = f"test-{id(world)}"
        if name not in names:
            WORLDS.register(name, world)
            names.append(name)
        devices = tuple(Device(name=node) for node in world.centre(site).nodes)
        described = Site(name=site, adapter="mock", devices=devices, options={"world": f"memory:{name}"}, **more)
        return MockAdapter(described, Setting(clock, Secretless(), read_only=read_only))

    yield build
    for name in names:
        WORLDS.forget(name)


@pytest.fixture
def permit() -> Allowed:
    return Allowed()
