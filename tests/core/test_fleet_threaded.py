"""The fleet with a thread for each site: what gathers goes out together, nobody starves, nothing dies silently."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import pytest

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.core.decide import Ask, Observe
from orchestrator.engine.dispatch import Completion, Fleet, Observation
from orchestrator.engine.dispatch_threaded import ThreadedFleet
from orchestrator.family.contract import ActionSpec, Adapter, ReadingSpec
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from tests.core.fleets import GATE, MANY, Counting, observe, promote
from tests.core.scripted import ScriptedPair, ScriptedSite
from tests.seam import Permits

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair() -> ScriptedPair:
    return ScriptedPair(VirtualClock(), MANY, depth=7)


class Held(Counting):
    """A site that is busy with its first request until it is let go."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = ScriptedSite.readings
    actions: ClassVar[Mapping[str, ActionSpec]] = ScriptedSite.actions

    def __init__(self, pair: ScriptedPair, side: Side) -> None:
        super().__init__(pair, side)
        self.busy = threading.Event()
        self.let_go = threading.Event()
        self.ended = threading.Event()
        self.hold = side == "target"

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self.requests.append((reading, len(services)))
        if self.hold:
            self.hold = False
            self.busy.set()
            assert self.let_go.wait(20)
        return ScriptedSite.probe(self, reading, services)

    def close(self) -> None:
        super().close()
        self.ended.set()


def gather(fleet: Fleet, count: int, clock: SystemClock) -> list[Completion]:
    """Completions as they come, until there are ``count``, or 20 seconds are over."""
    done: list[Completion] = []
    deadline = clock.now() + 20
    while len(done) < count and clock.now() < deadline:
        done += fleet.collect(deadline)
    return done


@pytest.fixture
def threaded(pair: ScriptedPair) -> Iterator[tuple[ThreadedFleet, dict[Side, Held], SystemClock]]:
    clock = SystemClock()
    sites: dict[Side, Held] = {side: Held(pair, side) for side in ("source", "target")}
    fleet = ThreadedFleet(sites, Permits(), clock)
    yield fleet, sites, clock
    sites["target"].let_go.set()
    fleet.close()


Threaded = tuple[ThreadedFleet, dict[Side, Held], SystemClock]


def test_what_gathers_while_a_device_is_busy_goes_out_together(threaded: Threaded) -> None:
    """A thousand lanes that ask while the device is busy cost one more request, not a thousand."""
    fleet, sites, clock = threaded
    ask: tuple[Side, str] = ("target", "replication")
    fleet.submit([observe(MANY[0], ask)])
    assert sites["target"].busy.wait(20)
    for lane in MANY[1:]:
        fleet.submit([observe(lane, ask)])
    sites["target"].let_go.set()
    assert len(gather(fleet, 1000, clock)) == 1000
    assert sites["target"].requests == [("replication", 1), ("replication", 999)]


def test_a_slow_site_does_not_hold_up_the_other(threaded: Threaded) -> None:
    """While one site is busy the other one's readings come back."""
    fleet, sites, clock = threaded
    fleet.submit([observe(MANY[0], ("target", "replication"))])
    assert sites["target"].busy.wait(20)
    fleet.submit([observe(MANY[1], ("source", "replication"))])
    (done,) = gather(fleet, 1, clock)
    assert done.service == MANY[1]


def test_readings_and_actions_take_turns(threaded: Threaded) -> None:
    """With both waiting, readings and batches of actions alternate: neither starves the other."""
    fleet, sites, clock = threaded
    fleet.submit([observe(MANY[0], ("target", "replication"))])
    assert sites["target"].busy.wait(20)
    fleet.submit([promote(lane) for lane in MANY[:24]])
    fleet.submit([observe(lane, ("target", "replication")) for lane in MANY[100:102]])
    fleet.submit([observe(lane, ("target", "transactions")) for lane in MANY[200:202]])
    sites["target"].let_go.set()
    assert len(gather(fleet, 29, clock)) == 29
    assert sites["target"].requests[1:] == [
        ("set_role", 8),
        ("replication", 2),
        ("set_role", 8),
        ("transactions", 2),
        ("set_role", 8),
    ]


