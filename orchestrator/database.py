"""The journal's database: its connections, its transactions, and statements that are compiled once for it.

SQLAlchemy knows the tables, writes the SQL, lends the connections, and notices when a server is lost. But what it does
around a statement takes longer than SQLite needs for the statement, and a device waits for it: an embedded database
is spoken to through its driver.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from operator import itemgetter
from typing import Any, ClassVar, Protocol, Self, cast

import sqlalchemy as sa

from orchestrator.tables import METADATA

Values = Mapping[str, Any]
Row = tuple[Any, ...]
Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete

_BATCH = 1000
# How long a server keeps a transaction open for a client that says nothing: as long as a lease, milliseconds.
_IDLE_MS = 15_000
# After how much silence of a server's machine the system gives up a connection: its own answer takes minutes to come,
# and meanwhile nobody serves. The words are libpq's: seconds, and milliseconds for what was sent and not acknowledged.
_SILENCE = {
    "connect_timeout": 10,
    "tcp_user_timeout": _IDLE_MS,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
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
        self._idle: deque[sa.PoolProxiedConnection] = deque()

    def close(self) -> None:
        """End all connections that nobody uses now."""
        while self._idle:
            self._idle.pop().close()
        self.engine.dispose()

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        """What the database answers to one question, all at once: that is of one moment without a transaction."""
        if not self.is_embedded:
            with self._asking() as read:
                return read.ask(statement, values)
        lent = self.lend()
        try:
            return self.prepare(statement, values).ask(_driver_of(lent), values)
        finally:
            self.give_back(lent)

    def reading(self) -> AbstractContextManager[Transaction]:
        """For several questions. It takes no lock; in an embedded database all answers are of one moment."""
        return _Direct(self, begin="BEGIN", end="ROLLBACK") if self.is_embedded else self._asking()

    def writing(self, kept: sa.PoolProxiedConnection | None = None) -> AbstractContextManager[Transaction]:
        """What is raised in it takes everything back. ``kept``: one that was lent and is to be used; None: any."""
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
        """A connection to an embedded database, to be given back: SQLAlchemy's own lending and checking of what was
        lent takes longer than most transactions. Any thread may ask."""
        try:
            return self._idle.pop()
        except IndexError:
            return self.engine.raw_connection()

    def give_back(self, lent: sa.PoolProxiedConnection) -> None:
        """It has no transaction any more, and is for the next one who asks."""
        self._idle.append(lent)

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

    def ask(self, driver: sqlite3.Connection, values: Values) -> Sequence[Row]:
        """What SQLite answers."""
        return driver.execute(self.text, self.bind(values)).fetchall()


def _binder(order: Sequence[str] | None) -> Callable[[Values], Any]:
    """From values by name to what the driver wants: the same, or the values in ``order``."""
    if order is None:
        return lambda values: values
    if len(order) > 1:
        return itemgetter(*order)  # a tuple, as the driver wants it
    return lambda values: tuple(values[name] for name in order)


def _driver_of(lent: sa.PoolProxiedConnection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", lent.driver_connection)


class _Direct:
    """A transaction through SQLite's driver. ``kept``: the connection to use; None: one is lent by the database."""

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
            self._driver.rollback()  # nothing, where it has ended, or SQLite has taken everything back by itself
            self._leave()

    def _leave(self) -> None:
        if self._kept is None:
            self._database.give_back(self._lent)

    def run(self, statement: Statement, rows: Sequence[Values]) -> int:
        prepared = self._database.prepare(statement, rows[0])
        return self._driver.executemany(prepared.text, map(prepared.bind, rows)).rowcount

    def ask(self, statement: Statement, values: Values) -> Sequence[Row]:
        return self._database.prepare(statement, values).ask(self._driver, values)

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
    named = sa.make_url(url)
    bounds = _SILENCE if named.drivername == "postgresql+psycopg" else {}
    # What a server ended while nothing was written is noticed before it is used, not by a failing append.
    engine = sa.create_engine(
        named,
        pool_pre_ping=not url.startswith("sqlite"),
        connect_args={name: value for name, value in bounds.items() if name not in named.query},
    )
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
