"""Connections to the journal's database. Each is set up so that commits are durable, or refused with the remedy.

SQLite: a write-ahead log that is really on, every commit on disk, no network file system. PostgreSQL: the primary,
every commit on its disk and on those of its synchronous replicas. A server that does not answer is given up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from orchestrator.clock import SystemClock
from orchestrator.errors import JournalUnavailable
from orchestrator.journal.database.embedded_files import MOUNTS, refuse_network

# How long a server keeps a transaction open for a silent client: as long as a lease, milliseconds.
_IDLE_MS = 15_000
# How long a server may take for one answer, seconds. The process that leads a run asks again while its lease lasts.
ANSWER_S = 5.0
# How long another process may take to convert a new file of SQLite, and how often to check for the end of that,
# seconds.
_CONVERTED_WITHIN_S, _ASKED_AGAIN_S = 5.0, 0.01
# After this much silence of a server's machine, the system gives up the connection. Its default takes minutes, and
# meanwhile no site serves. The names are libpq's: seconds, and milliseconds for data that was sent and not
# acknowledged.
_SILENCE = {
    "connect_timeout": 5,
    "tcp_user_timeout": _IDLE_MS,
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}
_POSTGRESQL = "postgresql+psycopg"
_SETTINGS = (
    "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'), current_setting('fsync'),"
    f" set_config('idle_in_transaction_session_timeout', '{_IDLE_MS}', false),"
    f" set_config('lock_timeout', '{_IDLE_MS * 2}', false)"
)
# With these values a commit has reached the server's own disk, and that of each synchronous replica (PostgreSQL, "Write
# Ahead Log").
_DURABLE = ("on", "remote_apply")


def make_engine(url: str, *, mounts: Path = MOUNTS) -> sa.Engine:
    """The engine for a URL; nothing is connected yet. Raises ``JournalUnavailable`` for a network file system."""
    named = sa.make_url(url)
    is_embedded = named.get_backend_name() == "sqlite"
    if is_embedded and named.database and not named.database.startswith((":memory:", "file:")):
        refuse_network(Path(named.database), mounts)
    bounds = _bounds(named) if named.drivername == _POSTGRESQL else {}
    # A connection that the server ended while it was idle is noticed before its use, not by a failing append.
    engine = sa.create_engine(named, pool_pre_ping=not is_embedded, connect_args=bounds)
    if is_embedded:
        sa.event.listen(engine, "connect", _sqlite_connect)
        sa.event.listen(engine, "begin", _sqlite_begin)
    if named.drivername == _POSTGRESQL:
        sa.event.listen(engine, "do_connect", _with_bounds)
    if engine.dialect.name == "postgresql":
        sa.event.listen(engine, "connect", _postgresql_connect)
    return engine


# --- SQLite -----------------------------------------------------------------------------------------------------------


def _sqlite_connect(connection: Any, _: Any) -> None:
    # The driver must not start transactions by itself. Ours start IMMEDIATE; otherwise two writers could deadlock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=5000")
    mode = _with_write_ahead_log(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    (waits,) = cursor.execute("PRAGMA synchronous").fetchone()
    path = path_of(connection)
    cursor.close()
    if path is not None and (mode, waits) != ("wal", 2):
        connection.close()
        raise JournalUnavailable(
            f"SQLite cannot keep a write-ahead log for {path} (SQLite reports {mode!r}), so no commit is safe there",
            hint="set FAILOVER_STATE to a directory on a local disk, or set FAILOVER_JOURNAL to a PostgreSQL database",
        )


def _with_write_ahead_log(cursor: Any) -> str:
    """Request a write-ahead log, and return the mode of the file. Raises ``sqlite3.OperationalError``.

    The first connection that requests it converts the file. During the conversion SQLite refuses other connections at
    once and ignores their busy timeout, since two connections could wait for each other ("Result Codes", SQLITE_BUSY).
    So this function asks again.
    """
    clock = SystemClock()
    until = clock.now() + _CONVERTED_WITHIN_S
    while True:
        try:
            (mode,) = cursor.execute("PRAGMA journal_mode=WAL").fetchone()
            return str(mode)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or clock.now() >= until:
                raise
        clock.sleep(_ASKED_AGAIN_S)


def path_of(connection: Any) -> Path | None:
    """The file of a connection to SQLite, with links followed; None for a database in memory."""
    name = next(file for _, schema, file in connection.execute("PRAGMA database_list") if schema == "main")
    return Path(name) if name else None


def _sqlite_begin(connection: sa.Connection) -> None:
    # A reader takes no lock, so it never delays the process that leads a run.
    reading = connection.get_execution_options().get("reading")
    driver = connection.connection.driver_connection
    assert driver is not None  # a transaction starts on a connection that is open
    driver.execute("BEGIN" if reading else "BEGIN IMMEDIATE")


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


def _bounds(named: sa.URL) -> dict[str, Any]:
    """The settings for libpq that the URL does not contain: time limits, and which of several servers to use."""
    hosts = named.query.get("host", ())
    is_one_of_many = not isinstance(hosts, str) or "," in hosts
    wanted: dict[str, Any] = {
        **_SILENCE,
        **({"target_session_attrs": "read-write"} if hosts and is_one_of_many else {}),
    }
    return {name: value for name, value in wanted.items() if name not in named.query}


def _with_bounds(dialect: Any, _: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
    return _bounded(dialect.loaded_dbapi).connect(*arguments, **named)


@cache
def _bounded(driver: Any) -> Any:
    """The driver's connection class, with a limit on the time for one answer.

    A server whose process is stopped keeps its connection: the system acknowledges for it, so no time-out of TCP ends
    the connection. The driver waits for every answer in one method, which gets control every tenth of a second.
    """

    def wait(connection: Any, answer: Generator[Any, Any, Any], *more: Any, **named: Any) -> Any:
        try:
            return driver.Connection.wait(connection, _in_time(answer), *more, **named)
        except TimeoutError as error:
            connection.close()
            raise driver.OperationalError(f"the server did not answer within {ANSWER_S:.0f}s") from error

    return type("BoundedConnection", (driver.Connection,), {"wait": wait})


def _in_time(answer: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """``answer``, ended when it takes too long. Raises ``TimeoutError``."""
    clock = SystemClock()
    until = clock.now() + ANSWER_S
    try:
        waits_for = next(answer)
        while True:
            ready = yield waits_for
            if not ready and clock.now() >= until:
                raise TimeoutError
            waits_for = answer.send(ready)
    except StopIteration as end:
        return end.value


def _postgresql_connect(connection: Any, _: Any) -> None:
    """Set the time limits, and check that commits are durable.

    A process that is stopped in the middle of a commit must not block the process that takes over its run. Commits must
    be durable, whatever the server's own settings are.
    """
    with connection.cursor() as cursor:
        is_standby, commit, fsync, *_ = cursor.execute(_SETTINGS).fetchone()
        if commit not in _DURABLE:
            (commit,) = cursor.execute("SELECT set_config('synchronous_commit', 'on', false)").fetchone()
    connection.commit()
    where = f"the PostgreSQL server {connection.info.host}:{connection.info.port}"
    if is_standby:
        raise _refused(
            connection,
            f"{where} is a standby, but the journal needs the primary",
            "name the primary, or name all servers to use their primary: postgresql+psycopg://user@/db?host=one&host=two",
        )
    if commit not in _DURABLE or fsync != "on":
        raise _refused(
            connection,
            f"{where} does not wait for its disk (fsync = {fsync}, synchronous_commit = {commit}), so no record is safe",
            "ask the administrator of the server to set fsync and synchronous_commit to on",
        )


def caveat_of(engine: sa.Engine) -> str:
    """The records that the server's replication may lose, as a sentence with its remedy; empty if it may lose none."""
    if engine.dialect.name != "postgresql":
        return ""
    with engine.connect() as connection:
        names, replicas = connection.exec_driver_sql(
            "SELECT current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication)"
        ).one()
    if names or not replicas:
        return ""
    return (
        "the journal's server replicates asynchronously: if a replica is promoted, the newest records may be missing, and"
        " the run then stops; the administrator of the server can set synchronous_standby_names"
    )


def _refused(connection: Any, sentence: str, hint: str) -> JournalUnavailable:
    connection.close()
    return JournalUnavailable(sentence, hint=hint)
