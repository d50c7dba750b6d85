"""The same loop with a thread for each site and the machine's own clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from orchestrator.clock import SystemClock
from orchestrator.core.run import Run, fold
from orchestrator.engine.dispatch_threaded import ThreadedFleet
from orchestrator.family.contract import Call, Permit, Result
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import is_led
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.requests import AbortRequest
from tests.core.builders import CONTROLLED, a_plan
from tests.core.killing import judge_safety
from tests.core.leading import RUN, Lead, ScriptedDesk, When
from tests.core.scripted import ScriptedPair, ScriptedSite

pytestmark = pytest.mark.realtime

MANY = tuple(f"service-{number}" for number in range(50))
COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")


def quick(services: Sequence[str] = ("Trading",), **policy: object) -> ev.Plan:
    """The controlled fail-over with the delay of its last step taken out."""
    steps = ({**step, "delay": "0s"} if step["id"] == "delete-at-target" else step for step in CONTROLLED)
    return a_plan(*steps, services=services, policy=ev.Policy.model_validate(policy))


class Guarded(ScriptedPair):
    """A pair that two threads may ask at once."""

    def __init__(self, services: Sequence[str] = ("Trading",)) -> None:
        super().__init__(SystemClock(), services, depth=20, rate=400)  # type: ignore[arg-type]
        self.lock = threading.Lock()

    def adapters(self) -> dict:  # type: ignore[type-arg]
        return {"source": GuardedSite(self, "source"), "target": GuardedSite(self, "target")}


class GuardedSite(ScriptedSite):
    pair: Guarded

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        with self.pair.lock:
            return super().probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            with self.pair.lock:
                results = list(super().apply(action, [call], permit))
            yield from results


@pytest.fixture
def lead(tmp_path: Path) -> Iterator[Lead]:
    journal = Journal.at(tmp_path / "journal.sqlite")
    yield Lead(Guarded(), journal, fleet=ThreadedFleet)
    journal.close()


def folded(lead: Lead) -> Run:
    return fold(lead.journal.records(RUN))


def test_fifty_lanes(lead: Lead) -> None:
    """Fifty services move at once, each safely, and the record folds to what the process believed."""
    lead.pair = Guarded(MANY)
    run = lead.start(quick(MANY))
    assert (run.outcome, judge_safety(lead.pair, run.outcome)) == (Outcome.DONE, [])
    assert folded(lead) == run


def test_a_person_decides(lead: Lead) -> None:
    """The question goes to the desk's own thread, and the answer comes back into the run."""
    lead.pair.prepare("1-a-b")
    desk = ScriptedDesk({"xa": "commit"})
    run = lead.start(quick(), desk=desk)
    assert (run.outcome, desk.asked) == (Outcome.DONE, [("Trading", "xa", "1-a-b")])


def test_a_pause_from_another_thread(lead: Lead) -> None:
    """A pause, as from a signal handler, lets a waiting run stop at once; the resume ends it."""
    lead.pair.services["Trading"].rate = 0.0

    def pause() -> None:
        assert lead.engine is not None
        lead.engine.pause("SIGTERM")

    waker = threading.Timer(0.2, pause)
    waker.start()
    run = lead.start(quick())
    waker.join()
    assert (run.status, run.outcome) == ("paused", None)
    assert not is_led(lead.journal.row(RUN), lead.pair.clock.now())
    lead.pair.services["Trading"].rate = 1000.0
    assert lead.resume().outcome is Outcome.DONE
    assert lead.told() == ["source set_role standby", "target set_role active"]


def test_a_bug_in_an_adapter_ends_the_run_and_not_the_record(lead: Lead) -> None:
    """A broken adapter raises in the engine's thread; the record stays good, and a mended program goes on."""

    class Buggy(Guarded):
        def look(self, side: str, reading: str, service: str) -> Reading | Failure:
            if reading == "transactions":
                raise ZeroDivisionError
            return super().look(side, reading, service)  # type: ignore[arg-type]

    lead.pair = Buggy()
    with pytest.raises(ZeroDivisionError):
        lead.start(quick())
    mended = Guarded()
    mended.services = lead.pair.services
    mended.heard = lead.pair.heard
    lead.pair = mended
    with lead.journal.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE runs SET expires_at = 0")
    assert lead.resume().outcome is Outcome.DONE
    assert lead.told() == ["source set_role standby", "target set_role active"]


def test_an_abort_from_another_process(lead: Lead) -> None:
    """The inbox is looked at while the run waits for its devices."""
    lead.pair.services["Trading"].rate = 0.0
    other = Journal(lead.journal.url)
    request = AbortRequest(by="bob", reason="not tonight")
    run = lead.start(quick(), observers=[When(ev.Observed, lambda *_: other.ask(RUN, request), nth=3)])
    other.close()
    assert (run.outcome, judge_safety(lead.pair, run.outcome)) == (Outcome.REVERTED, [])
