"""The adapter against the lab's appliances over real SSH: the inventory the lab writes, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import (
    DeviceHealth,
    QueueDepth,
    ReplicationStatus,
    Transactions,
    TransactionState,
)
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import AuthenticationFailed, CommandTimedOut, HostKeyRejected, NotServing, Unreachable
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Login, SecretRef, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.readings import Role
from simulator.lab.edition import EDITIONS, Edition
from simulator.lab.server import Credentials, Lab, LabSettings
from simulator.solace.appliance import (
    NoSuchObject,
    Outcome,
    QueueView,
    RedundancyView,
    Refused,
    RoleName,
    TransactionView,
    VpnReplication,
)
from simulator.ssh.shell import Mishap, MishapKind
from tests.seam import Permits, apply, read, told

pytestmark = pytest.mark.realtime

SERVING = RedundancyView(True, True, "Primary", "ny2", True, "Local Active", "AD-Active")
STANDING_BY = RedundancyView(True, True, "Backup", "ny1", True, "Mate Active", "AD-Standby")
ALONE = RedundancyView(False, False, "Primary", "", False, "Local Active", "AD-Active")
XID = "0021B028-00-01"


@dataclass
class Truth:
    """What a site holds; its nodes share it."""

    rows: dict[str, VpnReplication]
    depths: dict[str, int] = field(default_factory=dict)
    held: dict[str, TransactionView] = field(default_factory=dict)
    done: list[tuple[str, ...]] = field(default_factory=list)


@dataclass
class LabNode:
    """One node: the site's truth, and what it is in its pair."""

    router_name: str
    truth: Truth
    view: RedundancyView = ALONE

    def vpn_names(self) -> Sequence[str]:
        return list(self.truth.rows)

    def replication(self, vpn: str) -> VpnReplication:
        if vpn not in self.truth.rows:
            raise NoSuchObject(f"Message VPN '{vpn}' does not exist")
        return self.truth.rows[vpn]

    def replication_queue(self, vpn: str) -> QueueView:
        self.replication(vpn)
        if vpn not in self.truth.depths:
            raise NoSuchObject(f"Queue '#MSGVPN_REPLICATION_DATA_QUEUE' of message VPN '{vpn}' does not exist")
        return QueueView(vpn, self.truth.depths[vpn], self.truth.depths[vpn] * 0.5, 9.0, 60000, True)

    def transactions(self, vpn: str) -> Sequence[TransactionView]:
        self.replication(vpn)
        return [one for one in self.truth.held.values() if one.vpn == vpn]

    def redundancy(self) -> RedundancyView:
        return self.view

    def set_role(self, vpn: str, role: RoleName) -> None:
        if self.view.activity != "Local Active":
            raise Refused("Error: this node does not have activity")
        self.truth.done.append(("set_role", vpn, role))
        self.truth.rows[vpn] = replace(self.replication(vpn), role=role)

    def complete_transaction(self, vpn: str, xid: str, outcome: Outcome) -> None:
        if self.truth.held[xid].state != "PREPARED":
            raise Refused(f"Error: transaction {xid} is not prepared")
        self.truth.done.append((outcome, vpn, xid))
        self.truth.held[xid] = replace(self.truth.held[xid], state="COMPLETE")

    def delete_transaction(self, vpn: str, xid: str) -> None:
        self.truth.done.append(("delete", vpn, xid))
        del self.truth.held[xid]


def truth() -> Truth:
    active = VpnReplication("Trading_VPN", True, "active", None, True, True, None, False, "async")
    rows = {name: replace(active, vpn=name) for name in ["Trading_VPN", "A B", *(f"v{n:02}" for n in range(30))]}
    held = TransactionView(XID, "Trading_VPN", "XA", "PREPARED", True, "app/7/#1", "app", 61.0, 3, 7, 10)
    return Truth(rows, depths=dict.fromkeys(rows, 5) | {"v00": 0}, held={XID: held})


class Sites(Protocol):
    """``site_of(node, node, …, credentials=…, **LabSettings)``: a lab with these nodes, and its site New York."""

    def __call__(
        self, *nodes: LabNode, credentials: Credentials | None = None, timeout_s: float = 5.0, **settings: Any
    ) -> tuple[Lab, Site]: ...


