"""One program, run to its end or to the end of its time: no shell, no input, a group of its own.

What it prints is kept in part, so that a flood of words cannot fill the memory. Once its time is up, it and all that
it started in its group are ended; if this process is killed before that, its ``guardian`` ends them. Must never leave a
process behind that it could end.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.interpreter import isolated

_GUARDIAN = Path(__file__).with_name("guardian.py")
# Seconds that a guardian may take to begin; the time of what it runs begins then.
_BEGUN_S = 20.0
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
    guardian = subprocess.Popen(
        isolated(str(_GUARDIAN)),
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        start_new_session=True,
    )
    assert guardian.stdin is not None and guardian.stdout is not None and guardian.stderr is not None  # all are pipes
    with guardian.stdin as lifeline, guardian.stdout as pipe, guardian.stderr as news:
        try:
            lifeline.write(json.dumps({"argv": list(argv), "env": dict(environment)}).encode() + b"\n")
            begun = _told(news.fileno(), _BEGUN_S)
            if begun is not None and "errno" in begun:
                raise OSError(begun["errno"], os.strerror(begun["errno"]))
            ended = _watch(guardian, pipe.fileno(), news.fileno(), clock.now() + timeout_s, clock)
            if ended.code is not None:
                with suppress(OSError, subprocess.TimeoutExpired):
                    lifeline.write(b".")
                    guardian.wait(_GONE_S)
        finally:
            if guardian.returncode is None:  # also when this process is told to end
                _kill(guardian)
    return ended


def _watch(guardian: subprocess.Popen[bytes], pipe: int, news: int, deadline: float, clock: Clock) -> Ended:
    """Until the command has ended and said its last word, or is ended."""
    kept = _Kept()
    os.set_blocking(pipe, False)
    if _drain(pipe, kept, deadline, clock):
        told = _told(news, max(deadline - clock.now(), _LAST_WORDS_S))
        if told is not None:
            return Ended(told["code"], kept.whole())
    _end(guardian, pipe, kept, clock)
    return Ended(None, kept.whole())


def _told(descriptor: int, within_s: float) -> dict[str, Any] | None:
    """The next line of the guardian's, which it writes at once; None when none comes in time, or it is gone."""
    if not select.select([descriptor], [], [], within_s)[0]:
        return None
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1)
        if not piece:
            return None
        line += piece
    told: dict[str, Any] = json.loads(line)
    return told


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
        between = f"\n({counted(self.dropped, 'byte')} left out)\n".encode() if self.dropped else b""
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
