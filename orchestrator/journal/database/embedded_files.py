"""The files of an embedded journal: where they may be, and whether they are still the files that a run is recorded in.

SQLite does not notice when its files are deleted or replaced. It continues to write to a file that no other process can
find. So the process that leads a run compares the files before each write and each command.

This module must never open the database or its index beside SQLite and close it again: the system then drops the locks
that this process has on the file (fcntl(2)). So ``Handle`` closes with the last connection.
"""

from __future__ import annotations

import os
import re
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from orchestrator.errors import JournalLost, JournalUnavailable

MOUNTS = Path("/proc/self/mountinfo")
# File systems on which SQLite's locks and shared memory do not hold between machines (sqlite.org/wal.html, "Overview").
_NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "virtiofs", "ceph", "davfs"}
    | {"glusterfs", "lustre", "beegfs", "gpfs", "orangefs", "pvfs2", "panfs", "gfs2", "ocfs2", "vboxsf", "vmhgfs"}
)
# The same file systems as FUSE programs, such as ``fuse.sshfs``.
_NETWORK_FUSE = re.compile(
    r"fuse\..*(ssh|nfs|smb|gluster|ceph|s3|rclone|dav|gcs|juice|vmhgfs|mfs|afs|lustre|beegfs).*"
)
_MAGIC = b"SQLite format 3\0"
_LOG_MAGIC = (0x377F0682, 0x377F0683)  # checksums of little-endian and of big-endian words
_LOG_HEADER = 32
# With this flag, reading does not change the time of the last access (open(2)). Not every system has it.
_QUIETLY = getattr(os, "O_NOATIME", 0)
# The present name of an open file, as the system reports it (proc_pid_fd(5)).
NAMES = "/proc/self/fd/{}"
# The database, and the files that SQLite keeps beside an open database.
_EACH = (("", "the journal"), ("-wal", "the journal's log"), ("-shm", "the journal's index"))


