"""A simulated pair of AMPS instances in process, and what happens to it in a night."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.operations.rehearsal.rehearse import inventory_text
from simulator.amps.embedded import AWAY, HOME, INSTANCES, amps_inventory, amps_layout
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS
from tests.cli.shell import Ended, Shell

NY, LDN = INSTANCES[HOME], INSTANCES[AWAY]


@dataclass
class AmpsNight:
    """A pair that has run for half a minute, its clients at New York. ``inventory``: the file."""

    shell: Shell
    world: AmpsWorld
    inventory: str

    def __call__(self, *words: str) -> Ended:
        return self.shell(words[0], "-i", self.inventory, *words[1:])

    def lose(self) -> None:
        """New York is lost, and London goes on without it."""
        self.world.kill(NY)
        assert self("uncontrolled", "--all", "--site", HOME, "--yes", "--attest", "x").code == 0

    def meanwhile(self, seconds: float, what: Any) -> None:
        self.shell.clock.meanwhile(seconds, what)  # type: ignore[attr-defined]  # the fixture's

    def stop_in(self, seconds: float) -> None:
        self.shell.clock.stop_in(seconds)  # type: ignore[attr-defined]  # the fixture's

    def start(self) -> None:
        self.world.start(NY)

    def act(self, name: str, action: str, target: str) -> None:
        with self.world.request():
            self.world.console(name).obey(action, target)

    def lets_in(self, name: str) -> bool:
        with self.world.request():
            return self.world.fabric.takes_clients(name)

    @property
    def commands(self) -> list[str]:
        """What the instances were made to do, in order."""
        return [f"{name} {action} {target}" for name, action, target in self.world.tally().commands]

    def runs(self) -> list[tuple[str, str]]:
        """What was recorded, oldest first."""
        return [(one["runbook"], one["outcome"]) for one in self.shell("runs", "list", "--json").values[::-1]]


@contextmanager
def amps_night(shell: Shell, **layout: Any) -> Iterator[AmpsNight]:
    """``layout``: see ``amps_layout``."""
    world = AmpsWorld(amps_layout(**layout), shell.clock)
    reference = AMPS_WORLDS.register(str(shell.folder), world)
    text = inventory_text(amps_inventory(reference, sync=layout.get("sync", True)))
    shell.clock.advance(30)
    yield AmpsNight(shell, world, str(shell.write("amps.yaml", text)))
    AMPS_WORLDS.forget(str(shell.folder))
