"""The journal: an append-only, hash-chained record of runs, in SQLite or PostgreSQL (``database``).

Every record of a run carries the hash of the record before it. The run's row carries number and hash of the last
record. So an edit, a deletion, a reordering or a truncation is found offline (``hash_chain``). With a signer, each
commit also holds a signature over the new head (``signing``).

Appending is one transaction. It first moves the run's row from the writer's own (epoch, sequence) to the next. If
another process took the lease, or wrote meanwhile, no row matches, nothing is written, and ``LeaseLost`` is raised.
That one statement is the fencing of the journal: a writer without the lease cannot get an intent on disk, so its action
never leaves. It also makes a second attempt decidable. If the answer of an append was lost, the run's row shows whether
the append was made: then the row has its number and hash.

The database may be deleted or replaced during a run. Before each append and each command the files of an embedded
journal are compared with those of the start (``embedded_files``), and the last record is read back. After each append
its number and hash are noted outside of the database (``heads``). So a record that lost its end does not pass for a
complete one.

All text passes ``scrub`` before it is written: no secret is ever written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import sqlalchemy as sa

from orchestrator.errors import JournalCorrupt
from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.connections import caveat_of
from orchestrator.journal.database.database import Database, Row, Transaction
from orchestrator.journal.database.embedded_files import MOUNTS
from orchestrator.journal.errors import gone, lost, mapped_errors, no_such_run, stretch, taken_over
from orchestrator.journal.hash_chain import GENESIS, Link, Signature, follow, link_hash, record_of
from orchestrator.journal.heads import Heads, Noted
from orchestrator.model import events as ev
from orchestrator.model.requests import InboxRequest, read_request

if TYPE_CHECKING:
    from orchestrator.journal.signing import Signer
    from orchestrator.journal.unavailability import Patience

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Writer:
    """The process that writes a run: the epoch of its lease, and the last record it knows of."""

    run: str
    epoch: int
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """One line of the list of runs. ``expires_at``: the time when the holder's lease ends, if it is not renewed.

    ``read_at``: the time when this row was read, by the clock that leases go by; None: by the reader's own clock.
    """

    run: str
    created_at: float
    seq: int
    epoch: int
    holder: str
    expires_at: float
    read_at: float | None = None


class Journal:
    """All runs of one database. Safe for one thread, except ``confirm``. Processes share it through the database's own
    locks. ``patience``: how long the process that leads a run waits for a database that does not answer; None: it does
    not wait."""

    def __init__(
        self,
        url: str,
        *,
        scrub: Callable[[str], str] = str,
        signer: Signer | None = None,
        heads: Path | None = None,
        mounts: Path = MOUNTS,
    ) -> None:
        """``heads``: the folder for notes, used when the journal is not a file itself; None: no notes are written
        there."""
        self.url = url
        self._scrub = scrub
        self._signer = signer
        with mapped_errors("be opened"):
            self.database = Database(url, mounts=mounts)
        self.engine, self.reader = self.database.engine, self.database.reader
        self._writing: sa.PoolProxiedConnection | None = None
        path = self.database.path
        folder = heads if path is None else path.with_suffix(".heads")
        self.heads = None if folder is None else Heads(folder, path)
        self.patience: Patience | None = None
        self._written: dict[
            str, tuple[int, str]
        ] = {}  # number and hash of the last record of each run that this process leads

    @classmethod
    def at(cls, path: Path, *, scrub: Callable[[str], str] = str, signer: Signer | None = None) -> Self:
        """The embedded journal in one SQLite file."""
        return cls(f"sqlite:///{path}", scrub=scrub, signer=signer)

    def close(self) -> None:
        """End all connections."""
        if self._writing is not None:
            self.database.give_back(self._writing)
            self._writing = None
        if self.heads is not None:
            self.heads.close()
        self.database.close()

    def caveat(self) -> str:
        """The records that the database may lose, as a sentence with its remedy; empty if it may lose none."""
        with mapped_errors("be read"):
            return caveat_of(self.engine)

    def insist(self, do: Callable[[], T], until: Callable[[], float] | None = None) -> T:
        """The result of ``do``. While the database does not answer, ``do`` is tried again for as long as ``patience``
        allows."""
        return do() if self.patience is None else self.patience.insist(do, until)

    # --- writing --------------------------------------------------------------------------------------------------

    def prepare(self, run: str) -> None:
        """Check that the head of a new run can be noted. Raises ``JournalUnavailable``."""
        if self.heads is not None:
            self.heads.begin(run)

    def create(
        self,
        transaction: Transaction,
        run: str,
        created: ev.RunCreated,
        at: float,
        *,
        holder: str,
        lease_s: float,
    ) -> Writer:
        """Write the first record of a run, inside the transaction that also claims its services. The run is led from
        now on.

        ``lease_s``: length of the lease in seconds, by the clock that leases go by. The caller must call ``led``
        afterwards.
        """
        row, head = self._chain(run, 1, at, None, created, GENESIS)
        first = {"b_run": run, "b_created_at": at, "b_seq": 1, "b_head": head, "b_epoch": 1, "b_holder": holder}
        transaction.run(sql.ADD_RUN, [{**first, "b_now": at, "b_seconds": lease_s}])
        transaction.run(sql.ADD_EVENTS, [row])
        if signed := self._signed(run, 1, head):
            transaction.run(sql.ADD_SIGNATURE, signed)
        self.database.guard_files()
        return Writer(run, 1, 1, head)

    def led(self, writer: Writer) -> Writer:
        """Note that this process leads the run of ``writer`` and continues its record after ``writer``'s last
        record."""
        if self.heads is not None:
            self.heads.note(writer.run, writer.seq, writer.head, is_over=False)
        self._written[writer.run] = writer.seq, writer.head
        return writer

    def let_go(self, run: str) -> None:
        """Note that a run, if this process led it, needs none of its services any more."""
        if self.heads is not None and run in self._written:
            self.heads.note(run, *self._written[run], is_over=True)

    def append(
        self, writer: Writer, at: float, events: Sequence[tuple[str | None, ev.Event]], *, taken: Sequence[int] = ()
    ) -> Writer:
        """Write ``events`` (lane or None, event), all or none. Returns the writer to continue with.

        ``taken`` are the requests of the inbox that these events answer. They are marked as used in the same commit, so
        that a process that dies neither loses nor repeats a request.

        Raises ``LeaseLost`` if another process holds the run now, ``JournalUnavailable`` if the events could not be
        written, and ``JournalLost`` if earlier records are no longer there.
        """
        rows, head, seq = [], writer.head, writer.seq
        for lane, event in events:
            seq += 1
            row, head = self._chain(writer.run, seq, at, lane, event, head)
            rows.append(row)
        move = {"b_run": writer.run, "b_epoch": writer.epoch, "b_seq": writer.seq, "new_seq": seq, "new_head": head}
        moved = Writer(writer.run, writer.epoch, seq, head)

        def write() -> Writer:
            with mapped_errors("be written"):
                self._write(writer.run, move, rows, taken)
            return self.led(moved) if rows else moved

        return self.insist(write)

    def _write(
        self, run: str, move: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], taken: Sequence[int]
    ) -> None:
        """One transaction. The device waits for it."""
        signed = self._signed(run, move["new_seq"], move["new_head"]) if rows else ()
        with self.database.writing(self._kept()) as commit:
            if commit.run(sql.MOVE_HEAD, [move]) != 1:
                self._see_if_written(commit, move)
                return
            if rows:
                commit.run(sql.ADD_EVENTS, rows)
            if signed:
                commit.run(sql.ADD_SIGNATURE, signed)
            if taken:
                commit.run(sql.TAKE_REQUEST, [{"b_number": number} for number in taken])

    def _see_if_written(self, commit: Transaction, move: Mapping[str, Any]) -> None:
        """Return if an earlier attempt has written the events, and only its answer was lost. Raises ``LeaseLost``, or
        ``JournalLost`` if the run is at an earlier record than this process wrote."""
        run, epoch = move["b_run"], move["b_epoch"]
        found = head_if_any(commit, run)
        if found is not None and (found.epoch, found.seq, found.head) == (epoch, move["new_seq"], move["new_head"]):
            return
        if found is None or found.epoch < epoch or (found.epoch == epoch and found.seq < move["b_seq"]):
            raise lost(run)
        raise taken_over(run)

    def _kept(self) -> sa.PoolProxiedConnection | None:
        """The connection to write on. The connection to a file is kept; a connection to a server may be lost, so it is
        lent for each transaction."""
        if self._writing is None and self.database.is_embedded:
            self._writing = self.database.lend()
        return self._writing

    def _chain(
        self, run: str, seq: int, at: float, lane: str | None, event: ev.Event, before: str
    ) -> tuple[Mapping[str, Any], str]:
        at = float(at)  # a database returns a float, and the hash must cover the value that it returns
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

    def confirm(self, run: str, epoch: int) -> None:
        """Return if ``run`` is led under ``epoch``, and the last record of this process is there.

        It is called before each command leaves, from any thread. Raises ``LeaseLost``, ``JournalLost``,
        ``JournalUnavailable``.
        """
        seq, head = self._written.get(run, (0, ""))
        with mapped_errors("be read"):
            found = self.database.ask(sql.STANDING, {"b_run": run, "b_seq": seq}, fresh=True)
        if found and found[0][0] > epoch:
            raise taken_over(run)
        if not found or found[0][0] < epoch or (seq and found[0][1] != head):
            raise lost(run)

    def writer(self, run: str) -> Writer:
        """The present state of the chain of ``run``, for a process that has just taken its lease."""
        with mapped_errors("be read"):
            found = head_of(self.database, run)
        return Writer(run, found.epoch, found.seq, found.head)

    def records(self, run: str, *, after: int = 0) -> Iterator[ev.Record]:
        """The run's records from ``after`` + 1 on, checked link by link. Raises ``NoSuchRun``, ``JournalCorrupt``."""
        for link in self.links(run, after=after):
            yield record_of(run, link)

    def lines(self, run: str, *, after: int = 0) -> Iterator[Mapping[str, Any]]:
        """The records from ``after`` + 1 on as they are stored, with their fields by name."""
        for link in self.links(run, after=after):
            yield {"run": run, **link._asdict()}

    def links(self, run: str, *, after: int = 0) -> Iterator[Link]:
        """The stored records in order, up to the last one of the run's row. The chain is checked on the way, and
        compared with the noted head."""
        noted = self.noted(run)  # first: another process may write and note more records meanwhile
        with mapped_errors("be read"), self.database.reading() as read:
            found, seq = head_if_any(read, run), after
            if found is None:
                raise no_such_run(run) if noted is None else gone(run, noted)
            head = found
            with closing(read.stream(sql.LINKS_FROM, {"b_run": run, "b_seq": after})) as stored:
                before = _hash_of(next(stored, None), run, after) if after else GENESIS
                for link in follow(stored, run, after=after, before=before):
                    seq = link.seq
                    if seq == head.seq and link.hash != head.head:
                        raise JournalCorrupt(f"run {run}: record {seq} is not the last record that was written")
                    if noted is not None and seq == noted.seq and link.hash != noted.head:
                        raise JournalCorrupt(f"run {run}: record {seq} differs from the note on this machine")
                    yield link
            # A process may be writing meanwhile. More records than at the start are right if the run's own row has
            # moved as well.
            known = head.seq if seq <= head.seq else head_of(read, run).seq
        if seq < head.seq:
            raise JournalCorrupt(f"run {run}: records {seq + 1} to {head.seq} are missing at the end")
        if seq > known:
            raise JournalCorrupt(f"run {run}: records {known + 1} to {seq} were added")
        if noted is not None and seq < noted.seq:
            raise JournalCorrupt(f"run {run}: {stretch(seq + 1, noted.seq)} written, but missing now")

    def noted(self, run: str) -> Noted | None:
        """The last known record of ``run``, as noted on this machine; None if nothing was noted."""
        return None if self.heads is None else self.heads.noted(run)

    def vanished(self) -> dict[str, Noted]:
        """The runs that were recorded here and are no longer in the database, newest name first."""
        if self.heads is None:
            return {}
        stored = {row.run for row in self.runs()}
        found = {run: self.noted(run) for run in reversed(list(self.heads.runs())) if run not in stored}
        return {run: noted for run, noted in found.items() if noted is not None}

    def signatures(self, run: str, *, only_last: bool = False) -> list[Signature]:
        """The signatures over the heads of ``run``, newest first; empty for a run that is not signed."""
        with mapped_errors("be read"), self.database.reading() as read:
            stored = read.stream(sql.SIGNATURES_OF, {"b_run": run})
            with closing(stored):
                return [Signature(*row) for row in islice(stored, 1 if only_last else None)]

    # --- the inbox ------------------------------------------------------------------------------------------------

    def ask(self, run: str, request: InboxRequest) -> None:
        """Leave a request for the process that leads ``run``."""
        body = self._scrub(request.as_json())
        with mapped_errors("be written"), self.database.writing() as commit:
            commit.run(sql.ADD_REQUEST, [{"run": run, "body": body, "taken": False}])

    def requests(self, run: str) -> list[tuple[int, InboxRequest | None]]:
        """The requests that are not used yet, oldest first, each with its number for ``append``. None stands for an
        entry that is no valid request: every account that can write to the database can add entries."""

        def read() -> list[tuple[int, InboxRequest | None]]:
            with mapped_errors("be read"):
                return [
                    (number, read_request(body)) for number, body in self.database.ask(sql.REQUESTS, {"b_run": run})
                ]

        return self.insist(read)


def _hash_of(row: Row | None, run: str, seq: int) -> str:
    link = None if row is None else Link(*row)
    if link is None or link.seq != seq:
        raise JournalCorrupt(f"run {run}: record {seq} is missing")
    return link.hash


def head_of(read: Transaction | Database, run: str) -> sql.Head:
    """Raises ``NoSuchRun``."""
    found = head_if_any(read, run)
    if found is None:
        raise no_such_run(run)
    return found


def head_if_any(read: Transaction | Database, run: str) -> sql.Head | None:
    found = read.ask(sql.HEAD, {"b_run": run})
    return sql.Head(*found[0]) if found else None


def _run_row(head: sql.Head) -> RunRow:
    return RunRow(head.run, head.created_at, head.seq, head.epoch, head.holder, head.expires_at, head.read_at)
