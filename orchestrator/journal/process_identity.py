"""Who holds something: a name for a process that tells whether it still lives, also when its number is used again.

A process is known by its number, its start and where that number counts: the machine since it was booted, and the
namespace of numbers that the process lives in (proc(5)).
"""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path


def holder_name(pid: int | None = None) -> str:
    """This process, or ``pid``, one that it started: ``host:pid``, and what tells it from another one that gets the
    same number later."""
    own = os.getpid()
    number = own if pid is None else pid
    place = _place(own)
    started = _own_start(own) if number == own else _stat(number)[1]
    identity = f"{place}/{started}" if place else ""
    return f"{socket.gethostname()}:{number} {identity}".strip()


def holder_is_dead(holder: str) -> bool:
    """True only if this very machine can prove that the holder's process is gone; then no one has to wait.

    A process of another account may be hidden from us, and another machine may have the same name: neither is proof.
    """
    name, _, identity = holder.partition(" ")
    pid = name.rpartition(":")[2]
    where, _, started = identity.rpartition("/")
    if not where or not started or not pid.isdigit() or where != _place(os.getpid()):
        return False
    state, now_started = _stat(int(pid))
    if state:
        return state in "ZX" or now_started != started
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # it is there, and not ours
    return False


@lru_cache(maxsize=1)
def _place(own: int) -> str:
    """Where the numbers of processes that this one sees count: ``boot/namespace``, or empty."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


@lru_cache(maxsize=1)
def _own_start(own: int) -> str:
    """Since when this process runs, or empty."""
    return _stat(own)[1]


# Neither changes for a process. One that was forked off is another one, and may have a number that was ours once.
os.register_at_fork(after_in_child=_place.cache_clear)
os.register_at_fork(after_in_child=_own_start.cache_clear)


def _stat(pid: int) -> tuple[str, str]:
    """State and start time, in ticks, of a process (proc(5)); both empty where the system does not report."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
