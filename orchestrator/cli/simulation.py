"""The simulated sites on behalf of the command line: served on real ports, started anew, disturbed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from adapters.mock.embedded import embedded_layout, embedded_world
from adapters.mock.faults import Fault, parse_fault, read_faults
from adapters.mock.world import World
from adapters.mock.worlds import WORLDS
from orchestrator import events as ev
from orchestrator.cli.terminal import say, show
from orchestrator.cli.wiring import Tools
from orchestrator.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class LabWish:
    """What a person typed. ``latency_ms``: before each answer. ``directory`` holds what the lab makes."""

    directory: Path
    inventory: Path
    latency_ms: float
    ha: bool
    faults: Sequence[str]


def serve_lab(tools: Tools, wish: LabWish) -> None:
    """Serve both sites until a signal comes."""
    from adapters.mock.lab.server import Lab, LabSettings

    faults = _faults(wish.faults)
    world = _lab_world(tools, wish)
    world.afflict(faults)
    nodes = [(site.name, node) for site in world.layout.sites for node in site.nodes]
    settings = LabSettings(
        latency_s=wish.latency_ms / 1000,
        clock=tools.clock,
        hold=world.request,
        reachable=world.reachable,
        with_log_files=True,
    )
    appliances = {key: world.appliance(*key) for key in nodes}
    with Lab.start(appliances, directory=wish.directory, settings=settings) as lab, ExitStack() as stack:
        stack.callback(world.close)
        _write_copy(lab.inventory_path, wish.inventory)
        show("SIMULATED  the lab is up:")
        for site, node in lab.nodes:
            host, port = lab.address(site, node)
            show(f"  {site}  {node}  ssh -p {port} {lab.credentials.username}@{host}")
        show(f"The password is in {lab.inventory_path.with_name('password')}. Try, in another terminal:")
        show(f"  failover status --inventory {wish.inventory}")
        show(f"  failover controlled --inventory {wish.inventory} --vpn {world.vpn_names[0]}")
        show("Ctrl-C ends the lab; the sites keep their state.")
        _wait_for_signal()
    say("the lab is down")


def _lab_world(tools: Tools, wish: LabWish) -> World:
    """The world of the lab's directory, as it was left, or a new one."""
    world_file = wish.directory / "world.json"
    try:
        wish.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"{wish.directory} cannot be used: {error.strerror}") from error
    if not world_file.exists():
        world = World(embedded_layout(ha=wish.ha), tools.clock, path=world_file)
        world.save()
        return world
    world = World.load(world_file, tools.clock)
    if wish.ha and all(len(site.nodes) == 1 for site in world.layout.sites):
        raise DefinitionError(
            f"the sites in {wish.directory} were made without --ha",
            hint="give another --directory, or delete this one to start anew",
        )
    return world


def _write_copy(written: Path, wanted: Path) -> None:
    from adapters.mock.lab.inventory import write_private

    if wanted.resolve() == written.resolve():
        return
    try:
        write_private(wanted, written.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{wanted} cannot be written: {error.strerror}") from error


def _wait_for_signal() -> None:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()


def reset_embedded(tools: Tools) -> None:
    """Start the embedded pair anew. Raises ``DefinitionError`` while a run is under way."""
    from orchestrator.lease import is_led

    journal = tools.journal()
    try:
        led = [row.run for row in journal.runs() if is_led(row, tools.clock.now())]
    finally:
        journal.close()
    if led:
        raise DefinitionError(f"run {led[0]} is under way", hint="let it end first")
    tools.world_file.unlink(missing_ok=True)
    embedded_world(tools.world_file, tools.clock).close()
    show("SIMULATED  the embedded pair is as new: ny active, nj standby")


def script_faults(tools: Tools, plan: ev.Plan, texts: Sequence[str]) -> None:
    """Give the simulated world of ``plan`` these faults. Raises ``DefinitionError`` for real devices."""
    faults = _faults(texts)
    reference = plan.inventory.sites[plan.source].options.get("world")
    if not isinstance(reference, str) or not plan.simulated:
        raise DefinitionError("--fault is for the simulated pair; these devices are not in this process's hands")
    world = WORLDS.acquire(reference, tools.clock)
    try:
        world.afflict(faults)
    finally:
        WORLDS.release(world)


def _faults(texts: Sequence[str]) -> list[Fault]:
    """Each text is a fault, or the name of a file of them."""
    found: list[Fault] = []
    for text in texts:
        found.extend(read_faults(Path(text)) if Path(text).is_file() else [parse_fault(text)])
    return found
