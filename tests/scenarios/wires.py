"""A scenario's stage with the real adapters between engine and world: over the CLI, over SEMP, or over both.

Everything is in this process and on virtual time; the faults of answers happen on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Literal

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.model.inventory import Also, Device, Inventory, Login, Pair, SecretRef, Site
from simulator.lab.edition import NEWER, SEED, Edition
from simulator.lab.editions import with_editions
from simulator.solace.world import World
from tests.scenarios.script import Scenario
from tests.scenarios.staging import PatientClock, Stage, fast_journal
from tests.scenarios.terminals import Terminals
from tests.semp.stage import Secrets, Semp

Protocol = Literal["solace-cli", "solace-semp", "both"]
_OPTIONS: Mapping[str, Mapping[str, str]] = {"solace-cli": {}, "solace-semp": {"scheme": "http"}}


class Wires(Registry):
    """Hands out the adapters whose devices are the nodes of one world."""

    def __init__(self, world: World, editions: Sequence[str] = ()) -> None:
        super().__init__()
        terminals = Terminals(world, with_editions(SEED, editions))
        semp = Semp(world=world, edition=with_editions(NEWER, editions))

        class Cli(SolaceCliAdapter):
            def __init__(self, site: Site, setting: AdapterContext) -> None:
                super().__init__(
                    site, setting, dial=lambda device: lambda: terminals.connect(device), random=Random(1)
                )

        class OverSemp(SolaceSempAdapter):
            def __init__(self, site: Site, setting: AdapterContext) -> None:
                super().__init__(site, setting, wire=lambda device: semp.wires[device.name], random=Random(1))

        self.terminals, self.semp = terminals, semp
        self._kinds: dict[str, type[Adapter]] = {"solace-cli": Cli, "solace-semp": OverSemp}

    @property
    def changes(self) -> list[str]:
        """Every line that was to change something, whichever node heard it."""
        return [
            line for logs in (self.terminals.logs, self.semp.logs) for log in logs.values() for line in log.changes
        ]

    def get(self, name: str) -> type[Adapter]:
        return self._kinds[name]


def over(protocol: Protocol, scenario: Scenario, folder: Path) -> Stage:
    """The stage with ``protocol`` between it and the world; ``both`` is SEMP, with the CLI for what SEMP cannot do."""
    clock = PatientClock()
    world = World(scenario.scene.world.layout, clock)
    ways = ["solace-semp", "solace-cli"] if protocol == "both" else [protocol]
    wires = Wires(world, scenario.scene.editions)
    sites = {name: _site(world, wires.terminals.edition, name, *ways) for name in world.sites}
    pair = Pair(name="trading", sites=world.sites, services=world.vpn_names)
    inventory = Inventory(sites=sites, pairs=(pair,))
    return Stage(scenario, clock, world, fast_journal(folder / "journal.sqlite"), inventory, wires, Secrets())


def _site(world: World, edition: Edition, name: str, adapter: str, *further: str) -> Site:
    # A device of this machine is its port (``lease.service_place``), and that of the mate is another one.
    first = 8080 + 10 * world.sites.index(name)
    devices = tuple(
        Device(name=node, address="127.0.0.1", port=port, router_name=edition.views.router(node))
        for port, node in enumerate(world.centre(name).nodes, first)
    )
    return Site(
        name=name,
        adapter=adapter,
        devices=devices,
        login=Login(username="operator", password=SecretRef(env="PASSWORD")),
        options=_OPTIONS[adapter],
        also=tuple(Also(adapter=one, options=_OPTIONS[one]) for one in further),
    )
