"""The fleet: passes commands to the adapters of the sites and returns the outcomes, grouped by site.

``InlineFleet`` works on the caller's thread in a fixed order, for injected time. ``dispatch_threaded`` gives each site a
thread. Neither decides or records anything.
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

# How long readings may wait for acts that are sent together, and an act for other acts, seconds.
_TURN_S = 5.0
# How many acts may wait for a site until its first act shows how long an act takes.
_ROOM = 64


@dataclass(frozen=True, slots=True)
class Act:
    """An action to send, whose intent is on disk. After ``good_until``, by the fleet's clock, it must not be sent: its
    readings are too old then."""

    service: str
    intent: int
    on: Side
    action: str
    args: Args
    good_until: float = math.inf


@dataclass(frozen=True, slots=True)
class Observation:
    """The complete round of readings of one ``Observe``."""

    service: str
    mark: int
    seen: tuple[ev.Seen, ...]
    gauge: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How one ``Act`` ended. ``withheld``: the permit refused the act, so it was not sent. ``repeatable``: it was
    accepted, and its action is idempotent."""

    service: str
    intent: int
    result: Result
    withheld: bool = False
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an ``Ask``. ``ruling`` None: no answer."""

    service: str
    gate: ev.GateOpened
    ruling: ev.Ruling | None


Command = Observe | Act
Completion = Observation | Ended | Answer


class Prompter(Protocol):
    """Asks a person, one question at a time."""

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """The person's ruling. None if no person can answer, or if the question is no longer needed."""
        ...


class Fleet(Protocol):
    """The interface of the engine to the sites and to the operator."""

    def submit(self, commands: Sequence[Command | Ask]) -> None:
        """Start all ``commands``."""
        ...

    def collect(self, until: float | None) -> list[Completion]:
        """The completions since the last call. Waits for the first one, but not beyond ``until`` (None: no limit)."""
        ...

    def room(self, on: Side, action: str) -> int:
        """How many acts may wait for a site, so that the last one is sent before its readings are too old."""
        ...

    def interrupt(self) -> None:
        """Let a waiting ``collect`` return at once. Safe to call from a signal handler."""
        ...

    def close(self) -> None:
        """End all sessions."""
        ...


@dataclass(frozen=True, slots=True)
class Rest:
    """The readings of a round that are asked for now, since all others of the round were answered."""

    jobs: tuple[tuple[Side, Job], ...]


@dataclass(slots=True)
class Round:
    """An ``Observe`` being gathered from one or two sites."""

    request: Observe
    seen: dict[tuple[Side, str], ev.Seen] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def first(self) -> list[tuple[Side, Job]]:
        """The readings that are asked for first: all except ``after``, or all if there are no others."""
        asks = [ask for ask in self.request.asks if ask not in self.request.after] or self.request.asks
        return [(side, (reading, self)) for side, reading in asks]

    def add(self, seen: ev.Seen) -> Observation | Rest | None:
        """Add a reading. Returns the complete round after its last reading, or the ``Rest`` to ask for now, or None."""
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
    """The permit for acts that are sent together. ``refused``: it has refused since ``apply`` last reset this flag."""

    permit: Permit
    clock: Clock
    good_until: float
    refused: bool = False

    def check(self) -> None:
        """See ``contract.Permit``: the readings that an act depends on must still be fresh. Raises ``Forbidden``."""
        self.refused = True
        late = self.clock.now() - self.good_until
        if late > 0:
            raise Forbidden(f"the command was not sent, because its readings were too old by {late:.0f}s")
        self.permit.check()
        self.refused = False


@dataclass(slots=True)
class SiteWorker:
    """The adapter of one site, with the limits for its acts. It uses no threads. ``pace_s``: how long one of the last
    acts took on average, seconds."""

    side: Side
    adapter: Adapter
    permit: Permit
    clock: Clock
    pace_s: float = 0.0

    def batch(self, action: str) -> int:
        """How many acts are sent together: at most the number that the action allows, and fewer at a slow device.
        Otherwise a reading would wait so long for the acts that its round becomes too old."""
        most = self.adapter.actions[action].batch
        return most if self.pace_s * most <= _TURN_S else max(1, int(_TURN_S / self.pace_s))

    def room(self, action: str) -> int:
        """How many acts may wait: at least one batch, or as many as are sent within a few seconds at the present pace."""
        return max(self.batch(action), int(_TURN_S / self.pace_s) if self.pace_s else _ROOM)

    def observe(self, reading: str, rounds: Sequence[Round]) -> Iterator[Completion | Rest]:
        """One probe for all ``rounds`` that need ``reading`` from this side."""
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
        """One request for all ``acts``. An error counts for every act that is not answered yet."""
        calls = [Call(act.service, act.args) for act in acts]
        waiting, began_at = list(acts), self.clock.now()
        permit = _Dated(self.permit, self.clock, min(act.good_until for act in acts))
        try:
            for result in self.adapter.apply(action, calls, permit):
                act = waiting.pop(0)
                withheld = permit.refused and result.effect is Effect.NOT_SENT
                permit.refused = False
                self.pace_s = (self.clock.now() - began_at) / (len(acts) - len(waiting))
                result = _of_this(act, result)
                repeatable = result.effect is Effect.ACCEPTED and self.adapter.actions[action].idempotent
                yield Ended(act.service, act.intent, result, withheld, repeatable)
        except AdapterError as error:
            effect = Effect.NOT_SENT if isinstance(error, NotObeyed) else Effect.DOUBTFUL
            withheld = permit.refused and effect is Effect.NOT_SENT
            for act in waiting:
                result = Result(Call(act.service, act.args), effect, detail=str(error), device=error.device)
                yield Ended(act.service, act.intent, result, withheld)
            return
        for act in waiting:
            result = Result(
                Call(act.service, act.args), Effect.DOUBTFUL, detail="the adapter gave no result for this command"
            )
            yield Ended(act.service, act.intent, result)


def _of_this(act: Act, result: Result) -> Result:
    """``result`` if it belongs to this act, or else a doubtful result: a lane must not use the result of another act."""
    call = Call(act.service, act.args)
    if result.call == call:
        return result
    return Result(call, Effect.DOUBTFUL, detail=f"the adapter returned a result for {result.call.service} instead")


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
    """A fleet that does everything on the caller's thread, in order, on the injected clock."""

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
        """Does nothing: ``collect`` does not wait for another thread."""

    def close(self) -> None:
        for worker in self._workers.values():
            worker.adapter.close()


def jobs_of(command: Command) -> list[tuple[Side, Job]]:
    """The jobs of each site for ``command``."""
    if isinstance(command, Act):
        return [(command.on, command)]
    return Round(command).first
