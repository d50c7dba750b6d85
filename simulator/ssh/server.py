"""A small SSH server for line-oriented shells. It makes the lab's simulated devices reachable.

It only authenticates and gives a terminal and a shell: no commands (exec), no subsystems, no forwarding.
Errors of a client end that client's connection, never the server. The server must not depend on the use of the shells.
"""

from __future__ import annotations

import hmac
import logging
import selectors
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_FAILED_RESOURCE_SHORTAGE,
    OPEN_SUCCEEDED,
)
from paramiko.server import InteractiveQuery

from simulator.ssh.host_key import ServerKey
from simulator.ssh.shell import Chaos, ServerTerminal, Shell

AuthMethod = Literal["publickey", "password", "keyboard-interactive"]
AUTH_METHODS: tuple[AuthMethod, ...] = ("publickey", "password", "keyboard-interactive")
CHANNELS_MAX = 10  # MaxSessions of OpenSSH
_LOG_CHANNEL = "failover.ssh.server"
_RECEIVE_BYTES = 4096

# Without a handler paramiko would print the errors of clients on the operator's screen.
logging.getLogger(_LOG_CHANNEL).addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Account:
    """An account and its credentials. ``public_keys`` are ``<type> <base64>``, as in ``authorized_keys``."""

    username: str
    password: str | None = field(default=None, repr=False)
    public_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Login:
    """An authenticated client. ``peer`` is its address and port."""

    username: str
    method: AuthMethod
    peer: str


