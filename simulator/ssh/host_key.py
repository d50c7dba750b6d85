"""An SSH server's own key, read from its file or created once. The private key is never sent or printed."""

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
    """A server's identity. ``line`` is the public key, ``<type> <base64>``, as an inventory pins it."""

    line: str
    private: paramiko.PKey = field(repr=False)


def server_key(path: Path) -> ServerKey:
    """The key in ``path``. It is created if it does not exist (ECDSA P-256, readable by its owner only).

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
    # Not paramiko's own file writer: the key file must never be incomplete or readable by others, even for a moment.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            # Not Ed25519, because paramiko cannot create it. Not RSA: a lab needs seconds to create and read it.
            paramiko.ECDSAKey.generate().write_private_key(file)
        with suppress(FileExistsError):  # another process created the key at the same moment: keep that one
            os.link(unfinished, path)
    finally:
        unfinished.unlink()
