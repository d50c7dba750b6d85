"""Negotiate against a real KDC: a move by ticket, and what is said and done where there is none."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from adapters.amps.reading_models import Instance
from adapters.http.negotiate import ticket_auth
from orchestrator.cli.main import main
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.errors import AuthenticationFailed
from orchestrator.family.contract import Call
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.outcome import Failure
from orchestrator.operations.runtime import Tools
from simulator.amps.embedded import amps_layout
from simulator.amps.world import AmpsWorld
from simulator.http.server import Incoming, Outgoing
from simulator.lab.amps.server import AmpsLab
from tests.amps_admin.realm import REALM, USER, Door, Realm, a_realm
from tests.amps_admin.stage import ACCEPTED, DOUBTFUL, NOT_SENT, REJECTED, Stage, apply
from tests.journal.servers import until
from tests.semp.wire import Wire

pytestmark = pytest.mark.realtime

HOST = "amps-1.example.com"  # of a stage's instance
CLOSE = Call("orders", {"state": "disabled"})
DISABLE = "/amps/administrator/transports/1/disable"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """The realm of these tests."""
    with a_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


@pytest.fixture(scope="module")
def keytab(kdc: Realm) -> Path:
    """The keys of the instances."""
    return kdc.keytab("HTTP/127.0.0.1", f"HTTP/{HOST}")


@pytest.fixture
def realm(kdc: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Realm:
    """This process is in the realm, and has no ticket yet."""
    for name, value in {
        **kdc.environment,
        "KRB5CCNAME": f"FILE:{tmp_path / 'cache'}",
        "FAILOVER_USER": "ann",
    }.items():
        monkeypatch.setenv(name, value)
    return kdc


def staged(door: Door) -> Stage:
    """One scripted instance behind ``door``, and a site that has no login."""
    stage = Stage(options={"auth": "negotiate"}, login=None)
    stage.wire.handler = door(stage.one.handle)
    return stage


def failed(stage: Stage) -> str:
    """Why the instance cannot be read."""
    found = stage.read("instance")
    assert isinstance(found, Failure)
    assert found.kind == "AuthenticationFailed"
    return found.text


@pytest.fixture
def lab(realm: Realm, keytab: Path, tmp_path: Path) -> Iterator[tuple[AmpsLab, Door]]:
    """Two instances with traffic on real ports; a ticket is the only way in."""
    door = Door(keytab)
    world = AmpsWorld(amps_layout(queues=False), SystemClock())
    with AmpsLab(world, directory=tmp_path / "lab", service="orders", tickets=door) as running:
        yield running, door


def test_a_move_by_ticket(
    lab: tuple[AmpsLab, Door], realm: Realm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Law: with a ticket, and no password anywhere, both instances are read and the service is moved; each action is sent
    once, by the account of the ticket."""
    running, door = lab
    realm.kinit()
    tools = Tools(tmp_path, SystemClock(), SecretStore(None), Registry())
    where = ("--inventory", str(running.inventory_path))
    tools.clock.sleep(2.5)
    assert main(("status", *where), tools) == 0, capsys.readouterr().out
    code = main(("controlled", "--service", "orders", "--yes", *where), tools)
    assert code == 0, capsys.readouterr().err
    commands = [action for _, action, _ in running.world.tally().commands]
    assert (commands, running.world.tally().lost) == (["disable", "downgrade"], 0)
    assert (set(door.who), door.refused) == ({f"{USER}@{REALM}"}, 0)
    assert not running.password_file.exists()


def test_a_move_without_a_ticket(
    lab: tuple[AmpsLab, Door], tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Law: without a ticket a status is unknown and a move refuses, with the remedy in the sentence and no stack; nothing
    is sent."""
    running, door = lab
    tools = Tools(tmp_path, SystemClock(), SecretStore(None), Registry())
    where = ("--inventory", str(running.inventory_path))
    assert main(("status", *where), tools) == 4
    assert main(("controlled", "--service", "orders", "--yes", *where), tools) != 0
    told = capfd.readouterr()
    assert "unknown: there is no Kerberos ticket for the login to orders-ny (get one with `kinit`)" in told.out
    assert "KRB5_CLIENT_KTNAME" in told.err
    assert "Traceback" not in told.out + told.err
    assert [one for one in caplog.records if one.name.startswith("httpx_gssapi")] == []
    assert (door.who, door.refused, running.log("orders-ny").changes) == ([], 0, ())


def test_a_reading_and_an_action(realm: Realm, keytab: Path) -> None:
    """Law: each request has a proof of its own, and the first one is let in: none is sent to be refused."""
    stage = staged(door := Door(keytab))
    realm.kinit()
    assert isinstance(stage.read("instance"), Instance)
    assert apply(stage.settled(), "set_client_transports", state="disabled").effect is ACCEPTED
    proofs = [one.headers["authorization"] for one in stage.wire.sent]
    assert (len(set(proofs)), door.refused) == (len(stage.wire.sent), 0)
    assert stage.one.acted == [DISABLE]


def test_a_ticket_that_expires(realm: Realm, keytab: Path) -> None:
    """Law: once the ticket has expired the reading is unknown and an action is not sent; after ``kinit`` the same session
    reads again."""
    stage = staged(Door(keytab))
    realm.kinit("-l", "4s")
    adapter = stage.settled()
    assert isinstance(adapter.probe("instance", ["orders"])["orders"], Instance)
    until(lambda: not realm.has_ticket())
    result = apply(adapter, "set_client_transports", state="disabled")
    assert (result.effect, "get one with `kinit`): it has expired" in result.detail) == (NOT_SENT, True), (
        result.detail
    )
    assert stage.one.acted == []
    realm.kinit()
    assert isinstance(adapter.probe("instance", ["orders"])["orders"], Instance)


def test_a_ticket_that_is_gone_before_an_action(realm: Realm, keytab: Path) -> None:
    """Law: an action whose looks were answered, and whose own ticket is missing, is not sent."""
    stage = staged(Door(keytab))
    realm.kinit()
    adapter = stage.settled()

    class Destroys:
        def check(self) -> None:
            assert realm.call("kdestroy").returncode == 0

    [result] = adapter.apply("set_client_transports", [CLOSE], Destroys())
    assert (result.effect, stage.one.acted) == (NOT_SENT, []), result
    assert [one for one in stage.wire.lines if DISABLE in one] == []


def test_a_keytab_in_place_of_kinit(realm: Realm, keytab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: with a keytab in KRB5_CLIENT_KTNAME the program gets its ticket by itself."""
    stage = staged(door := Door(keytab))
    assert "default cache" in failed(stage)
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.keytab("robot")))
    assert isinstance(stage.read("instance"), Instance)
    assert set(door.who) == {f"robot@{REALM}"}


