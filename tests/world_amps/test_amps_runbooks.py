"""The runbooks of AMPS, led by the real engine on the simulated pair: in process, and over the administration interface.

What is claimed is held against the world's own account, which neither the runbook nor the engine can see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.amps.admin.adapter import AmpsAdminAdapter
from adapters.mock.amps.account import FabricTally
from adapters.mock.amps.adapter import AMPS_WORLDS, MockAmpsAdapter
from adapters.mock.amps.faults import parse_amps_faults
from adapters.mock.amps.layout import fabric_from
from adapters.mock.amps.world import AmpsWorld
from adapters.mock.lab.accounting import CommandLog
from adapters.mock.lab.amps_admin import AmpsAdmin
from orchestrator.contract import Adapter, Setting
from orchestrator.events import Outcome
from orchestrator.reports.report import RunReport
from orchestrator.runbook import Choice
from orchestrator.site import Device, Site
from tests.amps_admin.pair import NAMES, SERVICE, AmpsPair
from tests.amps_admin.stage import Secrets
from tests.semp.wire import Wire
from tests.world_amps.conftest import instance

SHUT = [{"name": "amps-tcp", "enabled": False}, {"name": "amps-replication", "type": "amps-replication"}]
PARTS: dict[str, Any] = {
    "topics": [{"name": "orders", "keys": ["/id"]}, {"name": "jobs"}],
    "queues": [{"name": "jobs"}],
    "interval": 1.0,
}


@dataclass
class SimulatedPair(AmpsPair):
    """The pair of the simulated world; ``via`` the adapter that speaks for it. ``bootstrap``: ny fetches when empty."""

    via: str = "mock-amps"
    bootstrap: bool = False
    faults: tuple[str, ...] = ()
    world: AmpsWorld = field(init=False)

    def __post_init__(self) -> None:
        is_sync, ny, nj = self.sync == "sync", NAMES["ny"], NAMES["nj"]
        fetches = {"bootstrap": {"servers": [nj]}} if self.bootstrap else {}
        shut = {} if self.is_open else {"transports": SHUT}
        document = {
            "instances": [
                instance(ny, nj, sync=is_sync, **PARTS, **fetches),
                instance(nj, ny, sync=is_sync, **PARTS, **shut),
            ],
            "publishers": [
                {"name": "feed", "topic": "orders", "servers": [ny, nj], "rate": 10.0},
                {"name": "office", "topic": "jobs", "servers": [ny, nj], "rate": 4.0},
            ],
            "subscribers": [{"name": "book", "topic": "orders", "servers": [ny, nj]}],
            "consumers": [{"name": "worker", "queue": "jobs", "servers": [ny, nj]}],
            "ack_interval": 0.4,
            "tick": 0.2,
        }
        self.world = AmpsWorld(fabric_from(document), self.clock)
        self.reference = AMPS_WORLDS.register(str(self.folder), self.world)
        self.logs = {site: CommandLog(self.clock) for site in NAMES}
        self.wires = {
            site: Wire(
                AmpsAdmin(self.world, name, self.logs[site], address=lambda: "localhost:8085"),
                self.clock,
                reaches=self._is_there(name),
            )
            for site, name in NAMES.items()
        }
        self.clock.advance(10.0)
        self.world.afflict(parse_amps_faults(self.faults))

    def _is_there(self, name: str) -> Callable[[], bool]:
        def reaches() -> bool:
            with self.world.request():
                return self.world.fabric.instances[name].phase != "down"

        return reaches

    def adapter(self, site: str, *, read_only: bool = False) -> Any:
        setting = Setting(self.clock, Secrets(), read_only=read_only)
        if self.via == "mock-amps":
            return MockAmpsAdapter(self.site(site), setting)
        return AmpsAdminAdapter(self.site(site), setting, wire=lambda device: self.wires[site], random=Random(7))

    def site(self, name: str) -> Site:
        if self.via != "mock-amps":
            return super().site(name)
        options = {"world": self.reference}
        return Site(name=name, adapter="mock-amps", devices=(Device(name=NAMES[name]),), options=options)

    def ends(self, runbook: str, *, source: str = "ny", **policy: Choice) -> tuple[Outcome | None, str]:
        """How the lane of a run ended, and why."""
        named = {name.replace("_", "-"): choice for name, choice in policy.items()}
        report: RunReport = self.lead(runbook, source=source, policy=named)
        lane = next(one for one in report.lanes if one.service == SERVICE)
        return lane.outcome, lane.reason

    @property
    def tally(self) -> FabricTally:
        """The world's own account, once everything has settled."""
        self.clock.advance(5.0)
        return self.world.tally()

    @property
    def done(self) -> list[tuple[str, str]]:
        """What the instances obeyed."""
        short = {name: site for site, name in NAMES.items()}
        return [(short[name], action) for name, action, _ in self.world.tally().commands]


