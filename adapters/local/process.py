"""Runs one program until it ends or its time is over: without a shell, without input, in a separate group.

The output is kept in part, so that it cannot fill the memory. When the time is over, the program and all processes in
its group are ended. If this process is killed before that, its ``guardian`` ends them. This module must never leave a
process behind that it could end.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.interpreter import isolated

_GUARDIAN = Path(__file__).with_name("guardian.py")
# Seconds that a guardian may take to start. The time of its command starts then.
_BEGUN_S = 20.0
_CHUNK = 64 * 1024
_HALF = 32 * 1024  # bytes kept from each end of what is printed
# Seconds for a program to end by itself when its time is over, and for a killed program to be gone.
_GRACE_S = 2.0
_GONE_S = 1.0
# Guardians that are started in advance, at most.
_MOST_READY = 3
# Seconds for a program to end after it has printed everything, even after its time-out.
_LAST_WORDS_S = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How the program ended. ``code``: its exit code; negative: the signal that ended it; None: its time was over."""

    code: int | None
    output: bytes


class Waiting:
    """Guardians that were started in advance, so that a command does not wait for the start of a guardian. There are as
    many as commands were run before, three at most. A guardian that is not used ends when its lifeline is closed."""

    def __init__(self) -> None:
        self._most = 0
        self._ready: list[subprocess.Popen[bytes]] = []

    def take(self) -> subprocess.Popen[bytes]:
        """A guardian that waits for its command."""
        while self._ready:
            guardian = self._ready.pop(0)
            if guardian.poll() is None:
                return guardian
            _released(guardian)
        return _guardian()

    def refill(self) -> None:
        """Start the missing guardians, as far as the system allows. A command runs meanwhile, and must not fail."""
        self._most = min(self._most + 1, _MOST_READY)
        with suppress(OSError):
            while len(self._ready) < self._most:
                self._ready.append(_guardian())

    def close(self) -> None:
        """End the guardians that wait."""
        while self._ready:
            _released(self._ready.pop())


def _guardian() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        isolated(str(_GUARDIAN)),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        start_new_session=True,
    )


def _released(guardian: subprocess.Popen[bytes]) -> None:
    for stream in (guardian.stdin, guardian.stdout, guardian.stderr):
        if stream is not None:
            stream.close()
    with suppress(subprocess.TimeoutExpired):
        guardian.wait(_GONE_S)
    if guardian.returncode is None:
        _kill(guardian)


def run(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    timeout_s: float,
    clock: Clock,
    waiting: Waiting | None = None,
) -> Ended:
    """Run ``argv`` with exactly this environment, in the root directory. Raises ``OSError`` when it cannot start.

    ``waiting``: one of these guardians runs the command, and another one is started meanwhile.
    """
    guardian = _guardian() if waiting is None else waiting.take()
    assert guardian.stdin is not None and guardian.stdout is not None and guardian.stderr is not None  # all are pipes
    with guardian.stdin as lifeline, guardian.stdout as pipe, guardian.stderr as news:
        try:
            _send(lifeline.fileno(), _job(argv, environment))
            if waiting is not None:
                waiting.refill()
            begun = _told(news.fileno(), _BEGUN_S)
            if begun is not None and begun[0] == "errno":
                raise OSError(begun[1], os.strerror(begun[1]))
            ended = _watch(guardian, pipe.fileno(), news.fileno(), clock.now() + timeout_s, clock)
            if ended.code is not None:
                with suppress(OSError, subprocess.TimeoutExpired):
                    lifeline.write(b".")
                    select.select([news], [], [], _GONE_S)  # it closes with the guardian; `wait` alone would sleep
                    guardian.wait(_GONE_S)
        finally:
            if guardian.returncode is None:  # also when this process is told to end
                _kill(guardian)
    return ended


def _watch(guardian: subprocess.Popen[bytes], pipe: int, news: int, deadline: float, clock: Clock) -> Ended:
    """Wait until the command has ended and all its output was read; end it if its time is over."""
    kept = _Kept()
    os.set_blocking(pipe, False)
    if _drain(pipe, kept, deadline, clock):
        told = _told(news, max(deadline - clock.now(), _LAST_WORDS_S))
        if told is not None:
            return Ended(told[1], kept.whole())
    _end(guardian, pipe, kept, clock)
    return Ended(None, kept.whole())


def _job(argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    words = [os.fsencode(word) for word in (*argv, *(f"{name}={value}" for name, value in environment.items()))]
    if any(b"\0" in word for word in words):
        raise ValueError("a word or a variable of the command has a NUL character")
    body = b"".join(word + b"\0" for word in words)
    return b"%d %d\n%s" % (len(body), len(argv), body)


def _send(descriptor: int, job: bytes) -> None:
    while job:
        job = job[os.write(descriptor, job) :]


def _told(descriptor: int, within_s: float) -> tuple[str, int] | None:
    """The guardian's next line, which it writes at once; None if no line comes in time, or the guardian is gone."""
    if not select.select([descriptor], [], [], within_s)[0]:
        return None
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1)
        if not piece:
            return None
        line += piece
    what, number = line.decode("ascii").split()
    return what, int(number)


@dataclass(slots=True)
class _Kept:
    """The start and the end of what was printed."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, chunk: bytes) -> None:
        room = _HALF - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        surplus = max(0, len(self.tail) - _HALF)
        del self.tail[:surplus]
        self.dropped += surplus

    def whole(self) -> bytes:
        between = f"\n({counted(self.dropped, 'byte')} left out)\n".encode() if self.dropped else b""
        return bytes(self.head) + between + bytes(self.tail)


def _drain(descriptor: int, kept: _Kept, deadline: float, clock: Clock) -> bool:
    """Read until no process can print any more (True), or the time is over (False).

    A selector that returns nothing has waited for the whole time, on any clock.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (left := deadline - clock.now()) > 0 and selector.select(left):
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return True
            kept.add(chunk)
    return False


def _end(process: subprocess.Popen[bytes], descriptor: int, kept: _Kept, clock: Clock) -> None:
    """Ask the group to end, then kill it. Its output meanwhile is kept.

    The leader is waited for only afterwards: until then no other process can get its process id.
    """
    _signal(process, signal.SIGTERM)
    _drain(descriptor, kept, clock.now() + _GRACE_S, clock)
    _kill(process)
    _drain(descriptor, kept, clock.now() + _GONE_S, clock)


def _kill(process: subprocess.Popen[bytes]) -> None:
    _signal(process, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # no signal ends a process that hangs in the kernel
        process.wait(_GONE_S)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # A program that changed its account cannot be ended from here.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
