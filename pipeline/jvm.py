"""The JVM that PySpark starts, as the system knows it: a child of this process, with its output in a file.

PySpark tells no one which process it started, nor where its output shall go, so both are settled around its start: the
output by the descriptors that a child inherits, the process by looking which child is new. Where the system does not
list processes under ``/proc``, the JVM ends by itself when this process has ended.
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
# So often a JVM that was asked to end is checked, which is ten seconds, before it is made to.
_LOOKS = 500
_NOTED: list[int] = []


@contextmanager
def output_to(log: IO[bytes]) -> Iterator[None]:
    """Within this block what this process starts writes to ``log``, and holds it for as long as it lives."""
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
    """Within this block a new child is the JVM, which ends with this process at the latest."""
    before = _children()
    try:
        yield
    finally:
        if not _NOTED:
            atexit.register(end_jvm)
        _NOTED.extend(sorted(_children() - before))


def jvm_pid() -> int | None:
    """The number of the JVM's process, if this process started one and the system tells."""
    return _NOTED[-1] if _NOTED else None


def end_jvm() -> None:
    """End the JVM as it is, and wait for that: it removes its own files when it is asked to end."""
    while _NOTED:
        process = _NOTED.pop()
        # When the JVM ends, a thread of PySpark would print that on the screen. Callers get an error instead.
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
    """The processes that this one started and that have not been taken leave of."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            # The name in brackets may hold anything, so what is behind its last bracket counts.
            parent = file.read_text("utf-8", "replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(int(file.parent.name))
    return found
