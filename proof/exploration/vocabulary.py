"""The words that a runbook uses, and those that a model does not know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.model.comparisons import compared_by
from orchestrator.model.runbook import Check, Do, Runbook, Step
from proof.exploration.family import Words


def conditions(step: Step) -> Iterator[Check]:
    """The conditions of a step itself, without those of its undo."""
    yield from step.checks


def checks_of(runbook: Runbook) -> Iterator[Check]:
    """Every condition, those of the undos included."""
    for step in runbook.steps:
        yield from conditions(step)
        if step.undo is not None:
            yield from (*step.undo.require, *step.undo.expect)


def dos_of(runbook: Runbook) -> Iterator[Do]:
    """Every action, the undos included."""
    for step in runbook.steps:
        if step.do is not None:
            yield step.do
        if step.undo is not None:
            yield step.undo.do


def readings_of(runbook: Runbook) -> frozenset[str]:
    """The names of all readings."""
    names = {reading for check in checks_of(runbook) for _, reading in check.asks}
    names |= {step.for_each.reading for step in runbook.steps if step.for_each is not None}
    return frozenset(names.union(reading for step in runbook.steps for _, reading in compared_by(step.compare)))


def unexplored(runbook: Runbook, words: Words) -> list[str]:
    """The readings, fields, actions and arguments that a model does not know. Empty if the runbook can be explored."""
    found: dict[str, None] = {}
    for check in checks_of(runbook):
        _look(found, check.reading, words.fields, check.where)
        for other in check.elsewhere:
            _look(found, other.reading, words.fields, (other.field,))
    for step in runbook.steps:
        if step.for_each is not None:
            _look(found, step.for_each.reading, words.items, step.for_each.where)
        if step.progress is not None:
            for _, reading, field in step.progress.values:
                _look(found, reading, words.fields, (field,))
        if step.compare is not None and step.compare not in words.compares:
            found[f"comparison {step.compare}"] = None
    for do in dos_of(runbook):
        known = words.actions.get(do.action)
        if known is None:
            found[f"action {do.action}"] = None
            continue
        for name, value in do.args.items():
            values = known.get(name, ())
            if values is not None and value not in values:
                found[f"action {do.action} with {name} {value}"] = None
    return list(found)


def _look(found: dict[str, None], reading: str, known: Mapping[str, frozenset[str]], fields: Iterable[str]) -> None:
    if reading not in known:
        found[f"reading {reading}"] = None
        return
    for field in fields:
        if field not in known[reading]:
            found[f"{field} of reading {reading}"] = None
