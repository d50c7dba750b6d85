"""Keys over real sockets: those that we offer, and those that a device shows before anything is offered."""

from __future__ import annotations

import gc
import socket
import threading
from pathlib import Path

import paramiko
import pytest

from adapters.ssh.hostkeys import HostKey
from adapters.ssh.options import SshOptions
from orchestrator.errors import AuthenticationFailed, HostKeyRejected
from tests.ssh.dialled import ed25519_file, pin, session
from tests.ssh.scripted import ScriptedDevice
from tests.ssh.sshd import Sshd

pytestmark = pytest.mark.realtime

# Keys.


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
        (tmp_path / "text", None, "not a private key"),
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
        pytest.raises(AuthenticationFailed, match="further login step: keyboard-interactive"),
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


@pytest.mark.parametrize("answer", [b"", b"\x00\x00", b"\x00\x00\x00\x01\x05"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # paramiko leaves its socket open
def test_an_agent_that_breaks_off(
    sshd: Sshd, answer: bytes, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law: an agent that ends its connection, or refuses, is an account that does not work, and says so."""
    place = str(tmp_path_factory.mktemp("a") / "agent")
    monkeypatch.setenv("SSH_AUTH_SOCK", place)
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(place)
        agent.listen()

        def break_off() -> None:
            line, _ = agent.accept()
            with line:
                line.recv(100)
                line.sendall(answer)

        thread = threading.Thread(target=break_off, daemon=True)
        thread.start()
        with (
            session(sshd, password=None, options=SshOptions(allow_agent=True)) as shell,
            pytest.raises(AuthenticationFailed, match="the SSH agent cannot be used"),
        ):
            shell.open()
        thread.join(5)
    gc.collect()


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
