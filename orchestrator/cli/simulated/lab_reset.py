"""``failover lab reset``: resets the simulated sites of the embedded pair or of a lab's directory.

A running lab continues with the new sites, because it reads its world's file again after another process has written it.
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
    """Reset the embedded pair.

    Raises ``DefinitionError`` while a run is in progress, and without ``force`` also if there is an unfinished run.
    """
    _see_no_run(tools, force)
    start_embedded_anew(tools.world_file, tools.clock)
    show("SIMULATED  the embedded pair was reset: ny active, nj standby")
    _warn_of_unfinished(tools)


def reset_lab(tools: Tools, directory: Path, *, force: bool = False) -> None:
    """Reset the sites that a lab keeps in ``directory``, with the same shape.

    Raises ``DefinitionError`` as ``reset_embedded``, or if there are no sites. Raises ``Unreachable`` for a damaged file.
    """
    kept = kept_worlds(directory)
    if not kept:
        raise DefinitionError(
            f"{directory} has no simulated sites", hint="give the --directory of a lab; `failover lab up` makes one"
        )
    _see_no_run(tools, force)
    for path in kept:
        show(f"SIMULATED  {path} was reset: {start_anew(path, tools.clock)}")
    _warn_of_unfinished(tools)


def _see_no_run(tools: Tools, force: bool) -> None:
    with closing(tools.journal()) as journal:
        for row in journal.runs():
            if is_led(row, tools.clock.now()) and fold(journal.records(row.run)).plan.simulated:
                raise DefinitionError(f"run {row.run} is in progress", hint="wait until the run has ended")
        # A run that is resumed on new sites would wait for the effects of its actions on the old sites.
        run = next(iter(_unfinished(journal)), None)
        if run is not None and not force:
            raise DefinitionError(
                f"run {run} is unfinished, and a reset would change the sites of this run",
                hint=f"end the run with failover resume {run} or failover abort {run}; --force resets the sites anyway",
            )


def _unfinished(journal: Journal) -> list[str]:
    """The simulated runs that are unfinished and that no process leads."""
    return [run for run in sorted(set(claims(journal).values())) if fold(journal.records(run)).plan.simulated]


def _warn_of_unfinished(tools: Tools) -> None:
    """Print the unfinished runs. A resumed run reads the sites first, and finds them as new."""
    with closing(tools.journal()) as journal:
        for run in _unfinished(journal):
            say(f"SIMULATED  run {run} is unfinished, but its sites were reset")
            say(f"SIMULATED    what to do: failover abort {run}, or failover resume {run}")
