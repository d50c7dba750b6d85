"""The version of a journal's tables: a new database gets all of them, an older one what it lacks, a newer one is refused.

The number is in the database itself: ``PRAGMA user_version`` in SQLite's file, one row of a separate table on a server.
A database of the present version is only asked for it. Every step leaves the tables so that a process of the version
before, which may lead a run right now, continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

import sqlalchemy as sa

from orchestrator.errors import JournalUnavailable
from orchestrator.journal.database.schema import IDEMPOTENCY, METADATA, RUNS, SCHEMA

_TABLES_LOCK = 0x6661696C6F766572  # "failover": no one else's number, with luck
_MARKS = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Integer, nullable=False))


def prepare(engine: sa.Engine) -> None:
    """Bring the database to ``SCHEMA``. Raises ``JournalUnavailable`` for a newer one, which is left as it is."""
    with engine.execution_options(reading=True).connect() as connection:
        found = _version(connection)
    if found == SCHEMA:
        return
    _migrate(engine)
    if engine.dialect.name == "sqlite":
        with closing(engine.raw_connection()) as lent, closing(lent.cursor()) as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")  # the tables are not left to the log alone


def _migrate(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Two processes that find no tables would both make them; there the second one fails.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))
        found = _version(connection)  # another process may have been here
        if found > SCHEMA:
            raise JournalUnavailable(
                f"the journal was written by a newer version of failover (schema {found}; this one knows {SCHEMA})",
                hint="use that version here as well; nothing was changed",
            )
        known = set(sa.inspect(connection).get_table_names())
        METADATA.create_all(connection, [table for table in METADATA.sorted_tables if table.name not in known])
        if known:
            for version in range(found, SCHEMA):
                _STEPS[version](connection)
        _mark(connection)


def _version(connection: sa.Connection) -> int:
    """0: there is nothing of ours yet."""
    if connection.dialect.name == "sqlite":
        found = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        return found or int(sa.inspect(connection).has_table(RUNS.name))
    names = sa.inspect(connection).get_table_names()
    if _MARKS.name in names:
        return int(connection.execute(sa.select(sa.func.max(_MARKS.c.version))).scalar_one() or 0)
    return int(RUNS.name in names)


def _mark(connection: sa.Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA}")
        return
    _MARKS.create(connection, checkfirst=True)
    connection.execute(sa.delete(_MARKS))
    connection.execute(sa.insert(_MARKS).values(version=SCHEMA))


def _from_nothing(_: sa.Connection) -> None:
    """Tables of another person's, or some of ours: the rest has just been made."""


def _from_1(connection: sa.Connection) -> None:
    columns = {column["name"] for column in sa.inspect(connection).get_columns(IDEMPOTENCY.name)}
    if "request" not in columns:
        connection.exec_driver_sql("ALTER TABLE idempotency ADD COLUMN request TEXT")


_STEPS: Mapping[int, Callable[[sa.Connection], None]] = {0: _from_nothing, 1: _from_1}
