"""What earlier runs know of an outage: only what happened on the same devices, and only while it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from adapters.solace.reading_models import QueueDepth
from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run, service_key
from orchestrator.model import events as ev
from orchestrator.model.inventory import Site
from orchestrator.reports.history import History, outage_of_all, outages_of
from tests.core.builders import a_plan, seen

SERVICE = "Trading"
PASSED = ev.PointOfNoReturnPassed(step="activate")
DONE = ev.LaneEnded(outcome=ev.Outcome.DONE)
REVERTED = ev.LaneEnded(outcome=ev.Outcome.REVERTED)
SUSPENDED = ev.ActionIntended(
    intent=1, step="suspend", on="target", action="set_reject_on_discard", args={"enabled": "no"}, attempt=1
)


class Past:
    """Runs of one pair of sites, one after the other. ``world`` tells its devices from those of another pair."""

    def __init__(self, journal: Journal, clock: VirtualClock, world: str = "real") -> None:
        self.journal, self.clock, self.world = journal, clock, world

    def run(self, runbook: str, source: str, *events: ev.Event, spool_lost: bool = False) -> str:
        """One run of ``SERVICE`` away from ``source``, with these records of its lane; its name."""
        plan = self.plan(runbook, source)
        if spool_lost:
            plan = plan.model_copy(update={"outage": ev.Outage(at=0.0, spool_lost=True)})
        self.clock.advance(100.0)
        name = f"run-{self.clock.now():.0f}"
        created = ev.RunCreated(plan=plan, by="ann", version="0")
        lease, writer = create_run(self.journal, self.clock, name, created)
        told: Sequence[tuple[str | None, ev.Event]] = [(SERVICE, event) for event in events]
        self.journal.append(writer, self.clock.now(), told)
        lease.release([service_key(plan, SERVICE)])
        return name

    def plan(self, runbook: str, source: str) -> ev.Plan:
        plan = a_plan(services=(SERVICE,))
        definition = plan.runbook.model_copy(update={"runbook": runbook})
        inventory = plan.inventory.model_copy(update={"sites": self.sites})
        target = "nj" if source == "ny" else "ny"
        ends = {"source": source, "target": target}
        return plan.model_copy(update={"runbook": definition, "inventory": inventory, **ends})

    @property
    def sites(self) -> dict[str, Site]:
        known = a_plan(services=(SERVICE,)).inventory.sites
        return {name: site.model_copy(update={"options": {"world": self.world}}) for name, site in known.items()}

    @property
    def history(self) -> History:
        return History(self.journal, self.sites.values())


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    journal = Journal.at(tmp_path / "journal.sqlite")
    yield Past(journal, VirtualClock())
    journal.close()


def test_the_fail_over_that_stands(past: Past) -> None:
    """Law: when activity was taken over, by which run, and whether replication was suspended since."""
    run = past.run("solace/uncontrolled", "ny", PASSED, DONE)
    assert past.history.last_outage(SERVICE, "nj") == ev.Outage(at=past.clock.now(), run=run)
    past.run("solace/suspend", "ny", SUSPENDED)
    past.run("solace/restore", "ny", DONE, spool_lost=True)
    found = past.history.last_outage(SERVICE, "nj")
    assert found is not None
    assert (found.run, found.suspended, found.spool_lost) == (run, True, True)
    assert set(outages_of(past.journal, run)) == {SERVICE}


def read(rejects: bool | None, at: float = 1e9) -> ev.Observed:
    """What the acting site's queue does when it is full, as a run away from ``ny`` read it."""
    queue = QueueDepth(messages=0, rejects_on_discard=rejects)
    return ev.Observed(mark=1, seen=(seen("target", queue, at),))


