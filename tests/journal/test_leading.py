"""Whole runs on each database: to their end, killed and resumed, taken over, and two at once in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.core.run import fold
from orchestrator.errors import LeaseLost
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, create_run, take
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.requests import AbortRequest
from tests.core.builders import a_plan, created
from tests.core.killing import Fuse, Killed, bury, judge_pair
from tests.core.leading import RUN, Lead, When
from tests.core.scripted import ScriptedPair
from tests.journal.ageing import wait_out

Opener = Callable[..., Journal]
COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
POLICY = ev.Policy(transactions={"1-a-b": COMMIT})


@pytest.fixture
def pair(clock: VirtualClock) -> ScriptedPair:
    pair = ScriptedPair(clock, depth=100, rate=100, lag=0.5)
    pair.prepare("1-a-b")
    return pair


def test_a_run_to_its_end(opened: Opener, pair: ScriptedPair) -> None:
    """A controlled fail-over ends ``done`` on either database, and its record folds to what the process believed."""
    run = Lead(pair, opened()).start(a_plan(policy=POLICY))
    assert (run.outcome, judge_pair(pair, run.outcome)) == (Outcome.DONE, [])
    assert fold(opened().records(RUN)) == run
    assert claims(opened()) == {}


@pytest.mark.parametrize("at", range(3, 120, 9))
def test_a_killed_run_is_resumed(opened: Opener, pair: ScriptedPair, at: int) -> None:
    """Promise 4 on either database: killed between two devices' answers and resumed by a process of its own."""
    lead = Lead(pair, opened(), fuse=Fuse(at))
    try:
        lead.start(a_plan(policy=POLICY))
    except Killed:
        bury(lead.journal)
        lead.resume(journal=opened())
    run = fold(opened().records(RUN))
    assert (run.outcome, judge_pair(pair, run.outcome)) == (Outcome.DONE, [])


def test_a_run_is_taken_over(opened: Opener, pair: ScriptedPair) -> None:
    """Promise 5 on either database: whoever lost the lease stops at its next write; the other one ends the run."""

    def take_over(*_: object) -> None:
        bury(opened())
        take(opened(), pair.clock, RUN, {})

    lead = Lead(pair, opened())
    with pytest.raises(LeaseLost):
        lead.start(a_plan(policy=POLICY), observers=[When(ev.ActionEnded, take_over)])
    wait_out(opened(), pair.clock)
    run = lead.resume(journal=opened())
    assert (run.outcome, judge_pair(pair, run.outcome)) == (Outcome.DONE, [])


def test_a_request_is_left_by_another_process(opened: Opener, pair: ScriptedPair) -> None:
    """The inbox works across connections: an abort that another process leaves is taken, recorded, and used up."""
    other = opened()
    pair.services["Trading"].rate = 10.0

    def abort(*_: object) -> None:
        other.ask(RUN, AbortRequest(by="bob", reason="not tonight"))

    run = Lead(pair, opened()).start(observers=[When(ev.Observed, abort, nth=3)])
    assert (run.outcome, other.requests(RUN)) == (Outcome.REVERTED, [])


def test_requests_come_in_order_and_stay_until_they_are_used_up(opened: Opener, clock: VirtualClock) -> None:
    """What is asked first is handed out first, again and again, until the append that answers it."""
    _, writer = create_run(opened(), clock, RUN, created())
    for number in range(3):
        opened().ask(RUN, AbortRequest(by="bob", reason=str(number)))
    opened().ask("another run", AbortRequest(by="bob"))
    waiting = opened().requests(RUN)
    assert waiting == opened().requests(RUN)
    assert [request and request.reason for _, request in waiting] == ["0", "1", "2"]
    opened().append(
        writer, clock.now(), [(None, ev.RunPaused(reason="x"))], taken=[number for number, _ in waiting[:2]]
    )
    assert [request and request.reason for _, request in opened().requests(RUN)] == ["2"]


@pytest.mark.realtime
def test_many_write_at_once(opened: Opener, clock: VirtualClock) -> None:
    """Several processes that write runs of their own at the same time all succeed, and every chain holds."""
    names = [f"run-{number}" for number in range(4)]
    journals = {name: opened() for name in names}
    broken: list[BaseException] = []
    line = threading.Barrier(len(names))

    def write(name: str) -> None:
        try:
            line.wait()
            plan = a_plan(services=(f"service-{name}",))
            _, writer = create_run(journals[name], clock, name, created(plan))
            for _ in range(25):
                writer = journals[name].append(writer, clock.now(), [(None, ev.RunPaused(reason=name))])
        except BaseException as error:
            broken.append(error)
            raise

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert broken == []
    assert {row.run: row.seq for row in opened().runs()} == dict.fromkeys(names, 26)
    for name in names:
        assert len(list(opened().records(name))) == 26


@pytest.mark.realtime
def test_a_record_is_read_while_it_is_written(opened: Opener, clock: VirtualClock) -> None:
    """A reader of a run under way always reads an unbroken beginning of it, never a half of an append."""
    journal, reader = opened(), opened()
    _, writer = create_run(journal, clock, RUN, created())
    stop = threading.Event()

    def write() -> None:
        nonlocal writer
        while not stop.is_set():
            writer = journal.append(writer, clock.now(), [(None, ev.RunPaused(reason="x"))] * 3)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(30):
            assert (len(list(reader.records(RUN))) - 1) % 3 == 0
    finally:
        stop.set()
        thread.join(timeout=30)
