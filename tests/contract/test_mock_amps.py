"""The in-process adapter of the simulated AMPS instances keeps the laws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from adapters.mock.amps.adapter import MockAmpsAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Device, Site
from simulator.amps.faults import parse_amps_faults
from simulator.amps.layout import fabric_from
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS
from tests.contract.laws import Bench, Laws, Spoil

ODD = ("%23", "a/b", "..", "$(reboot)", "#x", "{id}")
SERVICES = ("orders", "market data", *ODD)
NAMES = {service: f"amps-{number}" for number, service in enumerate(SERVICES, 1)}
FAR = 1e12


class MockAmpsBench:
    """A site with one instance for each service, each with a queue and a link to one far away."""

    services: Sequence[str] = ("orders", "market data")
    missing = "nowhere"
    by_service = frozenset({"instance"})
    odd: Sequence[str] = ODD
    secret = ""
    calls: Mapping[str, Sequence[Call]] = {
        "set_client_transports": [Call(one, {"state": "disabled"}) for one in services],
        "set_link_mode": [Call(one, {"mode": "async"}) for one in services],
        "set_proxied_transfer": [Call(one, {"state": "enabled"}) for one in services],
    }

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        instances = [
            {
                "name": name,
                "group": "near",
                "interval": 1.0,
                "topics": [{"name": "orders", "keys": ["/id"]}],
                "queues": [{"name": "jobs"}],
                "destinations": [{"name": "far", "group": "far"}],
            }
            for name in NAMES.values()
        ]
        fabric = fabric_from({"instances": [*instances, {"name": "far"}], "validates": False, "admin_latency": 0.0})
        self.world = AmpsWorld(fabric, self.clock)
        self.name = f"bench-{folder}"
        self.reference = AMPS_WORLDS.register(self.name, self.world)
        self._made: list[Adapter] = []

    def adapter(self, *, read_only: bool = False) -> Adapter:
        site = Site(
            name="ny",
            adapter="mock-amps",
            devices=tuple(Device(name=name) for name in NAMES.values()),
            options={"world": self.reference, "services": NAMES},
            command_timeout=1.0,
        )
        setting = AdapterContext(clock=self.clock, secrets=SecretStore(None), read_only=read_only)
        self._made.append(MockAmpsAdapter(site, setting))
        return self._made[-1]

    def arrived(self) -> int:
        return len(self.world.tally().commands)

    def state(self) -> object:
        with self.world.request():
            return {
                name: (
                    dict(one.transports),
                    {link: state.downgraded for link, state in one.links.items()},
                    {queue: state.proxied for queue, state in one.queues.items()},
                )
                for name, one in self.world.fabric.instances.items()
            }

    def spoil(self, how: Spoil) -> None:
        self.world.inject(parse_amps_faults([f"act: {how}"]))

    def go_away(self) -> None:
        self._silence(FAR)

    def come_back(self) -> None:
        self._silence(0.0)

    def _silence(self, until: float) -> None:
        with self.world.request():
            for instance in self.world.fabric.instances.values():
                instance.silent_until = until

    def close(self) -> None:
        for adapter in self._made:
            adapter.close()
        AMPS_WORLDS.forget(self.name)


class TestMockAmps(Laws):
    """``mock-amps``."""

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        bench = MockAmpsBench(tmp_path)
        yield bench
        bench.close()
