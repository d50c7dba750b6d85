"""A node's SEMP on a loopback port, in addition to its SSH: with the same appliance, log and account.

It uses TLS with a certificate of the lab's own CA, or clear text. It must not depend on the implementation of the
appliance.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from orchestrator.clock import Clock
from simulator.http.server import HttpServer
from simulator.lab.cli.plans import Level
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import Edition
from simulator.lab.pace import NodePace
from simulator.lab.semp.accounts import SESSIONS_MAX, Sessions
from simulator.lab.semp.semp import SempNode
from simulator.solace.appliance import Appliance

Scheme = Literal["https", "http"]


@dataclass(frozen=True, slots=True)
class SempAccount:
    """The account of SEMP: a login, and a bearer token."""

    username: str
    password: str
    token: str
    level: Level


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The objects that a node's SEMP shares with its SSH: clock, pace, latency, and the functions of the world."""

    clock: Clock
    edition: Edition
    hold: Callable[[], AbstractContextManager[object]]
    admits: Callable[[], bool]
    approves: Callable[[], bool]
    pace: NodePace
    latency_s: float = 0.0
    sessions_max: int = SESSIONS_MAX


class SempServer:
    """SEMP of one node. ``tls`` None: plain HTTP. Start and stop may alternate. A stop ends all sessions."""

    def __init__(
        self,
        appliance: Appliance,
        log: CommandLog,
        account: SempAccount,
        around: Surroundings,
        *,
        address: tuple[str, int],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.sessions = Sessions(
            account.username,
            account.password,
            account.token,
            approves=around.approves,
            sessions_max=around.sessions_max,
        )
        node = SempNode(
            appliance,
            log,
            self.sessions,
            clock=around.clock,
            level=account.level,
            edition=around.edition,
            scheme="http" if tls is None else "https",
            hold=around.hold,
        )
        self._http = HttpServer(
            around.pace.handler(node),
            host=address[0],
            port=address[1],
            tls=tls,
            latency_s=around.latency_s,
            admits=around.admits,
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self._http.address

    def start(self) -> None:
        """Listen. Raises ``OSError``."""
        self._http.start()

    def stop(self) -> None:
        """Close the port, break every connection, end every session."""
        self._http.stop()
        self.sessions.forget_all()
