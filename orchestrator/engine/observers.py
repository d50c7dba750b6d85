"""Those who only watch a run: its screen, its hooks. What fails in one of them is recorded, and never stops a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchestrator.core.run import Run
from orchestrator.model import events as ev

Observer = Callable[[ev.Record, Run], None]


class Observers:
    """All of one run, in the order in which they are shown each record."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self._failures: list[ev.ObserverFailed] = []  # not recorded yet
        self._known: set[ev.ObserverFailed] = set()

    def show(self, records: Iterable[ev.Record], run: Run) -> None:
        """Show these records, which are in the journal. Never raises."""
        for record in records:
            for observer in self._observers:
                try:
                    observer(record, run)
                except Exception as error:  # noqa: BLE001 - one of the two doors: recorded, and never stops a run
                    name = getattr(observer, "__qualname__", type(observer).__name__)
                    failure = ev.ObserverFailed(observer=name, text=f"{type(error).__name__}: {error}")
                    # Once each: one that fails at every record must not fill the journal with it.
                    if failure not in self._known:
                        self._known.add(failure)
                        self._failures.append(failure)

    def failures(self) -> list[ev.ObserverFailed]:
        """What failed since this was last asked, to be recorded."""
        failures, self._failures = self._failures, []
        return failures
