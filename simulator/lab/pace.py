"""The speed of a node's answers, set by editions: a slow login, one slow line, connections that stop answering.

Each node waits separately. Its waits must end when the lab stops, and must not hold a lock of the world.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from simulator.http.server import Handler, Incoming, Outgoing
from simulator.ssh.shell import Shell, Spoilt, Wants

_QUEUE = "show queue "  # the slow line is a reading of a queue: over the CLI or over SEMP
_QUEUE_OVER_SEMP = "/queues/"


@dataclass(frozen=True, slots=True)
class Pace:
    """``login_s``: seconds for a login. ``line_s``: seconds for a node's first reading of a queue. Later readings are
    fast. ``answers_max``: the number of answers after which a connection stops answering but stays open. 0 means no
    limit."""

    login_s: float = 0.0
    line_s: float = 0.0
    answers_max: int = 0


PROMPT = Pace()


class NodePace:
    """The pace of one node, over all its sessions. ``wait`` sleeps for the given seconds, or until the lab stops."""

    def __init__(self, pace: Pace, wait: Callable[[float], object]) -> None:
        self._pace = pace
        self._wait = wait
        self._guard = threading.Lock()
        self._has_been_slow = False
        self._answers: Counter[str] = Counter()  # HTTP answers, by the client's address and port

    def log_in(self) -> None:
        """Wait for the duration of a login."""
        if self._pace.login_s:
            self._wait(self._pace.login_s)

    def shell(self, inner: Shell) -> Shell:
        """The shell ``inner`` at this pace."""
        is_plain = not self._pace.line_s and not self._pace.answers_max
        return inner if is_plain else _PacedShell(inner, self, self._pace.answers_max)

    def handler(self, inner: Handler) -> Handler:
        """The handler ``inner`` at this pace."""

        def answer(request: Incoming) -> Outgoing:
            if self._is_silent(request.peer):
                return Outgoing(200, mishap="freeze")
            if _QUEUE_OVER_SEMP in request.target:
                self.be_slow_once()
            return inner(request)

        return answer

    def be_slow_once(self) -> None:
        """At the first call, wait for the duration of the slow line."""
        with self._guard:
            is_first, self._has_been_slow = not self._has_been_slow, True
        if is_first and self._pace.line_s:
            self._wait(self._pace.line_s)

    def _is_silent(self, peer: str) -> bool:
        if not self._pace.answers_max:
            return False
        with self._guard:
            self._answers[peer] += 1
            return self._answers[peer] > self._pace.answers_max


class _PacedShell:
    """A shell whose node is slow, or whose connection stops answering."""

    def __init__(self, inner: Shell, pace: NodePace, answers_max: int) -> None:
        self._inner = inner
        self._pace = pace
        self._left = answers_max if answers_max else None

    @property
    def wants(self) -> Wants:
        return self._inner.wants

    def greet(self) -> str:
        return self._inner.greet()

    def take_line(self, line: str) -> str:
        if self._left == 0:
            raise Spoilt("silent", "")  # the line is lost, and the connection stays open
        if self._left is not None:
            self._left -= 1
        if line.startswith(_QUEUE):
            self._pace.be_slow_once()
        return self._inner.take_line(line)

    def take_key(self, key: str) -> str:
        return self._inner.take_key(key)

    def interrupt(self) -> str:
        return self._inner.interrupt()

    def resize(self, columns: int, rows: int) -> None:
        self._inner.resize(columns, rows)
