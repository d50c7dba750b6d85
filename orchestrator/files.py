"""Reads documents from files, never more than a limit, and writes private files as a whole. It must not know what is in
them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

DOCUMENT_BYTES_MAX = 64 * 1024 * 1024


def read_document(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """What is in a file, or pipe, that a person named. Raises ``OSError``: also when there is more of it than that."""
    with path.open("rb") as stream:
        return _read(stream.fileno(), bytes_max)


def read_own(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """The same of a file that we keep: a link in its place is not followed, and a pipe not waited for."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
        return _read(handle, bytes_max)
    finally:
        os.close(handle)


def write_private(folder: Path, name: str, data: bytes, *, replace: bool = True) -> Path:
    """Write a file of ours alone that is there whole or not at all, also after a power cut. Raises ``OSError``.

    Only one process at a time may write one name. Unless it may ``replace`` what is there, it raises ``FileExistsError``.
    """
    beside, target = folder / f".{name}.unfinished", folder / name
    beside.unlink(missing_ok=True)  # of a killed process
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            beside.replace(target)
        else:
            target.hardlink_to(beside)
            beside.unlink()
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return target


def _read(handle: int, bytes_max: int) -> bytes:
    parts, size = [], 0
    while part := os.read(handle, 1 << 20):
        parts.append(part)
        size += len(part)
        if size > bytes_max:
            raise OSError(errno.EFBIG, f"it is larger than {bytes_max // (1 << 20)} MB")
    return b"".join(parts)
