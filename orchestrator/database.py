"""The journal's database: its connections, its transactions, and statements that are compiled once for it.

SQLAlchemy knows the tables, writes the SQL, lends the connections, and notices when a server is lost. But what it does
around a statement takes longer than SQLite needs for the statement, and a device waits for it: an embedded database
is spoken to through its driver.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from operator import itemgetter
from typing import Any, ClassVar, Protocol, cast

import sqlalchemy as sa

from orchestrator.tables import METADATA

Values = Mapping[str, Any]
Row = tuple[Any, ...]
Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete

_BATCH = 1000
# How long a server keeps a transaction open for a client that says nothing: as long as a lease, milliseconds.
_IDLE_MS = 15_000
_TABLES_LOCK = 0x6661696C6F766572  # "failover": nobody else's number, with luck


class Transaction(Protocol):
    """What is changed in it is kept as a whole when it ends, or not at all. Raises errors of driver or SQLAlchemy."""

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        """Carry it out for each of ``rows``, at least one and all with the same keys. Returns how many were changed."""
        ...

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        """What the database answers, all at once."""
        ...

    def stream(self, statement: Statement, values: Values) -> Generator[Row]:
        """The same, of any length, some rows at a time. To be closed before the transaction ends."""
        ...


class Database:
    """One database, by its URL, with all tables in it. ``reader``: the engine for those who only read."""

    # By the driver: what is compiled for one database serves all that are spoken to through it.
    _prepared: ClassVar[dict[tuple[str, Statement], _Prepared]] = {}

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        _make_tables(self.engine)
        self.reader = self.engine.execution_options(reading=True)
        self._kind = self.engine.url.drivername
        self.is_embedded = self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Only for questions. It takes no lock; in an embedded database all answers are of one moment."""
        if not self.is_embedded:
            with self.reader.connect() as connection:
                yield _Watched(self, connection)
            return
        with closing(self.engine.raw_connection()) as lent:
            driver = cast("sqlite3.Connection", lent.driver_connection)
            driver.execute("BEGIN")
            try:
                yield _Direct(self, driver)
            finally:
                driver.rollback()

    @contextmanager
    def writing(self, kept: sa.Connection | None = None) -> Iterator[Transaction]:
        """What is raised in it takes everything back. ``kept``: a connection to use; None: one is lent."""
        if kept is None:
            with self.engine.connect() as connection, self.writing(connection) as transaction:
                yield transaction
            return
        if not self.is_embedded:
            with kept.begin():
                yield _Watched(self, kept)
            return
        driver = cast("sqlite3.Connection", kept.connection.driver_connection)
        driver.execute("BEGIN IMMEDIATE")
        try:
            yield _Direct(self, driver)
            driver.execute("COMMIT")
        except BaseException:
            driver.rollback()  # nothing, where SQLite has taken everything back by itself
            raise

    def prepare(self, statement: Statement, values: Values) -> _Prepared:
        """The statement as this database has it; it is always given the same values by name."""
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


def _binder(order: Sequence[str] | None) -> Callable[[Values], Any]:
    """From values by name to what the driver wants: the same, or the values in ``order``."""
    if order is None:
        return lambda values: values
    if len(order) > 1:
        return itemgetter(*order)  # a tuple, as the driver wants it
    return lambda values: tuple(values[name] for name in order)


class _Direct:
    """Through SQLite's driver."""

    def __init__(self, database: Database, driver: sqlite3.Connection) -> None:
        self._database, self._driver = database, driver

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        prepared = self._database.prepare(statement, rows[0])
        return self._driver.executemany(prepared.text, map(prepared.bind, rows)).rowcount

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        prepared = self._database.prepare(statement, values)
        return self._driver.execute(prepared.text, prepared.bind(values)).fetchall()

    def stream(self, statement: Statement, values: Values) -> Generator[Row]:
        prepared = self._database.prepare(statement, values)
        with closing(self._driver.execute(prepared.text, prepared.bind(values))) as cursor:
            yield from cursor


class _Watched:
    """Through SQLAlchemy."""

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


def _engine(url: str) -> sa.Engine:
    # What a server ended while nothing was written is noticed before it is used, not by a failing append.
    engine = sa.create_engine(url, pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _sqlite_connect)
        sa.event.listen(engine, "begin", _sqlite_begin)
    if engine.dialect.name == "postgresql":
        sa.event.listen(engine, "connect", _postgresql_connect)
    return engine


def _make_tables(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Two processes that find no tables would both make them; there the second one fails.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))
        # One question instead of one for each table: whoever opens a journal waits for it.
        known = set(sa.inspect(connection).get_table_names())
        METADATA.create_all(connection, [table for table in METADATA.sorted_tables if table.name not in known])


def _sqlite_connect(connection: Any, _: Any) -> None:
    # The driver must not begin transactions by itself: ours begin IMMEDIATE, or two writers could deadlock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA busy_timeout=5000")
    cursor.close()


def _postgresql_connect(connection: Any, _: Any) -> None:
    # A process that is stopped in the middle of a commit must not keep its run from whoever takes over.
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = {_IDLE_MS}")
        cursor.execute(f"SET lock_timeout = {_IDLE_MS * 2}")
    connection.commit()


def _sqlite_begin(connection: sa.Connection) -> None:
    # A reader takes no lock, so that it never holds up the process that leads a run.
    reading = connection.get_execution_options().get("reading")
    driver = connection.connection.driver_connection
    assert driver is not None  # a transaction begins on a connection that is open
    driver.execute("BEGIN" if reading else "BEGIN IMMEDIATE")
