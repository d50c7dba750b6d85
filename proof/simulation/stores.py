"""The stores for the journals of simulated runs: one in memory for most of them, a real file for some."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

from proof.simulation.journal import SimulatedJournal

# A disk in memory, if there is one: the simulation tries the behaviour of SQLite, not the speed of a disk.
_FAST = Path("/dev/shm")


class Stores:
    """The stores of some simulated runs, one after the other. Close it at the end."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._blank = b""  # a journal without a run, as a file

    def memory(self) -> SimulatedJournal:
        """The store in memory, empty."""
        store = _in_memory()
        store.empty()
        return store

    def file(self) -> SimulatedJournal:
        """A new store in a file."""
        self.forget()
        self._folder = Path(tempfile.mkdtemp(prefix="failover-night-", dir=_FAST if _FAST.is_dir() else None))
        path = self._folder / "journal-1.db"
        if not self._blank:
            SimulatedJournal(path).close()
            self._blank = path.read_bytes()
        path.write_bytes(self._blank)
        return SimulatedJournal(path)

    def forget(self) -> None:
        """Delete the files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def close(self) -> None:
        """Delete the remaining files."""
        self.forget()


# One for the whole process, because creating its tables takes longer than many simulated runs.
_in_memory = cache(SimulatedJournal)


def torn(store: SimulatedJournal, tear: float) -> SimulatedJournal:
    """The store after a power failure: only the part ``tear`` (0 to 1) of the last write is on disk.

    SQLite writes to its log first and moves the log into the file later. Therefore the end of the log may be missing.
    """
    assert store.path is not None  # only a file can be torn
    before, after = store.tail
    number = int(store.path.stem.rpartition("-")[2]) + 1
    copied = store.path.with_name(f"journal-{number}.db")
    shutil.copy(store.path, copied)
    log = store.path.with_name(store.path.name + "-wal")
    if log.exists():
        kept = log.read_bytes()[: before + int(max(0, after - before) * tear)]
        copied.with_name(copied.name + "-wal").write_bytes(kept)
    store.close()
    return SimulatedJournal(copied)


def replaced(store: SimulatedJournal) -> None:
    """Replaces the store's file with an empty one, for every process that opens it from now on."""
    assert store.path is not None  # only a file can be replaced
    for ending in ("-wal", "-shm"):
        store.path.with_name(store.path.name + ending).unlink(missing_ok=True)
    empty = store.path.with_suffix(".empty")
    SimulatedJournal(empty).close()
    store.forget_connections()
    empty.replace(store.path)