class Adapters(Protocol):
    """``adapter_of(site)``, closed afterwards."""

    def __call__(self, site: Site, *, read_only: bool = False) -> SolaceCliAdapter: ...


@pytest.fixture
def site_of(tmp_path: Path) -> Iterator[Sites]:
    labs: list[Lab] = []

    def start(
        *nodes: LabNode, credentials: Credentials | None = None, timeout_s: float = 5.0, **settings: Any
    ) -> tuple[Lab, Site]:
        far = LabNode("nj1", truth())
        keyed = {("ny", f"ny{number}"): node for number, node in enumerate(nodes, start=1)}
        lab = Lab.start(
            keyed | {("nj", "nj1"): far},
            directory=tmp_path / "lab",
            credentials=credentials,
            settings=LabSettings(**settings),
        )
        labs.append(lab)
        inventory, _ = load_inventory(lab.inventory_path)
        return lab, inventory.sites["ny"].model_copy(update={"command_timeout": timeout_s})

    yield start
    for lab in labs:
        lab.stop()


@pytest.fixture
def adapter_of() -> Iterator[Adapters]:
    made: list[SolaceCliAdapter] = []

    def make(site: Site, *, read_only: bool = False) -> SolaceCliAdapter:
        context = AdapterContext(clock=SystemClock(), secrets=SecretStore(), read_only=read_only)
        made.append(SolaceCliAdapter(site, context))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=list(EDITIONS))
def test_every_reading_of_every_edition_is_read(edition: Edition, site_of: Sites, adapter_of: Adapters) -> None:
    """Whatever the appliance's version prints: states, depths, transactions, health, of one service and of many."""
    lab, site = site_of(LabNode("ny1", truth()), edition=edition)
    adapter = adapter_of(site, read_only=True)
    names = list(truth().rows)
    for services in (["Trading_VPN"], ["A B"], names):
        states = [told(ReplicationStatus, one) for one in adapter.probe("replication", services).values()]
        assert all(one.role is Role.ACTIVE and one.bridge is None for one in states)
        assert all(one.queue_bound and one.remote_bridge_up for one in states)
        depths = {name: told(QueueDepth, one) for name, one in adapter.probe("replication_queue", services).items()}
        assert {name: (one.messages, one.drained) for name, one in depths.items()} == {
            name: (0, True) if name == "v00" else (5, False) for name in services
        }
        held = {name: told(Transactions, one).items for name, one in adapter.probe("transactions", services).items()}
        assert {name for name, items in held.items() if items} == {"Trading_VPN"} & set(services)
        for item in held.get("Trading_VPN", ()):
            assert (item.xid, item.state, item.client) == (XID, TransactionState.PREPARED, "app/7/#1")
            assert (item.published, item.consumed, item.in_state_s) == (3, 7, 61.0)
    assert adapter.probe("health", ["A B"])["A B"] == DeviceHealth(node="ny1", serving=True, spool_active=True)
    assert lab.log("ny", "ny1").changes == ()


def test_what_is_not_there_is_told_in_the_appliances_words(site_of: Sites, adapter_of: Adapters) -> None:
    """A message VPN that does not exist is definitely absent; a queue that does not exist is a refused command."""
    here = truth()
    del here.depths["v01"]
    _, site = site_of(LabNode("ny1", here))
    adapter = adapter_of(site)
    for reading in ("replication", "replication_queue", "transactions"):
        for services in (["Nope"], ["Trading_VPN", "Nope"]):
            answer = adapter.probe(reading, services)["Nope"]
            assert isinstance(answer, Failure)
            assert (answer.kind, answer.definite) == ("NoSuchService", True)
    for services in (["v01"], ["Trading_VPN", "v01"]):
        answer = adapter.probe("replication_queue", services)["v01"]
        assert isinstance(answer, Failure)
        assert (answer.kind, answer.definite) == ("CommandRejected", False)


