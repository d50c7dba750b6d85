"""Follows a run that another process leads, from its record. It only reads."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.core.run import Run, begin
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import is_led
from orchestrator.model import events as ev
from orchestrator.operations.runtime import Tools

_CHECKED_EVERY = 0.3


def follow(tools: Tools, journal: Journal, name: str) -> Iterator[tuple[ev.Record, Run, bool]]:
    """Each record of the run, the state after it, and whether it is new: recorded after this call.

    It ends when the run is finished or paused, or no process leads it any more.
    """
    row = journal.row(name)
    records = journal.records(name)
    first = next(records)
    run = begin(first)
    yield first, run, False
    known = row.seq
    while True:
        for record in records:
            run.fold(record)
            yield record, run, record.seq > known
        if run.status in ("finished", "paused") or not is_led(row, tools.clock.now()):
            return
        tools.clock.sleep(_CHECKED_EVERY)
        row = journal.row(name)
        records = journal.records(name, after=run.seq)
