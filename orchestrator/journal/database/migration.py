"""The version of a journal's tables. A new database gets all tables, an older one those it lacks, a newer one is
refused.

The number is in the database itself: ``PRAGMA user_version`` in SQLite's file, one row of a separate table on a server.
For a database of the present version only this number is read. Every step leaves the tables usable for a process of the
version before, which may lead a run right now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing

import sqlalchemy as sa

from orchestrator.errors import JournalUnavailable
from orchestrator.journal.database.schema import IDEMPOTENCY, METADATA, RUNS, SCHEMA

_TABLES_LOCK = 0x6661696C6F766572  # "failover" in ASCII: other programs are unlikely to use this number
_MARKS = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Integer, nullable=False))


def prepare(engine: sa.Engine) -> None:
    """Bring the database to ``SCHEMA``. Raises ``JournalUnavailable`` for a newer database, and leaves it unchanged."""
    with engine.execution_options(reading=True).connect() as connection:
        found = _version(connection)
    if found == SCHEMA:
        return
    _migrate(engine)
    if engine.dialect.name == "sqlite":
        with closing(engine.raw_connection()) as lent, closing(lent.cursor()) as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")  # so that the tables are not only in the log


def _migrate(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # Two processes that find no tables would both create them, and the second one would fail.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TABLES_LOCK)))
        found = _version(connection)  # another process may have migrated it meanwhile
        if found > SCHEMA:
            raise JournalUnavailable(
                f"the journal was written by a newer version of failover (schema {found}; this one knows {SCHEMA})",
                hint="use that newer version here too; nothing was changed",
            )
        known = set(sa.inspect(connection).get_table_names())
        METADATA.create_all(connection, [table for table in METADATA.sorted_tables if table.name not in known])
        if known:
            for version in range(found, SCHEMA):
                _STEPS[version](connection)
        _mark(connection)


def _version(connection: sa.Connection) -> int:
    """The version of the tables; 0 if there are none of ours yet."""
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
    """The database has foreign tables, or some of ours. The missing ones have just been created."""


def _from_1(connection: sa.Connection) -> None:
    columns = {column["name"] for column in sa.inspect(connection).get_columns(IDEMPOTENCY.name)}
    if "request" not in columns:
        connection.exec_driver_sql("ALTER TABLE idempotency ADD COLUMN request TEXT")


_STEPS: Mapping[int, Callable[[sa.Connection], None]] = {0: _from_nothing, 1: _from_1}
