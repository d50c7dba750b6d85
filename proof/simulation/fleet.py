"""Uses both sites at the same time, deterministically: the product's threaded fleet without its threads.

The product's own code assigns the work, forms the batches and asks the questions. Only the order of the turns, and the
arrival times of answers, are drawn from a seed. An answer may come late, and after the answer to a later request at the
other site. A person thinks while everything continues. The fleet must never change the answer of an adapter or a person.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from queue import SimpleQueue
from random import Random
from typing import Protocol, cast

from orchestrator.clock import Clock
from orchestrator.core.decide import Ask
from orchestrator.engine.dispatch import Act, Answer, Command, Completion, Job, Observation, Rest, SiteWorker, jobs_of
from orchestrator.engine.dispatch_threaded import SiteThread, ThreadedFleet
from orchestrator.family.contract import Adapter, Permit
from orchestrator.model import events as ev
from orchestrator.model.runbook import Side

# The seconds that an answer takes to arrive. Most answers arrive at once.
_ON_ITS_WAY = (0.0, 0.0, 0.0, 0.0, 0.01, 0.2, 1.0, 6.0)


class Delayed(Protocol):
    """An adapter that tells how long its next call takes, instead of taking that time."""

    def delay(self, name: str) -> tuple[float, float]:
        """The seconds until a call for this reading or action reaches the device, and the seconds until its answer is
        back."""
        ...


class Thoughtful(Protocol):
    """A person at the terminal, who answers after some time."""

    def thinks(self) -> float:
        """The seconds that the person thinks."""
        ...

    def say(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """The person's answer after that time."""
        ...


class _Turn(SiteThread):
    """A site's worker that gets its turns from the fleet. In each turn it does one call of a request."""

    def __init__(self, worker: SiteWorker) -> None:
        self.worker = worker
        self._waiting: list[Job] = []
        self._changed = _Unshared()  # type: ignore[assignment]
        self._stopping = False
        self._acted = True
        self.under_way: Iterator[Completion | Rest] | None = None
        self.free_at = 0.0
        self.after: float | None = None  # how long the next answer takes, once the request has reached the device

    def give(self, jobs: Sequence[Job]) -> None:
        self._waiting.extend(jobs)

    @property
    def has_work(self) -> bool:
        """Is there anything to do?"""
        return self.under_way is not None or (bool(self._waiting) and not self._stopping)

    def next_name(self) -> str:
        """The reading or the action that the next request is about."""
        acts = [job.action for job in self._waiting if isinstance(job, Act)]
        reading = next((job[0] for job in self._waiting if not isinstance(job, Act)), None)
        return reading if reading is not None and (self._acted or not acts) else acts[0]

    def rounds_of(self, reading: str) -> list[tuple[str, int]]:
        """The rounds that wait for this reading, by lane and mark."""
        jobs = (job for job in self._waiting if not isinstance(job, Act))
        return [(one.request.service, one.request.mark) for name, one in jobs if name == reading]

    def turn(self) -> list[Completion | Rest]:
        """Does one more call. Returns its outcome."""
        if self.under_way is None:
            work = self._take()
            assert work is not None  # only a worker with work gets a turn
            self.under_way = work()
        done = next(self.under_way, None)
        if done is None:
            self.under_way = None
            return []
        return [done]

    def stop(self) -> None:
        self._stopping = True


class _Unshared:
    """Replaces a lock, because there is only one thread."""

    def __enter__(self) -> None:
        return

    def __exit__(self, *error: object) -> None:
        return


