"""One open session with a site's database. Statements carry bound parameters, and are committed one by one.

If a statement is not answered in time, its connection is closed: a server that hangs answers no request to cancel
either.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from adapters.declared.heard import rows_text, statement_line, told
from orchestrator.errors import (
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import AdapterContext
from orchestrator.model.declared.file import MadeFile, bound_in

# SQLSTATE classes (ISO/IEC 9075-2, section 24): a refused log-in, and errors that end a session.
_REFUSED_LOGIN, _ENDED = "28", ("08", "57P")


_NO_DRIVER = (ArgumentError, NoSuchModuleError, ModuleNotFoundError)


def driver_problem(driver: str) -> str:
    """Why ``driver`` (``dialect+driver``) cannot be used on this machine; empty if it can."""
    try:
        create_engine(URL.create(driver))
    except _NO_DRIVER as error:
        return f"the driver {driver} cannot be used: {error}"
    return ""


class Database:
    """The database of one site. ``where`` names it in errors."""

    def __init__(
        self,
        url: URL,
        arguments: Mapping[str, Any],
        where: str,
        connect_timeout_s: float,
        context: AdapterContext,
    ) -> None:
        self._where = where
        self._context = context
        self._patience_s = connect_timeout_s
        self._connection: Connection | None = None
        self._driver: Any = None
        self._opening: threading.Timer | None = None
        self._is_late = threading.Event()
        try:
            self._engine: Engine = create_engine(
                url,
                isolation_level="AUTOCOMMIT",
                poolclass=StaticPool,
                connect_args={"connect_timeout": max(2, int(connect_timeout_s)), **arguments},
            )
        except _NO_DRIVER as error:
            raise DefinitionError(f"the driver {url.drivername} cannot be used: {error}") from error
        event.listen(self._engine, "do_connect", self._dial)

    def open(self) -> None:
        """Open the session. Raises ``Unreachable`` or ``AuthenticationFailed``."""
        if self._connection is not None:
            return
        self._is_late.clear()
        try:
            self._connection = self._engine.connect()
        except SQLAlchemyError as error:
            if self._is_late.is_set():
                what = f"no session: no answer within {self._patience_s:g} s after the login"
                raise Unreachable(what, device=self._where) from error
            if _state(error).startswith(_REFUSED_LOGIN) or "authentication failed" in _sentence(error):
                raise AuthenticationFailed(_sentence(error), device=self._where) from error
            raise Unreachable(f"no session: {_sentence(error)}", device=self._where) from error
        finally:
            if self._opening is not None:
                self._opening.cancel()

    def _dial(self, dialect: Any, _: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        """Connect with the driver. SQLAlchemy then asks the server about itself, and the driver has no limit for that."""
        self._driver = dialect.connect(*arguments, **named)
        self._opening = self._watchdog(self._patience_s)
        return self._driver

    def _watchdog(self, within_s: float) -> threading.Timer:
        """Ends the connection after that time, unless it is cancelled before."""
        self._is_late = threading.Event()
        timer = threading.Timer(within_s, _cut, (self._driver, self._is_late))
        timer.daemon = True
        timer.start()
        return timer

    def close(self) -> None:
        """End the session, whatever state it is in."""
        connection, self._connection = self._connection, None
        with suppress(Exception):  # the other end may have closed in any way, and the session is closed in any case
            if connection is not None:
                connection.invalidate()
                connection.close()
        self._engine.dispose()

    def rows(self, statement: str, values: Mapping[str, Any], timeout_s: float) -> list[Mapping[str, Any]]:
        """The rows of a query. If the session had ended unnoticed, it is opened again once, since a query may be
        repeated.

        Raises ``AdapterError``.
        """
        was_open = self._connection is not None
        try:
            return self._rows(statement, values, timeout_s)
        except ConnectionLost:
            if not was_open:
                raise
            return self._rows(statement, values, timeout_s)

    def _rows(self, statement: str, values: Mapping[str, Any] | None, timeout_s: float) -> list[Mapping[str, Any]]:
        """If ``values`` is None, the statement is sent as it is: the database made it, and a colon in it names no
        parameter."""
        bound = {} if values is None else _bound(statement, values)
        with told(self._context, self._where, statement_line(statement, bound)) as exchange:
            self.open()
            with self._asked(timeout_s) as connection:
                if values is None:
                    found = connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
                else:
                    found = connection.execute(text(statement), bound)
                rows: list[Mapping[str, Any]] = [dict(row) for row in found.mappings()] if found.returns_rows else []
            exchange.answer = rows_text(rows)
            return rows

    def alive(self, timeout_s: float) -> None:
        """Check that the session still answers, and open a new one if not, so that the next statement is not lost.
        Raises as ``open`` does."""
        with suppress(ConnectionLost, CommandTimedOut, UnreadableReply):
            self._rows("select 1", {}, timeout_s)
        self.open()

    def run(self, statements: Sequence[str | MadeFile], values: Mapping[str, Any], timeout_s: float) -> list[str]:
        """Execute each statement in order, and return them as sent. Raises ``CommandRejected`` if the first one was
        refused. Raises an error that means doubt if a later one was refused, or if there was no answer."""
        sent: list[str] = []
        for statement in statements:
            try:
                sent += self._sent(statement, values, timeout_s)
            except UnreadableReply as error:
                if sent:
                    raise
                raise CommandRejected(str(error), device=self._where) from error
        return sent

    def _sent(self, statement: str | MadeFile, values: Mapping[str, Any], timeout_s: float) -> list[str]:
        if isinstance(statement, str):
            self._rows(statement, values, timeout_s)
            return [statement]
        made = [next(iter(row.values())) for row in self._rows(statement.made_by, values, timeout_s)]
        for one in made:
            if one is not None:
                self._rows(str(one), None, timeout_s)
        return [str(one) for one in made if one is not None]

    @contextmanager
    def _asked(self, timeout_s: float) -> Iterator[Connection]:
        """The session, which is ended when the time is over. An error of the database is ``UnreadableReply``."""
        assert self._connection is not None
        watchdog = self._watchdog(timeout_s)
        is_late = self._is_late
        try:
            yield self._connection
        except DBAPIError as error:
            state = _state(error)
            if is_late.is_set():
                self.close()
                raise CommandTimedOut(f"no answer within {timeout_s:g} s", device=self._where) from error
            if error.connection_invalidated or state.startswith(_ENDED) or not state:
                self.close()
                raise ConnectionLost(f"the session ended: {_sentence(error)}", device=self._where) from error
            raise UnreadableReply(_sentence(error), text=state, device=self._where) from error
        except SQLAlchemyError as error:
            raise UnreadableReply(_sentence(error), text="", device=self._where) from error
        finally:
            watchdog.cancel()


def _cut(driver: Any, is_late: threading.Event) -> None:
    """End the connection while a statement waits for it. A driver without a descriptor keeps its own time-outs."""
    is_late.set()
    # The session may end by itself at this moment, in any way.
    with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _bound(statement: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in bound_in(statement)}


def _state(error: SQLAlchemyError) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")


def _sentence(error: SQLAlchemyError) -> str:
    """The first line of the database's error, without the statement, which may be long."""
    said = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
    return said[0]