def test_a_waiting_collect_can_be_interrupted(threaded: Threaded) -> None:
    """An interrupt, as from a signal handler, lets a waiting ``collect`` return at once, with nothing."""
    fleet, _, clock = threaded
    waker = threading.Timer(0.05, fleet.interrupt)
    waker.start()
    start = clock.now()
    assert fleet.collect(start + 20) == []
    assert clock.now() - start < 10
    waker.join()


def test_waiting_ends_at_its_moment(threaded: Threaded) -> None:
    """With nothing to come a ``collect`` returns at the moment asked for."""
    fleet, _, clock = threaded
    assert fleet.collect(clock.now() + 0.02) == []
    assert fleet.collect(clock.now() - 1) == []


def test_a_broken_program_raises_in_the_caller_s_thread(pair: ScriptedPair) -> None:
    """A bug in a worker's adapter does not die silently with its thread."""

    class Buggy(ScriptedSite):
        def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
            raise ZeroDivisionError

    clock = SystemClock()
    sites: dict[Side, Adapter] = {"source": Buggy(pair, "source"), "target": Buggy(pair, "target")}
    fleet = ThreadedFleet(sites, Permits(), clock)
    fleet.submit([observe(MANY[0])])
    with pytest.raises(ZeroDivisionError):
        gather(fleet, 1, clock)
    fleet.close()


def test_what_has_not_begun_when_the_fleet_closes_is_never_sent(threaded: Threaded, pair: ScriptedPair) -> None:
    """Closing ends each site after the request it is at; what still waits does not leave."""
    fleet, sites, _ = threaded
    fleet.submit([observe(MANY[0], ("target", "replication"))])
    assert sites["target"].busy.wait(20)
    fleet.submit([promote(lane) for lane in MANY[:5]])
    fleet.close()
    sites["target"].let_go.set()
    assert sites["target"].ended.wait(20)
    assert pair.took == []
    assert sorted(pair.closed) == ["source", "target"]


def test_one_question_at_a_time(pair: ScriptedPair) -> None:
    """Questions are put one after the other, and devices are read meanwhile."""
    clock = SystemClock()
    is_asked, may_answer = threading.Event(), threading.Event()
    asked: list[str] = []

    class Desk:
        def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
            asked.append(service)
            is_asked.set()
            assert may_answer.wait(20)
            return None

    fleet = ThreadedFleet(pair.adapters(), Permits(), clock, prompter=Desk())
    fleet.submit([Ask(MANY[0], GATE), Ask(MANY[1], GATE), observe(MANY[2])])
    (reading,) = gather(fleet, 1, clock)
    assert isinstance(reading, Observation)
    assert is_asked.wait(20)  # the devices may be quicker
    assert asked == [MANY[0]]
    may_answer.set()
    assert [answer.service for answer in gather(fleet, 2, clock)] == MANY[:2]
    fleet.close()


def test_what_is_compared_is_asked_last(threaded: Threaded) -> None:
    """Law: a reading that is held against the other site's is asked by its own thread, once that one has answered."""
    fleet, sites, clock = threaded
    sites["target"].hold, sites["source"].hold = False, True
    asks: tuple[tuple[Side, str], ...] = (("target", "replication"), ("source", "replication_queue"))
    fleet.submit([Observe(MANY[0], 1, asks, None, frozenset(asks[:1]))])
    assert sites["source"].busy.wait(20)
    assert sites["target"].requests == []
    sites["source"].let_go.set()
    (done,) = gather(fleet, 1, clock)
    assert isinstance(done, Observation)
    target, source = done.seen
    assert (target.on, source.on, target.asked_at >= source.asked_at) == ("target", "source", True)
    assert sites["target"].requests == [("replication", 1)]
