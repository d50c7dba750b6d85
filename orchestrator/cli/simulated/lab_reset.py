"""``failover lab reset``: simulated sites start again, those of the embedded pair or of a lab's directory.

A lab that is up continues with the new sites: it reads its world's file again when another process has written it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from orchestrator.cli.render.terminal import say, show
from orchestrator.core.run import fold
from orchestrator.errors import DefinitionError
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, is_led
from orchestrator.operations.runtime import Tools
from simulator.lab.anew import kept_worlds, start_anew, start_embedded_anew


def reset_embedded(tools: Tools, *, force: bool = False) -> None:
    """Start the embedded pair again.

    Raises ``DefinitionError`` while a run is under way, and beside an unfinished one, unless with ``force``.
    """
    _see_no_run(tools, force)
    start_embedded_anew(tools.world_file, tools.clock)
    show("SIMULATED  the embedded pair is as new: ny active, nj standby")
    _warn_of_unfinished(tools)


def reset_lab(tools: Tools, directory: Path, *, force: bool = False) -> None:
    """Start the sites again that a lab keeps in ``directory``, in the shape they have.

    Raises ``DefinitionError`` as ``reset_embedded``, or when there are none; ``Unreachable`` for a damaged file.
    """
    kept = kept_worlds(directory)
    if not kept:
        raise DefinitionError(
            f"{directory} holds no simulated sites", hint="`failover lab up` makes them; name its --directory"
        )
    _see_no_run(tools, force)
    for path in kept:
        show(f"SIMULATED  {path} is as new: {start_anew(path, tools.clock)}")
    _warn_of_unfinished(tools)


def _see_no_run(tools: Tools, force: bool) -> None:
    with closing(tools.journal()) as journal:
        for row in journal.runs():
            if is_led(row, tools.clock.now()) and fold(journal.records(row.run)).plan.simulated:
                raise DefinitionError(f"run {row.run} is under way", hint="let it end first")
        # Resumed on new sites it would wait for what it started on the old ones.
        run = next(iter(_unfinished(journal)), None)
        if run is not None and not force:
            raise DefinitionError(
                f"run {run} is unfinished, and would find the sites that it moved as new",
                hint=f"end it with failover resume {run} or failover abort {run}; --force resets them anyway",
            )


def _unfinished(journal: Journal) -> list[str]:
    """The simulated runs that are unfinished and that no process leads."""
    return [run for run in sorted(set(claims(journal).values())) if fold(journal.records(run)).plan.simulated]


def _warn_of_unfinished(tools: Tools) -> None:
    """Name the unfinished runs: they read the sites before they do more, and find them as new."""
    with closing(tools.journal()) as journal:
        for run in _unfinished(journal):
            say(f"SIMULATED  run {run} is unfinished, and finds the sites that it moved as new")
            say(f"SIMULATED    what to do: failover abort {run}, or failover resume {run}")
