"""Maps a simulated site to its world, so that both sites of a process share one world.

A site's option ``world`` is the path of a world's file, or ``memory:NAME`` for a registered world.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from simulator.solace.world import World
from simulator.world.persistent import Kept

_MEMORY = "memory:"


Some = TypeVar("Some", bound=Kept)


class Worlds(Generic[Some]):
    """The worlds of one family in one process: the worlds registered by name and the open worlds of files.

    ``load`` takes the path of a world's file and the clock.
    """

    def __init__(self, load: Callable[[Path, Clock], Some]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._registered: dict[str, Some] = {}
        self._open: dict[tuple[Path, int], tuple[Some, int]] = {}

    def register(self, name: str, world: Some) -> str:
        """Register ``world``. Returns the value for a site's option ``world``. Raises ``DefinitionError``."""
        with self._lock:
            if name in self._registered:
                raise DefinitionError(f"a simulated world named {name} is already registered")
            self._registered[name] = world
        return _MEMORY + name

    def forget(self, name: str) -> None:
        """Unregister the name. Sessions that use the world keep it."""
        with self._lock:
            self._registered.pop(name, None)

    def acquire(self, reference: str, clock: Clock) -> Some:
        """The world a site's option names. Raises ``DefinitionError``, or ``Unreachable`` for an unusable file."""
        with self._lock:
            if reference.startswith(_MEMORY):
                name = reference.removeprefix(_MEMORY)
                if name not in self._registered:
                    raise DefinitionError(f"no simulated world named {name} is registered")
                return self._registered[name]
            key = (Path(reference).expanduser().absolute(), id(clock))
            world, users = self._open.get(key) or (self._load(key[0], clock), 0)
            self._open[key] = (world, users + 1)
            return world

    def release(self, world: Some) -> None:
        """Count one user less. When the last user of a file releases it, the file is saved."""
        with self._lock:
            for key, (kept, users) in list(self._open.items()):
                if kept is world and users > 1:
                    self._open[key] = (kept, users - 1)
                elif kept is world:
                    del self._open[key]
                    break
            else:
                return
        world.close()

    @contextmanager
    def standing(self, world: Some, name: str, *, file: Path | None, clock: Clock) -> Iterator[tuple[Some, str]]:
        """A new world for the length of a block, registered as ``name``, or kept in ``file`` if a file is given.

        Yields the world that sites acquire, and the value for their option ``world``.
        """
        if file is None:
            reference = self.register(name, world)
            try:
                yield world, reference
            finally:
                self.forget(name)
            return
        world.save()
        kept = self.acquire(str(file), clock)
        try:
            yield kept, str(file)
        finally:
            self.release(kept)


WORLDS = Worlds(World.load)
