"""Resets the simulated sites in a lab's directory, of any family. Their layout stays the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.clock import Clock
from simulator.amps.embedded import WORLD_FILE as AMPS_WORLD_FILE
from simulator.amps.world import AmpsWorld
from simulator.embedded import embedded_layout
from simulator.lab.pair import WORLD_FILE
from simulator.solace.world import World
from simulator.world.persistent import Kept
from simulator.world.store import WorldFile


def kept_worlds(directory: Path) -> list[Path]:
    """The files of the worlds in the directory."""
    return [directory / name for name in _ANEW if (directory / name).exists()]


def start_anew(path: Path, clock: Clock) -> str:
    """Reset this world. Returns a description of its new state. Raises ``Unreachable`` for a damaged file."""
    fresh, what = _ANEW[path.name](path, clock)
    _replace(path, fresh)
    return what


def start_embedded_anew(path: Path, clock: Clock) -> None:
    """Reset the embedded pair."""
    _replace(path, World(embedded_layout(), clock))


def _appliances(path: Path, clock: Clock) -> tuple[Kept, str]:
    layout = World.load(path, clock).layout
    sites = ", ".join(
        f"{one.name} {'active' if one.name == layout.first_active else 'standby'}" for one in layout.sites
    )
    return World(layout, clock), sites


def _instances(path: Path, clock: Clock) -> tuple[Kept, str]:
    layout = AmpsWorld.load(path, clock).layout
    return AmpsWorld(layout, clock), f"{', '.join(layout.names)}, with empty journals and nothing downgraded"


_ANEW: dict[str, Callable[[Path, Clock], tuple[Kept, str]]] = {
    WORLD_FILE: _appliances,
    AMPS_WORLD_FILE: _instances,
}


def _replace(path: Path, fresh: Kept) -> None:
    """Replace the world in ``path`` with a new one, also while other processes use it."""
    file = WorldFile(path)
    file.lock()
    try:
        fresh.save(path)
    finally:
        file.unlock()
