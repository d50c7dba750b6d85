"""The journal's database: its connections, its transactions, and statements that are compiled once for it.

SQLAlchemy knows the tables, writes the SQL, lends the connections, and notices when a server is lost. But its work
around a statement takes longer than SQLite needs for the statement, and a device waits for it. So an embedded database
is used through its driver.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, cast

import sqlalchemy as sa

from orchestrator.journal.database.connections import make_engine, path_of
from orchestrator.journal.database.embedded_files import MOUNTS, Files, Handle, refuse_network
from orchestrator.journal.database.migration import prepare

Values = Mapping[str, Any]
Row = tuple[Any, ...]
Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete

_BATCH = 1000


class Transaction(Protocol):
    """All changes in it are kept when it ends, or none. Raises errors of driver or SQLAlchemy."""

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        """Execute ``statement`` for each of ``rows``, at least one and all with the same keys. Returns the number of
        changed rows."""
        ...

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        """The rows of the answer, all at once."""
        ...

    def stream(self, statement: Statement, values: Values) -> Generator[Row]:
        """The rows of an answer of any length, some at a time. The caller must close it before the transaction ends."""
        ...


class Database:
    """One database, by its URL, with all tables in it. ``reader``: the engine for connections that only read."""

    # By driver: a compiled statement serves all databases of one driver.
    _prepared: ClassVar[dict[tuple[str, Statement], _Prepared]] = {}

    def __init__(self, url: str, *, mounts: Path = MOUNTS) -> None:
        """``mounts``: the system's list of mounts. Raises ``JournalUnavailable``."""
        self.engine = make_engine(url, mounts=mounts)
        try:
            prepare(self.engine)
        except BaseException:
            self.engine.dispose()
            raise
        self.reader = self.engine.execution_options(reading=True)
        self._kind = self.engine.url.drivername
        self.is_embedded = self.engine.dialect.name == "sqlite"
        self._idle: deque[sa.PoolProxiedConnection] = deque()
        self.path = self._find_path()
        if self.path is not None:
            refuse_network(self.path, mounts)
        self._handle = None if self.path is None else Handle.hold(self.path)
        self._files: Files | None = None

    def _find_path(self) -> Path | None:
        """The file of an embedded database, with links followed."""
        if not self.is_embedded:
            return None
        with closing(self.engine.raw_connection()) as lent:
            return path_of(lent.driver_connection)

    def close(self) -> None:
        """End all connections that are not in use."""
        while self._idle:
            self._idle.pop().close()
        self.engine.dispose()
        self._set_files(None)
        if self._handle is not None:
            self._handle.let_go()
            self._handle = None

    # --- the files of an embedded database ------------------------------------------------------------------------

    def guard_files(self) -> None:
        """From now on, until the database is closed, refuse to read or write once its files differ from the present
        ones.

        Call it within a transaction. Raises ``JournalLost``.
        """
        if self.path is not None:
            self._handle = self._handle or Handle.hold(self.path)
            self._set_files(Files(self.path, self._handle))

    def _set_files(self, files: Files | None) -> None:
        before, self._files = self._files, files
        if before is not None:
            before.close()

    def check_files(self) -> None:
        """Return if the guarded files are unchanged. Raises ``JournalLost``, ``JournalUnavailable``. Any thread may
        call it."""
        files = self._files
        if files is not None:
            files.check()

    # --- queries and transactions: each raises ``JournalLost`` if files are guarded and have changed ------------------

    def ask(self, statement: Statement, values: Values, *, fresh: bool = False) -> Sequence[Row]:
        """The rows of one query, all at once. So they are of one moment without a transaction.

        ``fresh``: read the files of an embedded database, not this process's cache of them.
        """
        if not self.is_embedded:
            with self._asking() as read:
                return read.ask(statement, values)
        self.check_files()
        lent = self.lend()
        try:
            if fresh:
                _driver_of(lent).execute("PRAGMA shrink_memory")
            return self.prepare(statement, values).ask(_driver_of(lent), values)
        finally:
            self.give_back(lent)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction for several queries. It takes no lock. In an embedded database all answers are of one
        moment."""
        self.check_files()
        return _Direct(self, begin="BEGIN", end="ROLLBACK") if self.is_embedded else self._asking()

    def writing(self, kept: sa.PoolProxiedConnection | None = None) -> AbstractContextManager[Transaction]:
        """A transaction that writes. An exception inside of it rolls it back. ``kept``: a lent connection to use; None:
        any."""
        self.check_files()
        return (
            _Direct(self, begin="BEGIN IMMEDIATE", end="COMMIT", kept=kept) if self.is_embedded else self._changing()
        )

    @contextmanager
    def _asking(self) -> Iterator[Transaction]:
        with self.reader.connect() as connection:
            yield _Watched(self, connection)

    @contextmanager
    def _changing(self) -> Iterator[Transaction]:
        with self.engine.begin() as connection:
            yield _Watched(self, connection)

    def lend(self) -> sa.PoolProxiedConnection:
        """A connection to an embedded database. The caller must give it back. SQLAlchemy's own lending and checking
        takes longer than most transactions. Any thread may call it."""
        try:
            return self._idle.pop()
        except IndexError:
            return self.engine.raw_connection()

    def give_back(self, lent: sa.PoolProxiedConnection) -> None:
        """Return a connection for the next use. It must have no open transaction."""
        self._idle.append(lent)

    def prepare(self, statement: Statement, values: Values) -> _Prepared:
        """The statement compiled for this database. It must always get values with the same names."""
        key = (self._kind, statement)
        found = self._prepared.get(key)
        if found is None:
            found = self._prepared[key] = _Prepared(statement, self.engine.dialect, list(values))
        return found


class _Prepared:
    """A statement compiled for a database."""

    def __init__(self, statement: Statement, dialect: sa.Dialect, names: Sequence[str]) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        self.text = str(compiled)
        self.bind = _binder(getattr(compiled, "positiontup", None))

    def ask(self, driver: sqlite3.Connection, values: Values) -> Sequence[Row]:
        """The rows of SQLite's answer."""
        return driver.execute(self.text, self.bind(values)).fetchall()


