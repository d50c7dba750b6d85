"""Time, injected. Nothing else in the product asks the machine what time it is.

``now()`` is seconds since the Unix epoch. ``SystemClock`` is anchored once and then follows a clock that never
steps, so that an NTP step or a daylight-saving mistake cannot shorten or stretch a deadline in the middle of a run.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol

# CLOCK_BOOTTIME also counts while the machine sleeps: a lease must not survive a suspended bastion.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What the product knows of time."""

    def now(self) -> float:
        """Seconds since the Unix epoch; never decreases."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let that much time pass; zero and less return at once."""
        ...


class SystemClock:
    """The machine's time, immune to steps of the wall clock after it was made."""

    def __init__(self) -> None:
        self._offset = time.time() - time.clock_gettime(_STEADY)

    def now(self) -> float:
        return self._offset + time.clock_gettime(_STEADY)

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class VirtualClock:
    """Time that passes only when told to: for tests, rehearsals and the simulator."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``; negative values are a mistake of the caller."""
        if seconds < 0:
            raise ValueError("time does not run backwards")
        with self._lock:
            self._now += seconds

    def advance_to(self, moment: float) -> None:
        """Move on to ``moment``, if that lies ahead."""
        with self._lock:
            self._now = max(self._now, moment)


def iso(moment: float) -> str:
    """``2026-11-20T03:00:00.123Z`` for a moment in seconds since the epoch."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
