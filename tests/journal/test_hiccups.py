"""A journal that does not answer for a while: nothing is sent meanwhile, nothing is written twice, the run resumes."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy as sa

from orchestrator.clock import Clock, VirtualClock
from orchestrator.errors import Forbidden, JournalLost, JournalUnavailable, LeaseLost
from orchestrator.journal.database.connections import ANSWER_S
from orchestrator.journal.database.database import Database
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import LEASE_SECONDS, create_run, is_led, take
from orchestrator.journal.unavailability import ALONE, WATCHED, Patience
from orchestrator.model import events as ev
from simulator.solace.layout import VpnLayout
from tests.cli.processes import PATIENCE_S, Bench
from tests.core.builders import a_plan, created
from tests.core.killing import judge_pair
from tests.core.leading import RUN, Lead
from tests.core.scripted import ScriptedPair
from tests.journal.ageing import wait_out
from tests.journal.servers import Server, a_server, until

Opener = Callable[..., Journal]
STARTED = [(None, ev.RunStarted(by="ann", epoch=1, attended=False))]


class Flaky(Journal):
    """A journal whose database is away at times. ``loses``: it does what it is told, and its answer is lost."""

    def __init__(self, url: str, clock: VirtualClock) -> None:
        super().__init__(url)
        self.clock = clock
        self.away = (0.0, 0.0)
        self.loses = False
        self.database = cast("Database", _Away(self.database, self))

    @property
    def is_away(self) -> bool:
        return self.away[0] <= self.clock.now() < self.away[1]


class _Away:
    """A database behind a connection that may be lost."""

    def __init__(self, inner: Database, flaky: Flaky) -> None:
        self._inner, self._flaky = inner, flaky

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def ask(self, *given: Any, **named: Any) -> Any:
        self._see()
        return self._inner.ask(*given, **named)

    def reading(self) -> Any:
        self._see()
        return self._inner.reading()

    @contextmanager
    def writing(self, *given: Any) -> Iterator[Any]:
        if not self._flaky.loses:
            self._see()
        with self._inner.writing(*given) as commit:
            yield commit
        self._see()

    def _see(self) -> None:
        if self._flaky.is_away:
            raise sqlite3.OperationalError("server closed the connection")


@pytest.fixture
def flaky(url: str, clock: VirtualClock) -> Iterator[Flaky]:
    journal = Flaky(url, clock)
    yield journal
    journal.close()


def patient(journal: Journal, clock: Clock, seconds: float = WATCHED) -> list[str]:
    """Let ``journal`` be waited for; what is told of it."""
    told: list[str] = []
    journal.patience = Patience(clock, seconds, told.append)
    return told


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_an_append_is_tried_again(flaky: Flaky, opened: Opener, clock: VirtualClock) -> None:
    """A journal that is away for less than the patience takes the record when it is back; that it is away is told once,
    and that it is back, with how long it took."""
    _, writer = create_run(flaky, clock, RUN, created())
    told = patient(flaky, clock)
    flaky.away = clock.now(), clock.now() + 20
    assert flaky.append(writer, clock.now(), STARTED).seq == 2
    assert [record.seq for record in opened().records(RUN)] == [1, 2]
    assert [text.partition(";")[0] for text in told] == [
        "the journal could not be written: server closed the connection",
        "the journal answers again, after 20.0s",
    ]


def test_an_append_whose_answer_was_lost_is_there_once(flaky: Flaky, opened: Opener, clock: VirtualClock) -> None:
    """The journal wrote and could not say so: it is asked again, and knows by number and hash that it has the record."""
    _, writer = create_run(flaky, clock, RUN, created())
    patient(flaky, clock)
    flaky.away, flaky.loses = (clock.now(), clock.now() + 3), True
    done = flaky.append(writer, clock.now(), STARTED)
    assert [record.seq for record in opened().records(RUN)] == [1, 2]
    assert opened().writer(RUN) == done


def test_a_run_that_was_taken_over_meanwhile_is_not_written_to(
    flaky: Flaky, opened: Opener, clock: VirtualClock
) -> None:
    """Promise 5: back again, the journal has a higher epoch; whoever waited has lost the run, and hears so."""
    lease, writer = create_run(flaky, clock, RUN, created())
    patient(flaky, clock)
    flaky.away = clock.now(), clock.now() + 20
    other = opened()
    wait_out(other, VirtualClock())
    take(other, VirtualClock(clock.now() + LEASE_SECONDS + 1), RUN, {})
    with pytest.raises(LeaseLost):
        flaky.append(writer, clock.now(), STARTED)
    with pytest.raises(Forbidden):
        lease.check()


@pytest.mark.parametrize("seconds", [WATCHED, ALONE])
def test_it_is_not_waited_for_for_ever(flaky: Flaky, clock: VirtualClock, seconds: float) -> None:
    """When the patience is over, the error of the last attempt is raised."""
    _, writer = create_run(flaky, clock, RUN, created())
    told = patient(flaky, clock, seconds)
    began = clock.now()
    flaky.away = began, began + 10 * seconds
    with pytest.raises(JournalUnavailable, match="server closed the connection"):
        flaky.append(writer, clock.now(), STARTED)
    assert seconds - 1 <= clock.now() - began <= seconds
    assert len(told) == 1


def test_a_signal_ends_the_waiting(flaky: Flaky, clock: VirtualClock) -> None:
    """Who types Ctrl-C while the journal is away does not wait for it."""
    _, writer = create_run(flaky, clock, RUN, created())
    patient(flaky, clock)
    began = clock.now()
    flaky.away = began, began + 60
    assert flaky.patience is not None
    flaky.patience.give_up()
    with pytest.raises(JournalUnavailable):
        flaky.append(writer, clock.now(), STARTED)
    assert clock.now() == began


def test_a_permit_waits_while_its_lease_lasts(flaky: Flaky, clock: VirtualClock) -> None:
    """Right before a command leaves, a journal that does not answer is asked again while the lease has time left; after
    that the command does not leave, whatever the patience."""
    lease, _ = create_run(flaky, clock, RUN, created())
    patient(flaky, clock, ALONE)
    flaky.away = clock.now(), clock.now() + 5
    lease.check()
    began = clock.now()
    flaky.away = began, began + 60
    with pytest.raises(Forbidden, match="it is unknown whether this process still leads run"):
        lease.check()
    assert clock.now() <= lease.expires_at - 2


def test_renewing_and_letting_go_wait_too(flaky: Flaky, opened: Opener, clock: VirtualClock) -> None:
    """A lease is renewed, and let go of, once the journal is back; also one that has run out meanwhile, if nobody else
    has taken the run."""
    lease, _ = create_run(flaky, clock, RUN, created())
    patient(flaky, clock)
    for do, is_held in ((lease.renew, True), (lease.release, False)):
        flaky.away = clock.now(), clock.now() + 20
        do()
        assert is_led(opened().row(RUN), clock.now()) is is_held
    assert lease.expires_at >= clock.now() - 20


def test_what_is_lost_is_not_waited_for(flaky: Flaky, clock: VirtualClock) -> None:
    """A database that does not have what was written to it will not get it back by waiting."""
    _, writer = create_run(flaky, clock, RUN, created())
    patient(flaky, clock)
    with flaky.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM runs")
    began = clock.now()
    with pytest.raises(JournalLost):
        flaky.append(writer, clock.now(), STARTED)
    assert clock.now() == began


# --- whole runs -------------------------------------------------------------------------------------------------------


class _AwayAt:
    """From the so many-th record on the journal is away for some seconds."""

    def __init__(self, nth: int, journal: Flaky, seconds: float, pair: ScriptedPair) -> None:
        self.left, self.journal, self.seconds, self.pair = nth, journal, seconds, pair
        self._heard = 0

    def __call__(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            now = self.journal.clock.now()
            self.journal.away = now, now + self.seconds
            self._heard = len(self.pair.heard)

    def sent_meanwhile(self) -> list[str]:
        """The changing commands that reached a site while it was away."""
        heard = self.pair.heard[self._heard :] if self.left <= 0 else []
        return [one.verb for one in heard if one.verb == "set_role" and one.at < self.journal.away[1]]


@pytest.mark.parametrize("loses", [False, True], ids=["away", "answers lost"])
@pytest.mark.parametrize("seconds", [0.5, 5.0, 20.0])
def test_a_run_goes_through_it(seconds: float, loses: bool) -> None:
    """Promises 1 to 4: whenever in a run the journal is away for up to 20 s, the run resumes by itself and ends done;
    nothing is sent twice, and nothing without its record."""
    for nth in range(1, 60):
        clock = VirtualClock()
        pair = ScriptedPair(clock, depth=100, rate=100, lag=0.5)
        with closing(Flaky("sqlite://", clock)) as journal:
            journal.loses = loses
            patient(journal, clock)
            watch = _AwayAt(nth, journal, seconds, pair)
            run = Lead(pair, journal).start(a_plan(), observers=[watch])
            assert (run.outcome, judge_pair(pair, run.outcome)) == (ev.Outcome.DONE, []), nth
            assert watch.sent_meanwhile() == [], nth
            assert [record.seq for record in journal.records(RUN)] == list(range(1, run.seq + 1))
        if watch.left > 0:
            break
    assert nth > 30


def test_a_run_whose_journal_stays_away_ends_safely() -> None:
    """The journal never comes back: whenever that happens, the run ends with the reason once its patience is over, and
    nothing is sent from the first moment on."""
    for nth in range(1, 60, 3):
        clock = VirtualClock()
        pair = ScriptedPair(clock, depth=100, rate=100)
        with closing(Flaky("sqlite://", clock)) as journal:
            patient(journal, clock)
            watch = _AwayAt(nth, journal, 1e9, pair)
            try:
                Lead(pair, journal).start(a_plan(), observers=[watch])
            except JournalUnavailable:
                assert watch.sent_meanwhile() == [], nth
                journal.away = 0.0, 0.0
                assert Lead(pair, journal).resume().outcome is ev.Outcome.DONE
                assert judge_pair(pair, ev.Outcome.DONE) == []
                continue
            assert watch.left >= 0
            break


# --- real servers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Server]:
    """One of this test's own, to be stopped."""
    with a_server() as server:
        server.make()
        server.start()
        yield server


