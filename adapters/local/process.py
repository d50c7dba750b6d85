"""One program, run to its end or to the end of its time: no shell, no input, a group of its own.

What it prints is kept in part, so that a flood of words cannot fill the memory. Once its time is up, it and all that
it started in its group are ended. Must never leave a process behind that it could end.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from orchestrator.clock import Clock

_CHUNK = 64 * 1024
_HALF = 32 * 1024  # bytes kept from each end of what is printed
# Seconds that a program whose time is up has to end by itself, and that an ended one has to be gone.
_GRACE_S = 2.0
_GONE_S = 1.0
# It has printed its last word, and may take this long to be gone, though its time be up.
_LAST_WORDS_S = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended. ``code``: its exit code; negative: the signal that ended it; None: its time was up."""

    code: int | None
    output: bytes


def run(argv: Sequence[str], environment: Mapping[str, str], *, timeout_s: float, clock: Clock) -> Ended:
    """Run ``argv`` with exactly this environment, in the root directory. Raises ``OSError`` when it cannot begin."""
    deadline = clock.now() + timeout_s
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd="/",
        start_new_session=True,
    )
    assert process.stdout is not None
    with process.stdout as pipe:
        kept = _Kept()
        try:
            os.set_blocking(pipe.fileno(), False)
            in_time = _drain(pipe.fileno(), kept, deadline, clock) and _is_over(process, deadline - clock.now())
            if not in_time:
                _end(process, pipe.fileno(), kept, clock)
        finally:
            if process.returncode is None:  # also when this process is told to end
                _kill(process)
    return Ended(process.returncode if in_time else None, kept.whole())


@dataclass(slots=True)
class _Kept:
    """The beginning and the end of what was printed."""

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
        between = f"\n({self.dropped} bytes left out)\n".encode() if self.dropped else b""
        return bytes(self.head) + between + bytes(self.tail)


def _drain(descriptor: int, kept: _Kept, deadline: float, clock: Clock) -> bool:
    """Read until nobody can print any more (True), or the time is up.

    A selector that comes back empty-handed has waited as long as it was told to, on whatever clock.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while (left := deadline - clock.now()) > 0 and selector.select(left):
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                return True
            kept.add(chunk)
    return False


def _is_over(process: subprocess.Popen[bytes], left: float) -> bool:
    try:
        process.wait(max(left, _LAST_WORDS_S))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes], descriptor: int, kept: _Kept, clock: Clock) -> None:
    """Ask the group to end, then end it; what it prints meanwhile is kept.

    The leader is not waited for before that: until then its number belongs to nobody else.
    """
    _signal(process, signal.SIGTERM)
    _drain(descriptor, kept, clock.now() + _GRACE_S, clock)
    _kill(process)
    _drain(descriptor, kept, clock.now() + _GONE_S, clock)


def _kill(process: subprocess.Popen[bytes]) -> None:
    _signal(process, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # one that hangs in the kernel is nobody's to end
        process.wait(_GONE_S)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # A program that changed its account is not ours to end.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
