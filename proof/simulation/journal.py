"""The product's journal as one simulated process has it open: it may die at each write, and the store may be away.

Must never change what is written.
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
# Has what each encoding changes: a sign that base64 has two letters for, blanks, quotes.
SECRET = "Tr0ub4dor&3 >>?/"
SECRETS.redactor.learn(SECRET)


class Absence:
    """Until when the store answers no one, by the world's clock."""

    def __init__(self) -> None:
        self.until = 0.0


class _Away:
    """A database that is away for a while, or has no room, as far as one process is concerned; else the database. Each
    process has an eye on the files that it found itself."""

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
        """The same store, as one process has it open."""
        opened = copy.copy(self)
        opened._writing = None
        opened.process, opened.onlooker = process, onlooker
        opened.database = cast("Database", _Away(self.database, process, absence))
        return opened

    def leave(self) -> None:
        """The process is gone; the store stays."""
        if self._writing is not None:
            if self.path is None:
                self.database.give_back(self._writing)
            else:
                self._writing.invalidate()  # or the next process would find this one's limits
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
        """From now on the database cannot grow, as far as this process is concerned."""
        if self.path is None:
            self.process.is_full = True
            return
        kept = self._kept()
        assert kept is not None  # it is a file
        with closing(kept.cursor()) as cursor:
            (pages,) = cursor.execute("PRAGMA page_count").fetchone()
            cursor.execute(f"PRAGMA max_page_count={pages}")

    def bury(self, run: str) -> None:
        """What the next process on that machine finds out by itself: the holder of the lease is dead."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE runs SET expires_at = 0 WHERE run = ?", (run,))

    def forget_claims(self, run: str) -> None:
        """As if a run had never claimed anything."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM claims WHERE run = ?", (run,))

    def scrub_with(self, scrub: Callable[[str], str]) -> None:
        """What keeps secrets out of it."""
        self._scrub = scrub

    def texts(self) -> Iterator[str]:
        """Everything that was written by people or devices: the inbox, and all events."""
        with self.engine.connect() as connection:
            for (text,) in connection.exec_driver_sql("SELECT body FROM inbox UNION ALL SELECT event FROM events"):
                yield str(text)

    def empty(self) -> None:
        """As new, for the next story."""
        lent = self.database.lend()
        lent.cursor().executescript(_EMPTY)
        self.database.give_back(lent)


def _size(path: Path | None) -> int:
    """Of the write-ahead log."""
    if path is None:
        return 0
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
