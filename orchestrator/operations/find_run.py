"""Finds a run by its name, a start of its name, ``last``, or as the only one that fits."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, suppress
from typing import cast

from orchestrator.core.run import fold
from orchestrator.errors import DefinitionError, FailoverError, NoSuchRun
from orchestrator.journal.errors import gone
from orchestrator.journal.journal import Journal, RunRow
from orchestrator.journal.lease import claims
from orchestrator.model import events as ev
from orchestrator.operations.declared_families import know_recorded


def find_run(journal: Journal, name: str | None) -> str:
    """The run called ``name``, by a start of it, or ``last``; without a name the newest run. From then on the families
    in its record are known as they were recorded."""
    return _known(journal, _find(journal, name))


def _known(journal: Journal, run: str) -> str:
    """``run``, after the families of its record are known. A record that cannot be read is reported by later
    readers."""
    with suppress(FailoverError), closing(cast("Generator[ev.Record]", journal.records(run))) as records:
        first = next(records).event
        if isinstance(first, ev.RunCreated):
            know_recorded(first.plan)
    return run


def _find(journal: Journal, name: str | None) -> str:
    rows = journal.runs()
    if name is None or name == "last":
        if not rows:
            _see_vanished(journal, None)
            raise NoSuchRun("there are no runs yet")
        return rows[0].run
    if not any(row.run.startswith(name) for row in rows):
        _see_vanished(journal, name)
    return _named(rows, name)


def find_open_run(journal: Journal, name: str | None, to_do: str) -> str:
    """The run called ``name`` among the runs that have not ended; without a name the only one. ``to_do`` completes a
    sentence.

    A run that is not finished has claimed its services, so the claims show the unfinished runs, however long the list
    of runs is. A run that was killed while it released its claims is among them. Resuming it releases the rest.
    """
    open_runs = set(claims(journal).values())
    if name is not None:
        run = find_run(journal, name)
        if run not in open_runs and _is_over(journal, run):
            outcome = fold(journal.records(run)).outcome
            raise DefinitionError(
                f"run {run} has ended ({outcome}): there is nothing to {to_do}",
                hint=f"see `failover runs show {run}`",
            )
        return run
    found = [row.run for row in journal.runs() if row.run in open_runs]
    if not found:
        _see_vanished(journal, None)
    if len(found) != 1:
        raise _ambiguous(
            "several runs are unfinished" if found else f"no run is unfinished, so there is nothing to {to_do}", found
        )
    return _known(journal, found[0])


def _is_over(journal: Journal, run: str) -> bool:
    state = fold(journal.records(run))
    return state.outcome is not None and all(lane.settled for lane in state.lanes.values())


def _see_vanished(journal: Journal, name: str | None) -> None:
    """Raise ``JournalCorrupt`` for a recorded run that is missing now: the run called ``name``, or one that had not
    ended."""
    for run, noted in journal.vanished().items():
        if run.startswith(name) if name else not noted.is_over:
            raise gone(run, noted)


def _named(rows: list[RunRow], name: str) -> str:
    fits = [row.run for row in rows if row.run == name] or [row.run for row in rows if row.run.startswith(name)]
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise _ambiguous(f"{name!r} fits several runs", fits)
    raise NoSuchRun(f"there is no run {name!r}", hint="`failover runs list` shows them all")


def _ambiguous(sentence: str, runs: list[str]) -> FailoverError:
    return NoSuchRun(sentence, hint=f"name one run: {', '.join(runs[:5])}" if runs else "see `failover runs list`")
