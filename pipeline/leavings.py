"""What killed processes left behind, and its removal: directories that name their owners, once these are proven dead.

No one's word is taken for it but the system's: each owner is known by its number and start on this machine
(``orchestrator.journal.process_identity``). A JVM that is being started has no name yet; it is given a log that is
locked, and holds the lock from its first moment to its last. What names no owner, is of another account or machine,
or may be alive, stays.
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
# Unfinished and half-removed folders have the owner in their name, since no file inside may name it.
_BEFORE, _BEHIND, _TOKEN = ".failover-", ".passing", 8


def make(folder: Path, jvm: int | None = None) -> Path:
    """Make ``folder``, which says whose it is from its first moment, whenever this process is killed: it gets its own
    name once ``claim`` is done. Returns it. Raises ``OSError``."""
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
    """Remove ``folder``, which says whose it is to its last moment. Never fails: what cannot be removed is for whoever
    sweeps after this process."""
    passing = _passing(folder.parent)
    with suppress(OSError):
        folder.rename(passing)
        shutil.rmtree(passing, ignore_errors=True)


def _passing(place: Path) -> Path:
    return place / f"{_BEFORE}{uuid4().hex[:_TOKEN]}-{quote(holder_name(), safe='')}{_BEHIND}"


def _owner_of(passing: Path) -> str:
    return unquote(passing.name[len(_BEFORE) + _TOKEN + 1 : -len(_BEHIND)])


def claim(folder: Path, jvm: int | None = None) -> None:
    """Say in ``folder`` that it is this process's, and that of its ``jvm``. Raises ``OSError``."""
    owners = [holder_name()] if jvm is None else [holder_name(), holder_name(jvm)]
    write_private(folder, OWNER, "".join(f"{owner}\n" for owner in owners).encode())


def hold(log: IO[bytes]) -> None:
    """Lock ``LOG`` for this process and every one that is given it as its output. Raises ``OSError``."""
    fcntl.flock(log, fcntl.LOCK_EX)


def sweep(place: Path, pattern: str) -> None:
    """Remove the directories in ``place`` that are called so, or were being made or removed, and whose owners are all
    dead. Never fails: what cannot be removed stays for the next time."""
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
