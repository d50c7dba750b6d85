"""The storage of a watch without Spark: one SQLite file. It contains a batch completely or not at all.

One transaction stores the names of a batch's files, the courses after the batch and its alerts. So each file counts
exactly once, also across kills. The alerts are then written to a file named by the batch's number. If a kill prevents
this, the next process writes the file, with the same name.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from orchestrator.errors import DefinitionError, OutputLost
from pipeline.watch.alerts import Alert
from pipeline.watch.checkpoint import AGAIN, Checkpoint, State, decode_state, encode_state

NAME = "watch.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, written_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), batch INTEGER NOT NULL, state BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS alerts (batch INTEGER NOT NULL, number INTEGER NOT NULL, alert TEXT NOT NULL,
    PRIMARY KEY (batch, number)) WITHOUT ROWID;
"""


class Kept:
    """The SQLite file of one checkpoint that this process has locked."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint.path / NAME
        with self._faults():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
            self._database = sqlite3.connect(self._path, isolation_level=None)
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_TABLES)
        self._write_waiting()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def state(self) -> State:
        """The newest state. Raises ``DefinitionError`` when it cannot be read."""
        with self._faults():
            row = self._database.execute("SELECT state FROM state").fetchone()
        if row is None:
            return State()
        try:
            return decode_state(row[0])
        except ValidationError as error:
            raise DefinitionError("the state of a watch cannot be read", file=self._path, hint=AGAIN) from error

    def names(self) -> set[str]:
        """The files that were read."""
        with self._faults():
            return {name for (name,) in self._database.execute("SELECT name FROM files")}

    def newest(self) -> float:
        """The write time of the youngest file that was read, seconds since the epoch; 0 before the first."""
        with self._faults():
            found: float | None = self._database.execute("SELECT max(written_at) FROM files").fetchone()[0]
        return found or 0.0

    def forget(self, before: float) -> None:
        """Delete the names of files that were written before this time."""
        with self._faults():
            self._database.execute("DELETE FROM files WHERE written_at < ?", (before,))

    def commit(self, state: State, alerts: Iterable[Alert], files: Mapping[str, float]) -> None:
        """Store a batch: its files (and their write times), its state and alerts. Raises ``OutputLost``."""
        lines = [(state.batch, n, json.dumps(one, separators=(",", ":"))) for n, one in enumerate(alerts)]
        with self._faults():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.executemany("INSERT INTO files VALUES (?, ?)", files.items())
                self._database.executemany("INSERT INTO alerts VALUES (?, ?, ?)", lines)
                self._database.execute(
                    "INSERT INTO state VALUES (1, ?, ?) ON CONFLICT (one) DO UPDATE SET batch = excluded.batch,"
                    " state = excluded.state",
                    (state.batch, encode_state(state)),
                )
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
        self._write_waiting()

    def _write_waiting(self) -> None:
        """Write the alerts of every batch that may not be in a file yet."""
        with self._faults():
            batches = [
                batch for (batch,) in self._database.execute("SELECT DISTINCT batch FROM alerts ORDER BY batch")
            ]
        for batch in batches:
            with self._faults():
                found = self._database.execute("SELECT alert FROM alerts WHERE batch = ? ORDER BY number", (batch,))
                alerts = [json.loads(text) for (text,) in found]
            self._checkpoint.write_alerts(batch, alerts)
            with self._faults():
                self._database.execute("DELETE FROM alerts WHERE batch = ?", (batch,))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error) or "malformed" in str(error):
                raise DefinitionError("the state of a watch cannot be read", file=self._path, hint=AGAIN) from error
            raise _lost(self._path, str(error)) from error
        except OSError as error:
            raise _lost(self._path, error.strerror or str(error)) from error


def _lost(path: Path, why: str) -> OutputLost:
    return OutputLost(
        f"{path} could not be written: {why}",
        hint="fix the cause and start again; the watch continues where it stopped and repeats no alerts",
    )
