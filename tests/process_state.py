"""Whether a process has ended. One that was killed may still be listed for a moment on a busy machine."""

from __future__ import annotations

from pathlib import Path

from orchestrator.clock import SystemClock

ENDS_WITHIN_S = 30.0


def has_ended(pid: int) -> bool:
    """Has it ended by now? A zombie has: its parent has not waited for it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def ends(pid: int, within_s: float = ENDS_WITHIN_S) -> bool:
    """Does it end within so many seconds? Checks every 10 ms."""
    clock = SystemClock()
    limit = clock.now() + within_s
    while not has_ended(pid):
        if clock.now() >= limit:
            return False
        clock.sleep(0.01)
    return True
