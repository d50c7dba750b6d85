"""A bench appliance whose values a test sets by hand, and how tests talk to it: in process, and over SSH."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import paramiko

from orchestrator.clock import VirtualClock
from simulator.lab.cli.cli import CliSession
from simulator.lab.command_log import CommandLog
from simulator.lab.server import Credentials, Lab
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

    def __init__(self, appliance: BenchAppliance, **options: Any) -> None:
        self.appliance = appliance
        self.clock = VirtualClock()
        self.log = CommandLog(self.clock)
        self.session = CliSession(appliance, self.log, **options)

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


def dialogue(appliance: BenchAppliance | None = None, *, paging: bool = False, **options: Any) -> Dialogue:
    """A session with an appliance; ``options`` are what ``CliSession`` takes."""
    made = Dialogue(appliance or BenchAppliance(), **options)
    if not paging:
        made.say("no paging")
    return made


def golden(name: str) -> str:
    """The text of a printed example."""
    return (Path(__file__).with_name("golden") / f"{name}.txt").read_text(encoding="utf-8")


class Labs(Protocol):
    """``start_lab(ny=…, nj=…, credentials=…, **LabSettings)``: two sites of one node each, stopped afterwards."""

    def __call__(
        self,
        ny: BenchAppliance | None = None,
        nj: BenchAppliance | None = None,
        credentials: Credentials | None = None,
        **settings: Any,
    ) -> Lab: ...


class Clients(Protocol):
    """``connect(lab, site, node)``, closed afterwards; not logged in yet."""

    def __call__(self, lab: Lab, site: str = "ny", node: str = "ny1") -> Client: ...


class Client:
    """A paramiko client of a node: one connection, shells on it, reading until a prompt."""

    def __init__(self, lab: Lab, site: str = "ny", node: str = "ny1") -> None:
        self.lab = lab
        self.socket = socket.create_connection(lab.address(site, node), timeout=10)
        self.transport = paramiko.Transport(self.socket)
        self.transport.start_client(timeout=10)
        key = self.transport.get_remote_server_key()
        self.host_key = f"{key.get_name()} {key.get_base64()}"

    def log_in(self) -> Client:
        self.transport.auth_password(self.lab.credentials.username, self.lab.credentials.password)
        return self

    def shell(self, *, columns: int = 200, rows: int = 500) -> paramiko.Channel:
        channel = self.transport.open_session(timeout=10)
        channel.settimeout(10)
        channel.get_pty(width=columns, height=rows)
        channel.invoke_shell()
        return channel

    def close(self) -> None:
        self.transport.close()
        self.transport.join(10)
        self.socket.close()


def read_until(channel: paramiko.Channel, *ends: str) -> str:
    """What arrives until it ends in one of ``ends`` (a prompt). AssertionError when the stream ends first."""
    text = ""
    while not text.endswith(ends):
        data = channel.recv(65536)
        assert data, f"the stream ended after {text!r}"
        text += data.decode()
    return text


def ask(channel: paramiko.Channel, line: str, *ends: str) -> str:
    """Type a line; what arrives until one of ``ends``, by default a prompt."""
    channel.sendall(f"{line}\r".encode())
    return read_until(channel, *(ends or ("> ", "# ")))
