"""The adapter of AMPS's administration interface keeps the laws, against scripted instances without sockets."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

import pytest

from orchestrator.family.contract import Adapter, Call
from tests.amps_admin.stage import PASSWORD, Stage
from tests.contract.laws import Bench, Laws, Spoil

ODD = ("%23", "a/b", "..", "$(reboot)", "#x", "{id}")
SERVICES = {name: {"device": f"amps-{number}"} for number, name in enumerate(("orders", "market data", *ODD), 1)}


class AmpsBench:
    """A site with one instance for each service."""

    services: Sequence[str] = ("orders", "market data")
    missing = "nowhere"
    by_service = frozenset({"instance", "transports", "clients", "links", "queues", "transaction_log", "bootstrap"})
    odd: Sequence[str] = ODD
    secret = PASSWORD
    calls: Mapping[str, Sequence[Call]] = {
        "set_client_transports": [Call(one, {"state": "disabled"}) for one in services],
        "set_link_mode": [Call(one, {"mode": "async"}) for one in services],
        "set_proxied_transfer": [Call(one, {"state": "enabled"}) for one in services],
    }

    def __init__(self) -> None:
        names = [str(one["device"]) for one in SERVICES.values()]
        self.stage = Stage(names=names, options={"services": SERVICES})

    def adapter(self, *, read_only: bool = False) -> Adapter:
        return self.stage.adapter(read_only=read_only)

    def arrived(self) -> int:
        return sum(len(one.acted) for one in self.stage.instances.values())

    def state(self) -> object:
        return copy.deepcopy({name: one.now for name, one in self.stage.instances.items()})

    def spoil(self, how: Spoil) -> None:
        self.stage.one.spoiled = how

    def go_away(self) -> None:
        for wire in self.stage.wires.values():
            wire.is_away = True

    def come_back(self) -> None:
        for wire in self.stage.wires.values():
            wire.is_away = False


class TestAmpsAdmin(Laws):
    """``amps-admin``."""

    @pytest.fixture
    def bench(self) -> Iterator[Bench]:
        yield AmpsBench()