@pytest.fixture
def bench(tmp_path: Path, server: Server) -> Iterator[Bench]:
    bench = Bench(
        tmp_path,
        (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=5_000),),
        environment={"FAILOVER_JOURNAL": server.url},
    )
    yield bench
    bench.close()


def in_drain(bench: Bench, *more: str) -> Any:
    """A run that waits for the queue, with the source demoted and nobody active."""
    process = bench.start("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--json", *more)
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line).get("event", {})
        if event.get("kind") == "step.ready":
            return process
    raise AssertionError(process.stderr and process.stderr.read())


@pytest.mark.realtime
@pytest.mark.parametrize("seconds", [0.5, pytest.param(5.0, marks=pytest.mark.long), 18.0])
def test_a_server_that_is_restarted_under_a_run(bench: Bench, server: Server, seconds: float) -> None:
    """Promise 4: the server of the journal crashes in the middle of an outage and comes back; the run goes on by itself,
    also when its lease ran out meanwhile."""
    process = in_drain(bench)
    server.stop()
    time.sleep(seconds)
    server.start()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, "the journal answers again" in err) == (0, True), err
    assert (bench.roles(), bench.tally().lost, bench.tally().both_active) == (("standby", "active"), 0, ())
    with closing(Journal(server.url)) as journal:
        [row] = journal.runs()
        assert len(list(journal.records(row.run))) == row.seq


