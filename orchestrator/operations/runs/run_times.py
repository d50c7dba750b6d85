"""The duration of runs of a plan, from the newest finished runs of its procedure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from orchestrator.core.run import begin
from orchestrator.counting import counted
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.places import place_of
from orchestrator.operations.runtime import Tools

# How many of the newest runs are opened, and how many suitable ones are enough.
_OPENED, _ENOUGH = 20, 5


def time_taken(tools: Tools, plan: ev.Plan) -> str:
    """``earlier runs took 6 s to 10 s (3 runs)``; empty if no run of this procedure on these devices is done."""
    if tools.is_rehearsal or not tools.has_journal:
        return ""
    with closing(tools.journal()) as journal:
        times = sorted(_times(journal, plan))
    if not times:
        return ""
    low, high = f"{times[0]:.0f} s", f"{times[-1]:.0f} s"
    what = low if low == high else f"{low} to {high}"
    return f"earlier runs took {what} ({counted(len(times), 'run')}, questions included)"


def _times(journal: Journal, plan: ev.Plan) -> Iterator[float]:
    found = 0
    for row in journal.runs()[:_OPENED]:
        if found == _ENOUGH:
            return
        earlier = begin(next(journal.records(row.run))).plan
        if not _is_alike(earlier, plan):
            continue
        last = next(iter(journal.records(row.run, after=row.seq - 1)), None)
        if last is not None and isinstance(last.event, ev.RunFinished) and last.event.outcome is ev.Outcome.DONE:
            found += 1
            yield last.at - row.created_at


def _is_alike(one: ev.Plan, other: ev.Plan) -> bool:
    return (
        one.runbook.runbook == other.runbook.runbook
        and one.simulated == other.simulated
        and place_of(one) == place_of(other)
    )
