"""Benches of the built-in adapters: one simulated world, asked in process, over the CLI, and over SEMP.

Whatever speaks for the site, what arrived and what it changed is the world's own account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from orchestrator.clock import Clock, SystemClock, VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Device, Site
from simulator.lab.edition import NEWER
from simulator.lab.of_world import serve_world
from simulator.lab.server import Credentials, LabSettings
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, TransactionLayout, VpnLayout, WorldLayout
from simulator.solace.site_state import FOREVER
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.contract.laws import Spoil

REGISTRY = Registry()
MAIN, OTHER = "Trading_VPN", "Risk VPN"
ODD = ("%23", "a/b", "..", "$(reboot)", "#x", "a,b", "a=b", "{id}")
SITES = (
    SiteLayout("ny", ("NY_Appliance1", "NY_Appliance2"), latency=0.0),
    SiteLayout("nj", ("NJ_Appliance1", "NJ_Appliance2"), latency=0.0),
)
CALLS: Mapping[str, Sequence[Call]] = {
    "set_role": [Call(MAIN, {"role": "standby"}), Call(OTHER, {"role": "standby"})],
    "complete_transaction": [
        Call(MAIN, {"xid": "0021B028-00-01", "outcome": "commit"}),
        Call(OTHER, {"xid": "0021C028-00-01", "outcome": "rollback"}),
    ],
    "delete_transaction": [
        Call(MAIN, {"xid": "0021B028-00-02"}),
        Call(OTHER, {"xid": "0021C028-00-02"}),
    ],
    "set_backbone": [Call(MAIN, {"state": "down"})],
    "set_reject_on_discard": [Call(MAIN, {"enabled": "no"}), Call(OTHER, {"enabled": "no"})],
}


def layout() -> WorldLayout:
    """Two message VPNs with transactions in all states, and some with odd names; nobody publishes."""

    def held(head: str) -> tuple[TransactionLayout, ...]:
        return (
            TransactionLayout(f"{head}-00-01", published=3, consumed=(7, 8)),
            TransactionLayout(f"{head}-00-02", state="COMPLETE"),
            TransactionLayout(f"{head}-00-03", state="ACTIVE", replicated=False),
        )

    vpns = (
        VpnLayout(MAIN, publish_rate=0, backlog=40, drain_rate=0.001, transactions=held("0021B028")),
        VpnLayout(OTHER, publish_rate=0, drain_rate=0.001, transactions=held("0021C028")),
        *(VpnLayout(name, publish_rate=0, backlog=1 + n, drain_rate=0.001) for n, name in enumerate(ODD)),
    )
    # Whoever has to take over, dial or connect again does so at once: half of the benches wait for it in earnest.
    return WorldLayout(sites=SITES, vpns=vpns, takeover=0.1, redial=0.1, reconnect=0.1)


class WorldBench:
    """The site ``ny`` of a world. Use it as a context manager."""

    name: ClassVar[str]
    services: Sequence[str] = (MAIN, OTHER)
    missing = "Nowhere"
    by_service = frozenset({"replication", "replication_queue", "transactions", "endpoints"})
    odd: Sequence[str] = ODD

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = self._clock()
        self.world = World(layout(), self.clock)
        kind = REGISTRY.get(self.name)
        self.calls: Mapping[str, Sequence[Call]] = {name: CALLS[name] for name in kind.actions}
        self.secret = ""
        self._made: list[Adapter] = []

    def _clock(self) -> Clock:
        raise NotImplementedError

    def site(self, name: str = "ny") -> Site:
        """One site as an inventory has it."""
        raise NotImplementedError

    def adapter(self, *, read_only: bool = False, site: str = "ny") -> Adapter:
        setting = AdapterContext(clock=self.clock, secrets=SecretStore(None), read_only=read_only)
        self._made.append(REGISTRY.adapter_for(self.site(site), setting))
        return self._made[-1]

    def arrived(self) -> int:
        tallies = self.world.tallies().values()
        counts = [(key, count.received) for tally in tallies for key, count in tally.commands.items()]
        # The backbone is the whole site's, and stands in the account of each message VPN.
        door = {key: received for key, received in counts if key.action == "set_backbone"}
        return sum(received for key, received in counts if key.action != "set_backbone") + sum(door.values())

    def state(self) -> object:
        with self.world.request():
            vpns = {name: self.world.vpn(name) for name in self.world.vpn_names}
            return (
                {
                    (name, side.name): (side.role, {xid: held.state for xid, held in side.transactions.items()})
                    for name, vpn in vpns.items()
                    for side in vpn.sides.values()
                },
                {name: vpn.stream.rejects for name, vpn in vpns.items()},
                {
                    name: {node.name: node.backbone for node in one.nodes.values()}
                    for name, one in self.world.centres.items()
                },
            )

    def spoil(self, how: Spoil) -> None:
        self.world.inject(parse_faults([f"demote: {how}"]))

    def go_away(self) -> None:
        with self.world.request():
            self.world.centre("ny").unreachable_until = FOREVER

    def come_back(self) -> None:
        with self.world.request():
            self.world.centre("ny").unreachable_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for adapter in self._made:
            adapter.close()


class MockBench(WorldBench):
    """In process, on virtual time."""

    name = "mock"

    def _clock(self) -> Clock:
        return VirtualClock()

    def __enter__(self) -> Self:
        self._reference = WORLDS.register(f"bench-{self.folder}", self.world)
        return self

    def __exit__(self, *how: object) -> None:
        super().__exit__(None, None, None)
        WORLDS.forget(f"bench-{self.folder}")

    def site(self, name: str = "ny") -> Site:
        devices = tuple(Device(name=node, router_name=node) for node in self.world.centre(name).nodes)
        return Site(name=name, adapter="mock", devices=devices, options={"world": self._reference})


class LabBench(WorldBench):
    """Over real ports of this machine."""

    def _clock(self) -> Clock:
        return SystemClock()

    def __enter__(self) -> Self:
        credentials = Credentials(password="correct-horse-battery-staple")
        self.secret = credentials.password
        settings = LabSettings(edition=NEWER, semp="http" if self.name == "solace-semp" else None)
        self.lab = serve_world(
            self.world, directory=self.folder / "lab", credentials=credentials, settings=self._settings(settings)
        )
        return self

    def _settings(self, settings: LabSettings) -> LabSettings:
        return settings

    def __exit__(self, *how: object) -> None:
        super().__exit__(None, None, None)
        self.lab.stop()

    def site(self, name: str = "ny") -> Site:
        path = self.lab.semp_inventory_path if self.name == "solace-semp" else self.lab.inventory_path
        inventory, _ = load_inventory(path)
        # A second is long on this machine, and what is lost on purpose is waited for that long.
        return inventory.sites[name].model_copy(update={"command_timeout": 1.0, "connect_timeout": 1.0})

    def lines(self) -> list[str]:
        """Everything that the site's nodes received, as it came."""
        return [line for node in self.world.centre("ny").nodes for line in self.lab.log("ny", node).lines]


class CliBench(LabBench):
    """The appliances' CLI over SSH."""

    name = "solace-cli"


class SempBench(LabBench):
    """SEMP over HTTP."""

    name = "solace-semp"


BENCHES: Mapping[str, type[WorldBench]] = {one.name: one for one in (MockBench, CliBench, SempBench)}