@pytest.mark.realtime
def test_backends_that_are_frozen_under_a_run(bench: Bench, server: Server) -> None:
    """A server whose processes stand still keeps its connections, and no time-out of the network ends them: such a
    connection is given up after five seconds, and another one serves."""
    process = in_drain(bench)
    stopped = server.freeze()
    try:
        assert stopped
        _, err = process.communicate(timeout=PATIENCE_S)
    finally:
        server.thaw(stopped)
    assert process.returncode == 0, err
    assert (bench.roles(), bench.tally().lost) == (("standby", "active"), 0)


@pytest.mark.realtime
def test_a_lock_that_somebody_holds_under_a_run(bench: Bench, server: Server) -> None:
    """A process that stands still in the middle of its commit holds the row of the run: whoever leads it asks again,
    and resumes when the row is free."""
    process = in_drain(bench)
    engine = sa.create_engine(server.url)
    with engine.connect() as holder:
        holder.execute(sa.text("UPDATE runs SET created_at = created_at"))
        time.sleep(ANSWER_S + 2)
        holder.rollback()
    engine.dispose()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, f"did not answer within {ANSWER_S:.0f}s" in err) == (0, True), err
    assert (bench.roles(), bench.tally().lost) == (("standby", "active"), 0)


@pytest.mark.realtime
def test_a_run_that_nobody_waits_for_comes_back(bench: Bench, server: Server) -> None:
    """``--no-wait``: nobody is there to resume it, so the process in the background waits for its journal."""
    started = bench.run("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--json", "--no-wait")
    assert started.code == 0, started.err
    log = bench.folder / "state" / "logs" / f"{started.result['run']}.log"
    until(lambda: '"step.ready"' in log.read_text())
    server.stop()
    time.sleep(2)
    server.start()
    until(lambda: log.read_text().rstrip().rpartition("\n")[2].startswith('{"result"'))
    assert (bench.roles(), bench.tally().lost) == (("standby", "active"), 0), log.read_text()[-3_000:]
    assert "the journal answers again" in log.read_text()
