"""``failover lab …``: the simulated sites on real ports, and a fresh start for the embedded pair."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator import events as ev
from orchestrator.cli.terminal import say, show
from orchestrator.cli.wiring import Tools
from orchestrator.cli.wiring import tools as make_tools
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from adapters.mock.faults import Fault

_APP = typer.Typer(help="The simulated sites: serve them on real ports, reset them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="lab")


@_APP.command("up")
def up(
    directory: Annotated[
        Path,
        typer.Option("--directory", "-d", metavar="DIR", help="For the inventory, password, keys and the world."),
    ] = Path("lab"),
    inventory: Annotated[
        Path, typer.Option("--inventory", "-i", metavar="FILE", help="Also write the inventory there.")
    ] = Path("lab.yaml"),
    latency: Annotated[
        float, typer.Option("--latency", metavar="MS", min=0, help="Milliseconds before each answer.")
    ] = 0.0,
    ha: Annotated[bool, typer.Option("--ha", help="Two nodes a site: HA pairs.")] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT|FILE", help="'drain: bridge down 5s', or a file of them."),
    ] = None,
) -> None:
    """Serve both simulated sites as Solace appliances over SSH on loopback ports, until Ctrl-C.

    \b
    Example, in two terminals:
      failover lab up
      failover controlled --inventory lab.yaml --vpn Trading_VPN
    """
    from adapters.mock.embedded import embedded_layout
    from adapters.mock.lab.server import Lab, LabSettings
    from adapters.mock.world import World

    tools = make_tools()
    world_file = directory / "world.json"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if world_file.exists():
        world = World.load(world_file, tools.clock)
    else:
        world = World(embedded_layout(ha=ha), tools.clock, path=world_file)
        world.save()
    if fault:
        world.afflict(_faults(fault))
    nodes = [(site.name, node) for site in world.layout.sites for node in site.nodes]
    appliances = {key: world.appliance(*key) for key in nodes}
    settings = LabSettings(
        latency_s=latency / 1000,
        clock=tools.clock,
        hold=world.request,
        reachable=world.reachable,
        with_log_files=True,
    )
    with Lab.start(appliances, directory=directory, settings=settings) as lab, ExitStack() as stack:
        stack.callback(world.close)
        _write_copy(lab.inventory_path, inventory)
        show("SIMULATED  the lab is up:")
        for site, node in lab.nodes:
            host, port = lab.address(site, node)
            show(f"  {site}  {node}  ssh -p {port} {lab.credentials.username}@{host}")
        show(f"The password is in {lab.inventory_path.with_name('password')}. Try, in another terminal:")
        show(f"  failover status --inventory {inventory}")
        show(f"  failover controlled --inventory {inventory} --vpn {world.vpn_names[0]}")
        show("Ctrl-C ends the lab; the sites keep their state.")
        _wait_for_signal()
    say("the lab is down")


def _write_copy(written: Path, wanted: Path) -> None:
    from adapters.mock.lab.inventory import write_private

    if wanted.resolve() != written.resolve():
        write_private(wanted, written.read_text(encoding="utf-8"))


def _wait_for_signal() -> None:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()


@_APP.command("reset")
def reset() -> None:
    """Start the embedded simulated pair anew: New York active, New Jersey standby."""
    from orchestrator.lease import is_led

    tools = make_tools()
    journal = tools.journal()
    led = [row.run for row in journal.runs() if is_led(row, tools.clock.now())]
    if led:
        raise DefinitionError(f"run {led[0]} is under way", hint="let it end first")
    tools.world_file.unlink(missing_ok=True)
    tools.inventory(None)
    show("SIMULATED  the embedded pair is as new: ny active, nj standby")


def script_faults(tools: Tools, plan: ev.Plan, texts: Sequence[str]) -> None:
    """Give the simulated world of ``plan`` these faults. Raises ``DefinitionError`` for real devices."""
    if "world" not in plan.inventory.sites[plan.source].options:
        raise DefinitionError("--fault is for the simulated pair; these devices are not in this process's hands")
    from adapters.mock.worlds import WORLDS

    world = WORLDS.acquire(str(plan.inventory.sites[plan.source].options["world"]), tools.clock)
    try:
        with world.request():
            world.afflict(_faults(texts))
    finally:
        WORLDS.release(world)


def _faults(texts: Sequence[str]) -> list[Fault]:
    """Each text is a fault, or the name of a file of them."""
    from adapters.mock.faults import parse_fault, read_faults

    found: list[Fault] = []
    for text in texts:
        found.extend(read_faults(Path(text)) if Path(text).is_file() else [parse_fault(text)])
    return found