def file_system(path: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system that ``path`` is on, such as ``ext4``; empty if the system does not report it."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    real = path.resolve()
    found, longest = "", -1
    for line in lines:
        fields, _, more = line.partition(" - ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields.split()[4]))
        # Of two file systems mounted at one place, the later one is visible.
        if real.is_relative_to(point) and len(point.parts) >= longest:
            found, longest = more.split()[0], len(point.parts)
    return found


def refuse_network(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise ``JournalUnavailable`` for a journal that would be on a network file system."""
    kind = file_system(path, mounts)
    if kind in _NETWORK or _NETWORK_FUSE.fullmatch(kind):
        raise JournalUnavailable(
            f"the journal {path} is on a network file system ({kind}), where SQLite cannot lock files safely",
            hint="set FAILOVER_STATE to a directory on a local disk; several bastions can share a journal on"
            " PostgreSQL: FAILOVER_JOURNAL=postgresql+psycopg://…",
        )


class Handle:
    """The database's file, kept open for as long as SQLite has it open in this process."""

    _lock = threading.Lock()
    _open: ClassVar[dict[tuple[int, int], Handle]] = {}

    def __init__(self, key: tuple[int, int], number: int) -> None:
        self._key = key
        self._users = 0
        self.number = number

    @classmethod
    def hold(cls, path: Path) -> Handle:
        """The handle of the file that ``path`` names now. Raises ``OSError``."""
        with cls._lock:
            found = path.stat()
            key = found.st_dev, found.st_ino
            if key not in cls._open:
                cls._open[key] = cls(key, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            handle = cls._open[key]
            handle._users += 1
            return handle

    def let_go(self) -> None:
        """End one use of the file. Call it after SQLite has closed that use. The last call closes the file."""
        with self._lock:
            self._users -= 1
            if not self._users:
                del self._open[self._key]
                os.close(self.number)


@dataclass(slots=True)
class _Known:
    """The last known state of one file. SQLite never makes a file smaller while it is open."""

    path: str
    what: str
    inode: tuple[int, int]
    size: int

    def is_left(self, found: os.stat_result) -> bool:
        """Is it the same file, and no smaller than before?"""
        return (found.st_dev, found.st_ino) == self.inode and self.has_kept(found.st_size)

    def has_kept(self, size: int) -> bool:
        """Is the file no smaller than before?"""
        if size < self.size:
            return False
        self.size = size
        return True


class _Log:
    """The write-ahead log, held open. Its name shows whether it was deleted or replaced. ``lstat`` is not used, because
    it also asks for the file's times: on kernels with multigrain timestamps that makes the next commit slower by a
    third."""

    def __init__(self, known: _Known, names: str) -> None:
        """Raises ``JournalUnavailable``."""
        self.number = _open(known.path)
        self._link = names.format(self.number)
        self._name = ""
        with suppress(OSError):  # the system may not report names
            self._name = self._name_now() if known.is_left(os.fstat(self.number)) else ""

    def is_in_place(self) -> bool:
        """Does the log still have its first name? False also where the system does not report names. Raises
        ``OSError``."""
        return self._name != "" and self._name_now() == self._name

    def _name_now(self) -> str:
        return os.readlink(self._link)  # noqa: PTH115 - a path of pathlib's costs more than the question


class Files:
    """The database, its log and its index as they were when a run started to write to them. Safe for any thread."""

    def __init__(self, path: Path, handle: Handle, names: str = NAMES) -> None:
        """Make it while a connection is open: that keeps log and index in place. Raises ``JournalLost``."""
        self._handle = handle
        self._files = [_known(f"{path}{end}", what) for end, what in _EACH]
        self._index = self._files[2]
        self._log = _Log(self._files[1], names)
        self._log_header = b""
        self._lost = ""

    def close(self) -> None:
        """Close the log. There are no locks on the log, so closing it drops none."""
        os.close(self._log.number)

    def check(self) -> None:
        """Return if all files are unchanged, apart from growth. Raises ``JournalLost``, also on each later call;
        ``JournalUnavailable`` if the files cannot be examined."""
        if not self._lost and self._is_as_left():
            return
        self._lost = self._lost or self._find_loss()
        if self._lost:
            raise JournalLost(f"{self._lost} while a run was recorded in it")

    def _is_as_left(self) -> bool:
        """Are all files unchanged, apart from growth? A device waits for this, so it makes few system calls."""
        database, log, index = self._files
        try:
            if (
                os.pread(self._log.number, _LOG_HEADER, 0) != self._log_header
                or os.pread(self._handle.number, len(_MAGIC), 0) != _MAGIC
                or not self._log.is_in_place()
            ):
                return False
            return (
                database.is_left(os.lstat(database.path))
                and index.is_left(os.lstat(index.path))
                and log.has_kept(os.lseek(self._log.number, 0, os.SEEK_END))
            )
        except OSError:
            return False

    def _find_loss(self) -> str:
        for known in self._files:
            found = _stat(known.path)
            if found is None:
                return f"{known.what} {known.path} was deleted"
            if (found.st_dev, found.st_ino) != known.inode:
                return f"{known.what} {known.path} was replaced by another file"
            if found.st_size < known.size:
                if known is self._index:
                    # The system kills a process that accesses the missing part of a mapped file (SIGBUS).
                    os.truncate(known.path, known.size)
                return f"{known.what} {known.path} was cut off"
            known.size = found.st_size
        return self._find_overwritten()

    def _find_overwritten(self) -> str:
        database, log, _ = self._files
        try:
            if os.pread(self._handle.number, len(_MAGIC), 0) != _MAGIC:
                return f"{database.what} {database.path} was overwritten"
            for _ in range(3):  # another process may be writing it right now
                header = os.pread(self._log.number, _LOG_HEADER, 0)
                if header == self._log_header or _is_log(header):
                    self._log_header = header
                    return ""
        except OSError as error:
            raise JournalUnavailable(f"{database.path} cannot be read: {error.strerror}") from error
        return f"{log.what} {log.path} was overwritten"


def _known(path: str, what: str) -> _Known:
    found = _stat(path)
    if found is None:
        raise JournalLost(f"{what} {path} was deleted as soon as it was opened")
    return _Known(path, what, (found.st_dev, found.st_ino), found.st_size)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalUnavailable(f"{path} cannot be examined: {error.strerror}") from error


def _open(path: str) -> int:
    """Open without a change of the access time, if the system allows it: it does for the owner (open(2), O_NOATIME)."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    try:
        with suppress(PermissionError):
            return os.open(path, flags | _QUIETLY)
        return os.open(path, flags)
    except OSError as error:
        raise JournalUnavailable(f"{path} cannot be read: {error.strerror}") from error


def _is_log(header: bytes) -> bool:
    """Is this the header of a write-ahead log? Its last 8 bytes are a sum of the others (sqlite.org/fileformat2.html,
    4.1)."""
    if len(header) < _LOG_HEADER:
        return False
    (magic,) = struct.unpack(">I", header[:4])
    if magic not in _LOG_MAGIC:
        return False
    order = "<" if magic == _LOG_MAGIC[0] else ">"
    words = struct.unpack(f"{order}6I", header[:24])
    first = second = 0
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return (first, second) == struct.unpack(">2I", header[24:])
