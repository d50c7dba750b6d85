"""Opens a shell at an address: dial, check the host key, log in, ask for a wide terminal.

Host keys are checked before any credential is sent, and no setting switches this check off. Every error of paramiko and
of sockets is raised as an error of this program. This module sends no command.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from paramiko import Channel, PKey, Transport
from paramiko.auth_handler import AuthHandler
from paramiko.ssh_exception import AuthenticationException, BadAuthenticationType

from adapters.ssh.credentials import keys_of
from adapters.ssh.hostkeys import Expected, HostKey, address_of, expected_of, verify
from adapters.ssh.options import SshOptions
from adapters.ssh.translate import FOREIGN, Stage, translate
from orchestrator.clock import Clock
from orchestrator.errors import AuthenticationFailed, Unreachable
from orchestrator.family.connect import Address, dial
from orchestrator.family.contract import Secrets
from orchestrator.model.inventory import Device, Login, Site

# Wide, because long names would wrap (docs/sources/solace.md, 3.1). Tall: fewer pages before paging is switched off.
COLUMNS = 512
ROWS = 200
_KEEPALIVE_S = 5
_BLOCK = 65536

# Without a handler, Python prints paramiko's errors to stderr with their stack. Our errors say the same in one
# sentence.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class SshConnector:
    """Makes shells on one device. Calling it is one attempt; trying again is the caller's decision."""

    def __init__(
        self, device: Device, site: Site, *, secrets: Secrets, clock: Clock, options: SshOptions | None = None
    ) -> None:
        self._device = device
        self._site = site
        self._secrets = secrets
        self._clock = clock
        self._options = options or SshOptions()

    def __call__(self) -> SshLine:
        """An open shell. Raises ``Unreachable``, ``HostKeyRejected`` or ``AuthenticationFailed``.

        Looking its name up, dialling, key exchange, log-in and opening the shell share the site's ``connect_timeout``
        seconds.
        """
        deadline = self._clock.now() + self._site.connect_timeout
        with ExitStack() as undo:
            transport = self._logged_in(deadline)
            undo.callback(transport.close)
            channel = self._open_shell(transport, deadline)
            undo.pop_all()
        return SshLine(transport, channel, device=self._device.name, send_within_s=self._site.command_timeout)

    def transport(self) -> Transport:
        """A session without a shell, for commands. Raises as a call does."""
        return self._logged_in(self._clock.now() + self._site.connect_timeout)

    def _logged_in(self, deadline: float) -> Transport:
        expected = expected_of(self._device, self._site.known_hosts)
        with ExitStack() as undo:
            sock = self._dial(deadline)
            undo.callback(sock.close)
            transport = self._exchange_keys(sock, expected, deadline)
            undo.callback(transport.close)
            verify(expected, self._key_of(transport), self._device)
            self._log_in(transport, deadline)
            undo.pop_all()
        return transport

    def _left(self, deadline: float) -> float:
        left = deadline - self._clock.now()
        if left <= 0:
            raise Unreachable(
                f"the login to {self._device.name} did not finish within {self._site.connect_timeout:g} s",
                device=self._device.name,
            )
        return left

    def _dial(self, deadline: float) -> socket.socket:
        def connect(address: Address, within_s: float) -> socket.socket:
            sock = socket.create_connection(address, within_s)
            try:
                tune(sock, unacknowledged_s=self._site.command_timeout)
            except OSError:  # some systems refuse this if the device has ended the connection already
                sock.close()
                raise
            return sock

        try:
            return dial(
                address_of(self._device), self._device.port, self._left(deadline), clock=self._clock, connect=connect
            )
        except (OSError, UnicodeError) as error:  # a name that cannot be encoded is a UnicodeError
            raise translate(error, stage=Stage.CONNECT, device=self._device.name) from error

    def _exchange_keys(self, sock: socket.socket, expected: Expected, deadline: float) -> Transport:
        transport = Transport(sock)
        with ExitStack() as undo:
            undo.callback(transport.close)
            transport.banner_timeout = transport.handshake_timeout = self._left(deadline)
            transport.set_keepalive(_KEEPALIVE_S)
            _prefer(transport, expected)
            done = threading.Event()
            transport.start_client(event=done)
            self._await(transport, done, deadline)
            if not transport.is_active():
                why = transport.get_exception()
                raise translate(why, stage=Stage.CONNECT, device=self._device.name) from why
            undo.pop_all()
        return transport

    def _await(self, transport: Transport, done: threading.Event, deadline: float) -> None:
        """Wait until ``done`` is set or the transport has ended. Raises ``Unreachable`` at the deadline."""
        while not done.wait(min(0.1, self._left(deadline))):
            if not transport.is_active():
                return

    def _key_of(self, transport: Transport) -> HostKey:
        """The key that the device has shown. The device may end the connection at any moment."""
        try:
            key = transport.get_remote_server_key()
        except FOREIGN as error:
            raise translate(error, stage=Stage.CONNECT, device=self._device.name) from error
        return HostKey(key.get_name(), key.asbytes())

    def _log_in(self, transport: Transport, deadline: float) -> None:
        login = self._site.login
        if login is None:
            raise AuthenticationFailed(
                f"the inventory gives no login for {self._device.name}",
                device=self._device.name,
                hint="add login: {username: …, password: {env: …}} to the site",
            )
        refused: Exception | None = None
        for method, begin in self._ways(login):
            if method == "keyboard-interactive" and not _points_to(refused, method):
                continue  # the password itself was refused: offering it twice would help to lock the account
            refused = self._offer(transport, begin, deadline)
            if refused is None:
                return
            if not transport.is_active():
                break
        error = refused or AuthenticationException("the login has neither a password nor a key")
        raise translate(error, stage=Stage.LOGIN, device=self._device.name) from error

    def _ways(self, login: Login) -> Iterator[tuple[str, _Begin]]:
        """The ways to log in, in order, each with its name in the protocol (RFC 4252, RFC 4256)."""
        secret = None
        if login.password is not None:
            secret = self._secrets.reveal(login.password, what=f"password of {login.username} at {self._site.name}")
        passphrase = secret if login.key_file is not None else None
        for key in keys_of(login, self._options, passphrase, device=self._device.name):
            yield "publickey", _with_key(login.username, key)
        if secret is not None and login.key_file is None:
            yield "password", _with_password(login.username, secret)
            yield "keyboard-interactive", _interactively(login.username, secret)

    def _offer(self, transport: Transport, begin: _Begin, deadline: float) -> Exception | None:
        """Try one way to log in. Returns None if it succeeded, else the reason as paramiko gives it."""
        done = threading.Event()
        handler = AuthHandler(transport)
        transport.auth_handler = handler
        try:
            begin(handler, done)
        except FOREIGN as error:
            raise translate(error, stage=Stage.LOGIN, device=self._device.name) from error
        self._await(transport, done, deadline)
        if transport.is_authenticated():
            return None
        why = transport.get_exception()
        if why is None:
            why = AuthenticationException("refused") if transport.is_active() else EOFError()
        if not isinstance(why, AuthenticationException):
            raise translate(why, stage=Stage.LOGIN, device=self._device.name) from why
        return why

    def _open_shell(self, transport: Transport, deadline: float) -> Channel:
        try:
            # paramiko waits for these answers without a separate limit; closing the transport ends the wait.
            with closing_at(transport, self._left(deadline)):
                channel = transport.open_session(timeout=self._left(deadline))
                channel.set_combine_stderr(True)
                channel.get_pty(term="dumb", width=COLUMNS, height=ROWS)
                channel.invoke_shell()
        except FOREIGN as error:
            raise translate(error, stage=Stage.CONNECT, device=self._device.name) from error
        return channel