class SeededFleet(ThreadedFleet):
    """See the module. ``is_dead``: is the process gone, and its threads with it?"""

    def __init__(
        self,
        adapters: Mapping[Side, Adapter],
        permit: Permit,
        clock: Clock,
        *,
        prompter: Thoughtful | None,
        seed: int,
        is_dead: Callable[[], bool],
    ) -> None:
        self._is_dead = is_dead
        self._clock = clock
        self._real = float
        self._done = SimpleQueue()
        self._asker = None
        self._turns = {side: _Turn(SiteWorker(side, adapter, permit, clock)) for side, adapter in adapters.items()}
        self._threads = cast("dict[Side, SiteThread]", self._turns)
        self._adapters = adapters
        self._chance = Random(f"failover threads {seed}")
        self._order = count()
        self._not_before: dict[tuple[str, int], float] = {}  # when the answers to a round arrive
        self._coming: list[tuple[float, int, Completion | Rest]] = []
        self._prompter = prompter
        self._asked: deque[Ask] = deque()
        self._thinking: tuple[float, Ask] | None = None

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        for command in commands:
            if isinstance(command, Ask):
                self._asked.append(command)
            else:
                for side, job in jobs_of(command):
                    self._turns[side].give([job])

    def collect(self, until: float | None) -> list[Completion]:
        while True:
            self._listen()
            now = self._clock.now()
            done = []
            while self._coming and self._coming[0][0] <= now:
                came = heapq.heappop(self._coming)[2]
                if isinstance(came, Rest):
                    self._give(came)
                else:
                    done.append(came)
            if done:
                return done
            ready = [turn for turn in self._turns.values() if turn.has_work and turn.free_at <= now]
            if ready:
                self._give_turn(self._chance.choice(ready))
                continue
            due = self._next_due()
            if due is None or (until is not None and due > until):
                if until is not None:
                    self._clock.sleep(until - now)
                return []
            self._clock.sleep(due - now)

    def _next_due(self) -> float | None:
        """The moment of the next thing that happens by itself. None: nothing will happen."""
        moments = [turn.free_at for turn in self._turns.values() if turn.has_work]
        moments += [self._coming[0][0]] if self._coming else []
        moments += [self._thinking[0]] if self._thinking is not None else []
        return min(moments, default=None)

    def _give_turn(self, turn: _Turn) -> None:
        """Does one more call of a request. Its answer takes some time to arrive, and the site is busy meanwhile."""
        rounds: list[tuple[str, int]] = []
        if turn.under_way is None:
            name = turn.next_name()
            if turn.after is None:
                before, turn.after = cast("Delayed", turn.worker.adapter).delay(name)
                if before:
                    turn.free_at = self._clock.now() + before
                    return
            rounds = turn.rounds_of(name)
        after, turn.after = turn.after or 0.0, None
        done = turn.turn()
        arrival = turn.free_at = self._clock.now() + after + self._chance.choice(_ON_ITS_WAY)
        for one in rounds:
            self._not_before[one] = max(arrival, self._not_before.get(one, 0.0))
        for completion in done:
            due = arrival
            if isinstance(completion, Observation):
                due = max(due, self._not_before.pop((completion.service, completion.mark), 0.0))
            heapq.heappush(self._coming, (due, next(self._order), completion))

    def _listen(self) -> None:
        """Asks one question at a time. The person thinks while everything else continues."""
        if self._prompter is None:
            self._asked.clear()
            return
        if self._thinking is None and self._asked:
            self._thinking = self._clock.now() + self._prompter.thinks(), self._asked.popleft()
        if self._thinking is not None and self._thinking[0] <= self._clock.now():
            ask, self._thinking = self._thinking[1], None
            said = Answer(ask.service, ask.gate, self._prompter.say(ask.service, ask.gate))
            heapq.heappush(self._coming, (self._clock.now(), next(self._order), said))

    def interrupt(self) -> None:
        """Does nothing, because no thread waits."""

    def close(self) -> None:
        """The work under way continues to its end, as in a thread. No other work starts."""
        for turn in self._turns.values():
            turn.stop()
        for turn in self._turns.values():
            while turn.under_way is not None and not self._is_dead():
                turn.turn()
        for adapter in self._adapters.values():
            adapter.close()
