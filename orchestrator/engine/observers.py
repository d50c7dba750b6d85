"""The observers of a run, such as its screen and its hooks. A failure of an observer is recorded, and never stops a
run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchestrator.core.run import Run
from orchestrator.model import events as ev

Observer = Callable[[ev.Record, Run], None]


class Observers:
    """All observers of one run, in the order in which they get each record."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._failures: list[ev.ObserverFailed] = []  # not recorded yet
        self._known: set[ev.ObserverFailed] = set()

    def show(self, records: Iterable[ev.Record], run: Run) -> None:
        """Show ``records``, which are in the journal already, to all observers. Never raises an ``Exception``."""
        for record in records:
            for observer in self._observers:
                try:
                    observer(record, run)
                except Exception as error:  # noqa: BLE001 - one of the two doors: recorded, and never stops a run
                    name = getattr(observer, "__qualname__", type(observer).__name__)
                    failure = ev.ObserverFailed(observer=name, text=f"{type(error).__name__}: {error}")
                    # Each failure once: an observer that fails at every record must not fill the journal.
                    if failure not in self._known:
                        self._known.add(failure)
                        self._failures.append(failure)

    def failures(self) -> list[ev.ObserverFailed]:
        """The new failures since the last call, which the caller records."""
        failures, self._failures = self._failures, []
        return failures
