"""The outbox: the records of a run that a hook has not taken yet, and how far it has been told.

Nothing is copied: the journal's own records are the outbox, and a number for each run and hook says how many of them
are done with. It is raised after the delivery, so that a crash between the two repeats one and loses none; it never
falls. Must never write to the record of a run.
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
    """A hook of a run that has not taken everything there is. ``failed``: what went wrong last, or empty."""

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
        """Do not wait for the disk: a power cut may then repeat deliveries, and nothing else.

        For a journal that only the outbox uses: the process that leads a run must not wait behind this.
        """
        if self._journal.engine.dialect.name == "sqlite":
            self._journal.engine.dispose()
            sa.event.listen(self._journal.engine, "connect", _hurry)

    def plan(self, run: str) -> ev.Plan:
        """What the run does, as it was recorded with it. Raises ``NoSuchRun``, ``JournalCorrupt``."""
        created = parse_line(self._lines(run, 0, 1)[0]).event
        if not isinstance(created, ev.RunCreated):
            raise JournalCorrupt(f"run {run}: its first record is not the first of the run")
        return created.plan

    def cursor(self, run: str, hook: str) -> int:
        """The last record that ``hook`` is done with; 0 for none."""
        query = sa.select(DELIVERIES.c.seq).where(*_row(run, hook))
        with mapped_errors("be read"), self._journal.reader.connect() as connection:
            return int(connection.execute(query).scalar_one_or_none() or 0)

    def after(self, run: str, seq: int) -> Sequence[Mapping[str, Any]]:
        """The next stored records, some of them at a time; none when there are no more.

        They are had before the first is delivered: a reader that takes its time keeps the database from tidying up.
        """
        return self._lines(run, seq, BATCH)

    def _lines(self, run: str, seq: int, count: int) -> list[Mapping[str, Any]]:
        lines = cast(Generator[Mapping[str, Any], None, None], self._journal.lines(run, after=seq))
        with closing(lines):
            return list(islice(lines, count))

    def done_with(self, run: str, hook: str, seq: int, *, failed: str = "") -> None:
        """``hook`` needs no record up to ``seq`` any more. It may be further already: then nothing changes.

        ``failed`` is what keeps it from taking the next one, or empty; without secrets.
        """
        change = sa.update(DELIVERIES).where(*_row(run, hook), DELIVERIES.c.seq < seq).values(seq=seq, failed=failed)
        with mapped_errors("be written"), self._journal.engine.begin() as connection:
            connection.execute(change)

    def note_failure(self, run: str, hook: str, text: str) -> None:
        """Keep what went wrong last, for whoever asks later. ``text`` has no secret in it."""
        change = sa.update(DELIVERIES).where(*_row(run, hook)).values(failed=text)
        with mapped_errors("be written"), self._journal.engine.begin() as connection:
            connection.execute(change)

    def last(self, run: str) -> int:
        """The number of the newest record. Raises ``NoSuchRun``."""
        return self._journal.row(run).seq

    def is_led(self, run: str, now: float) -> bool:
        """Does a process lead ``run`` now, which tells its hooks by itself? Raises ``NoSuchRun``."""
        return is_led(self._journal.row(run), now)

    def behind(self, run: str | None = None) -> list[Behind]:
        """The hooks, of all runs or one, after whose last record there are more, oldest run first.

        Not all of those records need concern the hook: who delivers finds that out, and then it is no longer behind.
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
