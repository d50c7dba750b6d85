"""Sessions with a real SSH server, dialled as the product does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import SecretStr

from adapters.solace.dialect import SOLACE
from adapters.ssh.connect import SshConnector
from adapters.ssh.hostkeys import HostKey
from adapters.ssh.options import SshOptions
from adapters.ssh.session import ShellSession
from orchestrator.clock import SystemClock
from orchestrator.errors import FailoverError
from orchestrator.model.inventory import Device, Login, SecretRef, Site
from tests.ssh.sshd import Sshd

PASSWORD = "s3cret-Pa55"
TABLE = "Name    A\n------- -\nalpha   U\n"


class Known:
    """Secrets that are known already."""

    def reveal(self, reference: object, *, what: str) -> str:
        assert isinstance(reference, SecretRef)
        assert reference.inline is not None
        return reference.inline.get_secret_value()


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
