"""Builders for fabrics: a test names only what it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from simulator.amps.account import FabricTally
from simulator.amps.faults import parse_amps_faults
from simulator.amps.layout import FabricLayout, fabric_from
from simulator.amps.world import AmpsWorld

ORDERS = {"name": "orders", "keys": ["/id"]}


def instance(name: str, *mates: str, sync: bool = True, **more: Any) -> dict[str, Any]:
    """An instance of the group G with a link to each of ``mates``."""
    links = [{"name": mate, "group": "G", "sync": sync, "pass_through": ".*"} for mate in mates]
    return {
        "name": name,
        "group": "G",
        "topics": [ORDERS],
        "destinations": links,
        "recovery": 0.5,
        "interval": 1.0,
        **more,
    }


class Stage:
    """A world, its clock, and short words for what tests do to it."""

    def __init__(self, layout: FabricLayout, clock: VirtualClock) -> None:
        self.world = AmpsWorld(layout, clock)
        self.clock = clock

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def act(self, name: str, action: str, target: str) -> None:
        with self.world.request():
            self.world.console(name).obey(action, target)

    def close(self, name: str) -> None:
        """No client may be at this instance any more."""
        self.act(name, "disable", "transports/1")

    def open(self, name: str) -> None:
        self.act(name, "enable", "transports/1")

    def fault(self, *lines: str) -> None:
        self.world.inject(parse_amps_faults(lines))

    def keys(self, name: str, topic: str = "orders") -> list[str]:
        return sorted(self.world.records(name, topic))

    def row(self, name: str, kind: str, id_: str) -> dict[str, Any]:
        """A member of a collection, as the last sample has it."""
        with self.world.request():
            rows = self.world.console(name).tree[kind]
        return dict(next(one for one in rows if one["id"] == id_))

    def numbers(self, name: str, publisher: str = "feed") -> int:
        """How many messages of a publisher an instance has in its log."""
        with self.world.request():
            return self.world.fabric.instances[name].journal.numbers(publisher).count

    def logged(self, name: str, text: str) -> list[str]:
        """The lines of its event log that have this in them."""
        return [line for line in self.world.log(name) if text in line]

    @property
    def tally(self) -> FabricTally:
        return self.world.tally()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stage(clock: VirtualClock) -> Callable[..., Stage]:
    """``stage(instances=[…], **fabric)``: without instances a sync pair A and B, with a publisher and a subscriber."""

    def build(
        *instances: dict[str, Any], feed: dict[str, Any] | None = None, quiet: bool = False, **more: Any
    ) -> Stage:
        given = list(instances) or [instance("A", "B"), instance("B", "A")]
        servers = [one["name"] for one in given][:2]
        document: dict[str, Any] = {"instances": given, **more}
        if not quiet:
            document.setdefault(
                "publishers", [{"name": "feed", "topic": "orders", "servers": servers, **(feed or {})}]
            )
            document.setdefault("subscribers", [{"name": "book", "topic": "orders", "servers": servers}])
        return Stage(fabric_from(document), clock)

    return build
