"""What killed processes left behind, and its removal: directories that name their owners, once these are proven dead.

Nobody's word is taken for it but the system's: each owner is known by its number and start on this machine
(``orchestrator.holder``). A JVM that is being started has no name yet; it is given a log that is locked, and holds the
lock from its first moment to its last. What names no owner, is of another account or machine, or may be alive, stays.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

from orchestrator.holder import holder_is_dead, holder_name
from orchestrator.looks import write_private

OWNER = "owner"
LOG = "spark.log"


def claim(folder: Path, jvm: int | None = None) -> None:
    """Say in ``folder`` that it is this process's, and that of its ``jvm``. Raises ``OSError``."""
    owners = [holder_name()] if jvm is None else [holder_name(), holder_name(jvm)]
    write_private(folder, OWNER, "".join(f"{owner}\n" for owner in owners).encode())


def hold(log: IO[bytes]) -> None:
    """Lock ``LOG`` for this process and every one that is given it as its output. Raises ``OSError``."""
    fcntl.flock(log, fcntl.LOCK_EX)


def sweep(place: Path, pattern: str) -> None:
    """Remove the directories in ``place`` that are called so and whose owners are all dead. Never fails: what cannot be
    removed stays, with its owner, for the next time."""
    with suppress(OSError):
        for folder in place.glob(pattern):
            with suppress(OSError):
                if _is_left(folder):
                    _remove(folder)


def _is_left(folder: Path) -> bool:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return False
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


def _remove(folder: Path) -> None:
    """The name of the owner last: whoever is killed meanwhile leaves nothing that nobody may remove."""
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != OWNER:
            entry.unlink()
    shutil.rmtree(folder)
