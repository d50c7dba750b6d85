"""The fleet: carries commands to the sites' adapters and brings back what came of them, grouped per site.

``ThreadedFleet`` gives each site one worker; what gathers while a device is busy goes out as one request, so that a
thousand lanes cost few round trips, and a fast lane never waits for a slow one. ``InlineFleet`` does the same work
on the caller's thread in a fixed order, for injected time. Neither decides or records anything.
"""

from __future__ import annotations

import math
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator import events as ev
from orchestrator.clock import Clock
from orchestrator.contract import Adapter, Args, Call, Effect, Failure, Permit, Result
from orchestrator.decide import Ask, Observe
from orchestrator.errors import AdapterError, Forbidden, NotObeyed
from orchestrator.probing import probe
from orchestrator.runbook import Side


# How long readings may have to wait behind acts that go out together, seconds.
_TURN_S = 5.0


@dataclass(frozen=True, slots=True)
class Act:
    """Send this; its intent is on disk. After ``good_until``, by the fleet's clock, it must not leave any more: what it
    stands on is too old then."""

    lane: str
    intent: int
    on: Side
    action: str
    args: Args
    good_until: float = math.inf


@dataclass(frozen=True, slots=True)
class Observation:
    """What one ``Observe`` saw, whole."""

    lane: str
    mark: int
    seen: tuple[ev.Seen, ...]
    gauge: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How one ``Act`` ended. ``withheld``: the permit refused it, so that it never left."""

    lane: str
    intent: int
    result: Result
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to an ``Ask``; None: nothing."""

    lane: str
    gate: ev.GateOpened
    ruling: ev.Ruling | None


Command = Observe | Act
Completion = Observation | Ended | Answer


class Desk(Protocol):
    """Where a person is asked, one question at a time."""

    def ask(self, lane: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """The person's ruling; None when nobody is there to answer, or the question became moot."""
        ...


class Fleet(Protocol):
    """What the engine needs of the world."""

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        """Begin all of these."""
        ...

    def collect(self, until: float | None) -> list[Completion]:
        """What has ended since; waits for the first one, but not beyond ``until`` (None: as long as it takes)."""
        ...

    def interrupt(self) -> None:
        """Let a waiting ``collect`` return at once. Safe to call from a signal handler."""
        ...

    def close(self) -> None:
        """End all sessions."""
        ...


@dataclass(slots=True)
class _Round:
    """An ``Observe`` being gathered from one or two sites."""

    request: Observe
    seen: dict[tuple[Side, str], ev.Seen] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, seen: ev.Seen) -> Observation | None:
        """The whole round, once the last of its readings is in."""
        with self.lock:
            self.seen[(seen.on, seen.reading)] = seen
            if len(self.seen) < len(self.request.asks):
                return None
        ordered = tuple(self.seen[ask] for ask in self.request.asks)
        return Observation(self.request.lane, self.request.mark, ordered, self._gauge())

    def _gauge(self) -> float | None:
        wanted = self.request.gauge
        if wanted is None:
            return None
        seen = self.seen[(wanted.on, wanted.reading)]
        value = getattr(seen.value, wanted.field, None)
        return None if value is None else float(value)


@dataclass(slots=True)
class _Dated:
    """The permit for some acts that go out together. ``refused``: it refused since that was last looked at."""

    permit: Permit
    clock: Clock
    good_until: float
    refused: bool = False

    def check(self) -> None:
        """See ``contract.Permit``: the readings that an act stands on must still be fresh. Raises ``Forbidden``."""
        self.refused = True
        late = self.clock.now() - self.good_until
        if late > 0:
            raise Forbidden(f"what the command stands on was too old by {late:.0f}s, so it was not sent")
        self.permit.check()
        self.refused = False


