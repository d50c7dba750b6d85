"""The stage of AMPS: what the judge is shown is true now, and a fabric settles for as long as the verdict needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from orchestrator.clock import VirtualClock
from proof.promises import Judge
from proof.simulation.amps.looks import look
from proof.simulation.amps.stage import AmpsStage
from simulator.amps.layout import fabric_from
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS
from tests.proof.histories import SERVICE
from tests.world_amps.conftest import instance

LONGEST = 30.0


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stage(clock: VirtualClock) -> Iterator[AmpsStage]:
    """Two instances, a publisher, and an async link that carries less than is published."""
    instances = [
        instance(site, group=SERVICE, site=site, destinations=[{"name": mate, "group": SERVICE, "sync": False}])
        for site, mate in (("ny", "ldn"), ("ldn", "ny"))
    ]
    feed = {"name": "feed", "servers": ["ny"], "topic": "orders", "rate": 100.0}
    made = AmpsStage(
        fabric_from({"instances": instances, "publishers": [feed], "link_rate": 10.0, "tick": 0.5}), clock
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.console("ny").obey("disable", "transports/1"),
        lambda world: world.kill("ldn"),
        lambda world: world.publish("ny", "orders", "1"),
    ],
    ids=["a request", "a fault", "a message"],
)
def test_a_change_between_two_ticks_is_seen(
    stage: AmpsStage, clock: VirtualClock, change: Callable[[AmpsWorld], None]
) -> None:
    """What is shown anew only once something has changed, is shown then, in the very moment too."""
    clock.advance(3.1)
    world = AMPS_WORLDS.acquire("memory:night", clock)
    before = stage.look()
    with world.request():
        change(world)
    after = stage.look()
    assert after["services"] != before["services"]
    assert after == look(world)


def test_time_that_passes_is_seen(stage: AmpsStage, clock: VirtualClock) -> None:
    """The moment goes on where nothing moves, and what moves with the next tick is shown."""
    clock.advance(3.1)
    first = stage.look()
    clock.advance(0.1)
    second = stage.look()
    assert (second["moment"] > first["moment"], second["services"]) == (True, first["services"])
    clock.advance(1.0)
    assert stage.look()["services"] != second["services"]


@pytest.mark.parametrize("counts", [True, False])
def test_messages_are_waited_for_where_they_count(stage: AmpsStage, clock: VirtualClock, counts: bool) -> None:
    """A link that will be behind for long keeps a fabric from being steady only for somebody who counts messages."""
    clock.advance(20.0)
    passed = 0.0
    for seconds in stage.settling(LONGEST, counts=counts):
        clock.advance(seconds)
        passed += seconds
    assert (passed == LONGEST) is counts


@pytest.mark.parametrize(
    ("runbook", "outcome", "counts"),
    [
        ("amps/controlled", "done", True),
        ("amps/controlled", "refused", False),
        ("amps/restore", "done", False),
        ("solace/controlled", "refused", True),
        ("solace/controlled", None, False),
        ("solace/restore", "done", False),
    ],
)
def test_messages_count_after_an_end_that_promises_something_of_them(
    runbook: str, outcome: str | None, counts: bool
) -> None:
    """Promise 3 is of some runbooks, and of some of their ends."""
    judge = Judge({"services": [SERVICE], "runbook": {"runbook": runbook, "steps": []}})
    judge.case.lanes[SERVICE].outcome = outcome
    assert judge.counts is counts
