"""The outbox: the records of a run that a hook has not taken yet, and the number of the last record that it took.

Nothing is copied: the journal's own records are the outbox. For each run and hook, a number says up to which record the
hook is done. The number is raised after the delivery, so a crash between the two repeats a delivery and loses none. The
number never falls. This module must never write to the record of a run.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import sqlalchemy as sa

from orchestrator.errors import JournalCorrupt
from orchestrator.journal.database.schema import DELIVERIES, RUNS
from orchestrator.journal.errors import mapped_errors
from orchestrator.journal.hash_chain import parse_line
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import is_led
from orchestrator.model import events as ev

BATCH = 200


@dataclass(frozen=True, slots=True)
class Behind:
    """A hook that has not taken all records of a run. ``failed``: the last error, or empty."""

    run: str
    hook: str
    seq: int
    failed: str


class Outbox:
    """The outbox of all runs of one journal, on that journal's connections. Not shared between threads."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def close(self) -> None:
        """End the connections."""
        self._journal.close()

    def hurry(self) -> None:
        """Do not wait for the disk. A power cut may then repeat deliveries, and has no other effect.

        Only for a journal that the outbox alone uses: the process that leads a run must not wait behind the outbox.
        """
        if self._journal.engine.dialect.name == "sqlite":
            self._journal.engine.dispose()
            sa.event.listen(self._journal.engine, "connect", _hurry)

    def plan(self, run: str) -> ev.Plan:
        """The plan of the run, as it was recorded with the run. Raises ``NoSuchRun``, ``JournalCorrupt``."""
        created = parse_line(self._lines(run, 0, 1)[0]).event
        if not isinstance(created, ev.RunCreated):
            raise JournalCorrupt(f"run {run}: the first stored record does not start the run")
        return created.plan

    def cursor(self, run: str, hook: str) -> int:
        """The last record that ``hook`` is done with; 0 for none."""
        query = sa.select(DELIVERIES.c.seq).where(*_row(run, hook))
        with mapped_errors("be read"), self._journal.reader.connect() as connection:
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def after(self, run: str, seq: int) -> Sequence[Mapping[str, Any]]:
        """The next stored records, at most ``BATCH`` at a time; empty at the end of the record.

        All are read before the first one is delivered: a slow reader would keep the database from its clean-up.
        """
        return self._lines(run, seq, BATCH)

    def _lines(self, run: str, seq: int, count: int) -> list[Mapping[str, Any]]:
        lines = cast(Generator[Mapping[str, Any], None, None], self._journal.lines(run, after=seq))
        with closing(lines):
            return list(islice(lines, count))

    def done_with(self, run: str, hook: str, seq: int, *, failed: str = "") -> None:
        """Note that ``hook`` needs no record up to ``seq`` any more. Nothing changes if the hook is further already.

        ``failed``: the error that keeps the hook from taking the next record, or empty; without secrets.
        """
        change = sa.update(DELIVERIES).where(*_row(run, hook), DELIVERIES.c.seq < seq).values(seq=seq, failed=failed)
        with mapped_errors("be written"), self._journal.engine.begin() as connection:
            connection.execute(change)

    def note_failure(self, run: str, hook: str, text: str) -> None:
        """Keep the last error for later queries. ``text`` has no secret in it."""
        change = sa.update(DELIVERIES).where(*_row(run, hook)).values(failed=text)
        with mapped_errors("be written"), self._journal.engine.begin() as connection:
            connection.execute(change)

    def last(self, run: str) -> int:
        """The number of the newest record. Raises ``NoSuchRun``."""
        return self._journal.row(run).seq

    def is_led(self, run: str, now: float) -> bool:
        """Does a process lead ``run`` now? That process tells the hooks of the run itself. Raises ``NoSuchRun``."""
        return is_led(self._journal.row(run), now)

    def behind(self, run: str | None = None) -> list[Behind]:
        """The hooks that have records left to take, of all runs or of one, oldest run first.

        Some of these records may not concern the hook. The delivery finds that out, and then the hook is no longer
        behind.
        """
        columns = (DELIVERIES.c.run, DELIVERIES.c.hook, DELIVERIES.c.seq, DELIVERIES.c.failed)
        query = sa.select(*columns).join(RUNS, RUNS.c.run == DELIVERIES.c.run).where(DELIVERIES.c.seq < RUNS.c.seq)
        if run is not None:
            query = query.where(DELIVERIES.c.run == run)
        ordered = query.order_by(RUNS.c.created_at, DELIVERIES.c.run, DELIVERIES.c.hook)
        with mapped_errors("be read"), self._journal.reader.connect() as connection:
            return [Behind(*row) for row in connection.execute(ordered)]


def _row(run: str, hook: str) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return DELIVERIES.c.run == run, DELIVERIES.c.hook == hook


def _hurry(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.close()
