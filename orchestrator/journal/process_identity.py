"""A name for a process that shows whether the process still lives, even when its number is used again.

A process is known by its number, its start time and the place where that number is valid: the machine since its boot,
and the PID namespace of the process (proc(5)).
"""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from pathlib import Path


def holder_name(pid: int | None = None) -> str:
    """The name of this process, or of ``pid``, a process that this one started: ``host:pid``, and an identity that
    differs from that of a later process with the same number."""
    own = os.getpid()
    number = own if pid is None else pid
    place = _place(own)
    started = _own_start(own) if number == own else _stat(number)[1]
    identity = f"{place}/{started}" if place else ""
    return f"{socket.gethostname()}:{number} {identity}".strip()


def holder_is_dead(holder: str) -> bool:
    """True only if this machine can prove that the holder's process has ended. Then other processes need not wait.

    A process of another account may be hidden from us, and another machine may have the same name. Neither is proof.
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
        return False  # the process exists, but belongs to another account
    return False


@lru_cache(maxsize=1)
def _place(own: int) -> str:
    """The place where process numbers seen by this process are valid: ``boot/namespace``, or empty."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


@lru_cache(maxsize=1)
def _own_start(own: int) -> str:
    """The start time of this process, or empty."""
    return _stat(own)[1]


# Place and start time of a process never change. A forked child is a different process, and may get a number that this
# process had before.
os.register_at_fork(after_in_child=_place.cache_clear)
os.register_at_fork(after_in_child=_own_start.cache_clear)


def _stat(pid: int) -> tuple[str, str]:
    """State and start time, in ticks, of a process (proc(5)); both empty if the system does not report them."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
