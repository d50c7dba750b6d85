"""SEMP on real ports: TLS with the lab's own CA, sessions, mishaps on the wire, and whole runs from the inventory."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import Fence, ReplicationStatus
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import (
    AuthenticationFailed,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    HostKeyRejected,
    Unreachable,
)
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import Role
from simulator.http.certificates import Authority
from simulator.http.server import HttpServer, Incoming, Mishap, Outgoing
from simulator.lab.edition import NEWER
from simulator.lab.of_world import serve_world
from simulator.lab.server import Credentials, Lab, LabSettings
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, TransactionLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.seam import apply, read

pytestmark = pytest.mark.realtime

XID = "0021B028-00-01"
READ = Request("GET", "/", is_read=True)


def small_world(*vpns: VpnLayout, ha: bool = False) -> World:
    nodes = ({"ny": ("ny1", "ny2"), "nj": ("nj1", "nj2")}) if ha else {"ny": ("ny1",), "nj": ("nj1",)}
    one, other = (SiteLayout(name, its) for name, its in nodes.items())
    return World(WorldLayout((one, other), vpns or (VpnLayout("V", publish_rate=50, backlog=5),)), SystemClock())


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Lab]]:
    """``serve(world, **LabSettings)``: with SEMP over TLS unless told otherwise."""
    labs: list[Lab] = []

    def start(world: World, *, credentials: Credentials | None = None, **settings: Any) -> Lab:
        how = LabSettings(**{"semp": "https", **settings})
        labs.append(serve_world(world, directory=tmp_path / "lab", credentials=credentials, settings=how))
        return labs[-1]

    yield start
    for lab in labs:
        lab.stop()


def site_of(lab: Lab, name: str = "ny", **more: object) -> Site:
    inventory, _ = load_inventory(lab.semp_inventory_path)
    return inventory.sites[name].model_copy(update={"command_timeout": 5.0, **more})


@pytest.fixture
def adapter_of() -> Iterator[Callable[[Site], Adapter]]:
    """``adapter_of(site)``: through its entry point, closed afterwards."""
    made: list[Adapter] = []

    def make(site: Site) -> Adapter:
        made.append(Registry().adapter_for(site, AdapterContext(SystemClock(), SecretStore())))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def role(adapter: Adapter) -> Role | None:
    return read(adapter, ReplicationStatus, "V").role


def test_the_inventory_it_writes_is_all_one_needs(
    serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]
) -> None:
    """Address, CA and password are in it; the adapter comes through its entry point; both protocols see one world."""
    lab = serve(small_world(ha=True), edition=NEWER)
    assert lab.semp_inventory_path.stat().st_mode & 0o777 == 0o600
    over_semp = adapter_of(site_of(lab))
    assert isinstance(over_semp, SolaceSempAdapter)
    inventory, _ = load_inventory(lab.inventory_path)
    over_ssh = adapter_of(inventory.sites["ny"])
    assert isinstance(over_ssh, SolaceCliAdapter)
    with closing(over_semp), closing(over_ssh):
        over_semp.open()
        for reading in ("replication", "health", "transactions"):
            assert over_semp.probe(reading, ["V"]) == over_ssh.probe(reading, ["V"])
        [result] = apply(over_semp, "set_role", Call("V", {"role": "standby"}))
        assert result.effect is Effect.ACCEPTED
        assert (role(over_semp), role(over_ssh)) == (Role.STANDBY, Role.STANDBY)
        assert lab.semp_sessions("ny", "ny1") == 1
    assert lab.semp_sessions("ny", "ny1") == 0


def test_a_certificate_of_another_ca_is_refused(
    serve: Callable[..., Lab], tmp_path: Path, adapter_of: Callable[[Site], Adapter]
) -> None:
    """Before the password leaves; and there is no way to say "never mind"."""
    lab = serve(small_world())
    (tmp_path / "other").mkdir()
    other = Authority.at(tmp_path / "other").ca_file
    for options in ({"ca_file": str(other)}, {}):
        with pytest.raises(HostKeyRejected, match="ny1 is not trusted"):
            adapter_of(site_of(lab, options=options)).open()
    assert lab.log("ny", "ny1").records == ()


def test_a_certificate_of_another_host_is_refused(
    serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]
) -> None:
    """The name counts, not only who signed."""
    lab = serve(small_world())
    site = site_of(lab)
    elsewhere = site.devices[0].model_copy(update={"address": "localhost"})
    with pytest.raises(HostKeyRejected):
        adapter_of(site.model_copy(update={"devices": (elsewhere,)})).open()


def test_https_to_a_port_that_speaks_something_else(
    serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]
) -> None:
    """SSH, or plain HTTP: unreachable, with a sentence."""
    lab = serve(small_world(), semp="http")
    plain, ssh = site_of(lab), lab.address("ny", "ny1")[1]
    for port in (plain.devices[0].port, ssh):
        device = plain.devices[0].model_copy(update={"port": port})
        with pytest.raises(Unreachable, match="over HTTP"):
            adapter_of(plain.model_copy(update={"devices": (device,), "options": {}})).open()


def test_plain_http_on_this_machine(serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]) -> None:
    """The lab may be spoken to without TLS; its inventory then says so."""
    lab = serve(small_world(), semp="http")
    site = site_of(lab)
    assert site.options == {"scheme": "http"}
    adapter = adapter_of(site)
    assert role(adapter) is Role.ACTIVE


def test_a_wrong_password_is_tried_once(
    serve: Callable[..., Lab], tmp_path: Path, adapter_of: Callable[[Site], Adapter]
) -> None:
    """More would help to lock the account."""
    lab = serve(small_world())
    (tmp_path / "wrong").write_text("not it")
    (tmp_path / "wrong").chmod(0o600)
    login = {"username": "operator", "password": {"file": str(tmp_path / "wrong")}}
    site = Site.model_validate({**site_of(lab).model_dump(), "login": login})
    with pytest.raises(AuthenticationFailed):
        adapter_of(site).open()
    assert len(lab.log("ny", "ny1").records) == 1


def test_a_token_from_its_file(serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]) -> None:
    """OAuth bearer, in place of a login."""
    lab = serve(small_world())
    site = site_of(lab)
    options = {**site.options, "token": {"file": str(lab.inventory_path.with_name("token"))}}
    adapter = adapter_of(site.model_copy(update={"login": None, "options": options}))
    adapter.open()
    assert role(adapter) is Role.ACTIVE
    adapter.close()
    assert lab.semp_sessions("ny", "ny1") == 0


@pytest.mark.parametrize(
    ("fault", "effect"),
    [
        ("demote: lose reply", Effect.DOUBTFUL),
        ("demote: lose request", Effect.DOUBTFUL),
        ("demote: late 1s", Effect.DOUBTFUL),
        ("demote: truncate reply", Effect.DOUBTFUL),
        ("demote: garbage reply", Effect.DOUBTFUL),
        ("demote: refuse", Effect.REJECTED),
    ],
)
def test_faults_of_a_change_on_the_wire(
    serve: Callable[..., Lab], fault: str, effect: Effect, adapter_of: Callable[[Site], Adapter]
) -> None:
    """A connection that breaks, an answer that never comes, comes late, by halves, or as garbage: a doubt. Sent once."""
    world = small_world()
    lab = serve(world)
    world.inject(parse_faults([fault]))
    adapter = adapter_of(site_of(lab, command_timeout=0.5))
    [result] = apply(adapter, "set_role", Call("V", {"role": "standby"}))
    assert result.effect is effect
    assert len(lab.log("ny", "ny1").changes) == 1


@pytest.mark.parametrize("fault", ["reads: lose reply", "reads: truncate reply", "reads: garbage reply"])
def test_faults_of_a_reading_on_the_wire(
    serve: Callable[..., Lab], fault: str, adapter_of: Callable[[Site], Adapter]
) -> None:
    """Asked again, or said to be unreadable; the next one works."""
    world = small_world()
    lab = serve(world)
    adapter = adapter_of(site_of(lab))
    adapter.open()
    world.inject(parse_faults([fault]))
    adapter.probe("health", ["V"])
    assert role(adapter) is Role.ACTIVE


def test_a_node_that_is_taken_down_and_brought_up(
    serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]
) -> None:
    """Sessions break, the port refuses; afterwards the same adapter goes on with a new session."""
    lab = serve(small_world())
    adapter = adapter_of(site_of(lab, connect_timeout=0.5))
    assert role(adapter) is Role.ACTIVE
    lab.take_down("ny", "ny1")
    with pytest.raises((Unreachable, ConnectionLost)):
        role(adapter)
    lab.bring_up("ny", "ny1")
    assert role(adapter) is Role.ACTIVE


def test_a_site_is_fenced_and_opened(serve: Callable[..., Lab], adapter_of: Callable[[Site], Adapter]) -> None:
    """Every node of a pair, and its clients are gone; over SSH it is the same backbone."""
    lab = serve(small_world(ha=True))
    adapter = adapter_of(site_of(lab))
    for state, closed in (("down", True), ("up", False)):
        [result] = apply(adapter, "set_backbone", Call("V", {"state": state}))
        assert (result.effect, len(result.sent)) == (Effect.ACCEPTED, 2)
        assert read(adapter, Fence, "V").closed is closed


def test_a_lab_without_semp(serve: Callable[..., Lab]) -> None:
    """Asked for what it does not serve, it says so; and it writes no inventory for it."""
    lab = serve(small_world(), semp=None)
    with pytest.raises(DefinitionError, match="does not serve SEMP"):
        lab.semp_address("ny", "ny1")
    assert not lab.semp_inventory_path.exists()


def test_the_ca_is_kept(tmp_path: Path) -> None:
    """A client that trusts the lab goes on doing so when it starts again; a broken CA is said to be one."""
    first = Authority.at(tmp_path).ca_file.read_bytes()
    assert Authority.at(tmp_path).ca_file.read_bytes() == first
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir())
    (tmp_path / "ca.pem").write_text("no")
    with pytest.raises(DefinitionError, match="CA"):
        Authority.at(tmp_path)


def test_labs_that_begin_at_once_have_one_ca(tmp_path: Path) -> None:
    """Law: labs that begin in one directory at the same moment have the same CA, its key is that of its certificate, and
    so is what they leave behind."""
    for number in range(20):
        folder, gate = tmp_path / str(number), threading.Barrier(4)
        folder.mkdir()

        def begin(folder: Path = folder, gate: threading.Barrier = gate) -> Authority:
            gate.wait()
            return Authority.at(folder)

        with ThreadPoolExecutor(4) as pool:
            made = [one.result() for one in [pool.submit(begin) for _ in range(4)]]
        for one in (*made, Authority.at(folder)):
            client = ssl.create_default_context(cafile=one.ca_file)
            assert shakes_hands(one.server_context("127.0.0.1"), client)


def shakes_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> bool:
    """Does a client trust what a server proves itself with?"""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    try:
        for side in (ours, theirs, ours, theirs):
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    except ssl.SSLError:
        return False
    return ours.getpeercert() is not None


def test_a_controlled_run_over_semp(serve: Callable[..., Lab], tmp_path: Path) -> None:
    """The shipped runbook, from the command line: done, nothing lost, and on record is what the plan showed."""
    vpn = VpnLayout(
        "Trading VPN", publish_rate=50, drain_rate=800, backlog=200, transactions=(TransactionLayout(XID),)
    )
    world = small_world(vpn, ha=True)
    lab = serve(world)
    decisions = tmp_path / "decisions.yaml"
    decisions.write_text(json.dumps({"decisions": [{"xid": XID, "choice": "rollback", "reason": "branch 2 did"}]}))
    (tmp_path / "state").mkdir(mode=0o700)
    command = [sys.executable, "-m", "orchestrator.cli", "controlled", "-i", str(lab.semp_inventory_path)]
    done = subprocess.run(
        [*command, "--all", "--yes", "--xa", str(decisions), "--json"],
        env={**os.environ, "FAILOVER_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    tally = world.tally("Trading VPN")
    assert (tally.lost, tally.both_active, [change.role for change in tally.roles[-2:]]) == (
        0,
        (),
        ["standby", "active"],
    )
    action = f"/SEMP/v2/action/msgVpns/Trading%20VPN/transactions/{XID}"
    assert lab.log("ny", "ny1").changes == (
        'PATCH /SEMP/v2/config/msgVpns/Trading%20VPN {"replicationRole":"standby"}',
        f"PUT {action}/rollback {{}}",
        f"PUT {action}/delete {{}}",
    )
    assert lab.credentials.password not in done.stdout + done.stderr
    assert (
        lab.log("nj", "nj1").changes[0] == 'PATCH /SEMP/v2/config/msgVpns/Trading%20VPN {"replicationRole":"active"}'
    )


# The client and the server by themselves.


def session(server_or_port: HttpServer | int, *, exchange_s: float = 2.0, ca: Path | None = None) -> HttpSession:
    port = server_or_port if isinstance(server_or_port, int) else server_or_port.address[1]
    options = HttpOptions(scheme="http" if ca is None else "https", ca_file=None if ca is None else str(ca))
    return HttpSession(
        "dut",
        (options.scheme, "127.0.0.1", port),
        proof=lambda: "Bearer t",
        trust=trust_of(options),
        limits=Limits(connect_s=0.3, exchange_s=exchange_s),
        clock=SystemClock(),
    )


def test_the_connection_is_kept() -> None:
    """A drain is read many times a minute."""
    peers: set[str] = set()

    def echo(request: Incoming) -> Outgoing:
        peers.add(request.peer)
        return Outgoing(200, request.body)

    server = HttpServer(echo)
    server.start()
    with closing(session(server)) as spoken:
        assert [spoken.exchange(READ).status for _ in range(20)] == [200] * 20
        assert spoken.exchange(Request("PUT", "/a%23b?c=d,e", b"x" * 100_000, "text/plain")).body == b"x" * 100_000
    server.stop()
    server.stop()
    assert len(peers) == 1


@pytest.mark.parametrize(
    ("mishap", "error"), [("drop", ConnectionLost), ("cut", ConnectionLost), ("freeze", CommandTimedOut)]
)
def test_mishaps_of_an_answer(mishap: Mishap, error: type[Exception]) -> None:
    """As a client sees them; the next exchange is on a new connection."""
    left = [mishap]
    server = HttpServer(lambda request: Outgoing(200, b"0123456789", mishap=left.pop() if left else None))
    server.start()
    with closing(session(server, exchange_s=0.5)) as spoken:
        with pytest.raises(error):
            spoken.exchange(READ)
        assert spoken.exchange(READ).body == b"0123456789"
    server.stop()


def test_an_answer_that_trickles_is_cut_off() -> None:
    """Each piece comes in time, and the headers never end: the whole answer has a limit too."""
    listener = socket.create_server(("127.0.0.1", 0))
    is_over = threading.Event()

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not is_over.wait(0.05):
                try:
                    connection.sendall(b"X-More: 1\r\n")
                except OSError:
                    return

    thread = threading.Thread(target=trickle)
    thread.start()
    with closing(session(int(listener.getsockname()[1]), exchange_s=0.4)) as spoken, pytest.raises(CommandTimedOut):
        spoken.exchange(READ)
    is_over.set()
    thread.join()
    listener.close()


def test_a_server_that_is_not_there_and_one_that_does_not_accept() -> None:
    """Unreachable, both of them: nothing can have been obeyed."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = int(listener.getsockname()[1])
    with closing(session(port)) as spoken, pytest.raises(Unreachable):
        spoken.exchange(READ)


