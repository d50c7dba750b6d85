"""The simulated AMPS instances of a lab: serves them on real ports, or dumps their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from simulator.amps.admin.dumps import write_dumps
from simulator.amps.embedded import SERVICE, WORLD_FILE, amps_world
from simulator.amps.faults import FAULTS
from simulator.amps.world import AmpsWorld
from simulator.lab.amps.editions import INSTANCES as EDITIONS
from simulator.lab.amps.server import AmpsLab, AmpsLogin
from simulator.lab.folder import editions_of, keep, kept_ports, usable_folder
from simulator.lab.request import LabRequest, LabUp


@dataclass(frozen=True, slots=True)
class AmpsPair:
    """``assume``: texts ``NAME=VALUE``. ``sync``: the mode of the links, None if not given."""

    assume: Sequence[str] = ()
    sync: bool | None = None

    @contextmanager
    def served(self, request: LabRequest, clock: Clock) -> Iterator[LabUp]:
        """Serve the pair for the length of the block."""
        faults = FAULTS.typed(request.faults)
        directory = request.directory
        editions = editions_of(directory, EDITIONS.devices, request.editions)
        EDITIONS.chosen(editions)
        usable_folder(directory)
        world = amps_world(directory / WORLD_FILE, clock, dict(map(_assumption, self.assume)), sync=self.sync)
        world.inject(faults)
        ports, login = kept_ports(directory), AmpsLogin()
        lab = AmpsLab(world, directory=directory, service=SERVICE, ports=ports, login=login, editions=editions)
        try:
            with lab:
                listening = {name: lab.address(name)[1] for name in world.layout.names}
                keep(directory, listening, {EDITIONS.devices: editions}, lab.inventory_path, request.inventory)
                yield LabUp(editions, _lines(lab, world, login, request.inventory))
        finally:
            world.close()


def _lines(lab: AmpsLab, world: AmpsWorld, login: AmpsLogin, inventory: Path) -> list[str]:
    return [
        *(
            f"  {one.site_name}  {one.name}  http://{lab.origin(one.name)}/amps/instance.json"
            for one in world.layout.instances
        ),
        f"The password of {login.username} is in {lab.password_file}.",
        "Try, in another terminal:",
        f"  failover check --inventory {inventory}",
        f"  failover controlled {SERVICE} --inventory {inventory}",
        f"  failover watch {SERVICE} --inventory {inventory}",
        "Ctrl-C ends the lab; the instances keep their state.",
    ]


def dumped(directory: Path, out: Path, clock: Clock) -> Iterator[str]:
    """Write the dumps of the instances of a lab in ``directory``, running or not. Yields a line for each instance.

    Raises ``DefinitionError`` if there are no instances or ``out`` exists, ``Unreachable``, ``OutputLost``.
    """
    path = directory / WORLD_FILE
    if not path.exists():
        raise DefinitionError(
            f"{directory} holds no AMPS instances", hint="`failover lab up --amps` makes them; name its --directory"
        )
    if out.exists():
        raise DefinitionError(f"{out} exists already", hint="choose another directory")
    return _dumped(AmpsWorld.load(path, clock), out)


def _dumped(world: AmpsWorld, out: Path) -> Iterator[str]:
    for one in world.layout.instances:
        files = write_dumps(world, one.name, out / one.name)
        where = f"of {one.name} {'is' if files == 1 else 'are'} in {out / one.name}"
        yield f"  {one.site_name}  {counted(files, 'dump')} {where}"


def _assumption(text: str) -> tuple[str, str | list[str]]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DefinitionError(f"--assume {text}: write NAME=VALUE, as in grants=left_over")
    return name, value.split(",") if "," in value else value
