"""Delivers the events of one run to one hook, one after the other, and tries again after a failure.

An event that cannot be delivered delays the later events, so a receiver gets all events in order. No event is given up.
The caller starts each attempt. This module waits only for the receiver. It must never raise because of the receiver or
the journal. A failure is recorded, and reported once for each cause.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from orchestrator.clock import Clock
from orchestrator.errors import FailoverError, HookFailed, JournalError
from orchestrator.journal.outbox import BATCH, Outbox
from orchestrator.model.inventory import Hook
from orchestrator.notifications.message import Message, ScrubData, kind_of, message_of, wants

Sender = Callable[[Message], None]
FailureListener = Callable[[HookFailed], None]

BACK_OFF_FIRST = 1.0
BACK_OFF_MAX = 60.0
_DOUBLINGS_MAX = 10


def back_off(failures: int, chance: random.Random) -> float:
    """Seconds to wait after ``failures`` consecutive failures: one second, doubled each time, up to a minute.

    The time is shortened by a random part of up to one half, so several senders do not retry a receiver at the same time.
    """
    longest = min(BACK_OFF_MAX, BACK_OFF_FIRST * 2.0 ** min(failures - 1, _DOUBLINGS_MAX))
    return longest * chance.uniform(0.5, 1.0)


class Courier:
    """Delivers the records of ``run`` to ``hook``. ``due`` is the next attempt, in seconds since the epoch."""

    def __init__(
        self,
        run: str,
        hook: Hook,
        outbox: Outbox,
        send: Sender,
        *,
        simulated: bool,
        scrub: ScrubData,
        clock: Clock,
        chance: random.Random,
        on_failure: FailureListener = lambda failure: None,
    ) -> None:
        self.run = run
        self.hook = hook
        self.due = 0.0
        self.delivered = 0
        self.failure: HookFailed | None = None  # why the delivery failed; None while it works
        self._outbox = outbox
        self._send = send
        self._simulated = simulated
        self._scrub = scrub
        self._clock = clock
        self._chance = chance
        self._on_failure = on_failure
        self._failures = 0
        self._causes_told: set[str] = set()
        self._noted = ""  # the failure that the outbox has on record
        self._position: int | None = None  # the last record that this process has finished
        self._saved = 0
        self._is_owed = False  # a delivery is not saved yet

    def work(self, may_go_on: Callable[[], bool]) -> bool:
        """Deliver events until none is left, a delivery fails, or ``may_go_on`` returns False.

        Returns whether all events recorded so far are finished.
        """
        if self._clock.now() < self.due:
            return False
        try:
            return self._work(may_go_on)
        except HookFailed as failure:
            self._failed(failure)
        except FailoverError as error:  # the journal is missing, locked or corrupt
            self._failed(HookFailed(str(error), cause=type(error).__name__, hint=error.hint))
        return False

    def settle(self) -> None:
        """Save the position after records that the hook does not want. Otherwise these records are read once more."""
        try:
            self._save()
        except JournalError as error:
            self._failed(HookFailed(str(error), cause=type(error).__name__, hint=error.hint))

    def _work(self, may_go_on: Callable[[], bool]) -> bool:
        if self._position is None:
            self._position = self._saved = self._outbox.cursor(self.run, self.hook.name)
        if self._is_owed:
            self._save()
        while lines := self._outbox.after(self.run, self._position):
            for line in lines:
                if not may_go_on():
                    return False
                self._bring(line)
            if self._position - self._saved >= BATCH:
                self._save()
        self._failures, self.failure = 0, None
        return True

    def _bring(self, line: Mapping[str, Any]) -> None:
        if wants(self.hook, kind_of(line)):
            self._send(message_of(line, simulated=self._simulated, scrub=self._scrub))
            # From now on this process does not send the event again, even if the position cannot be saved now.
            self._position, self._is_owed = line["seq"], True
            self.delivered += 1
            self._failures, self.failure = 0, None
            self._save()
        else:
            self._position = line["seq"]

    def _save(self) -> None:
        """Save the position after the delivery. If the save fails, the event is delivered again, but never lost."""
        if self._position is not None and self._position > self._saved:
            self._noted = "" if self.failure is None else str(self.failure)
            self._outbox.done_with(self.run, self.hook.name, self._position, failed=self._noted)
            self._saved, self._is_owed = self._position, False

    def _failed(self, failure: HookFailed) -> None:
        self._failures += 1
        self.failure = failure
        self.due = self._clock.now() + back_off(self._failures, self._chance)
        if failure.cause not in self._causes_told:
            self._causes_told.add(failure.cause)
            self._on_failure(failure)
        if str(failure) != self._noted:
            with suppress(JournalError):  # the next failure is noted again
                self._outbox.note_failure(self.run, self.hook.name, str(failure))
                self._noted = str(failure)