@pytest.mark.parametrize("edition", EDITIONS.values(), ids=list(EDITIONS))
def test_every_action_is_done_and_can_be_read_back(edition: Edition, site_of: Sites, adapter_of: Adapters) -> None:
    """The procedure's commands, in their modes, on the appliance that serves."""
    here = truth()
    _, site = site_of(LabNode("ny1", here), edition=edition)
    adapter = adapter_of(site)
    demoted = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}), Call("A B", {"role": "standby"}))
    assert [result.effect for result in demoted] == [Effect.ACCEPTED] * 2
    [rolled_back] = apply(adapter, "complete_transaction", Call("Trading_VPN", {"xid": XID, "outcome": "rollback"}))
    assert rolled_back.effect is Effect.ACCEPTED
    [again] = apply(adapter, "complete_transaction", Call("Trading_VPN", {"xid": XID, "outcome": "rollback"}))
    assert again.effect is Effect.REJECTED
    [item] = read(adapter, Transactions, "Trading_VPN").items
    assert item.state is TransactionState.COMPLETE
    [deleted] = apply(adapter, "delete_transaction", Call("Trading_VPN", {"xid": XID}))
    assert deleted.effect is Effect.ACCEPTED
    assert here.done == [
        ("set_role", "Trading_VPN", "standby"),
        ("set_role", "A B", "standby"),
        ("rollback", "Trading_VPN", XID),
        ("delete", "Trading_VPN", XID),
    ]
    assert read(adapter, ReplicationStatus, "A B").role is Role.STANDBY


def test_the_member_that_serves_gets_the_change(site_of: Sites, adapter_of: Adapters) -> None:
    """And after the pair switched, the other one."""
    here = truth()
    one, two = LabNode("ny1", here, SERVING), LabNode("ny2", here, STANDING_BY)
    lab, site = site_of(one, two)
    adapter = adapter_of(site)
    assert apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))[0].device == "ny1"
    one.view = replace(SERVING, activity="Mate Active", spool="AD-Standby")
    two.view = replace(STANDING_BY, activity="Local Active", spool="AD-Active")
    assert apply(adapter, "set_role", Call("Trading_VPN", {"role": "active"}))[0].device == "ny2"
    two.view = STANDING_BY
    with pytest.raises(NotServing):
        apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))
    one.view = SERVING
    lab.take_down("ny", "ny2")
    assert apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))[0].device == "ny1"
    lab.take_down("ny", "ny1")
    with pytest.raises(Unreachable):
        adapter.probe("replication", ["Trading_VPN"])
    lab.bring_up("ny", "ny1")
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is Role.STANDBY


def test_a_read_only_account_is_rejected_and_can_still_read(site_of: Sites, adapter_of: Adapters) -> None:
    """Its level lets it show, not configure."""
    here = truth()
    _, site = site_of(LabNode("ny1", here), credentials=Credentials(level="read-only"))
    adapter = adapter_of(site)
    [result] = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))
    assert (result.effect, here.done) == (Effect.REJECTED, [])
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is Role.ACTIVE


@pytest.mark.parametrize("takes", ["line", "key"])
def test_a_question_is_answered_with_no(takes: Literal["line", "key"], site_of: Sites, adapter_of: Adapters) -> None:
    """No command is known to ask; the appliance stays as it was, and the session in step."""
    here = truth()
    edition = replace(EDITIONS["newer"].asking_also("replication state standby"), question_takes=takes)
    _, site = site_of(LabNode("ny1", here), edition=edition)
    adapter = adapter_of(site)
    [result] = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))
    assert (result.effect, here.done) == (Effect.REJECTED, [])
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is Role.ACTIVE


@pytest.mark.parametrize(
    "kind", ["drop-before", "drop-after", "cut-short", "freeze-before", "freeze-after", "garbage"]
)
def test_a_mishap_at_the_change_is_a_doubt_that_a_reading_resolves(
    kind: MishapKind, site_of: Sites, adapter_of: Adapters
) -> None:
    """Obeyed or not, at once or late: the word is "doubtful", and it is not said twice to the appliance."""
    here = truth()
    lab, site = site_of(LabNode("ny1", here), timeout_s=1.0)
    adapter = adapter_of(site)
    adapter.open()
    lab.chaos("ny", "ny1").plan(Mishap(kind, "replication state"))
    [result] = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}))
    assert result.effect is Effect.DOUBTFUL
    assert lab.log("ny", "ny1").lines.count("replication state standby") <= 1
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is (Role.STANDBY if here.done else Role.ACTIVE)
    lab.chaos("ny", "ny1").thaw()
    assert read(adapter, QueueDepth, "Trading_VPN").messages == 5


