"""The fleet: carries commands to the sites' adapters and brings back their outcomes, grouped per site.

``InlineFleet`` does its work on the caller's thread in a fixed order, for injected time; ``dispatch_threaded`` gives each
site a thread. Neither decides or records anything.
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.clock import Clock
from orchestrator.core.decide import Ask, Observe
from orchestrator.core.drain_estimate import number_left
from orchestrator.errors import AdapterError, Forbidden, NotObeyed
from orchestrator.family.contract import Adapter, Args, Call, Permit, Result
from orchestrator.family.reachability import probe
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.runbook import Side

# How long readings may have to wait behind acts that go out together, and an act behind others, seconds.
_TURN_S = 5.0
# So many acts may wait for a site until its first act shows how long one takes.
_ROOM = 64


@dataclass(frozen=True, slots=True)
class Act:
    """Send this; its intent is on disk. After ``good_until``, by the fleet's clock, it must no longer leave: what it
    depends on is too old then."""

    service: str
    intent: int
    on: Side
    action: str
    args: Args
    good_until: float = math.inf


@dataclass(frozen=True, slots=True)
class Observation:
    """What one ``Observe`` saw, whole."""

    service: str
    mark: int
    seen: tuple[ev.Seen, ...]
    gauge: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How one ``Act`` ended. ``withheld``: the permit refused it, so that it never left."""

    service: str
    intent: int
    result: Result
    withheld: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to an ``Ask``; None: nothing."""

    service: str
    gate: ev.GateOpened
    ruling: ev.Ruling | None


Command = Observe | Act
Completion = Observation | Ended | Answer


class Prompter(Protocol):
    """Where a person is asked, one question at a time."""

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """The person's ruling; None when no one is there to answer, or the question became moot."""
        ...


class Fleet(Protocol):
    """What the engine needs of the world."""

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        """Start all of these."""
        ...

    def collect(self, until: float | None) -> list[Completion]:
        """What has ended since; waits for the first one, but not beyond ``until`` (None: as long as it takes)."""
        ...

    def room(self, on: Side, action: str) -> int:
        """How many acts may wait for a site, so that the last of them leaves while what it depends on is young."""
        ...

    def interrupt(self) -> None:
        """Let a waiting ``collect`` return at once. Safe to call from a signal handler."""
        ...

    def close(self) -> None:
        """End all sessions."""
        ...


@dataclass(frozen=True, slots=True)
class Rest:
    """The readings of a round that are asked now, since all others of it were answered."""

    jobs: tuple[tuple[Side, Job], ...]


@dataclass(slots=True)
class Round:
    """An ``Observe`` being gathered from one or two sites."""

    request: Observe
    seen: dict[tuple[Side, str], ev.Seen] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def first(self) -> list[tuple[Side, Job]]:
        """What is asked first; all of it, where nothing comes before the rest."""
        asks = [ask for ask in self.request.asks if ask not in self.request.after] or self.request.asks
        return [(side, (reading, self)) for side, reading in asks]

    def add(self, seen: ev.Seen) -> Observation | Rest | None:
        """The whole round, once the last of its readings is in; or what is to be asked of it now."""
        with self.lock:
            self.seen[(seen.on, seen.reading)] = seen
            known = len(self.seen)
        if known == len(self.request.asks):
            ordered = tuple(self.seen[ask] for ask in self.request.asks)
            gauge = None if self.request.gauge is None else number_left(self.request.gauge, ordered)
            return Observation(self.request.service, self.request.mark, ordered, gauge)
        if known == len(self.first):
            rest = [ask for ask in self.request.asks if ask in self.request.after]
            return Rest(tuple((side, (reading, self)) for side, reading in rest))
        return None


@dataclass(slots=True)
class _Dated:
    """The permit for some acts that go out together. ``refused``: it refused since that was last checked."""

    permit: Permit
    clock: Clock
    good_until: float
    refused: bool = False

    def check(self) -> None:
        """See ``contract.Permit``: the readings that an act depends on must still be fresh. Raises ``Forbidden``."""
        self.refused = True
        late = self.clock.now() - self.good_until
        if late > 0:
            raise Forbidden(f"the readings behind the command were too old by {late:.0f}s, so it was not sent")
        self.permit.check()
        self.refused = False


