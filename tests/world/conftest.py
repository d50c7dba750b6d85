"""Builders for worlds, on one clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.model.inventory import Device, Site
from simulator.solace.layout import VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.seam import Permits, Secretless
from tests.world.stage import PAIRS, SITES, Adapters, Stage, Stages


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stage(clock: VirtualClock) -> Stages:
    def build(*, ha: bool = False, world: Mapping[str, Any] | None = None, **vpn: Any) -> Stage:
        layout = WorldLayout(sites=PAIRS if ha else SITES, vpns=(VpnLayout("V", **vpn),))
        return Stage(World(replace(layout, **(world or {})), clock), clock)

    return build


@pytest.fixture
def adapter(clock: VirtualClock) -> Iterator[Adapters]:
    names: list[str] = []

    def build(world: World, site: str = "ny", *, read_only: bool = False, **more: Any) -> MockAdapter:
        name = f"test-{id(world)}"
        if name not in names:
            WORLDS.register(name, world)
            names.append(name)
        devices = tuple(Device(name=node) for node in world.centre(site).nodes)
        described = Site(name=site, adapter="mock", devices=devices, options={"world": f"memory:{name}"}, **more)
        return MockAdapter(described, AdapterContext(clock, Secretless(), read_only=read_only))

    yield build
    for name in names:
        WORLDS.forget(name)


@pytest.fixture
def permit() -> Permits:
    return Permits()
