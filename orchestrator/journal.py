"""The journal: an append-only, hash-chained record of runs, in SQLite or PostgreSQL (``database``).

Every record of a run carries the hash of the one before it; the run's row carries number and hash of the last one,
so that an edit, a deletion, a reordering or a truncation is found offline (``chain``). With a signer, each commit also
holds its signature over the new head (``signing``). Appending is one transaction that first
moves the run's row from the writer's own (epoch, sequence) to the next: if another process took the lease, or wrote
meanwhile, no row matches, nothing is written, and ``LeaseLost`` is raised. That one statement is the fencing of the
journal: an intent of a powerless writer never gets on disk, so its action never leaves.

Everything that enters passes ``scrub`` first: no secret is ever written.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as sa

from orchestrator import events as ev
from orchestrator import statements as sql
from orchestrator.chain import GENESIS, Link, Signature, follow, link_hash, record_of
from orchestrator.database import Database, Row, Transaction
from orchestrator.errors import JournalCorrupt, JournalUnavailable, LeaseLost, NoSuchRun

if TYPE_CHECKING:
    from orchestrator.signing import Signer


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a run: the epoch of its lease, and the last record it knows of."""

    run: str
    epoch: int
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the list of runs. ``expires_at`` is when the present holder's lease ends, if not renewed."""

    run: str
    created_at: float
    seq: int
    epoch: int
    holder: str
    expires_at: float


