"""Who relies on what belongs to a site: one answer for all lanes, runs and processes, and it outlives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.core.decide import ClaimSite
from orchestrator.core.decide.decision import ClaimKind
from orchestrator.core.run import Run, fold
from orchestrator.errors import LeaseLost
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import Lease, create_run, service_key
from orchestrator.journal.site_claims import Sites
from orchestrator.model import events as ev
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Side
from tests.core.builders import a_plan, created
from tests.core.test_decide_claims import FENCE, UNFENCE

Opened = Callable[[], Journal]
SERVICES = ("Trading", "Orders")


class Leader:
    """A run that a process leads, and its claims."""

    def __init__(self, journal: Journal, clock: VirtualClock, name: str, plan: ev.Plan) -> None:
        self.journal, self.clock, self.name = journal, clock, name
        self.lease: Lease = create_run(journal, clock, name, created(plan))[0]
        self.state: Run = fold(journal.records(name))
        self.sites = Sites(journal, name, self.state)

    def claim(self, service: str, wish: ClaimKind, on: Side = "source") -> SiteClaims:
        request = ClaimSite(service, 0, on, "set_backbone", wish)
        return self.sites.claim(request, self.lease.epoch, self.clock.now())

    def granted(self, service: str, wish: ClaimKind) -> bool:
        return self.claim(service, wish).granted

    def told(self, service: str, *events: ev.Event) -> None:
        """The lane after these events, which are settled as the engine does."""
        for event in events:
            record = ev.Record(self.name, self.state.seq + 1, self.clock.now(), service, event)
            self.state.fold(record)
            self.sites.settle([(service, event)], self.clock.now())

    def end(self, service: str, outcome: ev.Outcome) -> None:
        lane = self.state.lanes[service]
        if lane.status == "ready" and outcome is not ev.Outcome.REFUSED:
            self.told(service, ev.LaneStarted())
        if outcome is ev.Outcome.REVERTED:
            self.told(service, ev.RevertStarted(why="no", undo=()))
        self.told(service, ev.LaneEnded(outcome=outcome))

    def finish(self) -> None:
        self.sites.finish(self.clock.now())
        self.lease.release([service_key(self.state.plan, s) for s, one in self.state.lanes.items() if one.settled])


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def start(opened: Opened, clock: VirtualClock) -> Iterator[Callable[..., Leader]]:
    with closing(opened()) as journal:
        yield lambda name, *services, step=FENCE: Leader(journal, clock, name, a_plan(step, services=services))


Start = Callable[..., Leader]


def test_many_may_rely_on_one_door(start: Start) -> None:
    """Promise 14: services of one run and of others rely on the same door, each on its own."""
    first, second = start("run-1", "Trading", "Orders"), start("run-2", "Bonds")
    assert [first.granted("Trading", "hold"), first.granted("Orders", "hold"), second.granted("Bonds", "hold")] == [
        True
    ] * 3
    assert first.granted("Trading", "hold")


@pytest.mark.parametrize("wish", ["release", "leave"])
def test_nobody_opens_what_another_service_relies_on(start: Start, wish: ClaimKind) -> None:
    """Promises 8 and 14: also after the run of that service is over; the answer names service and run."""
    first, second = start("run-1", "Trading"), start("run-2", "Orders")
    assert first.granted("Trading", "hold")
    first.end("Trading", ev.Outcome.DONE)
    first.finish()
    second.granted("Orders", "hold")
    answer = second.claim("Orders", wish)
    assert (answer.granted, answer.others, answer.is_waiting) == (False, ("Trading (run run-1)",), False)


def test_a_service_may_open_what_it_alone_relies_on(start: Start) -> None:
    """Promise 8: the restore of the last service opens the door, whichever run shut it."""
    first = start("run-1", "Trading")
    first.granted("Trading", "hold")
    first.end("Trading", ev.Outcome.DONE)
    first.finish()
    assert start("run-2", "Trading", step=UNFENCE).granted("Trading", "release")


def test_whoever_gives_up_its_claim_is_in_nobodys_way(start: Start) -> None:
    """Two restores at once wait for each other only until both have given up: neither relies on the door any more."""
    for name, service in (("run-1", "Trading"), ("run-2", "Orders")):
        run = start(name, service)
        run.granted(service, "hold")
        run.end(service, ev.Outcome.DONE)
        run.finish()
    one, other = start("run-3", "Trading", step=UNFENCE), start("run-4", "Orders", step=UNFENCE)
    assert [one.granted("Trading", "release"), other.granted("Orders", "release")] == [False, True]
    assert one.granted("Trading", "release")


def test_nobody_relies_on_a_door_that_is_being_opened(start: Start) -> None:
    """Promise 14: of a run that opens the door and one that comes to rely on it, only one gets its claim."""
    opening, holding = start("run-1", "Trading", step=UNFENCE), start("run-2", "Orders")
    assert opening.granted("Trading", "release")
    assert not holding.granted("Orders", "hold")
    opening.told("Trading", ev.LaneStarted(), ev.StepStarted(step="unfence"), ev.StepDone(step="unfence"))
    assert holding.granted("Orders", "hold")


def test_a_lane_that_stopped_on_its_way_to_a_door_lets_others_shut_it(start: Start) -> None:
    """A restore that waits for an operator, and has sent nothing, keeps nobody from fencing the site."""
    opening, holding = start("run-1", "Trading", step=UNFENCE), start("run-2", "Orders")
    opening.granted("Trading", "release")
    opening.told("Trading", ev.LaneStarted(), ev.StepStarted(step="unfence"), ev.StepFailed(step="unfence", why="no"))
    opening.told("Trading", ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR))
    assert holding.granted("Orders", "hold")


def test_a_lane_that_stopped_before_it_asked_to_open_a_door_still_relies_on_it(start: Start) -> None:
    """Promise 14: a claim is given up by whoever asks for that, not by a restore that stopped at the step before."""
    away = start("run-1", "Trading")
    assert away.granted("Trading", "hold")
    away.end("Trading", ev.Outcome.DONE)
    away.finish()
    stopped, other = start("run-2", "Trading", step=UNFENCE), start("run-3", "Orders", step=UNFENCE)
    stopped.told("Trading", ev.LaneStarted(), ev.StepStarted(step="unfence"), ev.StepFailed(step="unfence", why="no"))
    stopped.told("Trading", ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR))
    assert other.claim("Orders", "release").others == ("Trading (run run-1)",)


def test_lanes_of_one_run_that_all_turn_back_do_not_wait_for_each_other(start: Start) -> None:
    """Promise 14: whoever is being rolled back relies on nothing; the others of the run are waited for."""
    run = start("run-1", "Trading", "Orders")
    for service in SERVICES:
        run.told(service, ev.LaneStarted())
        run.granted(service, "hold")
    assert run.claim("Trading", "leave").is_waiting
    revert = ev.Ruling(choice="revert", reason="no", by="policy")
    run.told("Orders", ev.GateDecided(gate="step-failed", step="fence", ruling=revert))
    assert run.granted("Trading", "leave")
    run.end("Orders", ev.Outcome.REVERTED)
    assert run.granted("Trading", "release")


@pytest.mark.parametrize("outcome", [ev.Outcome.DONE, ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK])
def test_a_lane_that_ended_behind_the_door_is_not_waited_for(start: Start, outcome: ev.Outcome) -> None:
    """Promise 14: it relies on the door, or may; no time changes that."""
    run = start("run-1", "Trading", "Orders")
    for service in SERVICES:
        run.granted(service, "hold")
    run.told("Orders", ev.LaneStarted())
    if outcome is ev.Outcome.STUCK:
        run.told(
            "Orders",
            ev.StepStarted(step="fence"),
            ev.SiteClaimed(step="fence", on="source", thing="set_backbone", claim="hold"),
        )
    run.told("Orders", ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR if outcome is ev.Outcome.STUCK else outcome))
    answer = run.claim("Trading", "leave")
    assert (answer.granted, answer.is_waiting) == (False, False)


@pytest.mark.parametrize("outcome", [ev.Outcome.REVERTED, ev.Outcome.REFUSED])
def test_a_service_that_was_not_moved_leaves_no_claim(start: Start, outcome: ev.Outcome) -> None:
    """A run that changed nothing in the end keeps no door shut, during the run and after it."""
    run, other = start("run-1", "Trading", "Orders"), start("run-2", "Bonds")
    for service in SERVICES:
        run.granted(service, "hold")
    run.end("Orders", outcome)
    assert run.granted("Trading", "leave")
    run.end("Trading", outcome)
    run.finish()
    assert other.granted("Bonds", "release")


@pytest.mark.parametrize("outcome", [ev.Outcome.REFUSED, ev.Outcome.REVERTED])
def test_a_run_that_moved_nothing_ends_no_earlier_claim(start: Start, outcome: ev.Outcome) -> None:
    """Promise 14: a service that failed over behind the door relies on it, whatever a guard of it comes to later."""
    first = start("run-1", "Trading")
    first.granted("Trading", "hold")
    first.end("Trading", ev.Outcome.DONE)
    first.finish()
    guard = start("run-2", "Trading")
    assert guard.granted("Trading", "hold")
    guard.end("Trading", outcome)
    guard.finish()
    assert start("run-3", "Orders").claim("Orders", "release").others == ("Trading (run run-1)",)


@pytest.mark.parametrize("outcome", [ev.Outcome.DONE, ev.Outcome.REVERTED])
def test_a_door_that_was_open_and_is_shut_again_is_claimed_by_the_later_run(
    start: Start, clock: VirtualClock, outcome: ev.Outcome
) -> None:
    """Promise 14: where the door was opened by hand, the claim is that of the run which shut it, and ends with that."""
    first = start("run-1", "Trading")
    first.granted("Trading", "hold")
    first.end("Trading", ev.Outcome.DONE)
    first.finish()
    clock.advance(3_600.0)
    guard = start("run-2", "Trading")
    guard.granted("Trading", "hold")
    guard.told("Trading", ev.LaneStarted(), ev.StepStarted(step="fence"))
    guard.sites.settle([("Trading", ev.StepDone(step="fence", reversible=True))], clock.now())
    guard.end("Trading", outcome)
    guard.finish()
    others = start("run-3", "Orders").claim("Orders", "release").others
    assert others == (("Trading (run run-2)",) if outcome is ev.Outcome.DONE else ())


def test_a_service_that_is_active_at_a_site_relies_on_no_fence_there(start: Start, opened: Opened) -> None:
    """A service that was moved back without a restore holds no claim at the site where it is active now."""
    away = start("run-1", "Trading")
    away.granted("Trading", "hold")
    away.end("Trading", ev.Outcome.DONE)
    away.finish()
    back = a_plan(FENCE, services=("Trading",)).model_copy(update={"source": "nj", "target": "ny"})
    home = Leader(away.journal, away.clock, "run-2", back)
    home.end("Trading", ev.Outcome.DONE)
    home.finish()
    assert start("run-3", "Orders").granted("Orders", "release")


def test_a_door_that_was_open_ends_old_claims(start: Start, clock: VirtualClock) -> None:
    """A claim from long before the door was read open is of a fence that a person took away: it is void. A claim of an
    unfinished run, or a young one, is not."""
    old, young, unfinished = start("run-1", "Bonds"), start("run-2", "Rates"), start("run-3", "Swaps")
    for run, service in ((old, "Bonds"), (unfinished, "Swaps")):
        run.granted(service, "hold")
    old.end("Bonds", ev.Outcome.DONE)
    old.finish()
    clock.advance(3600)
    young.granted("Rates", "hold")
    young.end("Rates", ev.Outcome.DONE)
    young.finish()
    run = start("run-4", "Trading")
    run.granted("Trading", "hold")
    run.told("Trading", ev.LaneStarted(), ev.StepStarted(step="fence"), ev.StepDone(step="fence", reversible=True))
    assert set(run.claim("Trading", "leave").others) == {"Rates (run run-2)", "Swaps (run run-3)"}


def test_a_claim_needs_the_lease(start: Start) -> None:
    """Promise 5: a process that lost its run changes no claim."""
    run = start("run-1", "Trading")
    with pytest.raises(LeaseLost):
        run.sites.claim(ClaimSite("Trading", 0, "source", "set_backbone", "hold"), run.lease.epoch - 1, 0.0)
    assert start("run-2", "Orders").granted("Orders", "release")


def test_sites_are_told_apart_by_their_devices(start: Start) -> None:
    """The door of the other site is another door."""
    run, other = start("run-1", "Trading"), start("run-2", "Orders")
    run.claim("Trading", "hold", on="target")
    assert other.granted("Orders", "release")


def test_a_killed_process_leaves_no_door_half_claimed(start: Start) -> None:
    """Promise 4: what an earlier process recorded and did not live to settle is settled by the next one."""
    opening, holding = start("run-1", "Trading", step=UNFENCE), start("run-2", "Orders")
    opening.granted("Trading", "release")
    for event in (ev.LaneStarted(), ev.StepStarted(step="unfence"), ev.StepDone(step="unfence")):
        opening.state.fold(ev.Record("run-1", opening.state.seq + 1, 0.0, "Trading", event))
    assert not holding.granted("Orders", "hold")
    opening.sites.tidy()
    assert holding.granted("Orders", "hold")
