"""The JVM that PySpark starts: a child process of this process, with its output in a file.

PySpark does not report which process it started, and cannot redirect the output of that process. So this module does both
around the start: the child inherits the descriptors of the output, and the new child is the JVM. If the system does not
list processes under ``/proc``, the JVM ends by itself after this process ended.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import IO

_LOOK_S = 0.02
# How often the JVM is checked after SIGTERM (ten seconds in total) before it gets SIGKILL.
_LOOKS = 500
_NOTED: list[int] = []


@contextmanager
def output_to(log: IO[bytes]) -> Iterator[None]:
    """Processes that this process starts within this block write to ``log``. They keep it open until they end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    try:
        for number in kept:
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)


@contextmanager
def jvm_noted() -> Iterator[None]:
    """A child process that starts within this block is the JVM. It ends with this process at the latest."""
    before = _children()
    try:
        yield
    finally:
        if not _NOTED:
            atexit.register(end_jvm)
        _NOTED.extend(sorted(_children() - before))


def jvm_pid() -> int | None:
    """The process id of the JVM; None if this process started no JVM, or the system does not list processes."""
    return _NOTED[-1] if _NOTED else None


def end_jvm() -> None:
    """End the JVM and wait until it ended. After SIGTERM it removes its own files."""
    while _NOTED:
        process = _NOTED.pop()
        # When the JVM ends, a thread of PySpark would print a message on the screen. Callers get an error instead.
        with redirect_stderr(io.StringIO()):
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.kill(process, number)
                if _has_ended(process):
                    break


def _has_ended(process: int) -> bool:
    for _ in range(_LOOKS):
        try:
            found, _ = os.waitpid(process, os.WNOHANG)
        except ChildProcessError:
            return True
        if found:
            return True
        threading.Event().wait(_LOOK_S)
    return False


def _children() -> set[int]:
    """The child processes of this process that it has not waited for."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            # The name in brackets may contain any character, so read the fields after the last bracket.
            parent = file.read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(int(file.parent.name))
    return found
