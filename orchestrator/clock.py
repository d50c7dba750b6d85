"""Time, injected. Nothing else in the product asks the machine what time it is.

``now()`` is seconds since the Unix epoch. ``SystemClock`` is anchored once and then follows a clock that never
steps, so that an NTP step or a daylight-saving mistake cannot shorten or stretch a deadline in the middle of a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
            raise ValueError("a clock cannot advance by a negative number of seconds")
        with self._lock:
            self._now += seconds

    def advance_to(self, moment: float) -> None:
        """Move on to ``moment``, if that lies ahead."""
        with self._lock:
            self._now = max(self._now, moment)


class ScaledClock:
    """Time that runs ``factor`` times as fast as ``base``, and can be let pass at once: for rehearsals.

    ``advance`` jumps ahead; inside ``rushing`` no one waits, as with a ``VirtualClock``. A change of ``factor`` holds
    from that moment on, so that time never steps back.
    """

    def __init__(self, base: Clock, factor: float = 1.0) -> None:
        self._base = base
        self._factor = factor
        self._lock = threading.Lock()
        self._from = self._base_from = base.now()
        self._rushing = False

    def now(self) -> float:
        with self._lock:
            return self._at(self._base.now())

    def _at(self, base: float) -> float:
        return self._from + (base - self._base_from) * self._factor

    def sleep(self, seconds: float) -> None:
        if self._rushing:
            self.advance(max(0.0, seconds))
        elif seconds > 0:
            self._base.sleep(self.real(seconds))

    def real(self, seconds: float) -> float:
        """How long ``seconds`` of this clock take by its base."""
        return seconds / self._factor

    @property
    def factor(self) -> float:
        """How many seconds pass here in one of the base's."""
        return self._factor

    def set_factor(self, factor: float) -> None:
        """Run at another pace from now on."""
        with self._lock:
            base = self._base.now()
            self._from, self._base_from, self._factor = self._at(base), base, factor

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds`` at once; negative values are a mistake of the caller."""
        if seconds < 0:
            raise ValueError("a clock cannot advance by a negative number of seconds")
        with self._lock:
            self._from += seconds

    @contextmanager
    def rushing(self) -> Iterator[None]:
        """Until the end of the block, sleeping takes no time of the base's."""
        self._rushing = True
        try:
            yield
        finally:
            self._rushing = False


def iso(moment: float) -> str:
    """``2026-11-20T03:00:00.123Z`` for a moment in seconds since the epoch."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
