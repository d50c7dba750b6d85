"""What every simulated world has in common: world time that passes only while a person runs it, one moment for all
questions of a request, and a file that keeps every answer given.

It must not know what passes: what happens in a stretch of time is the world's own ``_pass_until``.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from simulator.world.clock_map import Pauses
from simulator.world.store import WorldFile

# Of a file that a person edited.
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, DefinitionError)

_PAUSE_LEAST = 0.001  # seconds: two processes that read one machine's clock differ by less


class Kept:
    """A world in time, and perhaps on file. Safe to use from several threads."""

    def __init__(self, clock: Clock, path: Path | None) -> None:
        self.clock = clock
        self.moment = 0.0  # world time as far as events have been let happen
        self._lock = threading.RLock()
        self._depth = 0
        self._request = _Request(self)
        self._obeyed = False
        self._file = None if path is None else WorldFile(path)
        self._base, self._base_clock = 0.0, clock.now()
        self._pauses = Pauses(0.0, self._base_clock)

    @property
    def path(self) -> Path | None:
        """The file that keeps this world, or None for one in memory."""
        return None if self._file is None else self._file.path

    def now(self) -> float:
        """World time, in seconds since the world started; it stands still inside a ``request``."""
        return self.moment if self._depth else self._running_time()

    def epoch(self, moment: float) -> float:
        """A past moment of world time in seconds since the Unix epoch, by the clock of every site then."""
        return self._pauses.epoch(moment)

    def clock_time(self) -> float:
        """The clock of every site, in seconds since the Unix epoch."""
        return self._base_clock + self.now() - self._base

    def request(self) -> AbstractContextManager[None]:
        """Hold the world still, brought up to now; on leaving, what was seen and done is on file.

        Raises ``Unreachable`` for a file that cannot be used, ``ConnectionLost`` for one that cannot be written.
        """
        return self._request

    def hold(self) -> None:
        """Start a request, perhaps within another one; for ``request`` alone."""
        self._lock.acquire()
        if self._depth:
            self._depth += 1  # the world is held still already
            return
        try:
            if self._file is not None:
                self._enter(self._file)
        except BaseException:
            self._lock.release()
            raise
        self._depth = 1
        try:
            self._pass_until(self._running_time())
        except BaseException:
            self.let_go()
            raise

    def let_go(self) -> None:
        """End a request."""
        self._depth -= 1
        try:
            if not self._depth and self._file is not None:
                self._leave(self._file)
        finally:
            self._lock.release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Perhaps within a request, of a world in memory: let time pass as if whoever asks were stopped before the device
        heard it. Afterwards the request finds the world as it is then."""
        depth, self._depth = self._depth, 0
        try:
            yield
        finally:
            if depth:
                self._pass_until(self._running_time())
            self._depth = depth

    def remember(self) -> None:
        """A command was obeyed: what is written next must survive a loss of power."""
        self._obeyed = True

    def save(self, path: Path | None = None) -> None:
        """Write the world to ``path``, or to its own file. Raises ``ConnectionLost``."""
        self._obeyed = True
        with self.request():
            if path is not None:
                WorldFile(path).write(self._dump(), durable=True)

    def close(self) -> None:
        """Bring the file, if any, up to now; the world can be used again afterwards."""
        if self._file is not None:
            self.save()

    # What a world adds

    def _pass_until(self, target: float) -> None:
        """Let happen, in order of time, what was to happen until ``target``; world time is then that."""
        raise NotImplementedError

    def _dump(self) -> dict[str, Any]:
        """Plain data for the file, ``_dump_time`` among it."""
        raise NotImplementedError

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        """Take over what ``_dump`` wrote, ``elapsed`` seconds ago. Raises one of ``DAMAGE``."""
        raise NotImplementedError

    # Behind the scenes

    def _running_time(self) -> float:
        return self._base + self.clock.now() - self._base_clock

    def _dump_time(self, oldest: float) -> dict[str, Any]:
        """The part of ``_dump`` that tells the time. No one will ask for a moment before ``oldest``."""
        self._pauses.forget(oldest)
        return {
            "clock": self._base_clock + self.moment - self._base,
            "pauses": self._pauses.dump(),
            "time": self.moment,
        }

    def _restore_time(self, data: Mapping[str, Any], elapsed: float) -> None:
        """World time was as ``_dump_time`` wrote ``elapsed`` seconds ago, and continues from there."""
        self.moment = float(data["time"])
        if not math.isfinite(self.moment):
            raise ValueError("world time never comes to its end")
        self._base, self._base_clock = self.moment + elapsed, self.clock.now()
        self._pauses = Pauses.load(data["pauses"])
        if abs(self._base_clock - elapsed - float(data["clock"])) > _PAUSE_LEAST:
            self._pauses.go_on(self.moment, self._base_clock - elapsed)

    def _enter(self, file: WorldFile) -> None:
        file.lock()
        try:
            if file.changed():
                data = file.read()
                try:
                    self._restore(data, elapsed=self._elapsed_since(float(data["clock"])))
                except DAMAGE as error:
                    raise file.damaged(error) from error
        except BaseException:
            file.unlock()
            raise

    def _leave(self, file: WorldFile) -> None:
        try:
            file.write(self._dump(), durable=self._obeyed)
            self._obeyed = False
        finally:
            file.unlock()

    def _elapsed_since(self, stamp: float) -> float:
        """Time since another process wrote the file counts, for we ran; time before we ran does not."""
        now = self.clock.now()
        return max(0.0, min(now - stamp, now - self._base_clock))


class _Request:
    """A world held still. Every question to a node is one, often within another, so it is made once for each world."""

    def __init__(self, world: Kept) -> None:
        self._world = world

    def __enter__(self) -> None:
        self._world.hold()

    def __exit__(self, *_: object) -> None:
        self._world.let_go()
