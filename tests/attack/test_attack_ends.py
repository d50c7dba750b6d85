"""A peer ends its connection after any byte: every adapter answers with an error of this program, or with the truth."""

from __future__ import annotations

import gc
import logging
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import psycopg
import pytest

from adapters.declared.family import family_of
from adapters.solace.reading_models import DeviceHealth
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.family.contract import Adapter, AdapterContext, Call, Permit, Result
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Device, Login, SecretRef, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from simulator.http.certificates import Authority
from simulator.http.server import Handler, HttpServer
from simulator.lab.command_log import CommandLog
from simulator.lab.semp.accounts import Sessions
from simulator.lab.semp.semp import SempNode
from simulator.lab.server import Lab
from tests.amps_admin.instance import ScriptedInstance
from tests.attack.ending import Cut, Door, Hasty, Way, every, sampled, silent, trial, troubles
from tests.families import declared_api, declared_messages
from tests.families.test_declared_ssh import SSHD, Server
from tests.journal.servers import a_server
from tests.lab.bench import ACTIVE, STANDBY, BenchAppliance

pytestmark = pytest.mark.realtime

# Long enough for a busy machine. Only a silent peer takes it all.
PATIENCE_S = 5.0
RIGHT, WRONG = declared_messages.PASSWORD, "battery-staple"
LEDGER: Mapping[str, Any] = {
    "family": "ledger",
    "summary": "A table with a row for each name.",
    "connect": {"sql": {"driver": "postgresql+psycopg", "database": "postgres"}},
    "readings": {
        "ledger": {
            "summary": "is the name written, and how often",
            "sql": "select count(*) > 0 as there, count(*) as lines from ledger where name = :service",
            "timeout": "5s",
            "fields": {"there": {"type": "bool", "facet": "serves"}, "lines": {"type": "number"}},
        }
    },
    "actions": {
        "write": {
            "summary": "write it",
            "sql": ["insert into ledger values (:service)"],
            "idempotent": True,
            "timeout": "5s",
        },
    },
}


def context() -> AdapterContext:
    return AdapterContext(Hasty(), SecretStore())


def adapter_of(
    family: Mapping[str, Any], port: int, password: str, patience_s: float = PATIENCE_S, **options: Any
) -> Adapter:
    """The adapter of a site of a declared family."""
    name = str(family["family"])
    site = Site.model_validate(
        {
            "name": "ny",
            "adapter": name,
            "devices": [{"name": "ny1", "address": "127.0.0.1", "port": port}],
            "login": {"username": "ops", "password": {"inline": password}},
            "connect_timeout": patience_s,
            "options": options,
        }
    )
    kind = family_of(FamilyFile.model_validate(family), None).adapters[name]
    return cast("Adapter", kind(site, context()))  # type: ignore[call-arg]


def _moved(site: Site, port: int) -> Site:
    [device] = site.devices
    there = (device.model_copy(update={"port": port}),)
    return site.model_copy(update={"devices": there, "connect_timeout": PATIENCE_S, "command_timeout": PATIENCE_S})


def _login(username: str, password: str) -> Login:
    return Login(username=username, password=SecretRef.model_validate({"inline": password}))


@contextmanager
def nats(folder: Path, action: str = "", *, password: str = "", is_abrupt: bool = False) -> Iterator[Door]:
    """Messages of a declared family."""
    pytest.importorskip("nats", reason="no client of NATS: pip install nats-py")
    plant = declared_messages.Plant(is_abrupt=is_abrupt)

    def reset() -> None:
        plant.valve = {"room": "A", "note": "x", "size": 3}
        plant.heard.clear()

    options: dict[str, Any] = {"room": "A", "pipes": ["cold", "hot"], "mate": "W", "scheme": "nats"}
    with declared_messages.served(plant) as port:
        yield Door(
            port,
            lambda port: adapter_of(declared_messages.VALVE, port, password or RIGHT, **options),
            "valve",
            "one",
            action,
            reset=reset,
            obeyed=lambda: sum(line.startswith("request V.SET") for line in plant.heard),
            is_refused=bool(password),
        )