def test_a_service_that_the_realm_does_not_know(realm: Realm, keytab: Path) -> None:
    """Law: an address whose principal the KDC does not have is named as that principal, and nothing is sent."""
    stage = Stage(names=("amps-2",), options={"auth": "negotiate"}, login=None)
    realm.kinit()
    text = failed(stage)
    assert "no ticket for HTTP/amps-2.example.com (amps-2)" in text
    assert "not found in Kerberos database" in text
    assert stage.wire.sent == []


def test_a_kdc_that_is_away(realm: Realm, keytab: Path) -> None:
    """Law: without a KDC the reading is unknown and says so; it is no site that is out of reach, which would speak for a
    fail-over."""
    stage = staged(Door(keytab))
    realm.kinit()
    realm.stop()
    try:
        assert "Cannot contact any KDC" in failed(stage)
    finally:
        realm.start()
    assert isinstance(stage.read("instance"), Instance)


def test_a_kdc_that_is_slow(realm: Realm, keytab: Path) -> None:
    """Law: a ticket that comes later than a connection may take is not used for the request that waited."""

    class Slow(VirtualClock):
        def now(self) -> float:
            self.advance(6.0)
            return super().now()

    realm.kinit()
    for within_s, sent in ((10.0, 1), (5.0, 0)):
        wire = Wire(Door(keytab)(lambda request: Outgoing(200)), VirtualClock())
        client = httpx.Client(auth=ticket_auth("amps-1", clock=Slow(), within_s=within_s), transport=wire)
        try:
            client.get(f"http://{HOST}/")
        except AuthenticationFailed as error:
            assert "took 6 s" in str(error)
        assert len(wire.sent) == sent


def test_a_ticket_that_is_refused(realm: Realm, keytab: Path) -> None:
    """Law: a 401 to a ticket is told with what to look at, and neither a look nor an action is sent a second time."""
    realm.kinit()
    stage = staged(door := Door(realm.keytab("HTTP/elsewhere.example.com")))
    assert "HTTP 401" in failed(stage)
    assert len(stage.wire.sent) == len(set(stage.wire.lines))
    stage = staged(Door(keytab))
    let_in = stage.wire.handler
    refuse = door(stage.one.handle)
    stage.wire.handler = lambda request: (refuse if request.target == DISABLE else let_in)(request)
    result = apply(stage.settled(), "set_client_transports", state="disabled")
    assert (result.effect, stage.one.acted) == (REJECTED, []), result
    assert len([one for one in stage.wire.lines if DISABLE in one]) == 1


def test_an_answer_that_proves_nothing(realm: Realm, keytab: Path) -> None:
    """Law: an answer whose proof is wrong is not believed; what it answers to an action is a doubt."""
    realm.kinit()
    stage = staged(door := Door(keytab, is_liar=True))
    found = stage.read("instance")
    assert isinstance(found, Failure)
    assert (found.kind, f"does not prove the identity HTTP/{HOST}" in found.text) == ("UnreadableReply", True)
    door.is_liar = False
    adapter = stage.settled()

    class Turns:
        def check(self) -> None:
            door.is_liar = True

    [result] = adapter.apply("set_client_transports", [CLOSE], Turns())
    assert (result.effect, stage.one.acted) == (DOUBTFUL, [DISABLE])


def test_a_redirect_takes_no_ticket_along(realm: Realm, keytab: Path) -> None:
    """Law: an answer that points to another host is followed by no request."""
    realm.kinit()
    stage = staged(Door(keytab))
    stage.wire.handler = Door(keytab)(lambda request: Outgoing(302, headers={"Location": "http://127.0.0.1/"}))
    assert isinstance(stage.read("transports"), Failure)
    assert set(stage.wire.lines) <= {"GET /amps/instance/transports.json", "GET /amps/instance/config.xml"}


def test_control_the_door(realm: Realm, keytab: Path) -> None:
    """Control: the door refuses a request without a ticket, with a password, and with a token of garbage."""
    door = Door(keytab)
    ask = door(lambda request: Outgoing(200))
    for headers in ({}, {"authorization": "Basic YTpi"}, {"authorization": "Negotiate YWJj"}):
        answer = ask(Incoming("GET", "/amps/instance.json", headers, b""))
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Negotiate")
    assert logging.getLogger("httpx_gssapi").getEffectiveLevel() > logging.CRITICAL
