"""What every simulated world has in common: world time that passes only while somebody runs it, one moment for all
questions of a request, and a file that keeps every answer given.

It must not know what passes: what happens in a stretch of time is the world's own ``_pass_until``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adapters.mock.store import WorldFile
from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError

# Of a file that somebody edited.
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, DefinitionError)


class Kept:
    """A world in time, and perhaps on file. Safe to use from several threads."""

    def __init__(self, clock: Clock, path: Path | None) -> None:
        self.clock = clock
        self.moment = 0.0  # world time as far as events have been let happen
        self._lock = threading.RLock()
        self._depth = 0
        self._obeyed = False
        self._file = None if path is None else WorldFile(path)
        self._base, self._base_clock = 0.0, clock.now()

    @property
    def path(self) -> Path | None:
        """The file that keeps this world, or None for one in memory."""
        return None if self._file is None else self._file.path

    def now(self) -> float:
        """World time, in seconds since the world began; it stands still inside a ``request``."""
        return self.moment if self._depth else self._running_time()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Hold the world still, brought up to now; on leaving, what was seen and done is on file.

        Raises ``Unreachable`` for a file that cannot be used, ``ConnectionLost`` for one that cannot be written.
        """
        with self._lock:
            outermost = self._depth == 0
            if outermost:
                self._enter()
            self._depth += 1
            try:
                if outermost:
                    self._pass_until(self._running_time())
                yield
            finally:
                self._depth -= 1
                if outermost:
                    self._leave()

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
        """Plain data for the file; ``clock`` is ``_clock_now``."""
        raise NotImplementedError

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        """Take over what ``_dump`` wrote, ``elapsed`` seconds ago. Raises one of ``DAMAGE``."""
        raise NotImplementedError

    # Behind the scenes

    def _running_time(self) -> float:
        return self._base + self.clock.now() - self._base_clock

    @property
    def _clock_now(self) -> float:
        """What the clock said at the present moment of world time."""
        return self._base_clock + self.moment - self._base

    def _go_on(self, moment: float, elapsed: float) -> None:
        """World time was ``moment`` ``elapsed`` seconds ago, and goes on from there."""
        self.moment = moment
        self._base, self._base_clock = moment + elapsed, self.clock.now()

    def _enter(self) -> None:
        file = self._file
        if file is None:
            return
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

    def _leave(self) -> None:
        file = self._file
        if file is None:
            return
        try:
            file.write(self._dump(), durable=self._obeyed)
            self._obeyed = False
        finally:
            file.unlock()

    def _elapsed_since(self, stamp: float) -> float:
        """Time since another process wrote the file counts, for we ran; time before we ran does not."""
        now = self.clock.now()
        return max(0.0, min(now - stamp, now - self._base_clock))
