"""A minimal SSH server around a scripted device, for the client's own tests: real sockets, real key exchange.

It records what clients offered, and can misbehave at every stage. One connection at a time is enough for it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_PARTIALLY_SUCCESSFUL, AUTH_SUCCESSFUL, OPEN_SUCCEEDED
from paramiko.server import InteractiveQuery

from orchestrator.errors import ConnectionLost
from tests.ssh.scripted import ScriptedDevice

OPEN_REFUSED = 1


@dataclass
class Sshd:
    """What the server allows, and what it saw. ``offers`` lists each (method, whether it was right)."""

    device: ScriptedDevice
    keys: Sequence[paramiko.PKey]
    username: str = "admin"
    password: str | None = "s3cret-Pa55"
    methods: str = "password"
    public_key: paramiko.PKey | None = None
    partial: str = ""
    questions: tuple[tuple[str, bool], ...] = (("Password: ", False),)
    asks_again: bool = False
    hangs_up_on_failure: bool = False
    opens_channels: bool = True
    answers_shell: bool = True
    is_frozen: threading.Event = field(default_factory=threading.Event)
    offers: list[tuple[str, bool]] = field(default_factory=list)
    terminals: list[tuple[int, int]] = field(default_factory=list)
    transports: list[paramiko.Transport] = field(default_factory=list)
    port: int = 0

    @contextmanager
    def running(self) -> Iterator[Sshd]:
        """Serve on a free port until the block ends."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            stopped = threading.Event()
            acceptor = threading.Thread(target=self._accept, args=(listener, stopped), daemon=True)
            acceptor.start()
            try:
                yield self
            finally:
                stopped.set()
                for transport in self.transports:
                    transport.close()
                acceptor.join(5)

    def _accept(self, listener: socket.socket, stopped: threading.Event) -> None:
        listener.settimeout(0.05)
        while not stopped.is_set():
            try:
                client, _ = listener.accept()
            except TimeoutError:
                continue
            transport = paramiko.Transport(client)
            transport.set_log_channel("test.sshd")
            for key in self.keys:
                transport.add_server_key(key)
            self.transports.append(transport)
            try:
                transport.start_server(event=threading.Event(), server=_Server(self, transport))
            except (paramiko.SSHException, EOFError, OSError):
                transport.close()


class _Server(paramiko.ServerInterface):
    def __init__(self, sshd: Sshd, transport: paramiko.Transport) -> None:
        self._sshd = sshd
        self._transport = transport
        self._asked = 0

    def get_allowed_auths(self, username: str) -> str:
        return self._sshd.partial if any(right for _, right in self._sshd.offers) else self._sshd.methods

    def _judge(self, method: str, is_right: bool) -> int:
        sshd = self._sshd
        sshd.offers.append((method, is_right))
        if not is_right and sshd.hangs_up_on_failure:
            self._transport.close()
        if not is_right:
            return AUTH_FAILED
        return AUTH_PARTIALLY_SUCCESSFUL if sshd.partial else AUTH_SUCCESSFUL

    def check_auth_password(self, username: str, password: str) -> int:
        if "password" not in self._sshd.methods.split(","):
            return AUTH_FAILED
        return self._judge("password", (username, password) == (self._sshd.username, self._sshd.password))

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return self._judge("publickey", key == self._sshd.public_key)

    def check_auth_interactive(self, username: str, submethods: str) -> int | InteractiveQuery:
        if "keyboard-interactive" not in self._sshd.methods.split(","):
            return AUTH_FAILED
        return InteractiveQuery("", "", *self._sshd.questions)

    def check_auth_interactive_response(self, responses: list[str]) -> int | InteractiveQuery:
        is_right = list(responses) == [self._sshd.password]
        if not is_right and self._sshd.asks_again and self._asked < 3:
            self._asked += 1
            self._sshd.offers.append(("keyboard-interactive", False))
            return InteractiveQuery("", "", *self._sshd.questions)
        return self._judge("keyboard-interactive", is_right)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED if self._sshd.opens_channels else OPEN_REFUSED

    def check_channel_pty_request(
        self,
        channel: paramiko.Channel,
        term: bytes,
        width: int,
        height: int,
        pixelwidth: int,
        pixelheight: int,
        modes: bytes,
    ) -> bool:
        self._sshd.terminals.append((width, height))
        return True

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        if not self._sshd.answers_shell:
            self._sshd.is_frozen.wait(5)
            return False
        threading.Thread(target=self._converse, args=(channel,), daemon=True).start()
        return True

    def _converse(self, channel: paramiko.Channel) -> None:
        with suppress(OSError, EOFError, paramiko.SSHException):  # the client may go at any moment
            self._talk(channel)

    def _talk(self, channel: paramiko.Channel) -> None:
        line = self._sshd.device.connect()
        channel.settimeout(0.05)
        while line.is_open and self._transport.is_active():
            while text := line.receive(0):
                channel.sendall(text)
            try:
                typed = channel.recv(1024)
            except TimeoutError:
                continue
            if not typed:
                return
            line.send(typed)
        while text := _rest(line.receive):
            channel.sendall(text)
        self._transport.close()


def _rest(receive: Callable[[float], bytes]) -> bytes:
    """What a broken line still had to say."""
    try:
        return receive(0)
    except ConnectionLost:
        return b""


def until(condition: Callable[[], bool], within_s: float = 5.0) -> bool:
    """Wait, on the machine's clock, until ``condition`` holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
