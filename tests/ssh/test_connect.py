"""Real sockets, a real key exchange: logging in, being refused, and losing a session half way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paramiko
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import SecretStr

from adapters.solace.dialect import SOLACE
from adapters.ssh.connect import COLUMNS, ROWS, SshConnector, tune
from adapters.ssh.credentials import SshOptions
from adapters.ssh.hostkeys import HostKey
from adapters.ssh.session import ShellSession
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.errors import (
    AuthenticationFailed,
    CommandTimedOut,
    ConnectionLost,
    FailoverError,
    HostKeyRejected,
    Unreachable,
)
from orchestrator.site import Device, Login, SecretRef, Site
from tests.ssh.scripted import PAGE, MishapKind, ScriptedDevice
from tests.ssh.sshd import Sshd, until

pytestmark = pytest.mark.realtime

PASSWORD = "s3cret-Pa55"
TABLE = "Name    A\n------- -\nalpha   U\n"


class Known:
    """Secrets that are known already."""

    def reveal(self, reference: object, *, what: str) -> str:
        assert isinstance(reference, SecretRef)
        assert reference.inline is not None
        return reference.inline.get_secret_value()


@pytest.fixture(scope="session")
def host_key() -> paramiko.PKey:
    return paramiko.ECDSAKey.generate()


@pytest.fixture(scope="session")
def rsa_key() -> paramiko.PKey:
    return paramiko.RSAKey.generate(2048)


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice(VirtualClock(), answers={"show table": TABLE, "show other": "other\n"})


@pytest.fixture
def sshd(device: ScriptedDevice, host_key: paramiko.PKey) -> Iterator[Sshd]:
    with Sshd(device, [host_key]).running() as server:
        yield server


def pin(key: paramiko.PKey) -> str:
    return str(HostKey(key.get_name(), key.asbytes()))


def connector(
    sshd: Sshd,
    *,
    host_key: str | None = "",
    known_hosts: str | None = None,
    password: str | None = PASSWORD,
    key_file: Path | None = None,
    login: bool = True,
    options: SshOptions | None = None,
    timeout_s: float = 5.0,
) -> SshConnector:
    secret = None if password is None else SecretRef(inline=SecretStr(password))
    device = Device(
        name="ny1",
        address="127.0.0.1",
        port=sshd.port,
        host_key=pin(sshd.keys[0]) if host_key == "" else host_key,
    )
    site = Site(
        name="ny",
        adapter="solace-cli",
        devices=(device,),
        login=Login(username="admin", password=secret, key_file=str(key_file) if key_file else None)
        if login
        else None,
        known_hosts=known_hosts,
        connect_timeout=timeout_s,
        command_timeout=2.0,
    )
    return SshConnector(device, site, secrets=Known(), clock=SystemClock(), options=options)


@contextmanager
def session(sshd: Sshd, timeout_s: float = 2.0, **more: Any) -> Iterator[ShellSession]:
    shell = ShellSession(
        Device(name="ny1"),
        connector(sshd, **more),
        dialect=SOLACE,
        clock=SystemClock(),
        timeout_s=timeout_s,
    )
    try:
        yield shell
    finally:
        shell.close()


def words_of(error: BaseException | None) -> str:
    """Everything an error could print, and all that led to it."""
    said = ""
    while error is not None:
        hint = error.hint if isinstance(error, FailoverError) else ""
        said += f"{error} {error!r} {error.args} {hint} {vars(error)}"
        error = error.__cause__ or error.__context__
    return said


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


# Keys.


def ed25519_file(path: Path, passphrase: str | None = None) -> paramiko.PKey:
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    )
    path.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, encryption
        )
    )
    return paramiko.Ed25519Key.from_private_key_file(str(path), passphrase)


@pytest.mark.parametrize("passphrase", [None, "open-Sesame"])
def test_a_key_file_opens_a_shell(sshd: Sshd, tmp_path: Path, passphrase: str | None) -> None:
    """With a key file, the login's password is the key's passphrase and is never offered as a password."""
    sshd.methods = "publickey,password"
    sshd.public_key = ed25519_file(tmp_path / "key", passphrase)
    with session(sshd, key_file=tmp_path / "key", password=passphrase) as shell:
        assert shell.show("show other") == "other"
    assert sshd.offers == [("publickey", True)]


def test_keys_of_other_kinds_open_a_shell(sshd: Sshd, tmp_path: Path, rsa_key: paramiko.PKey) -> None:
    """RSA and ECDSA files are recognised by what is in them."""
    sshd.methods = "publickey"
    for key in (rsa_key, paramiko.ECDSAKey.generate()):
        key.write_private_key_file(str(tmp_path / "key"))
        sshd.public_key = key
        with session(sshd, key_file=tmp_path / "key", password=None) as shell:
            assert shell.show("show other") == "other"


def test_a_key_file_that_cannot_be_used_is_named_and_nothing_is_offered(sshd: Sshd, tmp_path: Path) -> None:
    """Missing, locked, wrongly unlocked, or no key at all: each says which, and no password falls in for it."""
    locked = tmp_path / "locked"
    ed25519_file(locked, "open-Sesame")
    (tmp_path / "text").write_text("not a key\n")
    for file, password, says in [
        (tmp_path / "missing", None, "cannot be read"),
        (locked, None, "needs a passphrase"),
        (locked, "wrong", "passphrase is wrong"),
        (tmp_path / "text", None, "no private key"),
    ]:
        with (
            session(sshd, key_file=file, password=password) as shell,
            pytest.raises(AuthenticationFailed, match=says),
        ):
            shell.open()
    assert sshd.offers == []


def test_a_refused_key_is_authentication_failed(sshd: Sshd, tmp_path: Path) -> None:
    """The key was readable, and the device does not know it."""
    sshd.methods = "publickey"
    ed25519_file(tmp_path / "key")
    with session(sshd, key_file=tmp_path / "key", password=None) as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert sshd.offers == [("publickey", False)]


def test_a_device_that_wants_more_than_a_key_says_so(sshd: Sshd, tmp_path: Path) -> None:
    """A second proof cannot be given; the operator learns which it is."""
    sshd.methods, sshd.partial = "publickey", "keyboard-interactive"
    sshd.public_key = ed25519_file(tmp_path / "key")
    with (
        session(sshd, key_file=tmp_path / "key", password=None) as shell,
        pytest.raises(AuthenticationFailed, match="further proof: keyboard-interactive"),
    ):
        shell.open()


def test_keys_in_the_usual_places_are_used_only_if_configured(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key nobody named must not open a device, unless the inventory says that keys are looked for."""
    (tmp_path / ".ssh").mkdir()
    key = ed25519_file(tmp_path / ".ssh" / "id_ed25519")
    (tmp_path / ".ssh" / "id_rsa").write_text("not a key\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    sshd.methods, sshd.public_key = "publickey", key
    with session(sshd, password=None) as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert sshd.offers == []
    with session(sshd, password=None, options=SshOptions(look_for_keys=True, allow_agent=True)) as shell:
        shell.open()
    assert sshd.offers == [("publickey", True)]


# Host keys.


def test_an_unknown_host_key_is_rejected_before_any_credential_leaves(
    sshd: Sshd, tmp_path: Path, host_key: paramiko.PKey
) -> None:
    """The fingerprint that was seen is shown; the device learnt nothing but our address."""
    file = tmp_path / "known_hosts"
    file.write_text("")
    with (
        session(sshd, host_key=None, known_hosts=str(file)) as shell,
        pytest.raises(HostKeyRejected, match="is not known") as caught,
    ):
        shell.open()
    assert HostKey(host_key.get_name(), host_key.asbytes()).fingerprint in str(caught.value)
    assert sshd.offers == []


def test_a_changed_host_key_is_rejected_before_any_credential_leaves(sshd: Sshd) -> None:
    """Whoever is there now is not who was there when the key was written down."""
    with (
        session(sshd, host_key=pin(paramiko.ECDSAKey.generate())) as shell,
        pytest.raises(HostKeyRejected, match="not the one"),
    ):
        shell.open()
    assert sshd.offers == []


def test_a_key_from_a_known_hosts_file_is_accepted(sshd: Sshd, tmp_path: Path, host_key: paramiko.PKey) -> None:
    """``[address]:port`` in the site's own file."""
    file = tmp_path / "known_hosts"
    file.write_text(f"[127.0.0.1]:{sshd.port} {pin(host_key)}\n")
    with session(sshd, host_key=None, known_hosts=str(file)) as shell:
        assert shell.show("show other") == "other"


def test_a_device_with_several_keys_shows_the_one_that_is_known(
    device: ScriptedDevice, host_key: paramiko.PKey, rsa_key: paramiko.PKey
) -> None:
    """Only its RSA key is pinned; it would show its other one by itself."""
    with (
        Sshd(device, [host_key, rsa_key]).running() as server,
        session(server, host_key=pin(rsa_key)) as shell,
    ):
        assert shell.show("show other") == "other"


# Refused.


@pytest.mark.parametrize("methods", ["password", "password,keyboard-interactive", "keyboard-interactive"])
@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_wrong_password_is_offered_once(sshd: Sshd, methods: str, hangs_up: bool) -> None:
    """Not twice, not by another method, not by trying again: accounts get locked that way."""
    sshd.methods, sshd.hangs_up_on_failure = methods, hangs_up
    with session(sshd, password="wrong") as shell, pytest.raises(AuthenticationFailed) as caught:
        shell.open()
    assert sshd.offers == [(methods.split(",")[0], False)]
    assert "wrong" not in words_of(caught.value).replace("the passphrase is wrong", "")


def test_a_device_that_asks_for_the_password_again_gets_no_second_answer(sshd: Sshd) -> None:
    """Within one dialogue, too, it is offered once."""
    sshd.methods, sshd.asks_again = "keyboard-interactive", True
    with session(sshd, password="wr0ng") as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert len(sshd.offers) == 1


@pytest.mark.parametrize("questions", [(("Password: ", False), ("Token: ", False)), (("Name: ", True),)])
def test_a_dialogue_about_something_else_gets_no_password(
    sshd: Sshd, questions: tuple[tuple[str, bool], ...]
) -> None:
    """A password goes only where one hidden question was asked."""
    sshd.methods, sshd.questions = "keyboard-interactive", questions
    with session(sshd) as shell, pytest.raises(AuthenticationFailed, match="more than a password"):
        shell.open()
    assert sshd.offers == []


def test_a_method_that_is_not_offered_is_named(sshd: Sshd) -> None:
    """The inventory has a password, the device wants a key."""
    sshd.methods = "publickey"
    with session(sshd) as shell, pytest.raises(AuthenticationFailed, match="offered: publickey"):
        shell.open()


@pytest.mark.parametrize("login", [True, False])
def test_an_inventory_without_a_credential_says_so(sshd: Sshd, login: bool) -> None:
    """No guessing of users or passwords."""
    with session(sshd, login=login, password=None) as shell, pytest.raises(AuthenticationFailed):
        shell.open()
    assert sshd.offers == []


def test_no_error_holds_the_password(device: ScriptedDevice, host_key: paramiko.PKey, tmp_path: Path) -> None:
    """Whatever fails, and however its error is printed: promise 10."""
    ed25519_file(tmp_path / "locked", "open-Sesame")
    mishaps: list[dict[str, object]] = [
        {"methods": "publickey"},
        {"methods": "keyboard-interactive", "questions": (("Name: ", True),)},
        {"password": "another"},
        {"password": "another", "hangs_up_on_failure": True},
        {"opens_channels": False},
        {"methods": "password", "partial": "publickey"},
    ]
    for mishap in mishaps:
        with (
            Sshd(device, [host_key], **mishap).running() as server,  # type: ignore[arg-type]
            session(server) as shell,
            pytest.raises(FailoverError) as caught,
        ):
            shell.open()
        assert PASSWORD not in words_of(caught.value)
    with (
        Sshd(device, [host_key]).running() as server,
        session(server, key_file=tmp_path / "locked", password=PASSWORD) as shell,
        pytest.raises(FailoverError) as caught,
    ):
        shell.open()
    assert PASSWORD not in words_of(caught.value)


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
