"""Reads documents from files, never more than a limit, and writes private files as a whole. It must not know what is in
them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

DOCUMENT_BYTES_MAX = 64 * 1024 * 1024


@contextmanager
def ordinary_file(path: Path, flags: int = 0) -> Iterator[BinaryIO]:
    """An ordinary file, opened to be read. Raises ``OSError`` for anything else: a named pipe would be waited for, and a
    device has no end. ``flags``: more of those of open(2)."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "the path is not an ordinary file", str(path))
        yield stream


def read_document(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """What is in a file that a person named. Raises ``OSError``: also when there is more of it than that."""
    with ordinary_file(path) as stream:
        return _read(stream.fileno(), bytes_max)


def read_own(path: Path, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> bytes:
    """The same of a file that we keep: a link in its place is not followed."""
    with ordinary_file(path, os.O_NOFOLLOW) as stream:
        return _read(stream.fileno(), bytes_max)


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
            raise OSError(errno.EFBIG, f"the file is larger than {bytes_max // (1 << 20)} MB")
    return b"".join(parts)
