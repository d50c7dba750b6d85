"""The simulated pair of AMPS instances, spoken to in process or over its HTTP, and led by the real engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal

from adapters.amps.adapter import AmpsAdminAdapter
from adapters.mock.amps.adapter import MockAmpsAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Inventory, Site
from proof.simulation.amps.looks import look
from simulator.amps.account import FabricTally
from simulator.amps.embedded import AWAY, HOME, INSTANCES, amps_inventory, amps_layout
from simulator.amps.faults import parse_amps_faults
from simulator.amps.layout import Assumptions, DowngradeLayout, FabricLayout, QueueLayout, TransportLayout
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS
from simulator.http.server import Incoming, Outgoing
from simulator.lab.amps.admin import AmpsAdmin
from simulator.lab.amps.editions import with_editions
from simulator.lab.command_log import CommandLog
from tests.amps_admin.leading import Leading
from tests.amps_admin.stage import Secrets
from tests.semp.wire import Wire

Way = Literal["in process", "over HTTP"]


@dataclass
class WorldPair(Leading):
    """New York serves at first. ``way``: how the instances are spoken to. ``starts_closed``: after a restart, New York
    lets no client in by itself. ``downgrades``: actions of the configurations downgrade a link that owes too long.
    ``queue_names``: there are these queues, too. ``absent_nodes``: statistics that are not found (404). ``slow_s``: each
    request takes so long over HTTP. ``mate``: what the inventory calls the link to the mate. ``alter``:
    the fabric is changed by this before its time starts. ``editions``: how the instances answer over HTTP."""

    folder: Path
    way: Way
    sync: bool = True
    queues: bool = True
    bootstrap: bool = False
    starts_closed: bool = True
    downgrades: bool = False
    queue_names: tuple[str, ...] = ()
    absent_nodes: tuple[str, ...] = ()
    slow_s: float = 0.0
    mate: str = ""
    alter: Callable[[FabricLayout], FabricLayout] = lambda layout: layout
    editions: tuple[str, ...] = ()
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(1_735_689_600.0))

    def __post_init__(self) -> None:
        layout = amps_layout(sync=self.sync, queues=self.queues, bootstrap=self.bootstrap)
        layout = _downgrading(layout) if self.downgrades else layout
        layout = _with_queues(layout, self.queue_names) if self.queue_names else layout
        layout = layout.model_copy(update={"assume": Assumptions(absent_nodes=self.absent_nodes)})
        layout = self.alter(layout)
        self.world = AmpsWorld(_closed_at_start(layout) if self.starts_closed else layout, self.clock)
        self.reference = AMPS_WORLDS.register(str(self.folder), self.world)
        if self.starts_closed:
            self.act(HOME, "enable", "transports/1")
        self.wires = {site: self._wire(name) for site, name in INSTANCES.items()}

    def end(self) -> None:
        """Nobody knows the world any more."""
        AMPS_WORLDS.forget(str(self.folder))

    def _wire(self, name: str) -> Wire:
        admin = AmpsAdmin(self.world, name, CommandLog(self.clock))
        handler = with_editions(admin, self.editions, self.clock.advance)
        return Wire(lambda asked: self._slowly(handler, asked), self.clock, reaches=lambda: self._is_up(name))

    def _slowly(self, handler: Callable[[Incoming], Outgoing], asked: Incoming) -> Outgoing:
        if self.slow_s:
            self.clock.advance(self.slow_s)
        return handler(asked)

    def _is_up(self, name: str) -> bool:
        """Now: looking lets the world's time pass, and with it what is planned."""
        with self.world.request():
            return self.world.fabric.instances[name].phase != "down"

    def act(self, site: str, action: str, target: str) -> None:
        """Somebody does this at the instance of ``site``."""
        with self.world.request():
            self.world.console(INSTANCES[site]).obey(action, target)

    def kill(self, site: str) -> None:
        self.world.kill(INSTANCES[site])

    def start(self, site: str) -> None:
        self.world.start(INSTANCES[site])

    def lose(self, site: str) -> None:
        """All files of an instance that is down."""
        self.world.lose(INSTANCES[site])

    def fault(self, *lines: str) -> None:
        self.world.inject(parse_amps_faults(lines))

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def look(self, *, count: bool = False) -> dict[str, Any]:
        return look(self.world, count=count)

    @property
    def tally(self) -> FabricTally:
        """What really became of the messages."""
        return self.world.tally()

    @property
    def commands(self) -> list[str]:
        """What the instances were made to do, in order: ``ny disable transports/1``."""
        sites = {name: site for site, name in INSTANCES.items()}
        return [f"{sites[name]} {action} {target}" for name, action, target in self.tally.commands]

    def inventory(self) -> Inventory:
        """As an operator has it, for the way in which the instances are spoken to."""
        inventory = amps_inventory(self.reference, sync=self.sync)
        if self.way == "in process":
            return inventory
        sites = {name: self._over_http(site) for name, site in inventory.sites.items()}
        return inventory.model_copy(update={"sites": sites})

    def _over_http(self, site: Site) -> Site:
        options = {"scheme": "http", "insecure_http": True, "link": "sync" if self.sync else "async"}
        options |= {"mate": self.mate} if self.mate else {}
        devices = tuple(one.model_copy(update={"address": "lab", "port": 8085}) for one in site.devices)
        login = {"username": "failover", "password": {"env": "AMPS"}}
        data = site.model_dump(exclude_unset=True) | {
            "adapter": "amps-admin",
            "options": options,
            "login": login,
            "devices": [one.model_dump() for one in devices],
            "name": site.name,
        }
        return Site.model_validate(data)

    def adapter(self, site: str) -> Adapter:
        found = self.inventory().sites[site]
        if self.way == "in process":
            return MockAmpsAdapter(found, AdapterContext(self.clock, SecretStore(None)))
        return AmpsAdminAdapter(
            found, AdapterContext(self.clock, Secrets()), wire=lambda device: self.wires[site], random=Random(7)
        )


def _closed_at_start(layout: FabricLayout) -> FabricLayout:
    """New York's client transport has InitialState disabled."""
    shut = (
        TransportLayout(name="amps-tcp", enabled=False),
        TransportLayout(name="amps-replication", type="amps-replication"),
    )
    home = INSTANCES[HOME]
    instances = [one.model_copy(update={"transports": shut}) if one.name == home else one for one in layout.instances]
    return layout.model_copy(update={"instances": tuple(instances)})


def _with_queues(layout: FabricLayout, names: tuple[str, ...]) -> FabricLayout:
    queues = tuple(QueueLayout(name=name, underlying="jobs") for name in names)
    instances = tuple(one.model_copy(update={"queues": queues}) for one in layout.instances)
    return layout.model_copy(update={"instances": instances, "consumers": ()})


def _downgrading(layout: FabricLayout) -> FabricLayout:
    rule = DowngradeLayout(age=6.0, upgrade_age=2.0, every=2.0)
    instances = tuple(one.model_copy(update={"downgrade": rule}) for one in layout.instances)
    return layout.model_copy(update={"instances": instances})


__all__ = ["AWAY", "HOME", "INSTANCES", "Way", "WorldPair"]
