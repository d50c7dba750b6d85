"""Waiting for a journal that does not answer, by whoever leads a run: nothing is sent meanwhile, and nothing is given up.

A server that restarts, a connection that is lost and a disk that is full for a moment are over soon; the run that would
end for them leaves a service without an active site. Every write can be tried again, since the journal itself tells
whether it was made (``Journal.append``). Time is the injected clock's.
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
# How long whoever leads a run waits, seconds: with an operator at the terminal, who can resume it; and with none.
WATCHED = 120.0
ALONE = 3_600.0


class Patience:
    """How long a journal that is away is waited for. ``tell`` hears of it once, and once when it answers again."""

    def __init__(self, clock: Clock, seconds: float, tell: Callable[[str], None]) -> None:
        self._clock, self._seconds, self._tell = clock, seconds, tell
        self._lock = threading.Lock()
        self._away_since: float | None = None
        self._is_over = False

    def give_up(self) -> None:
        """Wait no longer than for the present attempt. Safe in a signal handler."""
        self._is_over = True

    def insist(self, do: Callable[[], T], until: Callable[[], float] | None = None) -> T:
        """What ``do`` returns, tried again for as long as this lasts, or no longer than ``until`` says by then.

        ``do`` may be carried out twice, also where the first time had an effect. Raises the last attempt's own
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
        self._tell(f"{error}; nothing is sent until it answers, and it is tried again for {minutes}")

    def _is_back(self) -> None:
        if self._away_since is None:
            return  # as good as always
        with self._lock:
            since, self._away_since = self._away_since, None
        if since is not None:
            self._tell(f"the journal answers again, after {self._clock.now() - since:.1f}s")