@contextmanager
def http(folder: Path, action: str = "", *, password: str = "") -> Iterator[Door]:
    """An API of a declared family."""
    room = declared_api.Room()

    def reset() -> None:
        room.on = False
        room.heard.clear()

    with declared_api.served(room) as port:
        yield Door(
            port,
            lambda port: adapter_of(declared_api.SWITCH, port, password or "word", room="A 1/2", scheme="http"),
            "switch",
            "one",
            action,
            reset=reset,
            obeyed=lambda: sum(line.startswith("PUT") for line in room.heard),
            is_refused=bool(password),
        )


@contextmanager
def cli(folder: Path, action: str = "", *, password: str = "") -> Iterator[Door]:
    """The CLI of an appliance of the lab, over SSH."""
    near, far = BenchAppliance(), BenchAppliance("NJ_Appliance1", {"Trading_VPN": STANDBY})
    with Lab.start({("ny", "ny1"): near, ("nj", "nj1"): far}, directory=folder) as lab:
        site = load_inventory(lab.inventory_path)[0].sites["ny"]
        login = _login(lab.credentials.username, password) if password else site.login
        yield replace(
            _of_appliance(near, action, site.model_copy(update={"login": login})),
            port=site.devices[0].port,
            is_refused=bool(password),
        )


@contextmanager
def semp(folder: Path, action: str = "", *, password: str = "", has_tls: bool = False) -> Iterator[Door]:
    """SEMP of an appliance of the lab. Each end of a connection may leave a session there; they are forgotten."""
    near, sessions = BenchAppliance(), Sessions("operator", RIGHT, "token")
    clock, scheme = SystemClock(), "https" if has_tls else "http"
    authority = Authority.at(folder)
    site = Site(
        name="ny",
        adapter="solace-semp",
        devices=(Device(name="ny1", address="127.0.0.1"),),
        login=_login("operator", password or RIGHT),
        options={"ca_file": str(authority.ca_file)} if has_tls else {"scheme": "http"},
    )
    with serving(
        SempNode(near, CommandLog(clock), sessions, clock=clock, scheme=scheme), authority if has_tls else None
    ) as port:
        door = _of_appliance(near, action, site)

        def reset() -> None:
            door.reset()
            sessions.forget_all()

        yield replace(door, port=port, reset=reset, is_refused=bool(password))


def _of_appliance(appliance: BenchAppliance, action: str, site: Site) -> Door:
    def reset() -> None:
        appliance.rows["Trading_VPN"] = ACTIVE
        appliance.done.clear()

    return Door(
        0,
        lambda port: Registry().adapter_for(_moved(site, port), context()),
        "replication",
        "Trading_VPN",
        action,
        {"role": "standby"},
        reset=reset,
        obeyed=lambda: len(appliance.done),
    )


@contextmanager
def serving(handler: Handler, authority: Authority | None) -> Iterator[int]:
    """The port of an HTTP server, with TLS if there is an authority for its certificate."""
    server = HttpServer(handler, tls=authority.server_context("127.0.0.1") if authority else None)
    server.start()
    try:
        yield server.address[1]
    finally:
        server.stop()


@contextmanager
def amps(folder: Path, action: str = "", *, has_tls: bool = False) -> Iterator[Door]:
    """The administration of a scripted instance of AMPS."""
    instances: list[ScriptedInstance] = []

    def reset() -> None:
        instances[:] = [ScriptedInstance(VirtualClock(SystemClock().now()))]

    authority = Authority.at(folder)
    site = Site(
        name="ny",
        adapter="amps-admin",
        devices=(Device(name="amps-1", address="127.0.0.1"),),
        login=_login("failover", RIGHT),
        options={"ca_file": str(authority.ca_file)} if has_tls else {"scheme": "http"},
    )
    with serving(lambda incoming: instances[0].handle(incoming), authority if has_tls else None) as port:
        yield Door(
            port,
            lambda port: Registry().adapter_for(_moved(site, port), context()),
            "transports",
            "orders",
            action,
            {"state": "disabled"},
            reset=reset,
            obeyed=lambda: instances[0].obeyed,
            is_unknown_after=bool(action),
        )


