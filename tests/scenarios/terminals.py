"""The CLI of every node of a world, in this process and on its virtual time: the lab's terminal without a port.

What the adapter types goes to the very shell that the lab serves over SSH; only the transport is left out.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from adapters.ssh.line import Line
from orchestrator.clock import Clock
from orchestrator.errors import AuthenticationFailed, ConnectionLost, Unreachable
from orchestrator.model.inventory import Device
from simulator.lab.cli.cli import CliSession
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import SEED, Edition
from simulator.lab.of_world import FaultyAppliance
from simulator.solace.fault_injection import Seen
from simulator.solace.world import World
from simulator.ssh.shell import Chaos, ServerTerminal, Shell


class Terminals:
    """Log-ins to the nodes of ``world``, which speak as ``edition`` has it. ``logs``: what each heard, by its name."""

    def __init__(self, world: World, edition: Edition = SEED) -> None:
        self._world = world
        self.edition = edition
        self._sites = {node: site for site, centre in world.centres.items() for node in centre.nodes}
        self.logs: Mapping[str, CommandLog] = {node: CommandLog(world.clock) for node in self._sites}

    def connect(self, device: Device) -> Line:
        """A new session. Raises ``Unreachable`` or ``AuthenticationFailed``."""
        name, site = device.name, self._sites[device.name]
        if not self._world.reachable(site, name):
            raise Unreachable(f"{name} cannot be reached over SSH: connection refused", device=name)
        login = Seen("login", site)
        with self._world.request():
            is_refused = self._world.answer_fault(login) is not None
            self._world.notice(login)
        if is_refused:
            raise AuthenticationFailed(f"{name} does not let operator in", device=name)
        shell = CliSession(
            FaultyAppliance(self._world, site, name, self.edition.views),
            self.logs[name],
            edition=self.edition,
            hold=lambda: self._hold(site, name),
        )
        return TerminalLine(shell, self._world.clock)

    @contextmanager
    def _hold(self, site: str, node: str) -> Iterator[None]:
        with self._world.request():
            if not self._world.reachable(site, node):
                raise Unreachable(f"{node} is gone")
            yield


class _Silence(Exception):
    """The device says nothing more."""


class _Mute(Chaos):
    def freeze(self, stop: threading.Event) -> bool:
        raise _Silence


class TerminalLine:
    """The adapter's end of a terminal. What is typed is answered at once; waiting lets the clock go on."""

    def __init__(self, shell: Shell, clock: Clock) -> None:
        self._clock = clock
        self._said: deque[bytes] = deque()
        self._is_silent = False
        self._terminal = ServerTerminal(_Server(self._said), shell, chaos=_Mute())
        self._is_open = self._terminal.begin()

    @property
    def is_open(self) -> bool:
        return self._is_open

    def send(self, data: bytes) -> None:
        if not self._is_open:
            raise Unreachable("the line was closed; nothing was sent")
        if self._is_silent:
            return
        try:
            self._is_open = self._terminal.take(data)
        except _Silence:
            self._is_silent = True

    def receive(self, within_s: float) -> bytes:
        if self._said:
            return self._said.popleft()
        if not self._is_open:
            raise ConnectionLost("the line broke")
        self._clock.sleep(within_s)
        return b""

    def close(self) -> None:
        self._is_open = False


class _Server:
    """The shell's end: what it says is there to be received."""

    def __init__(self, said: deque[bytes]) -> None:
        self._said = said

    def receive(self) -> bytes:
        raise AssertionError("nobody waits for what is typed")

    def send(self, data: bytes) -> None:
        self._said.append(data)

    def drop(self) -> None:
        """The line is closed by whoever typed."""
