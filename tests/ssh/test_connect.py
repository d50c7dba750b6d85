"""Real sockets, a real key exchange: logging in by a password, a device that is away, and a session lost half way."""

from __future__ import annotations

import socket
import threading

import pytest

from adapters.ssh.connect import COLUMNS, ROWS, SshConnector, tune
from orchestrator.clock import SystemClock
from orchestrator.errors import CommandTimedOut, ConnectionLost, Unreachable
from orchestrator.model.inventory import Device, Site
from tests.ssh.dialled import TABLE, Known, connector, session
from tests.ssh.scripted import PAGE, MishapKind, ScriptedDevice
from tests.ssh.sshd import Sshd, until

pytestmark = pytest.mark.realtime

# In.


def test_a_password_opens_a_shell_with_a_wide_terminal(sshd: Sshd) -> None:
    """The whole way: dial, host key, password, terminal, prompt, answer."""
    with session(sshd) as shell:
        assert shell.show("show table") == TABLE.rstrip("\n")
    assert sshd.offers == [("password", True)]
    assert sshd.terminals == [(COLUMNS, ROWS)]


def test_a_device_that_only_asks_interactively_gets_the_password(sshd: Sshd) -> None:
    """Keyboard-interactive with one hidden question is a password by another name."""
    sshd.methods = "keyboard-interactive"
    with session(sshd) as shell:
        assert shell.show("show other") == "other"
    assert sshd.offers == [("keyboard-interactive", True)]


def test_many_commands_and_a_paged_answer_over_one_session(sshd: Sshd, device: ScriptedDevice) -> None:
    """One connection serves them all, whatever packets they come in."""
    device.chunk = 3
    device.answers["show long"] = PAGE.join(f"row {number}\n" for number in range(5))
    with session(sshd) as shell:
        for _ in range(5):
            assert shell.show("show long").split("\n") == [f"row {number}" for number in range(5)]
    assert device.connections == 1


# Away.


def test_nobody_listening_is_unreachable(sshd: Sshd) -> None:
    """A refused connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sshd.port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match="refused"):
        connector(sshd)()


def test_a_name_that_does_not_exist_is_unreachable() -> None:
    """Neither is one that cannot even be written as a name."""
    for address in ("no-such-host.invalid", "a" * 70 + ".invalid", "\udce4"):
        device = Device(name="ny1", address=address, host_key="ssh-ed25519 AAAA")
        site = Site(adapter="solace-cli", devices=(device,))
        with pytest.raises(Unreachable):
            SshConnector(device, site, secrets=Known(), clock=SystemClock())()


@pytest.mark.parametrize(
    "says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-1.0-old\r\n", b"SSH-2.0-x\r\n" + b"\x00" * 400]
)
def test_a_port_that_is_not_ssh_is_unreachable_in_time(sshd: Sshd, says: bytes) -> None:
    """Silence or nonsense: the connect time-out holds, and no exception of another kind gets out."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sshd.port = listener.getsockname()[1]
        accepted: list[socket.socket] = []

        def serve() -> None:
            client, _ = listener.accept()
            accepted.append(client)
            client.sendall(says)

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        clock = SystemClock()
        before = clock.now()
        with pytest.raises(Unreachable):
            connector(sshd, timeout_s=0.5)()
        assert clock.now() - before < 3
        server.join(5)
        for client in accepted:
            client.close()


def test_a_device_that_gives_no_shell_is_unreachable(sshd: Sshd) -> None:
    """Too many sessions, for instance."""
    sshd.opens_channels = False
    with session(sshd) as shell, pytest.raises(Unreachable):
        shell.open()


def test_a_device_that_never_answers_the_request_for_a_shell_is_unreachable_in_time(sshd: Sshd) -> None:
    """paramiko would wait for ever; the connect time-out holds all the same."""
    sshd.answers_shell = False
    clock = SystemClock()
    before = clock.now()
    with pytest.raises(Unreachable):
        connector(sshd, timeout_s=0.7)()
    assert clock.now() - before < 4
    sshd.is_frozen.set()


# Lost.


@pytest.mark.parametrize("mishap", ["drop-before", "drop-after", "cut-short"])
def test_a_session_that_breaks_is_a_doubt_and_is_replaced(
    sshd: Sshd, device: ScriptedDevice, mishap: MishapKind
) -> None:
    """The connection ends with an answer under way: lost; the next reading has a new session."""
    device.mishaps["show table"] = mishap
    with session(sshd) as shell:
        with pytest.raises(ConnectionLost):
            shell.show("show table")
        assert shell.show("show table") == TABLE.rstrip("\n")
    assert device.connections == 2


def test_a_session_that_ended_between_two_commands_is_replaced_unnoticed(sshd: Sshd, device: ScriptedDevice) -> None:
    """The device's idle time-out: nothing was under way, so nothing is in doubt."""
    with session(sshd) as shell:
        assert shell.show("show other") == "other"
        sshd.transports[0].close()
        assert until(lambda: not shell.is_connected)
        assert shell.show("show other") == "other"
    assert device.connections == 2


def test_an_answer_that_never_comes_times_out_and_its_session_is_not_used_again(
    sshd: Sshd, device: ScriptedDevice
) -> None:
    """The transport looks alive all the while (S2); the late answer must not become another command's."""
    device.mishaps["show table"] = "silent"
    with session(sshd, timeout_s=0.5) as shell:
        with pytest.raises(CommandTimedOut):
            shell.show("show table")
        device.lines[0].say(TABLE + "solace1> ")
        assert shell.show("show other") == "other"
    assert device.connections == 2


def test_sockets_are_quick_and_mortal() -> None:
    """TCP_NODELAY, keep-alive, and the limit for unacknowledged data where the platform has one (S1, S2)."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as sock:
        tune(sock, unacknowledged_s=4.0)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 4000
