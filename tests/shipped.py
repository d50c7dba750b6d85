"""The runbooks that come with the program, those of families in files too: the files that there are, whichever families
are known when tests are collected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orchestrator.model.runbook import Check, Runbook, Step

_FOLDER = Path(__file__).parents[1] / "runbooks"
RUNBOOKS = sorted(f"{path.parent.name}/{path.stem}" for path in _FOLDER.glob("*/*.yaml"))


def says_what_to_do(check: Check) -> bool:
    return bool(check.remedy) or "`failover " in check.say


def undo_conditions(runbook: Runbook) -> Iterator[tuple[Step, Check]]:
    """The conditions without which a rollback does not continue."""
    for step in runbook.steps:
        yield from ((step, check) for check in (() if step.undo is None else step.undo.require))


def late_conditions(runbook: Runbook) -> Iterator[tuple[Step, Check]]:
    """The conditions that can stop a run half-way: those of a rollback, and those from the point of no return on. Without
    that point, those of each step after the first action."""
    numbers = [number for number, step in enumerate(runbook.steps) if step.point_of_no_return]
    changes = [number + 1 for number, step in enumerate(runbook.steps) if step.changes]
    first = (numbers or changes or [len(runbook.steps)])[0]
    yield from undo_conditions(runbook)
    for step in runbook.steps[first:]:
        yield from ((step, check) for check in (*step.require, *step.until))


def silent_late_conditions(runbook: Runbook) -> list[str]:
    """Those of the late conditions that do not say what an operator does."""
    return [
        f"{runbook.runbook}, {step.id}: {check.say or check.reading}"
        for step, check in late_conditions(runbook)
        if not says_what_to_do(check)
    ]
