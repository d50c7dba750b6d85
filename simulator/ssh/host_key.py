"""An SSH server's own key: read from its file, or made there once. It is never sent anywhere, nor printed."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import paramiko

from orchestrator.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A server's identity. ``line`` is its public half, ``<type> <base64>``, as an inventory pins it."""

    line: str
    private: paramiko.PKey = field(repr=False)


def server_key(path: Path) -> ServerKey:
    """The key in ``path``; made there first when there is none (ECDSA P-256, readable by its owner only).

    Keys of every type that OpenSSH writes are read: Ed25519, ECDSA, RSA. Raises ``DefinitionError`` when the file is
    not a private key.
    """
    if path.is_symlink():
        raise DefinitionError(f"{path} is a link, which is not followed to a private key")
    if not path.exists():
        _write_new_key(path)
    try:
        key = paramiko.PKey.from_path(path)
    except (paramiko.SSHException, OSError, ValueError) as error:
        raise DefinitionError(f"{path} cannot be read as a private key: {error}") from error
    path.chmod(0o600)
    return ServerKey(line=f"{key.get_name()} {key.get_base64()}", private=key)


def _write_new_key(path: Path) -> None:
    # Not paramiko's own file writer: the key must never exist half written, nor readable for a moment.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        # Not Ed25519, which paramiko reads but cannot make; not RSA, which takes a lab seconds to make and to read.
        paramiko.ECDSAKey.generate().write_private_key(file)
    try:
        with suppress(
            FileExistsError
        ):  # a person who started at the same moment made one, which is the one that is kept
            os.link(unfinished, path)
    finally:
        unfinished.unlink()