@pytest.mark.parametrize(
    ("restoring", "known"),
    [
        ((DONE,), None),
        ((read(None), DONE), None),
        ((read(True), DONE), False),
        ((read(False), read(True), DONE), True),
        ((read(True), read(False), DONE), True),
    ],
)
def test_a_suspension_is_known_as_far_as_somebody_looked(
    past: Past, restoring: Sequence[ev.Event], known: bool | None
) -> None:
    """Promise 9: that replication was not suspended is known only where the restore read so; a person may have done it,
    without any run. Who read that it was so knows it, whoever did it."""
    past.run("solace/uncontrolled", "ny", PASSED, DONE)
    past.run("solace/restore", "ny", *restoring)
    found = past.history.last_outage(SERVICE, "nj")
    assert found is not None
    assert found.suspended is known


def test_what_was_read_before_the_fail_over_tells_nothing_of_the_time_since(past: Past) -> None:
    """A suspension that was over before the fail-over kept nothing out of the queue since; nor does a look at that time,
    or by the fail-over itself, show that there was none later."""
    past.run("solace/uncontrolled", "ny", read(False, at=0.0), read(True), PASSED, DONE)
    found = past.history.last_outage(SERVICE, "nj")
    assert found is not None
    assert found.suspended is None


def test_an_outage_that_was_taken_back_is_over(past: Past) -> None:
    """Promise 9: how the site came to be active again is not known, so the old moment must not make it look safe."""
    run = past.run("solace/uncontrolled", "ny", PASSED, DONE)
    past.run("solace/failback", "nj", REVERTED)
    assert past.history.last_outage(SERVICE, "nj") is not None
    past.run("solace/failback", "nj", PASSED, DONE)
    assert past.history.last_outage(SERVICE, "nj") is None
    assert outages_of(past.journal, run) == {}


def test_other_devices_have_a_history_of_their_own(past: Past) -> None:
    """Promise 9: a rehearsal on a simulated pair with the same names says nothing of the real one."""
    simulated = Past(past.journal, past.clock, "simulated")
    simulated.run("solace/uncontrolled", "ny", PASSED, DONE)
    simulated.run("solace/restore", "ny", DONE)
    assert simulated.history.restored_by(SERVICE, "ny", 0.0) is not None
    assert past.history.last_outage(SERVICE, "nj") is None
    assert past.history.restored_by(SERVICE, "ny", 0.0) is None
    assert past.history.last_known(SERVICE, "ny").words() == "no reading is on record"


EARLY = ev.Outage(at=100.0, run="one", suspended=True)
LATE = ev.Outage(at=200.0, run="two", suspended=False)
LOST = ev.Outage(at=50.0, run="three", suspended=False, spool_lost=True)


def judged(*known: ev.Outage | None, at: float | None = None, spool_lost: bool = False) -> ev.Outage | None:
    return outage_of_all(known, stated_at=at, spool_lost=spool_lost, now=999.0)


def test_what_speaks_against_one_speaks_against_all() -> None:
    """Promise 9: services of one run are judged together: by the latest fail-over, and by all that was done since."""
    assert judged(EARLY, LATE) == ev.Outage(at=200.0, run="two", suspended=True)
    assert judged(LATE, ev.Outage(at=50.0)) == ev.Outage(at=200.0, run="two")
    assert judged(LOST, LATE) == ev.Outage(at=200.0, run="two", suspended=False, spool_lost=True)


def test_a_stated_moment_does_not_bring_a_spool_back() -> None:
    """Promise 9: who says when the fail-over was does not say that nothing else happened."""
    assert judged(LOST, at=5.0) == ev.Outage(at=5.0, suspended=False, spool_lost=True)
    assert judged(None, at=5.0) == ev.Outage(at=5.0)


def test_what_no_record_tells_stays_unknown() -> None:
    """Law: the moment of one service's fail-over is not another's; what happened to one is known all the same."""
    assert judged(LATE, None) is None
    assert judged(LATE, None, at=5.0) == ev.Outage(at=5.0)
    assert judged(EARLY, None, at=5.0) == ev.Outage(at=5.0, suspended=True)
    assert judged(LATE, None, spool_lost=True) == ev.Outage(at=999.0, spool_lost=True)