@contextmanager
def commands(folder: Path, action: str = "") -> Iterator[Door]:
    """Commands at a real OpenSSH server. The name of the service is a file that is copied."""
    if SSHD is None or os.geteuid() != 0:
        pytest.skip("sshd is not installed, or we are not root, as it wants to be")
    gate = folder / "gate"
    with TemporaryDirectory(prefix="e") as short, Server(folder).running() as server:
        source = Path(short) / "o"
        source.write_text("open\n")

        yield Door(
            server.port,
            lambda port: server.adapter(str(gate), port=port),
            "gate",
            str(source),
            action,
            reset=lambda: gate.write_text("shut\n"),
            obeyed=lambda: int(gate.read_text() == "open\n"),
        )


@contextmanager
def sql(folder: Path, action: str = "", *, password: str = "", patience_s: float = PATIENCE_S) -> Iterator[Door]:
    """A table of a real PostgreSQL server, whose account has a password."""
    with a_server() as server:
        server.make()
        rules = server.data / "pg_hba.conf"
        rules.write_text(f"host all ops 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        server.start("fsync=off")
        where = f"host=127.0.0.1 port={server.port} user=tester dbname=postgres"
        with psycopg.connect(where, autocommit=True) as own:
            own.execute(f"create role ops login superuser password '{RIGHT}'")
            own.execute("create table ledger (name text)")

            def written() -> int:
                [(found,)] = own.execute("select count(*) from ledger").fetchall()
                return int(found)

            yield Door(
                server.port,
                lambda port: adapter_of(LEDGER, port, password or RIGHT, patience_s),
                "ledger",
                "one",
                action,
                reset=lambda: own.execute("delete from ledger"),
                obeyed=written,
                is_refused=bool(password),
            )


# For each dialogue: its server, what is done there, how many cuts of each way are played, and how many of each byte in
# the long form.
DOORS: Mapping[str, tuple[Callable[..., Any], Mapping[str, Any], int, int]] = {
    "nats-reading": (nats, {}, 24, 12),
    "nats-action": (nats, {"action": "open"}, 24, 12),
    "nats-refused": (nats, {"password": WRONG}, 16, 12),
    "nats-refused-abruptly": (nats, {"password": WRONG, "is_abrupt": True}, 16, 12),
    "http-reading": (http, {}, 16, 5),
    "http-action": (http, {"action": "turn_on"}, 16, 5),
    "http-refused": (http, {"password": WRONG}, 10, 5),
    "semp-reading": (semp, {}, 12, 1),
    "semp-action": (semp, {"action": "set_role"}, 16, 1),
    "semp-tls-reading": (semp, {"has_tls": True}, 12, 1),
    "semp-tls-action": (semp, {"has_tls": True, "action": "set_role"}, 12, 1),
    "semp-tls-refused": (semp, {"has_tls": True, "password": WRONG}, 10, 1),
    "amps-reading": (amps, {}, 12, 1),
    "amps-action": (amps, {"action": "set_client_transports"}, 12, 1),
    "amps-tls-action": (amps, {"action": "set_client_transports", "has_tls": True}, 12, 1),
    "cli-reading": (cli, {}, 5, 1),
    "cli-action": (cli, {"action": "set_role"}, 5, 1),
    "cli-refused": (cli, {"password": WRONG}, 6, 1),
    "commands-reading": (commands, {}, 5, 1),
    "commands-action": (commands, {"action": "copy"}, 5, 1),
    "sql-reading": (sql, {}, 16, 5),
    "sql-action": (sql, {"action": "write"}, 16, 5),
    "sql-refused": (sql, {"password": WRONG}, 16, 5),
}
Choice = Callable[[Mapping[Way, int]], Iterator[Cut]]


@pytest.mark.parametrize("name", DOORS)
def test_a_connection_that_ends(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Law: wherever and however the peer ends a connection, the adapter raises only errors of this program, ends in time,
    reads only the truth, and never denies an action that the server obeyed. No library prints a warning."""
    _play(name, tmp_path, caplog, lambda length: sampled(length, DOORS[name][2], name))


@pytest.mark.long
@pytest.mark.parametrize("name", DOORS)
def test_a_connection_that_ends_after_each_byte(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Law: the same holds after every byte of the dialogue."""
    _play(name, tmp_path, caplog, lambda length: every(length, DOORS[name][3]))


def test_a_database_that_falls_silent(tmp_path: Path) -> None:
    """Law: a database that lets the login in, and then says no more, is given up in time."""
    with sql(tmp_path, patience_s=2.0) as door, trial(door) as played:
        half = Cut("asked", played.length["asked"] // 2, "silent", is_late=False, is_once=True)
        assert not played.trouble(half)


@pytest.mark.long
@pytest.mark.parametrize("name", DOORS)
def test_a_peer_that_falls_silent(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Law: the same holds for a peer that stays connected, while nothing arrives any more."""
    _play(name, tmp_path, caplog, lambda length: silent(length, 6))


def _play(name: str, folder: Path, caplog: pytest.LogCaptureFixture, choice: Choice) -> None:
    make, given, _, _ = DOORS[name]
    with make(folder, **given) as door:
        wrong = troubles(door, choice)
    assert not wrong, "\n".join(wrong)
    assert not (said := _said(caplog)), said


class _Naive:
    """An adapter that maps no error, takes what it has for the answer, and believes that it was obeyed."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._line = socket.create_connection(("127.0.0.1", port))

    def open(self) -> None:
        """It is open."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self._line.sendall(b"read\n")
        return {services[0]: DeviceHealth(node=self._line.recv(100).decode())}

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        with suppress(OSError):
            self._line.sendall(b"do\n")
            self._line.recv(100)
        self.close()
        self._line = socket.create_connection(("127.0.0.1", self._port))
        yield Result(calls[0], Effect.ACCEPTED)

    def close(self) -> None:
        self._line.close()


def test_control_a_naive_adapter() -> None:
    """Negative control: another exception, a wrong reading and a wrong result are all found."""
    heard: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while (line := self.rfile.readline()).endswith(b"\n"):
                heard.append(line)
                self.wfile.write(b"done" if b"do\n" in heard else b"idle")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        door = Door(
            server.server_address[1],
            lambda port: cast("Adapter", _Naive(port)),
            "health",
            "one",
            reset=heard.clear,
            obeyed=lambda: heard.count(b"do\n"),
        )
        reset, short = (Cut("answered", 2, manner, is_late=False, is_once=True) for manner in ("reset", "closed"))
        [found] = troubles(door, lambda length: iter([replace(reset, after=0)]))
        assert "raised ConnectionResetError" in found
        [found] = troubles(door, lambda length: iter([short]))
        assert "reads {'kind': 'health', 'node': 'id'" in found
        acting = replace(door, action="do")
        [found] = troubles(acting, lambda length: iter([replace(short, way="asked")]))
        assert "the server did not obey" in found
        server.shutdown()


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What Python would print for an operator, since nothing handles it."""
    gc.collect()
    return [
        f"{one.name}: {one.getMessage()}"
        for one in caplog.records
        if one.levelno >= logging.WARNING and not one.name.startswith(("paramiko", "test.", "failover.ssh.server"))
    ]
