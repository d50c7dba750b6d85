"""The simulated appliances of a lab, served on real ports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from simulator.embedded import embedded_layout
from simulator.lab.edition import SEED
from simulator.lab.editions import APPLIANCES, with_editions
from simulator.lab.folder import editions_of, keep, kept_ports, usable_folder
from simulator.lab.of_world import serve_world
from simulator.lab.request import LabRequest, LabUp
from simulator.lab.semp.server import Scheme
from simulator.lab.server import Lab, LabSettings
from simulator.solace.faults import FAULTS
from simulator.solace.world import World

# The file of the sites' world in a lab's directory.
WORLD_FILE = "world.json"


@dataclass(frozen=True, slots=True)
class SolacePair:
    """``latency_ms``: the delay before each answer. ``adapter``: the adapter in the inventory, or ``both``. SEMP is
    served if the inventory uses it. ``plain_http``: SEMP without TLS. ``ha``: two nodes per site."""

    latency_ms: float
    adapter: str
    plain_http: bool
    ha: bool

    @property
    def semp(self) -> Scheme | None:
        """The scheme of SEMP, or None if SEMP is not served."""
        return None if self.adapter == "solace-cli" else "http" if self.plain_http else "https"

    @contextmanager
    def served(self, request: LabRequest, clock: Clock) -> Iterator[LabUp]:
        """Serve both sites for the length of the block."""
        faults = FAULTS.typed(request.faults)
        directory = request.directory
        editions = editions_of(directory, APPLIANCES.devices, request.editions)
        edition = with_editions(SEED, editions)
        if self.plain_http and self.semp is None:
            raise DefinitionError("--http is about SEMP, and --adapter solace-cli serves none")
        world = _lab_world(directory, clock, ha=self.ha)
        world.inject(faults)
        nodes = [(site.name, node) for site in world.layout.sites for node in site.nodes]
        kept = kept_ports(directory)
        settings = LabSettings(
            edition=edition,
            editions=editions,
            latency_s=self.latency_ms / 1000,
            clock=clock,
            with_log_files=True,
            semp=self.semp,
            semp_ports={node: kept.get(_port_name("semp", *node), 0) for node in nodes},
        )
        ports = {node: kept.get(_port_name("ssh", *node), 0) for node in nodes}
        with serve_world(world, directory=directory, ports=ports, settings=settings) as lab:
            try:
                listening = _ports_of(lab, has_semp=self.semp is not None)
                written = _inventory_of(lab, self.adapter)
                keep(directory, listening, {APPLIANCES.devices: editions}, written, request.inventory)
                doors = [
                    f"  {site}  {node}  {line}"
                    for site, node in lab.nodes
                    for line in _doors(lab, site, node, self.semp)
                ]
                yield LabUp(editions, [*doors, *_hints(lab, self, request.inventory, world.vpn_names[0])])
            finally:
                world.close()


def _port_name(protocol: str, site: str, node: str) -> str:
    return f"{protocol} {site} {node}"


def _ports_of(lab: Lab, *, has_semp: bool) -> dict[str, int]:
    ssh = {_port_name("ssh", *node): lab.address(*node)[1] for node in lab.nodes}
    return ssh | {_port_name("semp", *node): lab.semp_address(*node)[1] for node in lab.nodes if has_semp}


def _inventory_of(lab: Lab, adapter: str) -> Path:
    match adapter:
        case "solace-cli":
            return lab.inventory_path
        case "solace-semp":
            return lab.semp_inventory_path
        case _:
            return lab.joint_inventory_path


def _doors(lab: Lab, site: str, node: str, semp: Scheme | None) -> list[str]:
    """The addresses of a node: the SSH command, and the SEMP URL if SEMP is served."""
    host, port = lab.address(site, node)
    lines = [f"ssh -p {port} {lab.credentials.username}@{host}"]
    if semp is not None:
        host, port = lab.semp_address(site, node)
        lines.append(f"{semp}://{host}:{port}/SEMP/v2/monitor")
    return lines


def _hints(lab: Lab, pair: SolacePair, inventory: Path, vpn: str) -> list[str]:
    home = lab.inventory_path.parent
    where = [f"The password is in {home / 'password'}."]
    if pair.semp is not None:
        where.append(f"A bearer token is in {home / 'token'}.")
        where += [] if pair.plain_http else [f"The certificate authority is {home / 'lab-ca.pem'}."]
    return [
        *where,
        f"{inventory} uses {_WORDS[pair.adapter]}. Try, in another terminal:",
        f"  failover status --inventory {inventory}",
        f"  failover controlled {vpn} --inventory {inventory}",
        "Ctrl-C ends the lab; the sites keep their state.",
    ]


_WORDS = {
    "both": "SEMP, and the CLI over SSH for what SEMP cannot do",
    "solace-semp": "SEMP",
    "solace-cli": "the CLI over SSH",
}


def _lab_world(directory: Path, clock: Clock, *, ha: bool) -> World:
    """The saved world of the lab's directory, or a new world."""
    world_file = directory / WORLD_FILE
    usable_folder(directory)
    if not world_file.exists():
        world = World(embedded_layout(ha=ha), clock, path=world_file)
        world.save()
        return world
    world = World.load(world_file, clock)
    if ha and all(len(site.nodes) == 1 for site in world.layout.sites):
        raise DefinitionError(
            f"the sites in {directory} were made without --ha",
            hint="give another --directory, or delete this one to start again",
        )
    return world
