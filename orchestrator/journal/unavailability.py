"""Waiting for a journal that does not answer. The process that leads a run sends nothing meanwhile, and does not give
up.

A restart of a server, a lost connection or a disk that is full for a moment is soon over. A run that ended because of
it would leave a service without an active site. Every write can be tried again, since the journal itself shows whether
the write was made (``Journal.append``). Time is the injected clock's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import JournalLost, JournalUnavailable

T = TypeVar("T")
# Between two attempts, seconds.
_PAUSE = 0.5
# How long the process that leads a run waits, seconds: with an operator at the terminal, who can resume the run; and
# without an operator.
WATCHED = 120.0
ALONE = 3_600.0


class Patience:
    """How long to wait for a journal that does not answer. ``tell`` is called once when it stops answering, and once
    when it answers again."""

    def __init__(self, clock: Clock, seconds: float, tell: Callable[[str], None]) -> None:
        self._clock, self._seconds, self._tell = clock, seconds, tell
        self._lock = threading.Lock()
        self._away_since: float | None = None
        self._is_over = False

    def give_up(self) -> None:
        """Finish the present attempt, and do not wait longer. Safe in a signal handler."""
        self._is_over = True

    def insist(self, do: Callable[[], T], until: Callable[[], float] | None = None) -> T:
        """The result of ``do``, tried again until the patience ends, or until the time that ``until`` returns if that
        is earlier.

        ``do`` may be called again although an earlier call had an effect. Raises the last attempt's own
        ``JournalUnavailable``; ``JournalLost`` at once.
        """
        began = self._clock.now()
        while True:
            try:
                done = do()
            except JournalLost:
                raise
            except JournalUnavailable as error:
                end = began + self._seconds if until is None else min(began + self._seconds, until())
                if self._is_over or self._clock.now() + _PAUSE > end:
                    raise
                self._is_away(error)
                self._clock.sleep(_PAUSE)
            else:
                self._is_back()
                return done

    def _is_away(self, error: JournalUnavailable) -> None:
        with self._lock:
            if self._away_since is not None:
                return
            self._away_since = self._clock.now()
        minutes = counted(max(1, round(self._seconds / 60)), "minute")
        self._tell(f"{error}; nothing is sent until the journal answers; the program tries again for {minutes}")

    def _is_back(self) -> None:
        if self._away_since is None:
            return  # the usual case
        with self._lock:
            since, self._away_since = self._away_since, None
        if since is not None:
            self._tell(f"the journal answers again, after {self._clock.now() - since:.1f}s")
