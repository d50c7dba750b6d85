"""The errors of the journal, each as one sentence with its remedy, and the mapping of the database's own errors to
them."""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa

from orchestrator.errors import JournalCorrupt, JournalLost, JournalUnavailable, LeaseLost, NoSuchRun
from orchestrator.journal.heads import Noted

# SQLite's error codes for a file that is not a database, or is damaged (sqlite.org/rescode.html).
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class mapped_errors:
    """Turn the database's errors into ``JournalUnavailable``, or into ``JournalCorrupt`` for a file that is damaged.
    ``doing`` completes 'the journal could not …'."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        if isinstance(error, sa.exc.DBAPIError | sqlite3.Error):
            cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            sentence = f"the journal could not {self._doing}: {' '.join(str(cause).split())}"
            if getattr(cause, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise JournalCorrupt(sentence) from error
            raise JournalUnavailable(
                sentence,
                hint="nothing was sent without a record; fix the cause (disk full? read-only? server away?) and resume",
            ) from error
        if isinstance(error, sa.exc.SQLAlchemyError):
            raise JournalUnavailable(f"the journal could not {self._doing}: {error}") from error


def stretch(first: int, last: int) -> str:
    """``record 8 was``, ``records 8 to 9 were``."""
    return f"record {first} was" if first == last else f"records {first} to {last} were"


def no_such_run(run: str) -> NoSuchRun:
    """The error for a run that is not in the database and has no note."""
    return NoSuchRun(f"there is no run {run}", hint="`failover runs list` shows them all")


def taken_over(run: str) -> LeaseLost:
    """The error for a run that another process leads under a higher epoch."""
    return LeaseLost(
        f"run {run} is led by another process now", hint=f"this process stopped; see `failover runs show {run}`"
    )


def gone(run: str, noted: Noted) -> JournalCorrupt:
    """The error for a run that has a note, but is not in the database."""
    return JournalCorrupt(
        f"run {run}: this machine wrote records up to {noted.seq}, but the journal no longer has the run",
        hint=f"compare both sites with `failover status`; after that, or if you removed the journal on purpose, run:"
        f" rm {noted.path}",
    )


def lost(run: str) -> JournalLost:
    """The error for records that this process wrote and that are no longer in the database."""
    return JournalLost(f"the records of run {run} are no longer in the journal")
