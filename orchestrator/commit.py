"""One commit of the journal, as near to the database's driver as may be: a device waits for it.

What SQLAlchemy does around a statement takes longer than SQLite takes for the statement, so there the driver itself
is spoken to, with text that SQLAlchemy compiled once. The connection to a server may be lost at any time; that is
SQLAlchemy's to notice, so there every statement goes through it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import sqlalchemy as sa

Row = Mapping[str, Any]


class Prepared:
    """A statement compiled once for a database."""

    def __init__(
        self, statement: sa.Update | sa.Insert | sa.Select[Any], dialect: sa.Dialect, names: Sequence[str] = ()
    ) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        self.text = str(compiled)
        self._order = getattr(compiled, "positiontup", None)

    def bind(self, values: Row) -> Any:
        """``values`` as the driver wants them: by position or by name."""
        return values if self._order is None else tuple(values[name] for name in self._order)


class Transaction(Protocol):
    """What is changed in it is on disk as a whole when it has ended, or not at all."""

    def run(self, statement: Prepared, rows: Sequence[Row]) -> int:
        """Carry the statement out for each of ``rows`` (at least one). Returns how many rows were changed."""
        ...


@contextmanager
def transaction(connection: sa.Connection) -> Iterator[Transaction]:
    """A transaction that writes. What is raised in it takes everything back. Raises the driver's errors."""
    if connection.dialect.name != "sqlite":
        with connection.begin():
            yield _OfServer(connection)
        return
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    driver.execute("BEGIN IMMEDIATE")
    try:
        yield _OfFile(driver)
        driver.execute("COMMIT")
    except BaseException:
        driver.rollback()  # nothing, where SQLite has taken everything back by itself
        raise


class _OfServer:
    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(self, statement: Prepared, rows: Sequence[Row]) -> int:
        bound = [statement.bind(row) for row in rows]
        return self._connection.exec_driver_sql(statement.text, bound[0] if len(bound) == 1 else bound).rowcount


class _OfFile:
    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def run(self, statement: Prepared, rows: Sequence[Row]) -> int:
        return self._driver.executemany(statement.text, map(statement.bind, rows)).rowcount
