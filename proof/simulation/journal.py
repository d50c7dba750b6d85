"""The product's journal, opened by one simulated process. The process may die at each write, and the store may be away.

This module must never change the written data.
"""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any, cast

from orchestrator.family.secrets import SecretStore
from orchestrator.journal.database.database import Database, Row, Statement, Transaction, Values
from orchestrator.journal.database.embedded_files import Files
from orchestrator.journal.database.schema import METADATA
from orchestrator.journal.journal import Journal
from orchestrator.model.requests import InboxRequest
from proof.simulation.process import Onlooker, Process

_EMPTY = ";".join(f"DELETE FROM {table.name}" for table in METADATA.sorted_tables)
SECRETS = SecretStore(None)
# Contains characters that encodings change: one for which base64 has two letters, blanks, quotes.
SECRET = "Tr0ub4dor&3 >>?/"
SECRETS.redactor.learn(SECRET)


class Absence:
    """The moment until which the store answers no process, by the world's clock."""

    def __init__(self) -> None:
        self.until = 0.0


class _Away:
    """The database as one process sees it: sometimes away, or without room. Each process guards the files that it found
    itself."""

    def __init__(self, inner: Database, process: Process, absence: Absence) -> None:
        self._inner, self._process, self._absence = inner, process, absence
        self._files: Files | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def ask(self, statement: Statement, values: Values, *, fresh: bool = False) -> Sequence[Row]:
        self._refuse()
        return self._inner.ask(statement, values, fresh=fresh)

    def reading(self) -> AbstractContextManager[Transaction]:
        self._refuse()
        return self._inner.reading()

    def writing(self, kept: Any = None) -> AbstractContextManager[Transaction]:
        self._refuse()
        if self._process.is_full:
            raise sqlite3.OperationalError("database or disk is full")
        return self._inner.writing(kept)

    def guard_files(self) -> None:
        self.forget_files()
        self._inner._files = None
        self._inner.guard_files()
        self._files = self._inner._files

    def forget_files(self) -> None:
        """The process is gone, and so is its guard."""
        if self._files is not None:
            self._files.close()
        self._files = self._inner._files = None

    def _refuse(self) -> None:
        self._inner._files = self._files
        clock = self._process.clock
        if clock.now() - clock.offset < self._absence.until:
            raise sqlite3.OperationalError("the server does not answer")


class SimulatedJournal(Journal):
    """The product's journal, in memory or in a file. Its process may die right before or after each write."""

    onlooker: Onlooker
    process: Process

    def __init__(self, path: Path | None = None) -> None:
        super().__init__("sqlite://" if path is None else f"sqlite:///{path}", scrub=SECRETS.redactor.scrub)
        self.path = path
        self.tail = (0, 0)  # sizes of the write-ahead log around the last write

    def of(self, process: Process, onlooker: Onlooker, absence: Absence) -> SimulatedJournal:
        """The same store, opened by one process."""
        opened = copy.copy(self)
        opened._writing = None
        opened.process, opened.onlooker = process, onlooker
        opened.database = cast("Database", _Away(self.database, process, absence))
        return opened

    def leave(self) -> None:
        """The process is gone. The store stays."""
        if self._writing is not None:
            if self.path is None:
                self.database.give_back(self._writing)
            else:
                self._writing.invalidate()  # otherwise the next process would have this process's limits
            self._writing = None
        if isinstance(self.database, _Away):
            self.database.forget_files()

    def forget_connections(self) -> None:
        """A process that opens the store from now on opens its files again."""
        while self.database._idle:
            self.database._idle.pop().invalidate()
        self.engine.dispose()

    def requests(self, run: str) -> list[tuple[int, InboxRequest | None]]:
        self.onlooker.listening()
        return super().requests(run)

    def _write(
        self, run: str, move: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], taken: Sequence[int]
    ) -> None:
        self.onlooker.writing(rows)
        self.onlooker.instant(self.process, "before writing")
        before = _size(self.path)
        super()._write(run, move, rows, taken)
        self.tail = (before, _size(self.path))
        self.onlooker.instant(self.process, "after writing")
        self.onlooker.written(self.process, rows)

    def fill_disk(self) -> None:
        """From now on, the database cannot grow for this process."""
        if self.path is None:
            self.process.is_full = True
            return
        kept = self._kept()
        assert kept is not None  # it is a file
        with closing(kept.cursor()) as cursor:
            (pages,) = cursor.execute("PRAGMA page_count").fetchone()
            cursor.execute(f"PRAGMA max_page_count={pages}")

    def bury(self, run: str) -> None:
        """Ends the lease. On the same machine, the next process finds out by itself that the holder is dead."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE runs SET expires_at = 0 WHERE run = ?", (run,))

    def forget_claims(self, run: str) -> None:
        """Deletes all claims of a run."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM claims WHERE run = ?", (run,))

    def scrub_with(self, scrub: Callable[[str], str]) -> None:
        """Sets the function that keeps secrets out of the journal."""
        self._scrub = scrub

    def texts(self) -> Iterator[str]:
        """Everything that was written by people or devices: the inbox, and all events."""
        with self.engine.connect() as connection:
            for (text,) in connection.exec_driver_sql("SELECT body FROM inbox UNION ALL SELECT event FROM events"):
                yield str(text)

    def empty(self) -> None:
        """Empties the store for the next story."""
        lent = self.database.lend()
        lent.cursor().executescript(_EMPTY)
        self.database.give_back(lent)


def _size(path: Path | None) -> int:
    """The size of the write-ahead log, in bytes."""
    if path is None:
        return 0
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