class SshServer:
    """Shells over SSH on one address. ``shells`` creates a shell for each login that requests a terminal session.

    ``latency_s``: the delay before each answer. ``port`` 0 takes a free port. ``chaos`` holds the faults that tests
    ordered. If ``admits`` returns False, the client is disconnected at once. If ``approves`` returns False, a login is
    refused even with valid credentials. The server can stop and start again on the same port.
    """

    def __init__(
        self,
        shells: Callable[[Login], Shell],
        accounts: Iterable[Account],
        key: ServerKey,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        methods: Sequence[AuthMethod] = AUTH_METHODS,
        latency_s: float = 0.0,
        chaos: Chaos | None = None,
        banner: str = "",
        admits: Callable[[], bool] = lambda: True,
        approves: Callable[[str], bool] = lambda username: True,
    ) -> None:
        self._shells = shells
        self._accounts = {account.username: account for account in accounts}
        self._key = key
        self._address = (host, port)
        self._methods = tuple(methods)
        self._latency_s = latency_s
        self.chaos = chaos if chaos is not None else Chaos()
        self._banner = banner
        self._admits = admits
        self._approves = approves
        self._listener: _Listener | None = None

    @property
    def host_key_line(self) -> str:
        """The public host key, ``<type> <base64>``."""
        return self._key.line

    @property
    def address(self) -> tuple[str, int]:
        """Host and port. If a free port was requested, the port is 0 until the first start."""
        return self._address

    @property
    def is_running(self) -> bool:
        return self._listener is not None

    def start(self) -> None:
        """Listen. Raises OSError when the port is taken. Does nothing if the server is already running."""
        if self._listener is None:
            self._listener = _Listener(self._address, self._serve)
            self._address = self._listener.address

    def stop(self) -> None:
        """Close the listener and every connection, and wait for their threads."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def __enter__(self) -> SshServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self, client: socket.socket, peer: str, stop: threading.Event) -> _Connection:
        if not self._admits():
            raise ConnectionRefusedError
        gate = _Gate(self._accounts, self._methods, self._banner, self._approves)
        connection = _Connection(client, gate, self._key)

        def open_shell(channel: paramiko.Channel, columns: int, rows: int) -> Shell:
            shell = self._shells(gate.login(peer))
            shell.resize(columns, rows)
            wire = _ChannelWire(channel, connection)
            terminal = ServerTerminal(wire, shell, chaos=self.chaos, latency_s=self._latency_s, stop=stop)
            connection.hold(terminal, channel, shell)
            return shell

        gate.open_shell = open_shell
        connection.start()
        return connection


class _Gate(paramiko.ServerInterface):
    """The permissions of one connection: log in, open sessions, get a terminal and a shell in each session."""

    def __init__(
        self,
        accounts: Mapping[str, Account],
        methods: Sequence[AuthMethod],
        banner: str,
        approves: Callable[[str], bool],
    ) -> None:
        self._accounts = accounts
        self._approves = approves
        self._methods = methods
        self._banner = banner
        self._login: tuple[str, AuthMethod] | None = None
        self._asked: str = ""  # the user of the keyboard-interactive question
        self._sizes: dict[int, tuple[int, int]] = {}
        self._shells: dict[int, Shell] = {}
        self._channels: dict[int, paramiko.Channel | None] = {}
        self.open_shell: Callable[[paramiko.Channel, int, int], Shell]

    def login(self, peer: str) -> Login:
        assert self._login is not None, "no session channel is opened before authentication"
        return Login(self._login[0], self._login[1], peer)

    def get_banner(self) -> tuple[str | None, str | None]:
        return (self._banner, "en-US") if self._banner else (None, None)

    def get_allowed_auths(self, username: str) -> str:
        return ",".join(self._methods)

    def check_auth_none(self, username: str) -> int:
        return AUTH_FAILED

    def check_auth_password(self, username: str, password: str) -> int:
        return self._judge(username, "password", self._has_password(username, password))

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        account = self._accounts.get(username)
        offered = f"{key.get_name()} {key.get_base64()}"
        return self._judge(username, "publickey", account is not None and offered in account.public_keys)

    def check_auth_interactive(self, username: str, submethods: bytes | str) -> int | InteractiveQuery:
        if "keyboard-interactive" not in self._methods:
            return AUTH_FAILED
        self._asked = username
        query = InteractiveQuery()
        query.add_prompt("Password: ", echo=False)
        return query

    def check_auth_interactive_response(self, responses: list[str]) -> int | InteractiveQuery:
        fits = len(responses) == 1 and self._has_password(self._asked, responses[0])
        return self._judge(self._asked, "keyboard-interactive", fits)

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if kind != "session":
            return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        self._channels = {
            number: channel for number, channel in self._channels.items() if channel is None or not channel.closed
        }
        if len(self._channels) >= CHANNELS_MAX:
            return OPEN_FAILED_RESOURCE_SHORTAGE
        self._channels[chanid] = None
        return OPEN_SUCCEEDED

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
        self._channels[channel.get_id()] = channel
        self._sizes[channel.get_id()] = (width, height)
        return True

    def check_channel_window_change_request(
        self, channel: paramiko.Channel, width: int, height: int, pixelwidth: int, pixelheight: int
    ) -> bool:
        shell = self._shells.get(channel.get_id())
        if shell is not None:
            shell.resize(width, height)
        return shell is not None

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        number = channel.get_id()
        self._channels[number] = channel
        if number in self._shells:
            return False  # one shell per channel (RFC 4254, 6.5)
        self._shells[number] = self.open_shell(channel, *self._sizes.get(number, (0, 0)))
        return True

    def _has_password(self, username: str, password: str) -> bool:
        account = self._accounts.get(username)
        known = "" if account is None or account.password is None else account.password
        return hmac.compare_digest(known.encode(), password.encode()) and known != ""

    def _judge(self, username: str, method: AuthMethod, fits: bool) -> int:
        if not fits or method not in self._methods or not self._approves(username):
            return AUTH_FAILED
        self._login = (username, method)
        return AUTH_SUCCESSFUL


class _Connection:
    """One client: paramiko's thread for the protocol, and one thread for each terminal."""

    def __init__(self, client: socket.socket, gate: _Gate, key: ServerKey) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = client
        self._gate = gate
        self._transport = paramiko.Transport(client)
        self._transport.set_log_channel(_LOG_CHANNEL)
        self._transport.add_server_key(key.private)
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        # With an event, paramiko negotiates in its own thread. A client that sends garbage then does not block others.
        self._transport.start_server(event=threading.Event(), server=self._gate)

    @property
    def is_over(self) -> bool:
        return not self._transport.is_alive()

    def hold(self, terminal: ServerTerminal, channel: paramiko.Channel, shell: Shell) -> None:
        def run() -> None:
            terminal.run()
            with suppress(OSError, EOFError, paramiko.SSHException):
                if shell.wants == "nothing":
                    channel.send_exit_status(0)
                channel.close()

        thread = threading.Thread(target=run, name=f"shell-{channel.get_id()}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def drop(self) -> None:
        """Break the connection without a message to the client, as a lost network would."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._transport.close()

    def close(self) -> None:
        self._transport.close()
        for thread in [*self._threads, self._transport]:
            thread.join()


class _ChannelWire:
    """A channel as the wire of a terminal. ``drop`` breaks the whole connection."""

    def __init__(self, channel: paramiko.Channel, connection: _Connection) -> None:
        self._channel = channel
        self._connection = connection

    def receive(self) -> bytes:
        return self._channel.recv(_RECEIVE_BYTES)

    def send(self, data: bytes) -> None:
        self._channel.sendall(data)

    def drop(self) -> None:
        self._connection.drop()


class _Listener:
    """The listening socket and its thread. Both last from one start to the next stop."""

    def __init__(
        self, address: tuple[str, int], serve: Callable[[socket.socket, str, threading.Event], _Connection]
    ) -> None:
        self._serve = serve
        self._stop = threading.Event()
        self._connections: list[_Connection] = []
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._socket = socket.create_server(address, family=family, backlog=128)
        self._waker, self._wakened = socket.socketpair()
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._accept, name=f"ssh-server-{self.address[1]}", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            while not self._stop.is_set():
                selector.select()
                if self._stop.is_set():
                    return
                self._connections = [known for known in self._connections if not known.is_over]
                with suppress(OSError):  # the client left before it was greeted
                    client, peer = self._socket.accept()
                    self._greet(client, f"{peer[0]}:{peer[1]}")

    def _greet(self, client: socket.socket, peer: str) -> None:
        try:
            self._connections.append(self._serve(client, peer, self._stop))
        except OSError:
            client.close()
            raise

    def close(self) -> None:
        self._stop.set()
        self._waker.send(b".")
        self._thread.join()
        for connection in self._connections:
            connection.close()
        for one in (self._socket, self._waker, self._wakened):
            one.close()