@pytest.mark.parametrize("kind", ["drop-before", "drop-after", "cut-short", "freeze-after", "garbage"])
@pytest.mark.parametrize("line", ["configure", "message-vpn Trading_VPN"])
def test_a_mishap_before_the_change_keeps_it_from_being_sent(
    kind: MishapKind, line: str, site_of: Sites, adapter_of: Adapters
) -> None:
    """Nothing that changes has left: it may be tried again, and then it is done once."""
    here = truth()
    lab, site = site_of(LabNode("ny1", here), timeout_s=1.0)
    adapter = adapter_of(site)
    adapter.open()
    lab.chaos("ny", "ny1").plan(Mishap(kind, line))
    permits = Permits()
    [result] = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}), permit=permits)
    assert (result.effect, permits.checks, here.done) == (Effect.NOT_SENT, 0, [])
    [result] = apply(adapter, "set_role", Call("Trading_VPN", {"role": "standby"}), permit=permits)
    assert (result.effect, len(here.done)) == (Effect.ACCEPTED, 1)


def test_a_reading_survives_a_dropped_session_and_a_frozen_one_times_out(
    site_of: Sites, adapter_of: Adapters
) -> None:
    """Asked once more after a loss; after a time-out the late answer finds nobody listening."""
    lab, site = site_of(LabNode("ny1", truth()), timeout_s=1.0)
    adapter = adapter_of(site)
    lab.chaos("ny", "ny1").plan(Mishap("drop-after", "show message-vpn"))
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is Role.ACTIVE
    lab.chaos("ny", "ny1").plan(Mishap("freeze-after", "show message-vpn"))
    with pytest.raises(CommandTimedOut):
        adapter.probe("replication", ["Trading_VPN"])
    lab.chaos("ny", "ny1").thaw()
    assert read(adapter, QueueDepth, "v00").messages == 0


def test_a_reading_survives_a_connection_that_is_half_open(site_of: Sites, adapter_of: Adapters) -> None:
    """Law: a kept session that echoes nothing costs 3 s and no reading; it is asked once more in a new one."""
    lab, site = site_of(LabNode("ny1", truth()), timeout_s=20.0)
    adapter = adapter_of(site)
    adapter.open()
    lab.chaos("ny", "ny1").plan(Mishap("silent", "show message-vpn"))
    begun = time.monotonic()
    assert read(adapter, ReplicationStatus, "Trading_VPN").role is Role.ACTIVE
    assert 3.0 <= time.monotonic() - begun < 15.0
    lab.chaos("ny", "ny1").thaw()


def test_a_wrong_password_or_key_is_known_when_opening(site_of: Sites, adapter_of: Adapters, tmp_path: Path) -> None:
    """Before a run begins, and not in the middle of it."""
    _, site = site_of(LabNode("ny1", truth()))
    adapter_of(site).open()
    (tmp_path / "wrong").write_text("wrong\n")
    (tmp_path / "wrong").chmod(0o600)
    login = told(Login, site.login).model_copy(update={"password": SecretRef(file=str(tmp_path / "wrong"))})
    with pytest.raises(AuthenticationFailed):
        adapter_of(site.model_copy(update={"login": login})).open()
    stranger = site.devices[0].model_copy(update={"host_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"})
    with pytest.raises(HostKeyRejected):
        adapter_of(site.model_copy(update={"devices": (stranger,)})).open()
    other = site.devices[0].model_copy(update={"router_name": "ny9"})
    with pytest.raises(HostKeyRejected, match="calls itself ny1"):
        adapter_of(site.model_copy(update={"devices": (other,)})).open()
