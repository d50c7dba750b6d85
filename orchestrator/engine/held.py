"""A run whose lease this process holds, with everything that an engine needs to lead the run."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.clock import Clock
from orchestrator.core.run import Run, begin, fold
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, create_run, service_key, take
from orchestrator.model import events as ev


class Held(NamedTuple):
    """A held run. ``run``: its state after the record ``writer.seq``."""

    lease: Lease
    writer: Writer
    run: Run


def hold_new(
    journal: Journal,
    clock: Clock,
    name: str,
    created: ev.RunCreated,
    *,
    key: str | None = None,
    asked: str | None = None,
) -> Held:
    """Record a new run and hold it. Raises the errors of ``create_run``."""
    first = ev.Record(run=name, seq=1, at=clock.now(), lane=None, event=created)
    lease, writer = create_run(journal, clock, name, created, key=key, asked=asked)
    return Held(lease, writer, begin(first))


def hold_again(journal: Journal, clock: Clock, name: str, run: Run | None = None) -> Held:
    """Hold a recorded run. ``run``: its state when the record was read. Raises the errors of ``take``."""
    run = run or fold(journal.records(name))
    keys = {service_key(run.plan, lane.service): lane.service for lane in run.lanes.values() if not lane.settled}
    lease, writer = take(journal, clock, name, keys)
    # Another process may have written after the record was read and before the lease was taken.
    return Held(lease, writer, run if writer.seq == run.seq else fold(journal.records(name)))