@dataclass(slots=True)
class SiteDesk:
    """One site's adapter and the requests gathered for it. Knows no threads. ``pace_s``: what an act took last."""

    side: Side
    adapter: Adapter
    permit: Permit
    clock: Clock
    pace_s: float = 0.0

    def batch(self, action: str) -> int:
        """How many acts go out together: no more than the action allows, and fewer at a slow device, or what a reading
        waits behind would make the round that it belongs to too old."""
        most = self.adapter.actions[action].batch
        return most if self.pace_s * most <= _TURN_S else max(1, int(_TURN_S / self.pace_s))

    def observe(self, reading: str, rounds: Sequence[_Round]) -> Iterator[Completion]:
        """One probe for all ``rounds`` that want ``reading`` of this side."""
        asked_at = self.clock.now()
        services = list(dict.fromkeys(one.request.lane for one in rounds))
        answers = probe(self.adapter, reading, services)
        for one in rounds:
            found = answers[one.request.lane]
            if isinstance(found, Failure):
                seen = ev.Seen(on=self.side, reading=reading, asked_at=asked_at, failure=found)
            else:
                seen = ev.Seen(on=self.side, reading=reading, asked_at=asked_at, value=found)
            done = one.add(seen)
            if done is not None:
                yield done

    def apply(self, action: str, acts: Sequence[Act]) -> Iterator[Completion]:
        """One request for all ``acts``; an error speaks for those not yet answered."""
        calls = [Call(act.lane, act.args) for act in acts]
        waiting, began_at = list(acts), self.clock.now()
        permit = _Dated(self.permit, self.clock, min(act.good_until for act in acts))
        try:
            for result in self.adapter.apply(action, calls, permit):
                act = waiting.pop(0)
                withheld = permit.refused and result.effect is Effect.NOT_SENT
                permit.refused = False
                self.pace_s = (self.clock.now() - began_at) / (len(acts) - len(waiting))
                yield Ended(act.lane, act.intent, _of_this(act, result), withheld)
        except AdapterError as error:
            effect = Effect.NOT_SENT if isinstance(error, NotObeyed) else Effect.DOUBTFUL
            withheld = permit.refused and effect is Effect.NOT_SENT
            for act in waiting:
                result = Result(Call(act.lane, act.args), effect, detail=str(error), device=error.device)
                yield Ended(act.lane, act.intent, result, withheld)
            return
        for act in waiting:
            result = Result(Call(act.lane, act.args), Effect.DOUBTFUL, detail="the adapter said nothing about it")
            yield Ended(act.lane, act.intent, result)


def _of_this(act: Act, result: Result) -> Result:
    """``result``, if it is about this act; a lane must not believe what was done to another one."""
    call = Call(act.lane, act.args)
    if result.call == call:
        return result
    return Result(call, Effect.DOUBTFUL, detail=f"the adapter answered about {result.call.service} in its place")


Job = tuple[str, _Round] | Act


def _probes_first(jobs: Iterable[Job]) -> tuple[dict[str, list[_Round]], dict[str, list[Act]]]:
    probes: dict[str, list[_Round]] = defaultdict(list)
    acts: dict[str, list[Act]] = defaultdict(list)
    for job in jobs:
        if isinstance(job, Act):
            acts[job.action].append(job)
        else:
            probes[job[0]].append(job[1])
    return probes, acts


class InlineFleet:
    """Everything on the caller's thread, in order, on the injected clock."""

    def __init__(
        self, adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, *, desk: Desk | None = None
    ) -> None:
        self._desks = {side: SiteDesk(side, adapter, permit, clock) for side, adapter in adapters.items()}
        self._clock = clock
        self._person = desk
        self._jobs: dict[Side, list[Job]] = {side: [] for side in adapters}
        self._asks: list[Ask] = []

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        for command in commands:
            if isinstance(command, Ask):
                self._asks.append(command)
            else:
                for side, job in _jobs_of(command):
                    self._jobs[side].append(job)

    def collect(self, until: float | None) -> list[Completion]:
        done: list[Completion] = []
        for side, desk in self._desks.items():
            jobs, self._jobs[side] = self._jobs[side], []
            if not jobs:
                continue
            probes, acts = _probes_first(jobs)
            for reading, rounds in probes.items():
                done.extend(desk.observe(reading, rounds))
            for action, waiting in acts.items():
                size = desk.batch(action)
                for begin in range(0, len(waiting), size):
                    done.extend(desk.apply(action, waiting[begin : begin + size]))
        asks, self._asks = self._asks, []
        if self._person is not None:
            done.extend(Answer(ask.lane, ask.gate, self._person.ask(ask.lane, ask.gate)) for ask in asks)
        if not done and until is not None:
            self._clock.sleep(until - self._clock.now())
        return done

    def interrupt(self) -> None:
        """Nothing waits on this thread."""

    def close(self) -> None:
        for desk in self._desks.values():
            desk.adapter.close()


