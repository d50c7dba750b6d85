"""The simulated sites on behalf of the command line: served on real ports, disturbed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.render.terminal import say, show
from orchestrator.cli.simulated.lab_folder import editions_of, is_up, kept_ports, usable_folder, wait_for_signal
from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.operations.runtime import Tools
from simulator.solace.embedded import embedded_layout
from simulator.solace.faults import FAULTS
from simulator.solace.world import World
from simulator.world.worlds import WORLDS

if TYPE_CHECKING:
    from simulator.lab.semp.server import Scheme
    from simulator.lab.server import Lab

# What keeps the sites in a lab's directory.
WORLD_FILE = "world.json"


@dataclass(frozen=True, slots=True)
class LabOptions:
    """What a person typed. ``latency_ms``: before each answer. ``directory`` holds what the lab makes.

    ``adapter``: ``both``, or the name of the one that the inventory uses; SEMP is served when it is used.
    """

    directory: Path
    inventory: Path
    latency_ms: float
    adapter: str
    plain_http: bool
    ha: bool
    faults: Sequence[str]
    editions: Sequence[str] = ()


def serve_lab(tools: Tools, request: LabOptions) -> None:
    """Serve both sites until a signal comes."""
    from simulator.lab.edition import SEED
    from simulator.lab.editions import APPLIANCES, with_editions
    from simulator.lab.of_world import serve_world
    from simulator.lab.server import LabSettings

    faults = FAULTS.typed(request.faults)
    editions = editions_of(request.directory, APPLIANCES.devices, request.editions)
    edition = with_editions(SEED, editions)
    if request.plain_http and request.adapter == "solace-cli":
        raise DefinitionError("--http is about SEMP, and --adapter solace-cli serves none")
    world = _lab_world(tools, request)
    world.inject(faults)
    semp: Scheme | None = "http" if request.plain_http else "https"
    nodes = [(site.name, node) for site in world.layout.sites for node in site.nodes]
    kept = kept_ports(request.directory)
    settings = LabSettings(
        edition=edition,
        editions=editions,
        latency_s=request.latency_ms / 1000,
        clock=tools.clock,
        with_log_files=True,
        semp=None if request.adapter == "solace-cli" else semp,
        semp_ports={node: kept.get(_port_name("semp", *node), 0) for node in nodes},
    )
    ports = {node: kept.get(_port_name("ssh", *node), 0) for node in nodes}
    with serve_world(world, directory=request.directory, ports=ports, settings=settings) as lab, ExitStack() as stack:
        stack.callback(world.close)
        listening = _ports_of(lab, has_semp=settings.semp is not None)
        written = _inventory_of(lab, request.adapter)
        is_up(request.directory, listening, {APPLIANCES.devices: editions}, written, request.inventory)
        for site, node in lab.nodes:
            for line in _doors(lab, site, node, settings.semp):
                show(f"  {site}  {node}  {line}")
        for line in _hints(lab, request, world.vpn_names[0], has_semp=settings.semp is not None):
            show(line)
        wait_for_signal()
    say("the lab is down")


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
    """How a person reaches a node: over SSH, and over SEMP where that is served."""
    host, port = lab.address(site, node)
    lines = [f"ssh -p {port} {lab.credentials.username}@{host}"]
    if semp is not None:
        host, port = lab.semp_address(site, node)
        lines.append(f"{semp}://{host}:{port}/SEMP/v2/monitor")
    return lines


def _hints(lab: Lab, request: LabOptions, vpn: str, *, has_semp: bool) -> list[str]:
    home = lab.inventory_path.parent
    where = [f"The password is in {home / 'password'}."]
    if has_semp:
        where.append(f"A bearer token is in {home / 'token'}.")
        where += [] if request.plain_http else [f"The certificate authority is {home / 'lab-ca.pem'}."]
    return [
        *where,
        f"{request.inventory} uses {_WORDS[request.adapter]}. Try, in another terminal:",
        f"  failover status --inventory {request.inventory}",
        f"  failover controlled --inventory {request.inventory} --vpn {vpn}",
        "Ctrl-C ends the lab; the sites keep their state.",
    ]


_WORDS = {
    "both": "SEMP, and the CLI over SSH for what SEMP cannot do",
    "solace-semp": "SEMP",
    "solace-cli": "the CLI over SSH",
}


def _lab_world(tools: Tools, request: LabOptions) -> World:
    """The world of the lab's directory, as it was left, or a new one."""
    world_file = request.directory / WORLD_FILE
    usable_folder(request.directory)
    if not world_file.exists():
        world = World(embedded_layout(ha=request.ha), tools.clock, path=world_file)
        world.save()
        return world
    world = World.load(world_file, tools.clock)
    if request.ha and all(len(site.nodes) == 1 for site in world.layout.sites):
        raise DefinitionError(
            f"the sites in {request.directory} were made without --ha",
            hint="give another --directory, or delete this one to start anew",
        )
    return world


def script_faults(tools: Tools, plan: ev.Plan, texts: Sequence[str]) -> None:
    """Give the simulated world of ``plan`` these faults. Raises ``DefinitionError`` for real devices."""
    source = plan.inventory.sites[plan.source]
    reference = source.options.get("world")
    if not isinstance(reference, str) or not plan.simulated:
        raise DefinitionError("--fault is for the simulated pair; these devices are not in this process's hands")
    if source.adapter == "mock-amps":
        _afflict_amps(tools, reference, texts)
        return
    faults = FAULTS.typed(texts)
    world = WORLDS.acquire(reference, tools.clock)
    try:
        world.inject(faults)
    finally:
        WORLDS.release(world)


def _afflict_amps(tools: Tools, reference: str, texts: Sequence[str]) -> None:
    from simulator.amps.faults import FAULTS as AMPS_FAULTS
    from simulator.amps.worlds import AMPS_WORLDS

    faults = AMPS_FAULTS.typed(texts)
    world = AMPS_WORLDS.acquire(reference, tools.clock)
    try:
        world.inject(faults)
    finally:
        AMPS_WORLDS.release(world)
