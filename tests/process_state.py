"""Whether a process has ended. One that was killed may still be listed for a moment on a busy machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.clock import SystemClock

ENDS_WITHIN_S = 30.0


def has_ended(pid: int) -> bool:
    """Has it ended by now? A zombie has: its parent has not waited for it yet."""
    return _state(pid) in "ZX"


def is_stopped(pid: int) -> bool:
    """Is it suspended?"""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def ends(pid: int, within_s: float = ENDS_WITHIN_S) -> bool:
    """Does it end within so many seconds? Checks every 10 ms."""
    return comes(lambda: has_ended(pid), within_s)


def stops(pid: int, within_s: float = ENDS_WITHIN_S) -> bool:
    """Is it suspended within so many seconds?"""
    return comes(lambda: is_stopped(pid), within_s)


def comes(happened: Callable[[], bool], within_s: float = ENDS_WITHIN_S) -> bool:
    """Is it so within so many seconds? Checks every 10 ms."""
    clock = SystemClock()
    limit = clock.now() + within_s
    while not happened():
        if clock.now() >= limit:
            return False
        clock.sleep(0.01)
    return True