@dataclass(slots=True)
class SiteWorker:
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

    def room(self, action: str) -> int:
        """How many acts may wait: one request's, or as many as leave soon at the pace of the last ones."""
        return max(self.batch(action), int(_TURN_S / self.pace_s) if self.pace_s else _ROOM)

    def observe(self, reading: str, rounds: Sequence[Round]) -> Iterator[Completion | Rest]:
        """One probe for all ``rounds`` that want ``reading`` of this side."""
        asked_at = self.clock.now()
        services = list(dict.fromkeys(one.request.service for one in rounds))
        answers = probe(self.adapter, reading, services)
        for one in rounds:
            found = answers[one.request.service]
            if isinstance(found, Failure):
                seen = ev.Seen(on=self.side, reading=reading, asked_at=asked_at, failure=found)
            else:
                seen = ev.Seen(on=self.side, reading=reading, asked_at=asked_at, value=found)
            done = one.add(seen)
            if done is not None:
                yield done

    def apply(self, action: str, acts: Sequence[Act]) -> Iterator[Completion]:
        """One request for all ``acts``; an error speaks for those not yet answered."""
        calls = [Call(act.service, act.args) for act in acts]
        waiting, began_at = list(acts), self.clock.now()
        permit = _Dated(self.permit, self.clock, min(act.good_until for act in acts))
        try:
            for result in self.adapter.apply(action, calls, permit):
                act = waiting.pop(0)
                withheld = permit.refused and result.effect is Effect.NOT_SENT
                permit.refused = False
                self.pace_s = (self.clock.now() - began_at) / (len(acts) - len(waiting))
                yield Ended(act.service, act.intent, _of_this(act, result), withheld)
        except AdapterError as error:
            effect = Effect.NOT_SENT if isinstance(error, NotObeyed) else Effect.DOUBTFUL
            withheld = permit.refused and effect is Effect.NOT_SENT
            for act in waiting:
                result = Result(Call(act.service, act.args), effect, detail=str(error), device=error.device)
                yield Ended(act.service, act.intent, result, withheld)
            return
        for act in waiting:
            result = Result(Call(act.service, act.args), Effect.DOUBTFUL, detail="the adapter said nothing about it")
            yield Ended(act.service, act.intent, result)


def _of_this(act: Act, result: Result) -> Result:
    """``result``, if it is about this act; a lane must not believe what was done to another one."""
    call = Call(act.service, act.args)
    if result.call == call:
        return result
    return Result(call, Effect.DOUBTFUL, detail=f"the adapter answered about {result.call.service} in its place")


Job = tuple[str, Round] | Act


def _probes_first(jobs: Iterable[Job]) -> tuple[dict[str, list[Round]], dict[str, list[Act]]]:
    probes: dict[str, list[Round]] = defaultdict(list)
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
        self, adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, *, prompter: Prompter | None = None
    ) -> None:
        self._workers = {side: SiteWorker(side, adapter, permit, clock) for side, adapter in adapters.items()}
        self._clock = clock
        self._prompter = prompter
        self._jobs: dict[Side, list[Job]] = {side: [] for side in adapters}
        self._asks: list[Ask] = []

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        for command in commands:
            if isinstance(command, Ask):
                self._asks.append(command)
            else:
                for side, job in jobs_of(command):
                    self._jobs[side].append(job)

    def collect(self, until: float | None) -> list[Completion]:
        done: list[Completion] = []
        while any(self._jobs.values()):
            for side, worker in self._workers.items():
                jobs, self._jobs[side] = self._jobs[side], []
                done.extend(self._work(worker, jobs))
        asks, self._asks = self._asks, []
        if self._prompter is not None:
            done.extend(Answer(ask.service, ask.gate, self._prompter.ask(ask.service, ask.gate)) for ask in asks)
        if not done and until is not None:
            self._clock.sleep(until - self._clock.now())
        return done

    def _work(self, worker: SiteWorker, jobs: Sequence[Job]) -> Iterator[Completion]:
        probes, acts = _probes_first(jobs)
        for reading, rounds in probes.items():
            for done in worker.observe(reading, rounds):
                if not isinstance(done, Rest):
                    yield done
                    continue
                for side, job in done.jobs:
                    self._jobs[side].append(job)
        for action, waiting in acts.items():
            size = worker.batch(action)
            for begin in range(0, len(waiting), size):
                yield from worker.apply(action, waiting[begin : begin + size])

    def room(self, on: Side, action: str) -> int:
        return self._workers[on].room(action)

    def interrupt(self) -> None:
        """Nothing waits on this thread."""

    def close(self) -> None:
        for worker in self._workers.values():
            worker.adapter.close()


def jobs_of(command: Command) -> list[tuple[Side, Job]]:
    """What each site has to do for it."""
    if isinstance(command, Act):
        return [(command.on, command)]
    return Round(command).first
