"""The judge of AMPS sees two instances that let clients in: a world made by hand, in which somebody did just that."""

from __future__ import annotations

import pytest

from orchestrator.clock import VirtualClock
from proof.promises.amps.on_world import judge_world
from proof.promises.facts import Case
from proof.simulation.amps.looks import look
from simulator.amps.layout import fabric_from
from simulator.amps.world import AmpsWorld
from tests.world_amps.conftest import instance

SERVICE = "orders"
PLAN = {
    "services": [SERVICE],
    "runbook": {"runbook": "amps/controlled", "steps": []},
    "source": "ny",
    "target": "ldn",
}


@pytest.mark.parametrize(
    ("sync", "by", "broken"),
    [(False, "command", [1]), (False, "somebody", []), (True, "command", [])],
    ids=["across an async link", "somebody else", "across a sync link"],
)
def test_letting_clients_in_at_both(sync: bool, by: str, broken: list[int]) -> None:
    """Promise 1: across an async link, a request of ours that makes a second instance take clients is seen, at whatever
    moment it came; what somebody else does is not ours, and across a sync link both may."""
    clock = VirtualClock()
    instances = [
        instance(site, mate, sync=sync) | {"group": SERVICE, "site": site}
        for site, mate in (("ny", "ldn"), ("ldn", "ny"))
    ]
    world = AmpsWorld(fabric_from({"instances": instances}), clock)
    _tell(world, "disable", by="command")
    clock.advance(3.3)
    case = Case.of(PLAN, look(world))
    clock.advance(0.7)
    _tell(world, "enable", by=by)
    clock.advance(5.1)
    seen = look(world)
    found = judge_world(case, case.lanes[SERVICE], seen["services"][SERVICE], seen)
    assert [one.promise for one in found] == broken


def _tell(world: AmpsWorld, action: str, *, by: str) -> None:
    with world.request():
        world.console("ldn").obey(action, "transports/1", by=by)
