"""The last record of each run, noted outside of the database.

A database that lost its end, or was restored from an older copy, is consistent in itself. Only a note outside of it
shows that there was more. A note is written after each commit and before any command leaves, so it is never ahead of
the commits. The program does not wait until the note is on disk: notes protect against files that are cut, lost or
replaced. Against the loss of power the database itself waits for the disk.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import JournalCorrupt, JournalUnavailable

_NOTE = re.compile(rb"(\d{10}) ([0-9a-f]{64}) (open|over)\n")
_LENGTH = 81
# The program makes the names of runs. A name from a forged database must not lead out of the folder.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Noted:
    """The last record of a run that is known to have been written, and the file of the note. ``is_over``: the run has
    released all its services."""

    seq: int
    head: str
    is_over: bool
    path: Path


class Heads:
    """The notes of one journal, a file of 81 bytes for each run in ``folder``. Safe for one thread.

    ``like``: the database's file, if the database is embedded. Every account that may write to it may write the notes.
    """

    def __init__(self, folder: Path, like: Path | None = None) -> None:
        self._folder, self._like = folder, like
        self._open: dict[str, int] = {}

    def note(self, run: str, seq: int, head: str, *, is_over: bool) -> None:
        """Write the note of a run. Raises ``JournalUnavailable``."""
        self._write(run, f"{seq:010d} {head} {'over' if is_over else 'open'}\n".encode())

    def begin(self, run: str) -> None:
        """Check that a run can be noted, before it is recorded. Raises ``JournalUnavailable``."""
        self._write(run, b"")

    def _write(self, run: str, text: bytes) -> None:
        try:
            number = self._open.get(run)
            if number is None:
                number = self._open[run] = self._make(run)
            os.pwrite(number, text, 0)
        except OSError as error:
            raise JournalUnavailable(
                f"the number of the last record of run {run} could not be noted in {self._folder}: {error.strerror}",
                hint="nothing was sent without a record; fix the cause (disk full? read-only? no directory?) and resume",
            ) from error

    def noted(self, run: str) -> Noted | None:
        """The note of a run; None if there is none, or if the power was lost before it reached the disk.

        Raises ``JournalCorrupt`` for a note that this program did not write.
        """
        if not _RUN.fullmatch(run):
            return None
        path = self._folder / run
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            text = os.read(number, _LENGTH + 1)
        except OSError:
            return None
        finally:
            os.close(number)
        if not text.strip(b"\0"):
            return None
        found = _NOTE.fullmatch(text)
        if found is None:
            raise JournalCorrupt(f"run {run}: the note of the last record cannot be read: {path}")
        return Noted(int(found[1]), found[2].decode(), found[3] == b"over", path)

    def runs(self) -> Iterator[str]:
        """The runs that have a note, oldest name first."""
        try:
            names = sorted(entry.name for entry in os.scandir(self._folder))
        except OSError:
            return
        yield from (name for name in names if _RUN.fullmatch(name))

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _make(self, run: str) -> int:
        """The file of a run, made so that it survives a loss of power. Raises ``OSError``."""
        mode, owner = self._rights()
        try:
            self._folder.mkdir(mode=0o700)
        except FileExistsError:
            if not stat.S_ISDIR(self._folder.lstat().st_mode):
                raise
        else:
            _give(self._folder, mode | (mode & 0o444) >> 2, owner)
        number = os.open(
            self._folder / run, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
        if not os.fstat(number).st_size:
            _give(number, mode, owner)
            os.fsync(number)
            folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return number

    def _rights(self) -> tuple[int, tuple[int, int] | None]:
        """Mode and owner of new notes: those of the database. SQLite does the same for its own files beside the
        database."""
        if self._like is None:
            return 0o600, None
        found = self._like.stat()
        return stat.S_IMODE(found.st_mode) & 0o666, (found.st_uid, found.st_gid) if not os.geteuid() else None


def _give(place: Path | int, mode: int, owner: tuple[int, int] | None) -> None:
    os.chmod(place, mode)  # noqa: PTH101 - of an open file, too
    if owner is not None:
        os.chown(place, *owner)
