"""The simulated AMPS instances of ``failover lab``: served on real ports, or their files as dumps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.render.terminal import say, show
from orchestrator.cli.simulated.lab_folder import editions_of, is_up, kept_ports, usable_folder, wait_for_signal
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.operations.runtime import Tools
from simulator.amps.admin.dumps import write_dumps
from simulator.amps.embedded import SERVICE, WORLD_FILE, amps_world
from simulator.amps.faults import FAULTS
from simulator.amps.world import AmpsWorld
from simulator.lab.amps.editions import INSTANCES as EDITIONS
from simulator.lab.amps.server import AmpsLab, AmpsLogin


@dataclass(frozen=True, slots=True)
class AmpsLabOptions:
    """What a person typed. ``directory`` holds what the lab makes; ``assume``: ``NAME=VALUE``; ``sync``: the links, None
    if nothing was said."""

    directory: Path
    inventory: Path
    faults: Sequence[str]
    assume: Sequence[str] = ()
    sync: bool | None = None
    editions: Sequence[str] = ()


def serve_amps_lab(tools: Tools, request: AmpsLabOptions) -> None:
    """Serve the pair until a signal comes."""
    faults = FAULTS.typed(request.faults)
    editions = editions_of(request.directory, EDITIONS.devices, request.editions)
    EDITIONS.chosen(editions)
    usable_folder(request.directory)
    assumed = dict(map(_assumption, request.assume))
    world = amps_world(request.directory / WORLD_FILE, tools.clock, assumed, sync=request.sync)
    world.inject(faults)
    ports = kept_ports(request.directory)
    login = AmpsLogin()
    lab = AmpsLab(world, directory=request.directory, service=SERVICE, ports=ports, login=login, editions=editions)
    with ExitStack() as stack:
        stack.callback(world.close)
        stack.enter_context(lab)
        listening = {name: lab.address(name)[1] for name in world.layout.names}
        is_up(request.directory, listening, {EDITIONS.devices: editions}, lab.inventory_path, request.inventory)
        for one in world.layout.instances:
            show(f"  {one.site_name}  {one.name}  http://{lab.origin(one.name)}/amps/instance.json")
        show(f"The password of {login.username} is in {lab.password_file}.")
        show("Try, in another terminal:")
        show(f"  failover check --inventory {request.inventory}")
        show(f"  failover controlled --inventory {request.inventory} --service {SERVICE}")
        show(f"  failover watch --inventory {request.inventory} --service {SERVICE}")
        show("Ctrl-C ends the lab; the instances keep their state.")
        wait_for_signal()
    say("the lab is down")


def dump_lab(tools: Tools, directory: Path, out: Path) -> None:
    """Write the dumps of the instances that a lab keeps in ``directory``, whether or not it is up.

    Raises ``DefinitionError`` when there are none, or ``out`` holds something; ``Unreachable``, ``OutputLost``.
    """
    path = directory / WORLD_FILE
    if not path.exists():
        raise DefinitionError(
            f"{directory} holds no AMPS instances", hint="`failover lab up --amps` makes them; name its --directory"
        )
    if out.exists():
        raise DefinitionError(f"{out} exists already", hint="choose another directory")
    world = AmpsWorld.load(path, tools.clock)
    show("SIMULATED")
    for one in world.layout.instances:
        files = write_dumps(world, one.name, out / one.name)
        where = f"of {one.name} {'is' if files == 1 else 'are'} in {out / one.name}"
        show(f"  {one.site_name}  {counted(files, 'dump')} {where}")


def _assumption(text: str) -> tuple[str, str | list[str]]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DefinitionError(f"--assume {text}: write NAME=VALUE, as in grants=left_over")
    return name, value.split(",") if "," in value else value