class mapped_errors:
    """Turn the database's errors into ``JournalUnavailable``; ``doing`` completes 'the journal could not …'."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sa.exc.DBAPIError | sqlite3.Error):
            cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            raise JournalUnavailable(
                f"the journal could not {self._doing}: {' '.join(str(cause).split())}",
                hint="nothing was sent without a record; mend the cause (disk full? read-only? server away?) and resume",
            ) from error
        if isinstance(error, sa.exc.SQLAlchemyError):
            raise JournalUnavailable(f"the journal could not {self._doing}: {error}") from error


class Journal:
    """All runs of one database. Safe for one thread; processes share it through the database's own locks."""

    def __init__(self, url: str, *, scrub: Callable[[str], str] = str, signer: Signer | None = None) -> None:
        self.url = url
        self._scrub = scrub
        self._signer = signer
        with mapped_errors("be opened"):
            self.database = Database(url)
        self.engine, self.reader = self.database.engine, self.database.reader
        self._writing: sa.PoolProxiedConnection | None = None

    @classmethod
    def at(cls, path: Path, *, scrub: Callable[[str], str] = str, signer: Signer | None = None) -> Self:
        """The embedded journal in one SQLite file."""
        return cls(f"sqlite:///{path}", scrub=scrub, signer=signer)

    def close(self) -> None:
        """End all connections."""
        if self._writing is not None:
            self.database.give_back(self._writing)
            self._writing = None
        self.database.close()

    # --- writing --------------------------------------------------------------------------------------------------

    def create(
        self,
        transaction: Transaction,
        run: str,
        created: ev.RunCreated,
        at: float,
        *,
        holder: str,
        expires_at: float,
    ) -> Writer:
        """The first record of a run, inside the transaction that also claims its services."""
        row, head = self._chain(run, 1, at, None, created, GENESIS)
        first = {"run": run, "created_at": at, "seq": 1, "head": head, "epoch": 1}
        transaction.run(sql.ADD_RUN, [{**first, "holder": holder, "expires_at": expires_at}])
        transaction.run(sql.ADD_EVENTS, [row])
        if signed := self._signed(run, 1, head):
            transaction.run(sql.ADD_SIGNATURE, signed)
        return Writer(run, 1, 1, head)

    def append(
        self, writer: Writer, at: float, events: Sequence[tuple[str | None, ev.Event]], *, taken: Sequence[int] = ()
    ) -> Writer:
        """Write ``events`` (lane or None, event), all or none. Returns the writer to go on with.

        ``taken`` are the requests of the inbox that these events answer: a request is used up in the same commit,
        so that a process that dies neither loses nor repeats one.

        Raises ``LeaseLost`` if somebody else holds the run now, ``JournalUnavailable`` if it could not be written.
        """
        rows, head, seq = [], writer.head, writer.seq
        for lane, event in events:
            seq += 1
            row, head = self._chain(writer.run, seq, at, lane, event, head)
            rows.append(row)
        move = {"b_run": writer.run, "b_epoch": writer.epoch, "b_seq": writer.seq, "new_seq": seq, "new_head": head}
        with mapped_errors("be written"):
            self._write(writer.run, move, rows, taken)
        return Writer(writer.run, writer.epoch, seq, head)

    def _write(
        self, run: str, move: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], taken: Sequence[int]
    ) -> None:
        """One transaction: this is what a device waits for."""
        signed = self._signed(run, move["new_seq"], move["new_head"]) if rows else ()
        with self.database.writing(self._kept()) as commit:
            if commit.run(sql.MOVE_HEAD, [move]) != 1:
                raise LeaseLost(
                    f"run {run} is led by another process now",
                    hint=f"this one stopped; see `failover runs show {run}`",
                )
            if rows:
                commit.run(sql.ADD_EVENTS, rows)
            if signed:
                commit.run(sql.ADD_SIGNATURE, signed)
            if taken:
                commit.run(sql.TAKE_REQUEST, [{"b_number": number} for number in taken])

    def _kept(self) -> sa.PoolProxiedConnection | None:
        """Where to write: the connection to a file is kept; one to a server may be lost, and is lent."""
        if self._writing is None and self.database.is_embedded:
            self._writing = self.database.lend()
        return self._writing

    def _chain(
        self, run: str, seq: int, at: float, lane: str | None, event: ev.Event, before: str
    ) -> tuple[Mapping[str, Any], str]:
        at = float(at)  # a database gives back no whole number, and the hash must be of what it gives back
        body = self._scrub(event.model_dump_json(exclude_defaults=False))
        digest = link_hash(before, run, seq, at, lane, body)
        return {"run": run, "seq": seq, "at": at, "lane": lane, "event": body, "hash": digest}, digest

    def _signed(self, run: str, seq: int, head: str) -> Sequence[Mapping[str, Any]]:
        """The signature over a new head, as a row; none if this process does not sign."""
        if self._signer is None:
            return ()
        return ({"run": run, **asdict(self._signer.sign(run, seq, head))},)

    # --- reading --------------------------------------------------------------------------------------------------

    def runs(self) -> list[RunRow]:
        """All runs, newest first."""
        with mapped_errors("be read"):
            return [_run_row(sql.Head(*row)) for row in self.database.ask(sql.HEADS, {})]

    def row(self, run: str) -> RunRow:
        """One run's line. Raises ``NoSuchRun``."""
        with mapped_errors("be read"):
            return _run_row(head_of(self.database, run))

    def epoch(self, run: str) -> int:
        """The epoch under which ``run`` is led now. Any thread may ask; it is asked before each command leaves.

        Raises ``NoSuchRun``, ``JournalUnavailable``.
        """
        with mapped_errors("be read"):
            found = self.database.ask(sql.EPOCH, {"b_run": run})
        if not found:
            raise NoSuchRun(f"there is no run {run}")
        return int(found[0][0])

    def writer(self, run: str) -> Writer:
        """The state of the chain of ``run`` as it is now, for a process that just took its lease."""
        with mapped_errors("be read"):
            found = head_of(self.database, run)
        return Writer(run, found.epoch, found.seq, found.head)

    def records(self, run: str, *, after: int = 0) -> Iterator[ev.Record]:
        """The run's records from ``after`` + 1 on, checked link by link. Raises ``NoSuchRun``, ``JournalCorrupt``."""
        for link in self.links(run, after=after):
            yield record_of(run, link)

    def lines(self, run: str, *, after: int = 0) -> Iterator[Mapping[str, Any]]:
        """The same as they are stored, with their fields by name."""
        for link in self.links(run, after=after):
            yield {"run": run, **link._asdict()}

    def links(self, run: str, *, after: int = 0) -> Iterator[Link]:
        """The stored records as they are, in order, with the chain checked on the way, up to the run's own row."""
        with mapped_errors("be read"), self.database.reading() as read:
            head, seq = head_of(read, run), after
            with closing(read.stream(sql.LINKS_FROM, {"b_run": run, "b_seq": after})) as stored:
                before = _hash_of(next(stored, None), run, after) if after else GENESIS
                for link in follow(stored, run, after=after, before=before):
                    seq = link.seq
                    if seq == head.seq and link.hash != head.head:
                        raise JournalCorrupt(f"run {run}: record {seq} is not the last one that was written")
                    yield link
            # A process may be writing meanwhile: more than there was is right if the run's own row has moved as well.
            known = head.seq if seq <= head.seq else head_of(read, run).seq
        if seq < head.seq:
            raise JournalCorrupt(f"run {run}: records {seq + 1} to {head.seq} are missing at the end")
        if seq > known:
            raise JournalCorrupt(f"run {run}: records {known + 1} to {seq} were added")

    def signatures(self, run: str, *, only_last: bool = False) -> list[Signature]:
        """Those over the heads of ``run``, newest first; empty for a run that is not signed."""
        with mapped_errors("be read"), self.database.reading() as read:
            stored = read.stream(sql.SIGNATURES_OF, {"b_run": run})
            with closing(stored):
                return [Signature(*row) for row in islice(stored, 1 if only_last else None)]

    # --- the inbox ------------------------------------------------------------------------------------------------

    def ask(self, run: str, request: Mapping[str, str]) -> None:
        """Leave a request for the process that leads ``run``."""
        body = self._scrub(json.dumps(request, sort_keys=True))
        with mapped_errors("be written"), self.database.writing() as commit:
            commit.run(sql.ADD_REQUEST, [{"run": run, "body": body, "taken": False}])

    def requests(self, run: str) -> list[tuple[int, Mapping[str, str]]]:
        """The requests that are not used up yet, oldest first, each with its number for ``append``; an empty one for what
        is none. Everybody can leave one who can write the database."""
        with mapped_errors("be read"):
            return [(number, _request(body)) for number, body in self.database.ask(sql.REQUESTS, {"b_run": run})]


def _request(body: str) -> Mapping[str, str]:
    """Texts by name, each of which can be recorded; nothing for anything else."""
    try:
        request = json.loads(body)
        json.dumps(request, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return {}
    is_one = isinstance(request, dict) and all(isinstance(value, str) for value in request.values())
    return request if is_one else {}


def _hash_of(row: Row | None, run: str, seq: int) -> str:
    link = None if row is None else Link(*row)
    if link is None or link.seq != seq:
        raise JournalCorrupt(f"run {run}: record {seq} is missing")
    return link.hash


def head_of(read: Transaction | Database, run: str) -> sql.Head:
    found = read.ask(sql.HEAD, {"b_run": run})
    if not found:
        raise NoSuchRun(f"there is no run {run}", hint="`failover runs list` shows them all")
    return sql.Head(*found[0])


def _run_row(head: sql.Head) -> RunRow:
    return RunRow(head.run, head.created_at, head.seq, head.epoch, head.holder, head.expires_at)