def test_a_server_that_admits_nobody() -> None:
    """It takes the connection and says nothing."""
    server = HttpServer(lambda request: Outgoing(200), admits=lambda: False)
    server.start()
    with closing(session(server)) as spoken, pytest.raises(ConnectionLost):
        spoken.exchange(READ)
    server.stop()


@pytest.mark.parametrize(
    "raw", [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"\x00\xff\r\n"]
)
def test_a_server_survives_nonsense(raw: bytes) -> None:
    """And answers the next one."""
    server = HttpServer(lambda request: Outgoing(200, b"ok"))
    server.start()
    with socket.create_connection(server.address, timeout=5) as client:
        client.sendall(raw)
        client.recv(1000)
    with closing(session(server)) as spoken:
        assert spoken.exchange(READ).body == b"ok"
    server.stop()


def test_a_server_speaks_tls_to_those_who_trust_it(tmp_path: Path) -> None:
    """The certificate names the address; a client that does not know the CA is told why it was refused."""
    authority = Authority.at(tmp_path)
    tls = authority.server_context("127.0.0.1")
    assert isinstance(tls, ssl.SSLContext)

    def echo(request: Incoming) -> Outgoing:
        return Outgoing(200, request.target.encode())

    server = HttpServer(echo, tls=tls)
    server.start()
    with closing(session(server, ca=authority.ca_file)) as spoken:
        assert spoken.exchange(Request("GET", "/x%2Fy", is_read=True)).body == b"/x%2Fy"
    (tmp_path / "other").mkdir()
    stranger = Authority.at(tmp_path / "other").ca_file
    with closing(session(server, ca=stranger)) as spoken, pytest.raises(HostKeyRejected):
        spoken.exchange(READ)
    server.stop()
