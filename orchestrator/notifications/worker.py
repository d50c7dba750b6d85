"""Threads that notify the hooks of a run while the run continues. Each hook has a thread, so a slow hook delays no other.

``Hooks`` is an observer of the engine. Each record wakes the threads, and the threads read the journal themselves. A
failed delivery becomes a failure of this observer, which the engine records and shows. The observer must never make the
engine wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from orchestrator.clock import Clock
from orchestrator.core.run import Run
from orchestrator.errors import FailoverError, HookFailed
from orchestrator.model import events as ev
from orchestrator.model.inventory import Hook
from orchestrator.notifications.backlog import flush
from orchestrator.notifications.delivery import Courier
from orchestrator.notifications.delivery_context import Office

# The seconds in which a thread must notice that it has to stop.
_NOTICE_WITHIN = 2.0


class Hooks:
    """All hooks of one run. The engine calls it with every record. At the end of the run it is finished or halted."""

    def __init__(self, office: Office, run: str, hooks: Sequence[Hook], *, simulated: bool) -> None:
        self._clock = office.clock
        self._failures: list[HookFailed] = []
        self._lock = threading.Lock()
        self._threads = [
            _HookThread(office, run, hook, simulated=simulated, on_failure=self._failed) for hook in hooks
        ]
        self._backlog = _BacklogThread(office, own=run)

    def start(self, *, with_backlog: bool = False) -> None:
        """Start the threads with the events already recorded. ``with_backlog``: another thread also delivers the events
        of older runs, once."""
        try:
            for thread in self._threads:
                thread.start()
            if with_backlog:
                self._backlog.start()
        except RuntimeError as error:  # no more threads can be started; undelivered events stay in the outbox
            self._failed(HookFailed(f"not all hooks can be reached: {error}", cause="thread"))

    def __call__(self, record: ev.Record, run: Run) -> None:
        """Wake the threads after a new record. Raises ``HookFailed`` with the failures since the last call."""
        for thread in self._threads:
            thread.wake()
        with self._lock:
            failures, self._failures = self._failures, []
        if failures:
            raise HookFailed("; ".join(map(str, failures)), cause="hooks")

    def finish(self, within_s: float) -> None:
        """Tell the threads that nothing more will be recorded. Each hook has ``within_s`` seconds to take the rest.
        Returns at once."""
        until = self._clock.now() + within_s
        self._backlog.finish(until)
        for thread in self._threads:
            thread.finish(until)

    def wait(self, timeout_s: float) -> bool:
        """Wait at most ``timeout_s`` seconds for the threads to end. Returns whether all have ended."""
        until = self._clock.now() + timeout_s
        started = [thread for thread in (*self._threads, self._backlog) if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, until - self._clock.now()))
        return not any(thread.is_alive() for thread in started)

    def ended_by(self, hook: str) -> str:
        """The error that ended the thread of ``hook`` too early, or empty. The outbox may not have this error."""
        return next((thread.ended_by for thread in self._threads if thread.hook.name == hook), "")

    def halt(self) -> None:
        """End all threads now and interrupt their deliveries. Undelivered events stay in the outbox."""
        self._backlog.halt()
        for thread in self._threads:
            thread.halt()
        self.wait(_NOTICE_WITHIN)

    def _failed(self, failure: HookFailed) -> None:
        with self._lock:
            self._failures.append(failure)


class _HookThread(threading.Thread):
    """Delivers events to one hook until the thread is finished or halted."""

    def __init__(
        self,
        office: Office,
        run: str,
        hook: Hook,
        *,
        simulated: bool,
        on_failure: Callable[[HookFailed], None],
    ) -> None:
        super().__init__(name=f"hook {hook.name}", daemon=True)
        self.hook = hook
        self.ended_by = ""
        self._office, self._run, self._simulated = office, run, simulated
        self._on_failure = on_failure
        self._clock: Clock = office.clock
        self._awake = threading.Event()
        self._halted = threading.Event()
        self._until: float | None = None  # set when the thread has to finish

    def wake(self) -> None:
        """Wake the thread, because there may be an event to deliver."""
        self._awake.set()

    def finish(self, until: float) -> None:
        """Deliver the remaining events, with attempts until ``until`` (seconds since the epoch), and end."""
        self._until = until
        self._awake.set()

    def halt(self) -> None:
        """End now and interrupt the present delivery."""
        self._halted.set()
        self._awake.set()

    def run(self) -> None:
        try:
            with closing(self._office.outbox()) as outbox:
                courier = self._office.courier(
                    self._run,
                    self.hook,
                    outbox,
                    simulated=self._simulated,
                    is_halted=self._halted.is_set,
                    on_failure=self._tell,
                )
                self._keep_told(courier)
        except Exception as error:  # noqa: BLE001 - one of the listed doors: a mistake here must not go unsaid
            self.ended_by = str(error) if isinstance(error, FailoverError) else f"{type(error).__name__}: {error}"
            self._tell(HookFailed(self.ended_by, cause=type(error).__name__))

    def _keep_told(self, courier: Courier) -> None:
        while not self._halted.is_set():
            self._awake.clear()
            until = self._until  # read before the journal, so all events recorded before the finish are delivered
            has_all = courier.work(self._may_go_on)
            if until is not None and (has_all or max(courier.due, self._clock.now()) >= until):
                break
            self._rest(courier, until, has_all=has_all)
        courier.settle()

    def _may_go_on(self) -> bool:
        return not self._halted.is_set() and (self._until is None or self._clock.now() < self._until)

    def _rest(self, courier: Courier, until: float | None, *, has_all: bool) -> None:
        """Wait for a new record, the next attempt, or the end."""
        pause = max(0.0, courier.due - self._clock.now())
        if until is not None:
            self._clock.sleep(pause)
        else:
            self._awake.wait(None if has_all else pause)

    def _tell(self, failure: HookFailed) -> None:
        self._on_failure(HookFailed(f"{self.hook.name}: {failure}", cause=failure.cause, hint=failure.hint))


class _BacklogThread(threading.Thread):
    """Delivers the events of older runs, to each hook until it fails once."""

    def __init__(self, office: Office, *, own: str) -> None:
        super().__init__(name="backlog of hooks", daemon=True)
        self._office, self._own = office, own
        self._halted = threading.Event()
        self._until: float | None = None

    def finish(self, until: float) -> None:
        """Let the thread end by itself. It starts no delivery after ``until`` (seconds since the epoch)."""
        self._until = until

    def halt(self) -> None:
        """End now. Another process delivers the rest."""
        self._halted.set()

    def _may_go_on(self) -> bool:
        return not self._halted.is_set() and (self._until is None or self._office.clock.now() < self._until)

    def run(self) -> None:
        # A failure for an older run is recorded with that run, so it is no failure of this run.
        with suppress(FailoverError), closing(self._office.outbox()) as outbox:
            for _ in flush(
                self._office,
                outbox,
                skip=lambda run: run == self._own or outbox.is_led(run, self._office.clock.now()),
                may_go_on=self._may_go_on,
            ):
                pass
