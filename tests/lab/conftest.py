"""A bench appliance whose values a test sets by hand, and what sessions and labs need around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from adapters.mock.appliance import (
    NoSuchObject,
    Outcome,
    QueueView,
    RedundancyView,
    Refused,
    RoleName,
    TransactionView,
    VpnReplication,
)
from adapters.mock.lab.accounting import CommandLog
from adapters.mock.lab.cli import CliSession
from orchestrator.clock import VirtualClock

ACTIVE = VpnReplication("Trading_VPN", True, "active", None, True, True, None, False, "async")
STANDBY = VpnReplication("Trading_VPN", True, "standby", "up", None, None, None, False, "async")
QUEUE = QueueView("Trading_VPN", 1, 0.0006, 0.0012, 60000, True)
ALONE = RedundancyView(False, False, "Primary", "", False, "Local Active", "AD-Active")


@dataclass
class BenchAppliance:
    """An ``Appliance`` that shows what it was given, does what it is told, and remembers it."""

    router_name: str = "NY_Appliance1"
    rows: dict[str, VpnReplication] = field(default_factory=lambda: {"Trading_VPN": ACTIVE})
    queues: dict[str, QueueView] = field(default_factory=lambda: {"Trading_VPN": QUEUE})
    held: list[TransactionView] = field(default_factory=list)
    node: RedundancyView = ALONE
    refusal: str = ""
    done: list[tuple[str, ...]] = field(default_factory=list)

    def vpn_names(self) -> Sequence[str]:
        return list(self.rows)

    def replication(self, vpn: str) -> VpnReplication:
        if vpn not in self.rows:
            raise NoSuchObject(f"message VPN {vpn} does not exist")
        return self.rows[vpn]

    def replication_queue(self, vpn: str) -> QueueView:
        self.replication(vpn)
        if vpn not in self.queues:
            raise NoSuchObject(f"message VPN {vpn} was never replicated")
        return self.queues[vpn]

    def transactions(self, vpn: str) -> Sequence[TransactionView]:
        self.replication(vpn)
        return [one for one in self.held if one.vpn == vpn]

    def redundancy(self) -> RedundancyView:
        return self.node

    def set_role(self, vpn: str, role: RoleName) -> None:
        self._obey("set_role", vpn, role)
        self.rows[vpn] = replace(self.rows[vpn], role=role)

    def complete_transaction(self, vpn: str, xid: str, outcome: Outcome) -> None:
        self._obey(outcome, vpn, xid)

    def delete_transaction(self, vpn: str, xid: str) -> None:
        self._obey("delete", vpn, xid)

    def _obey(self, *what: str) -> None:
        if self.refusal:
            raise Refused(self.refusal)
        self.done.append(what)


@dataclass
class FencedAppliance(BenchAppliance):
    """One that can also be fenced, and whose replication can be suspended."""

    def set_msg_backbone(self, *, up: bool) -> None:
        self._obey("msg-backbone", "up" if up else "down")

    def set_reject_on_discard(self, vpn: str, *, enabled: bool) -> None:
        self._obey("reject-on-discard", vpn, "on" if enabled else "off")


class Dialogue:
    """A session with its appliance and log: ``say`` types lines and returns the last answer without its prompt."""

    def __init__(self, appliance: BenchAppliance, **options: object) -> None:
        self.appliance = appliance
        self.clock = VirtualClock()
        self.log = CommandLog(self.clock)
        self.session = CliSession(appliance, self.log, **options)  # type: ignore[arg-type]

    @property
    def prompt(self) -> str:
        return self.session.prompt

    def say(self, *lines: str) -> str:
        text = ""
        for line in lines:
            text = self.session.take_line(line)
        return text.removesuffix(self.session.prompt)

    def at(self, *lines: str) -> str:
        """The prompt after these lines, without its blank."""
        self.say(*lines)
        return self.prompt.rstrip()


@pytest.fixture
def appliance() -> BenchAppliance:
    return BenchAppliance()


@pytest.fixture
def dialogue() -> Callable[..., Dialogue]:
    """``dialogue(appliance=…, **what CliSession takes)``, paging off."""

    def make(appliance: BenchAppliance | None = None, *, paging: bool = False, **options: object) -> Dialogue:
        made = Dialogue(appliance if appliance is not None else BenchAppliance(), **options)
        if not paging:
            made.say("no paging")
        return made

    return make


@pytest.fixture
def bench() -> Callable[..., BenchAppliance]:
    """``bench(**what BenchAppliance takes)``."""
    return BenchAppliance


@pytest.fixture
def fenced() -> Callable[..., BenchAppliance]:
    """The same, of the kind that can be fenced."""
    return FencedAppliance


@pytest.fixture
def golden() -> Callable[[str], str]:
    """The text of a printed example, by name."""
    return lambda name: (Path(__file__).with_name("golden") / f"{name}.txt").read_text(encoding="utf-8")


@pytest.fixture
def sample_rows() -> Iterator[dict[str, VpnReplication]]:
    """An active and a standby row, as the seed's example has them at its two sites."""
    yield {"active": ACTIVE, "standby": STANDBY}