def _binder(order: Sequence[str] | None) -> Callable[[Values], Any]:
    """A function from values by name to the form that the driver needs: the same mapping, or the values in
    ``order``."""
    if order is None:
        return lambda values: values
    if len(order) > 1:
        return itemgetter(*order)  # a tuple, as the driver wants it
    return lambda values: tuple(values[name] for name in order)


def _driver_of(lent: sa.PoolProxiedConnection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", lent.driver_connection)


class _Direct:
    """A transaction through SQLite's driver. ``kept``: the connection to use; None: the database lends one."""

    def __init__(
        self, database: Database, *, begin: str, end: str, kept: sa.PoolProxiedConnection | None = None
    ) -> None:
        self._database, self._kept = database, kept
        self._begin, self._end = begin, end

    def __enter__(self) -> Self:
        self._lent = self._database.lend() if self._kept is None else self._kept
        self._driver = _driver_of(self._lent)
        try:
            self._driver.execute(self._begin)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._driver.execute(self._end)
        finally:
            self._driver.rollback()  # no effect if it has ended, or SQLite has rolled back itself
            self._leave()

    def _leave(self) -> None:
        if self._kept is None:
            self._database.give_back(self._lent)

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        prepared = self._database.prepare(statement, rows[0])
        if len(rows) == 1:
            return self._driver.execute(prepared.text, prepared.bind(rows[0])).rowcount
        return self._driver.executemany(prepared.text, map(prepared.bind, rows)).rowcount

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        return self._database.prepare(statement, values).ask(self._driver, values)

    def stream(self, statement: Statement, values: Values) -> Generator[Row]:
        prepared = self._database.prepare(statement, values)
        with closing(self._driver.execute(prepared.text, prepared.bind(values))) as cursor:
            yield from cursor


class _Watched:
    """A transaction through SQLAlchemy."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database, self._connection = database, connection

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        prepared = self._database.prepare(statement, rows[0])
        bound = [prepared.bind(row) for row in rows]
        return self._connection.exec_driver_sql(prepared.text, bound[0] if len(bound) == 1 else bound).rowcount

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        prepared = self._database.prepare(statement, values)
        return [tuple(row) for row in self._connection.exec_driver_sql(prepared.text, prepared.bind(values))]

    def stream(self, statement: Statement, values: Values) -> Generator[Row]:
        prepared = self._database.prepare(statement, values)
        options = {"yield_per": _BATCH}
        with self._connection.exec_driver_sql(
            prepared.text, prepared.bind(values), execution_options=options
        ) as stored:
            for row in stored:
                yield tuple(row)
