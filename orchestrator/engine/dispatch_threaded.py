"""The fleet with one thread for each site, and one for the questions to a person.

Jobs that arrive while a device is busy are sent as one request. So a thousand lanes need few round trips, and a fast lane
never waits for a slow one.
"""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from orchestrator.clock import Clock
from orchestrator.core.decide import Ask
from orchestrator.engine.dispatch import Act, Answer, Command, Completion, Job, Prompter, Rest, SiteWorker, jobs_of
from orchestrator.family.contract import Adapter, Permit
from orchestrator.model.runbook import Side


class ThreadedFleet:
    """One worker thread for each site, and one for the questions to a person.

    ``real`` converts seconds of ``clock`` to seconds of the machine, if these differ.
    """

    def __init__(
        self,
        adapters: Mapping[Side, Adapter],
        permit: Permit,
        clock: Clock,
        *,
        prompter: Prompter | None = None,
        real: Callable[[float], float] = float,
    ) -> None:
        self._clock = clock
        self._real = real
        self._done: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        self._threads = {
            side: SiteThread(SiteWorker(side, adapter, permit, clock), self._done, self._give)
            for side, adapter in adapters.items()
        }
        self._asker = None if prompter is None else _Asker(prompter, self._done)

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        jobs: dict[Side, list[Job]] = defaultdict(list)
        for command in commands:
            if not isinstance(command, Ask):
                for side, job in jobs_of(command):
                    jobs[side].append(job)
            elif self._asker is not None:
                self._asker.ask(command)
        for side, batch in jobs.items():
            self._threads[side].give(batch)

    def _give(self, rest: Rest) -> None:
        """Pass on the rest of a round, whose first readings were answered."""
        for side, job in rest.jobs:
            self._threads[side].give([job])

    def collect(self, until: float | None) -> list[Completion]:
        timeout = None if until is None else self._real(max(0.0, until - self._clock.now()))
        done: list[Completion] = []
        try:
            item = self._done.get(timeout=timeout) if timeout != 0 else self._done.get_nowait()
            while True:
                if isinstance(item, BaseException):
                    raise item
                if item is not None:
                    done.append(item)
                item = self._done.get_nowait()
        except queue.Empty:
            return done

    def room(self, on: Side, action: str) -> int:
        return self._threads[on].worker.room(action)

    def interrupt(self) -> None:
        self._done.put(None)

    def close(self) -> None:
        for worker in self._threads.values():
            worker.stop()


class SiteThread:
    """The thread of a site. Readings and actions take turns, so that neither starves. Both are sent in batches."""

    def __init__(
        self,
        worker: SiteWorker,
        done: queue.SimpleQueue[Completion | BaseException | None],
        give_rest: Callable[[Rest], None],
    ) -> None:
        self.worker = worker
        self._done = done
        self._give_rest = give_rest
        self._waiting: list[Job] = []
        self._changed = threading.Condition()
        self._stopping = False
        self._acted = True
        self._thread = threading.Thread(target=self._run, name=f"site-{worker.side}", daemon=True)
        self._thread.start()

    def give(self, jobs: Sequence[Job]) -> None:
        with self._changed:
            self._waiting.extend(jobs)
            self._changed.notify()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        try:
            while (work := self._take()) is not None:
                for completion in work():
                    if isinstance(completion, Rest):
                        self._give_rest(completion)
                    else:
                        self._done.put(completion)
        except BaseException as error:  # noqa: BLE001 - carried to the engine's thread, which raises it
            self._done.put(error)
        finally:
            self.worker.adapter.close()

    def _take(self) -> Callable[[], Iterator[Completion | Rest]] | None:
        """The next request: all waiting readings of one kind, or the oldest actions of one kind."""
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            if self._stopping:
                return None
            acts = [job for job in self._waiting if isinstance(job, Act)]
            reading = next((job[0] for job in self._waiting if not isinstance(job, Act)), None)
            if reading is not None and (self._acted or not acts):
                self._acted = False
                return self._all_of(reading)
            self._acted = True
            return self._oldest(acts)

    def _all_of(self, reading: str) -> Callable[[], Iterator[Completion | Rest]]:
        rounds = [job[1] for job in self._waiting if not isinstance(job, Act) and job[0] == reading]
        self._waiting = [job for job in self._waiting if isinstance(job, Act) or job[0] != reading]
        return lambda: self.worker.observe(reading, rounds)

    def _oldest(self, acts: Sequence[Act]) -> Callable[[], Iterator[Completion | Rest]]:
        action = acts[0].action
        batch = [act for act in acts if act.action == action][: self.worker.batch(action)]
        taken = {id(act) for act in batch}
        self._waiting = [job for job in self._waiting if id(job) not in taken]
        return lambda: self.worker.apply(action, batch)


class _Asker:
    """The thread that asks a person: one question at a time."""

    def __init__(self, prompter: Prompter, done: queue.SimpleQueue[Completion | BaseException | None]) -> None:
        self._prompter = prompter
        self._done = done
        self._questions: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="desk", daemon=True).start()

    def ask(self, question: Ask) -> None:
        self._questions.put(question)

    def _run(self) -> None:
        while True:
            question = self._questions.get()
            try:
                ruling = self._prompter.ask(question.service, question.gate)
            except BaseException as error:  # noqa: BLE001 - carried to the engine's thread, which raises it
                self._done.put(error)
                return
            self._done.put(Answer(question.service, question.gate, ruling))
