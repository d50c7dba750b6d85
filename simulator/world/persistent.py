"""The common base of all simulated worlds. World time passes only while a process runs the world. All questions of one
request see the same moment. A file records the effect of every answer.

The base knows no events. Each world runs its own events in ``_pass_until``.
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

# Errors that a file edited by hand can cause.
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, DefinitionError)

_PAUSE_LEAST = 0.001  # seconds: two processes that read one machine's clock differ by less


class Kept:
    """A world with its own time and an optional file. Safe to use from several threads."""

    def __init__(self, clock: Clock, path: Path | None) -> None:
        self.clock = clock
        self.moment = 0.0  # world time up to which events have run
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
        """World time, in seconds since the world started. It does not change inside a ``request``."""
        return self.moment if self._depth else self._running_time()

    def epoch(self, moment: float) -> float:
        """A past moment of world time as seconds since the Unix epoch, by the clock that all sites had at that moment."""
        return self._pauses.epoch(moment)

    def clock_time(self) -> float:
        """The clock of every site, in seconds since the Unix epoch."""
        return self._base_clock + self.now() - self._base

    def request(self) -> AbstractContextManager[None]:
        """Bring the world up to now and stop its time until the block ends. The end of the block saves it to its file.

        Raises ``Unreachable`` for a file that cannot be used, ``ConnectionLost`` for a file that cannot be written.
        """
        return self._request

    def hold(self) -> None:
        """Start a request. It may be within another one. Only ``request`` may call this."""
        self._lock.acquire()
        if self._depth:
            self._depth += 1  # the world's time is already stopped
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
        """Let time pass, also within a request, as if the caller had paused before the device got the request. Only for a
        world in memory. After the block the request continues with the world as it is then."""
        depth, self._depth = self._depth, 0
        try:
            yield
        finally:
            if depth:
                self._pass_until(self._running_time())
            self._depth = depth

    def remember(self) -> None:
        """Note that a command was obeyed. The next write must then survive a loss of power."""
        self._obeyed = True

    def save(self, path: Path | None = None) -> None:
        """Write the world to ``path``, or to its own file. Raises ``ConnectionLost``."""
        self._obeyed = True
        with self.request():
            if path is not None:
                WorldFile(path).write(self._dump(), durable=True)

    def close(self) -> None:
        """Save the world to its file, if it has one. The world can be used again afterwards."""
        if self._file is not None:
            self.save()

    # Methods of each world

    def _pass_until(self, target: float) -> None:
        """Run all events up to ``target``, in order of time. World time is then ``target``."""
        raise NotImplementedError

    def _dump(self) -> dict[str, Any]:
        """Plain data for the file, including that of ``_dump_time``."""
        raise NotImplementedError

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        """Load the data that ``_dump`` wrote ``elapsed`` seconds ago. Raises one of ``DAMAGE``."""
        raise NotImplementedError

    # Behind the scenes

    def _running_time(self) -> float:
        return self._base + self.clock.now() - self._base_clock

    def _dump_time(self, oldest: float) -> dict[str, Any]:
        """The time part of ``_dump``. Pauses that only moments before ``oldest`` need are dropped."""
        self._pauses.forget(oldest)
        return {
            "clock": self._base_clock + self.moment - self._base,
            "pauses": self._pauses.dump(),
            "time": self.moment,
        }

    def _restore_time(self, data: Mapping[str, Any], elapsed: float) -> None:
        """Load the data that ``_dump_time`` wrote ``elapsed`` seconds ago. World time continues from that data."""
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
        """Seconds since another process wrote the file at ``stamp``, without the time before this process loaded the
        world."""
        now = self.clock.now()
        return max(0.0, min(now - stamp, now - self._base_clock))


class _Request:
    """The context manager of ``request``. Every question to a node uses it, so each world creates it only once."""

    def __init__(self, world: Kept) -> None:
        self._world = world

    def __enter__(self) -> None:
        self._world.hold()

    def __exit__(self, *_: object) -> None:
        self._world.let_go()