class SshLine:
    """A shell's channel as a ``Line``."""

    def __init__(self, transport: Transport, channel: Channel, *, device: str, send_within_s: float) -> None:
        self._transport = transport
        self._channel = channel
        self._device = device
        self._send_within_s = send_within_s

    @property
    def is_open(self) -> bool:
        channel = self._channel
        return self._transport.is_active() and not (channel.closed or channel.eof_received or channel.eof_sent)

    def send(self, data: bytes) -> None:
        if not self.is_open:
            raise Unreachable(f"the session with {self._device} was closed; nothing was sent", device=self._device)
        try:
            self._channel.settimeout(self._send_within_s)
            self._channel.sendall(data)
        except FOREIGN as error:
            raise translate(error, stage=Stage.TALK, device=self._device) from error

    def receive(self, within_s: float) -> bytes:
        try:
            if within_s <= 0 and not self._channel.recv_ready():
                return b""
            self._channel.settimeout(max(within_s, 0.0))
            data = self._channel.recv(_BLOCK)
        except TimeoutError:
            return b""
        except FOREIGN as error:
            raise translate(error, stage=Stage.TALK, device=self._device) from error
        if not data:
            why = self._transport.get_exception()
            raise translate(why, stage=Stage.TALK, device=self._device) from why
        return data

    def close(self) -> None:
        try:
            self._transport.close()
        except FOREIGN:
            return  # already closed, as intended


def tune(sock: socket.socket, *, unacknowledged_s: float) -> None:
    """Make a session fast, and let it end if the device does not answer.

    Without TCP_NODELAY each command waits for a delayed acknowledgement. Without TCP_USER_TIMEOUT, where the platform
    has it, a session in a partition looks alive for many minutes: nothing reports that its keep-alives are not answered
    (docs/sources/ssh.md, 1 and 2).
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    user_timeout = getattr(socket, "TCP_USER_TIMEOUT", None)
    if user_timeout is not None:
        sock.setsockopt(socket.IPPROTO_TCP, user_timeout, max(1, int(unacknowledged_s * 1000)))


_Begin = Callable[[AuthHandler, threading.Event], None]


def _with_key(username: str, key: PKey) -> _Begin:
    return lambda handler, done: handler.auth_publickey(username, key, done)


def _with_password(username: str, password: str) -> _Begin:
    return lambda handler, done: handler.auth_password(username, password, done)


def _interactively(username: str, password: str) -> _Begin:
    """Keyboard-interactive with one hidden question, asked once: the password."""
    answered = False

    def answer(title: str, instructions: str, questions: list[tuple[str, bool]]) -> list[str]:
        nonlocal answered
        if not questions:
            return []
        if answered or len(questions) > 1 or questions[0][1]:
            raise AuthenticationException("the device asks for more than a password")
        answered = True
        return [password]

    return lambda handler, done: handler.auth_interactive(username, answer, done)


def _points_to(refused: Exception | None, method: str) -> bool:
    """Did the device say that it does not offer the last way to log in, but offers ``method``?"""
    return isinstance(refused, BadAuthenticationType) and method in refused.allowed_types


def _prefer(transport: Transport, expected: Expected) -> None:
    """Ask first for the known kinds of key, so that a device with several keys shows one that can be checked."""
    known = {key.type for key in expected.keys}
    if "ssh-rsa" in known:  # the key's type; the algorithms that sign with it have other names
        known |= {"rsa-sha2-512", "rsa-sha2-256"}
    options = transport.get_security_options()
    offered = list(options.key_types)
    options.key_types = [kind for kind in offered if kind in known] + [kind for kind in offered if kind not in known]


@contextmanager
def closing_at(transport: Transport, seconds: float) -> Iterator[None]:
    """Close ``transport`` if the block takes longer than ``seconds``."""
    timer = threading.Timer(seconds, transport.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
