"""Where each run's record stood when it was last written to, noted outside of the database.

A database that lost its end, or was put back from an older copy, is whole in itself: only what was noted elsewhere tells
that there was more. A note is written after each commit and before anything leaves, so that it is never ahead of what
was committed. It is not waited for: it is for files that are cut, lost or replaced; against the loss of power the
database itself waits for the disk.
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
# The names of runs are ours; one that a forged database brings must not lead out of the folder.
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Noted:
    """The last record of a run that is known to have been written, and where that is noted. ``is_over``: it has let
    go of all its services."""

    seq: int
    head: str
    is_over: bool
    path: Path


class Heads:
    """The notes of one journal, a file of 81 bytes for each run in ``folder``. Safe for one thread.

    ``like``: the database's file, if that is embedded: whoever may write to it may write the notes.
    """

    def __init__(self, folder: Path, like: Path | None = None) -> None:
        self._folder, self._like = folder, like
        self._open: dict[str, int] = {}

    def note(self, run: str, seq: int, head: str, *, is_over: bool) -> None:
        """Raises ``JournalUnavailable``."""
        self._write(run, f"{seq:010d} {head} {'over' if is_over else 'open'}\n".encode())

    def begin(self, run: str) -> None:
        """See whether a run can be noted, before it is recorded. Raises ``JournalUnavailable``."""
        self._write(run, b"")

    def _write(self, run: str, text: bytes) -> None:
        try:
            number = self._open.get(run)
            if number is None:
                number = self._open[run] = self._make(run)
            os.pwrite(number, text, 0)
        except OSError as error:
            raise JournalUnavailable(
                f"how far run {run} is recorded could not be noted in {self._folder}: {error.strerror}",
                hint="nothing was sent without a record; fix the cause (disk full? read-only? no directory?) and resume",
            ) from error

    def noted(self, run: str) -> Noted | None:
        """What is noted of a run; None if nothing is, or if the power was lost before it reached the disk.

        Raises ``JournalCorrupt`` for a note that no one wrote.
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
            raise JournalCorrupt(f"run {run}: the note of its head cannot be read: {path}")
        return Noted(int(found[1]), found[2].decode(), found[3] == b"over", path)

    def runs(self) -> Iterator[str]:
        """The runs of which something is noted, oldest name first."""
        try:
            names = sorted(entry.name for entry in os.scandir(self._folder))
        except OSError:
            return
        yield from (name for name in names if _RUN.fullmatch(name))

    def close(self) -> None:
        """Let go of the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _make(self, run: str) -> int:
        """The file of a run, as one that is there after a loss of power. Raises ``OSError``."""
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
        """Mode and owner of new notes: those of the database, as SQLite does it with its own files beside it."""
        if self._like is None:
            return 0o600, None
        found = self._like.stat()
        return stat.S_IMODE(found.st_mode) & 0o666, (found.st_uid, found.st_gid) if not os.geteuid() else None


def _give(place: Path | int, mode: int, owner: tuple[int, int] | None) -> None:
    os.chmod(place, mode)  # noqa: PTH101 - of an open file, too
    if owner is not None:
        os.chown(place, *owner)
