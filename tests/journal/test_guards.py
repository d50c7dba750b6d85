"""Guards that stand alone: each test here fails when the one line that it is about is taken away."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.engine.dispatch import Completion, InlineFleet
from orchestrator.errors import LeaseHeld
from orchestrator.journal.database.schema import EVENTS, INBOX
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, create_run
from orchestrator.journal.process_identity import holder_is_dead, holder_name
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.requests import AbortRequest
from tests.core.builders import a_plan, created
from tests.core.leading import RUN, Lead, When, pausing
from tests.core.scripted import ScriptedPair

Opener = Callable[..., Journal]
SECRET = "hunter2-hunter2"


# --- a number that is used again --------------------------------------------------------------------------------------


def of_another_start(holder: str) -> str:
    """The same number on the same machine, as an earlier process would have had it."""
    before, _, started = holder.rpartition("/")
    return f"{before}/{int(started) - 1}"


@pytest.mark.realtime
def test_a_number_that_another_process_has_by_now(tmp_path: Path) -> None:
    """Promise 4: the leader is gone, and the system has given its number to somebody else: that one is alive, and leads
    nothing. Known by its start, the leader is dead at once."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, cwd=tmp_path)
    try:
        for living in (holder_name(), holder_name(process.pid)):
            assert not holder_is_dead(living)
            assert holder_is_dead(of_another_start(living))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.realtime
def test_the_run_of_a_number_that_is_used_again_is_free(opened: Opener, clock: VirtualClock) -> None:
    """Promise 4: nobody waits for the lease of a process that is gone because its number is taken."""
    create_run(opened(), clock, RUN, created())
    with opened().engine.begin() as connection:
        connection.execute(sa.text("UPDATE runs SET holder = :holder"), {"holder": of_another_start(holder_name())})
    assert os.getpid() == int(holder_name().split()[0].rpartition(":")[2])
    with pytest.raises(LeaseHeld, match="which is unfinished, and no process leads the run"):
        create_run(opened(), clock, "run-2", created())


# --- no secret is written ---------------------------------------------------------------------------------------------


@pytest.fixture
def scrubbing(url: str) -> Iterator[Journal]:
    journal = Journal(url, scrub=lambda text: text.replace(SECRET, "***"))
    yield journal
    journal.close()


def stored(journal: Journal, column: sa.Column[Any]) -> str:
    with journal.reader.connect() as connection:
        return "".join(connection.execute(sa.select(column)).scalars())


def test_a_secret_in_an_event_is_not_stored(scrubbing: Journal, clock: VirtualClock) -> None:
    """Promise 10: what is recorded passes the redaction, the first record of a run and every later one."""
    plan = a_plan().model_copy(update={"notes": (f"it is {SECRET}",)})
    _, writer = create_run(scrubbing, clock, RUN, created(plan))
    assert SECRET not in stored(scrubbing, EVENTS.c.event)
    scrubbing.append(writer, clock.now(), [(None, ev.RunPaused(reason=f"typed {SECRET}"))])
    assert (SECRET in stored(scrubbing, EVENTS.c.event), stored(scrubbing, EVENTS.c.event).count("***")) == (False, 2)
    assert len(list(scrubbing.records(RUN))) == 2


def test_a_secret_in_a_request_is_not_stored(scrubbing: Journal, clock: VirtualClock) -> None:
    """Promise 10: neither is one that somebody types as the reason of an abort or a decision."""
    create_run(scrubbing, clock, RUN, created())
    scrubbing.ask(RUN, AbortRequest(by="bob", reason=f"the password is {SECRET}"))
    assert (SECRET in stored(scrubbing, INBOX.c.body), "***" in stored(scrubbing, INBOX.c.body)) == (False, True)
    assert [request and request.reason for _, request in scrubbing.requests(RUN)] == ["the password is ***"]


# --- what waits when the engine ends ----------------------------------------------------------------------------------


class FallsOver(InlineFleet):
    """A fleet whose engine falls over while an action waits, and whose workers go on with it, as threads do."""

    def collect(self, until: float | None) -> list[Completion]:
        if any(job for jobs in self._jobs.values() for job in jobs if not isinstance(job, tuple)):
            raise RuntimeError("the engine fell over")
        return super().collect(until)

    def close(self) -> None:
        InlineFleet.collect(self, None)
        super().close()


def test_what_waits_when_the_engine_falls_over_does_not_leave(opened: Opener, clock: VirtualClock) -> None:
    """Promise 5: with the engine gone nobody records what becomes of a command, so none that still waits may leave,
    though by the clock the lease lasts."""
    pair = ScriptedPair(clock, depth=10, rate=100)
    lead = Lead(pair, opened(), fleet=FallsOver)
    with pytest.raises(RuntimeError, match="fell over"):
        lead.start()
    assert [intent.action for intent in lead.events(ev.ActionIntended)] == ["set_role"]
    assert lead.told() == []


# --- services that are let go of --------------------------------------------------------------------------------------


def stops(pair: ScriptedPair) -> dict[str, Any]:
    """The run needs an operator: nobody decides on a transaction."""
    pair.prepare("1-x-x")
    return {}


def is_paused(_: ScriptedPair) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("arrange", [stops, is_paused])
def test_a_run_that_is_not_over_keeps_its_services(opened: Opener, clock: VirtualClock, arrange: Any) -> None:
    """Promise 5: a run that needs an operator, or was paused, is resumed later: no other run may have its services."""
    pair = ScriptedPair(clock, depth=10, rate=100)
    lead = Lead(pair, opened())
    arrange(pair)
    observers = [When(ev.StepStarted, pausing(lead), nth=2)] if arrange is is_paused else []
    run = lead.start(observers=observers)
    assert run.outcome is (None if arrange is is_paused else Outcome.NEEDS_OPERATOR)
    assert set(claims(opened()).values()) == {RUN}
    with pytest.raises(LeaseHeld, match="Trading belongs to run run-1, which is unfinished, and no process leads"):
        create_run(opened(), clock, "run-2", created())
    resumed = lead.resume(abort=ev.AbortAsked(by="ann", reason="enough"))
    assert (resumed.outcome in (Outcome.REVERTED, Outcome.REFUSED), claims(opened())) == (True, {})