def _jobs_of(command: Command) -> list[tuple[Side, Job]]:
    if isinstance(command, Act):
        return [(command.on, command)]
    gathered = _Round(command)
    return [(side, (reading, gathered)) for side, reading in command.asks]


class ThreadedFleet:
    """One worker thread a site, and one for the questions to a person.

    ``real``: how many of the machine's seconds a number of the clock's take, where these differ.
    """

    def __init__(
        self,
        adapters: Mapping[Side, Adapter],
        permit: Permit,
        clock: Clock,
        *,
        desk: Desk | None = None,
        real: Callable[[float], float] = float,
    ) -> None:
        self._clock = clock
        self._real = real
        self._done: queue.SimpleQueue[Completion | BaseException | None] = queue.SimpleQueue()
        self._workers = {
            side: _Worker(SiteDesk(side, adapter, permit, clock), self._done) for side, adapter in adapters.items()
        }
        self._asker = None if desk is None else _Asker(desk, self._done)

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        jobs: dict[Side, list[Job]] = defaultdict(list)
        for command in commands:
            if not isinstance(command, Ask):
                for side, job in _jobs_of(command):
                    jobs[side].append(job)
            elif self._asker is not None:
                self._asker.ask(command)
        for side, batch in jobs.items():
            self._workers[side].give(batch)

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

    def interrupt(self) -> None:
        self._done.put(None)

    def close(self) -> None:
        for worker in self._workers.values():
            worker.stop()


class _Worker:
    """A site's thread. Readings and actions take turns, so that neither starves; each goes out in batches."""

    def __init__(self, desk: SiteDesk, done: queue.SimpleQueue[Completion | BaseException | None]) -> None:
        self._desk = desk
        self._done = done
        self._waiting: list[Job] = []
        self._changed = threading.Condition()
        self._stopping = False
        self._acted = True
        self._thread = threading.Thread(target=self._run, name=f"site-{desk.side}", daemon=True)
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
                    self._done.put(completion)
        except BaseException as error:  # noqa: BLE001 - carried to the engine's thread, which raises it
            self._done.put(error)
        finally:
            self._desk.adapter.close()

    def _take(self) -> Callable[[], Iterator[Completion]] | None:
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

    def _all_of(self, reading: str) -> Callable[[], Iterator[Completion]]:
        rounds = [job[1] for job in self._waiting if not isinstance(job, Act) and job[0] == reading]
        self._waiting = [job for job in self._waiting if isinstance(job, Act) or job[0] != reading]
        return lambda: self._desk.observe(reading, rounds)

    def _oldest(self, acts: Sequence[Act]) -> Callable[[], Iterator[Completion]]:
        action = acts[0].action
        batch = [act for act in acts if act.action == action][: self._desk.batch(action)]
        taken = {id(act) for act in batch}
        self._waiting = [job for job in self._waiting if id(job) not in taken]
        return lambda: self._desk.apply(action, batch)


class _Asker:
    """The thread that talks to a person: one question at a time."""

    def __init__(self, desk: Desk, done: queue.SimpleQueue[Completion | BaseException | None]) -> None:
        self._desk = desk
        self._done = done
        self._questions: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="desk", daemon=True).start()

    def ask(self, question: Ask) -> None:
        self._questions.put(question)

    def _run(self) -> None:
        while True:
            question = self._questions.get()
            try:
                ruling = self._desk.ask(question.lane, question.gate)
            except BaseException as error:  # noqa: BLE001 - carried to the engine's thread, which raises it
                self._done.put(error)
                return
            self._done.put(Answer(question.lane, question.gate, ruling))
