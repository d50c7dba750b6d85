"""Threads that tell the hooks of a run while it continues, one for each hook, so that a slow one delays no other.

``Hooks`` is an observer of the engine: what happens wakes the threads, which then read the record by themselves; what
fails comes out as this observer's failure, which the engine records and shows. Must never make the engine wait.
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

# How long a thread may take to notice that it must stop, seconds.
_NOTICE_WITHIN = 2.0


class Hooks:
    """All hooks of one run. Made, started, told of every record as an observer, and finished or halted at the end."""

    def __init__(self, office: Office, run: str, hooks: Sequence[Hook], *, simulated: bool) -> None:
        self._clock = office.clock
        self._failures: list[HookFailed] = []
        self._lock = threading.Lock()
        self._threads = [
            _HookThread(office, run, hook, simulated=simulated, on_failure=self._failed) for hook in hooks
        ]
        self._backlog = _BacklogThread(office, own=run)

    def start(self, *, with_backlog: bool = False) -> None:
        """Start with what the record holds already. ``with_backlog``: bring older runs' events too, once, beside."""
        try:
            for thread in self._threads:
                thread.start()
            if with_backlog:
                self._backlog.start()
        except RuntimeError as error:  # no more threads can be had; what is not reported stays in the outbox
            self._failed(HookFailed(f"not all hooks can be reached: {error}", cause="thread"))

    def __call__(self, record: ev.Record, run: Run) -> None:
        """Something was recorded. Raises ``HookFailed`` with what went wrong since the last time."""
        for thread in self._threads:
            thread.wake()
        with self._lock:
            failures, self._failures = self._failures, []
        if failures:
            raise HookFailed("; ".join(map(str, failures)), cause="hooks")

    def finish(self, within_s: float) -> None:
        """Nothing more will be recorded: each hook has so many seconds to take the rest. Returns at once."""
        until = self._clock.now() + within_s
        self._backlog.finish(until)
        for thread in self._threads:
            thread.finish(until)

    def wait(self, timeout_s: float) -> bool:
        """Wait at most so long for the hooks to have taken what they will; whether they have."""
        until = self._clock.now() + timeout_s
        started = [thread for thread in (*self._threads, self._backlog) if thread.ident is not None]
        for thread in started:
            thread.join(max(0.0, until - self._clock.now()))
        return not any(thread.is_alive() for thread in started)

    def ended_by(self, hook: str) -> str:
        """What ended the thread of ``hook`` before its time; empty where nothing did. The outbox may not know."""
        return next((thread.ended_by for thread in self._threads if thread.hook.name == hook), "")

    def halt(self) -> None:
        """No one can wait any longer: cut off what is under way. What was not delivered stays in the outbox."""
        self._backlog.halt()
        for thread in self._threads:
            thread.halt()
        self.wait(_NOTICE_WITHIN)

    def _failed(self, failure: HookFailed) -> None:
        with self._lock:
            self._failures.append(failure)


class _HookThread(threading.Thread):
    """Keeps one hook told until it is finished or halted."""

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
        self._until: float | None = None  # set once it is to finish

    def wake(self) -> None:
        """There may be something to deliver."""
        self._awake.set()

    def finish(self, until: float) -> None:
        """Deliver what is left, trying until ``until``, seconds since the epoch, and end."""
        self._until = until
        self._awake.set()

    def halt(self) -> None:
        """End now; cut off what is under way."""
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
            until = self._until  # read before the record is: what is recorded before this was set is delivered
            has_all = courier.work(self._may_go_on)
            if until is not None and (has_all or max(courier.due, self._clock.now()) >= until):
                break
            self._rest(courier, until, has_all=has_all)
        courier.settle()

    def _may_go_on(self) -> bool:
        return not self._halted.is_set() and (self._until is None or self._clock.now() < self._until)

    def _rest(self, courier: Courier, until: float | None, *, has_all: bool) -> None:
        """Until there is something to do: a new record, the next attempt, the end."""
        pause = max(0.0, courier.due - self._clock.now())
        if until is not None:
            self._clock.sleep(pause)
        else:
            self._awake.wait(None if has_all else pause)

    def _tell(self, failure: HookFailed) -> None:
        self._on_failure(HookFailed(f"{self.hook.name}: {failure}", cause=failure.cause, hint=failure.hint))


class _BacklogThread(threading.Thread):
    """Brings the events of older runs, each hook until it fails once."""

    def __init__(self, office: Office, *, own: str) -> None:
        super().__init__(name="backlog of hooks", daemon=True)
        self._office, self._own = office, own
        self._halted = threading.Event()
        self._until: float | None = None

    def finish(self, until: float) -> None:
        """End by itself, and start nothing after ``until``, seconds since the epoch."""
        self._until = until

    def halt(self) -> None:
        """End now; leave the rest to others."""
        self._halted.set()

    def _may_go_on(self) -> bool:
        return not self._halted.is_set() and (self._until is None or self._office.clock.now() < self._until)

    def run(self) -> None:
        # What goes wrong with an older run is kept with it, and not this run's failure.
        with suppress(FailoverError), closing(self._office.outbox()) as outbox:
            for _ in flush(
                self._office,
                outbox,
                skip=lambda run: run == self._own or outbox.is_led(run, self._office.clock.now()),
                may_go_on=self._may_go_on,
            ):
                pass
