"""Removes directories that killed processes left behind. Each directory names its owners; all must be proven dead.

Only the system decides whether an owner is dead: an owner is identified by its process id and start time on this machine
(``orchestrator.journal.process_identity``). A starting JVM has no identity yet. It gets a locked log file, and holds
the lock from its start to its end. A directory stays if it names no owner, belongs to another account or machine,
or has an owner that may be alive.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote, unquote
from uuid import uuid4

from orchestrator.files import write_private
from orchestrator.journal.process_identity import holder_is_dead, holder_name

OWNER = "owner"
LOG = "spark.log"
# Unfinished and half-removed folders have the owner in their name, because the file that names the owner may be absent.
_BEFORE, _BEHIND, _TOKEN = ".failover-", ".passing", 8


def make(folder: Path, jvm: int | None = None) -> Path:
    """Make ``folder`` and return it. The folder names its owner at all times, even if this process is killed: it gets its
    final name after ``claim``. Raises ``OSError``."""
    passing = _passing(folder.parent)
    try:
        passing.mkdir(0o700)
        claim(passing, jvm)
        passing.rename(folder)
    except BaseException:
        shutil.rmtree(passing, ignore_errors=True)
        raise
    return folder


def remove(folder: Path) -> None:
    """Remove ``folder``, which names its owner until it is gone. Never fails: a later ``sweep`` removes the remaining
    files after this process ended."""
    passing = _passing(folder.parent)
    with suppress(OSError):
        folder.rename(passing)
        shutil.rmtree(passing, ignore_errors=True)


def _passing(place: Path) -> Path:
    return place / f"{_BEFORE}{uuid4().hex[:_TOKEN]}-{quote(holder_name(), safe='')}{_BEHIND}"


def _owner_of(passing: Path) -> str:
    return unquote(passing.name[len(_BEFORE) + _TOKEN + 1 : -len(_BEHIND)])


def claim(folder: Path, jvm: int | None = None) -> None:
    """Write into ``folder`` that this process and its ``jvm`` own it. Raises ``OSError``."""
    owners = [holder_name()] if jvm is None else [holder_name(), holder_name(jvm)]
    write_private(folder, OWNER, "".join(f"{owner}\n" for owner in owners).encode())


def hold(log: IO[bytes]) -> None:
    """Lock ``LOG`` for this process and every process that gets it as its output. Raises ``OSError``."""
    fcntl.flock(log, fcntl.LOCK_EX)


def sweep(place: Path, pattern: str) -> None:
    """Remove the directories in ``place`` whose owners are all dead: those that match ``pattern``, and unfinished or
    half-removed ones. Never fails: a directory that cannot be removed stays for the next sweep."""
    with suppress(OSError):
        for folder in place.glob(pattern):
            with suppress(OSError):
                if _is_ours(folder) and _is_left(folder):
                    remove(folder)
        for passing in place.glob(f"{_BEFORE}*{_BEHIND}"):
            with suppress(OSError):
                if _is_ours(passing) and holder_is_dead(_owner_of(passing)):
                    shutil.rmtree(passing)


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_left(folder: Path) -> bool:
    with os.fdopen(os.open(folder / OWNER, os.O_RDONLY | os.O_NOFOLLOW)) as file:
        owners = file.read().splitlines()
    return bool(owners) and all(holder_is_dead(owner) for owner in owners) and not _is_held(folder / LOG)


def _is_held(log: Path) -> bool:
    try:
        handle = os.open(log, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