@pytest.fixture(params=["mock-amps", "amps-admin"])
def build(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """``build(sync=…, is_open=…, bootstrap=…, faults=…)``: the pair, spoken for in one of the two ways."""

    def made(**more: Any) -> SimulatedPair:
        return SimulatedPair(tmp_path, via=request.param, **more)

    yield made
    AMPS_WORLDS.forget(str(tmp_path))


Build = Callable[..., SimulatedPair]


def test_a_planned_move_loses_nothing(build: Build) -> None:
    """Clients off, links and queues empty, downgrade: and then ny can be stopped without losing a message."""
    pair = build()
    assert pair.ends("amps/controlled") == (Outcome.DONE, "")
    assert pair.done == [("ny", "disable"), ("nj", "downgrade")]
    pair.world.kill(NAMES["ny"])
    found = pair.tally
    assert (found.lost, found.out_of_order) == (0, 0)
    assert found.outage_seconds == 0
    assert {one.at for one in pair.world.fabric.state.publishers.values()} == {NAMES["nj"]}


def test_a_planned_move_across_async_links_loses_nothing(build: Build) -> None:
    """nj was closed: nobody can publish at both, and nobody is let in before everything is over."""
    pair = build(sync="async", is_open=False)
    assert pair.ends("amps/controlled-async") == (Outcome.DONE, "")
    found = pair.tally
    assert (found.lost, found.both_open) == (0, ())
    assert found.outage_seconds > 0


def test_a_link_that_is_cut_refuses_the_move(build: Build) -> None:
    """A mate behind a cut is no fail-over target; nothing is done."""
    pair = build(faults=("at 0s: link amps-1 amps-2 down",))
    pair.clock.advance(5.0)
    assert pair.ends("amps/controlled")[0] is Outcome.REFUSED
    assert pair.done == []


def test_a_link_cut_in_the_middle_turns_the_move_back(build: Build) -> None:
    """After the door was shut: unattended, ny lets its clients in again, and nothing is lost."""
    pair = build(
        faults=("disable amps-1 +1s: link amps-1 amps-2 down", "enable amps-1 +5s: link amps-1 amps-2 down 0s")
    )
    assert pair.ends("amps/controlled")[0] is Outcome.REVERTED
    assert pair.done[0] == ("ny", "disable")
    assert pair.done[-1] == ("ny", "enable")
    found = pair.tally
    assert found.lost == found.stranded


@pytest.mark.parametrize("fault", ["disable: lose reply", "disable: lose request", "downgrade: late 4s"])
def test_an_answer_that_goes_wrong_is_settled_by_reading(build: Build, fault: str) -> None:
    """Doubt is not failure: the move goes on once a sample of later shows what holds."""
    pair = build(faults=(fault,))
    assert pair.ends("amps/controlled")[0] is Outcome.DONE
    assert set(pair.done) == {("ny", "disable"), ("nj", "downgrade")}
    assert pair.tally.lost == 0


def test_a_loss_over_sync_links_and_the_return(build: Build) -> None:
    """ny dies with its process; nj goes on once somebody answers for it; ny comes back whole, and open at the last."""
    pair = build()
    pair.world.kill(NAMES["ny"])
    assert pair.ends("amps/uncontrolled", unfenced="attest") == (Outcome.DONE, "")
    pair.clock.advance(10.0)
    stalled = pair.world.tally().acknowledged
    pair.clock.advance(10.0)
    assert pair.world.tally().acknowledged > stalled + 100, "publishers go on at nj"
    pair.world.start(NAMES["ny"])
    assert pair.ends("amps/restore") == (Outcome.DONE, "")
    assert pair.done[-1] == ("ny", "enable")
    found = pair.tally
    assert found.lost == 0
    with pair.world.request():
        ny, nj = (pair.world.fabric.instances[NAMES[site]] for site in ("ny", "nj"))
        assert not any(link.downgraded for one in (ny, nj) for link in one.links.values())
        theirs = nj.journal.numbers("feed", 0)
        assert theirs.without(ny.journal.numbers("feed")).count < 10


def test_a_return_after_the_loss_of_all_files(build: Build) -> None:
    """Its state fetched from nj, and what had been published at ny itself with it (seed 004)."""
    pair = build(bootstrap=True)
    pair.world.kill(NAMES["ny"])
    assert pair.ends("amps/uncontrolled", unfenced="attest")[0] is Outcome.DONE
    pair.world.lose(NAMES["ny"], "all")
    pair.world.start(NAMES["ny"])
    assert pair.ends("amps/restore-bootstrap", bootstrap="attest") == (Outcome.DONE, "")
    assert pair.tally.lost == 0
    assert pair.world.records(NAMES["ny"], "orders").keys() == pair.world.records(NAMES["nj"], "orders").keys()


def test_readings_of_one_world_are_the_same_both_ways(tmp_path: Path) -> None:
    """Whatever speaks for an instance, in process or over its administration interface, reads the same of it."""
    pair = SimulatedPair(tmp_path, faults=("at 5s: link amps-1 amps-2 down 4s",))
    inside: Adapter = MockAmpsAdapter(pair.site("ny"), Setting(pair.clock, Secrets(), read_only=True))
    pair.via = "amps-admin"
    outside: Adapter = pair.adapter("ny", read_only=True)
    for _ in range(9):
        pair.clock.advance(2.0)
        for reading in inside.readings:
            one = inside.probe(reading, [SERVICE])[SERVICE].model_dump()
            other = outside.probe(reading, [SERVICE])[SERVICE].model_dump()
            for link in (*one.get("items", ()), *other.get("items", ())) if reading == "links" else ():
                del link["calm_s"], link["steady_s"]  # remembered by a session, and not of the instance
            assert one == other, reading
    AMPS_WORLDS.forget(str(tmp_path))
