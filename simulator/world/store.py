"""The file of a world. It preserves the state of the simulated devices when a process dies.

Each write is atomic: it writes a temporary file in the same folder and renames it. A lock file, ``….lock``, keeps two
processes from writing at once. It is never removed, because then two processes could hold the lock. This module does
not interpret the data.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from orchestrator.errors import ConnectionLost, Unreachable
from orchestrator.files import read_own

_FORMAT = "failover world 2"
# Do not follow a link to another file, and do not block on an object that is not a file (a pipe, for example).
_OPENING = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_UNWRITABLE = "fix the cause (disk full? read-only? a link?) and run it again"
_BYTES_MAX = 1 << 30  # a world of many messages is a large file


class WorldFile:
    """One world on disk, mode 0600."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._seen: tuple[int, int, int] | None = None

    @property
    def hint(self) -> str:
        """Advice for a file that cannot be used."""
        return f"delete {self.path} to start the simulated sites again"

    def lock(self) -> None:
        """Keep other processes out until ``unlock``. Raises ``Unreachable`` when the folder cannot be used."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_name(self.path.name + ".lock")
            handle = os.open(beside, os.O_RDWR | os.O_CREAT | _OPENING, 0o600)
        except OSError as error:
            raise Unreachable(
                f"the simulated world {self.path} cannot be locked: {error.strerror}", hint=_UNWRITABLE
            ) from error
        fcntl.flock(handle, fcntl.LOCK_EX)
        self._lock = handle

    def unlock(self) -> None:
        """Release the lock for other processes."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def changed(self) -> bool:
        """Has another process written the file since this object last read or wrote it?"""
        return self._signature() != self._seen

    def read(self) -> dict[str, Any]:
        """The world's data. Raises ``Unreachable`` when the file does not exist or is not a world."""
        try:
            seen = self._signature()
            data = json.loads(read_own(self.path, bytes_max=_BYTES_MAX))
        except FileNotFoundError as error:
            raise Unreachable(
                f"the simulated world {self.path} does not exist",
                hint="see that the path is right; `failover lab reset` and `failover lab up` make simulated sites",
            ) from error
        except OSError as error:
            raise self._unusable(f"cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise self._unusable("is not a world, or was cut off") from error
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise self._unusable("is not a world of this version")
        self._seen = seen
        return data

    def write(self, data: dict[str, Any], *, durable: bool) -> None:
        """Replace the content of the file with ``data``. With ``durable`` the data also survives a loss of power.

        Raises ``ConnectionLost``. Only this process then knows the commands that the devices obeyed.
        """
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.unlink(missing_ok=True)  # left by a dead process with the same process id
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPENING, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                # json.dumps, because json.dump writes piece by piece in plain Python and takes ten times as long.
                out.write(json.dumps({"format": _FORMAT, **data}, separators=(",", ":")))
                out.flush()
                if durable:
                    os.fsync(out.fileno())
            os.replace(beside, self.path)  # noqa: PTH105 - the pair of os.open above
            if durable:
                self._sync_folder()
            self._seen = self._signature()
        except OSError as error:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise ConnectionLost(
                f"the simulated world could not be saved to {self.path}: {error.strerror}", hint=_UNWRITABLE
            ) from error

    def damaged(self, error: Exception) -> Unreachable:
        """The error for a file whose parts do not fit together."""
        return self._unusable(f"is damaged ({type(error).__name__}: {error})")

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _unusable(self, what: str) -> Unreachable:
        return Unreachable(f"the simulated world {self.path} {what}", hint=self.hint)
