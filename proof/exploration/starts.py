"""From which moments of the pair a runbook is explored, and which of its words the model knows.

The moments are those in which an operator may reach for a runbook, fitting or not: one that does not fit is refused
there, which is explored too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator.runbook import Check, Do, Runbook, Step
from proof.exploration.looking import FIELDS, ITEM_FIELDS
from proof.exploration.pair import BACKLOG, TARGET, Pair

# Action, and the arguments that the model understands.
_ACTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "set_role": {"role": ("active", "standby")},
    "set_backbone": {"state": ("up", "down")},
    "set_external_fence": {"state": ("closed", "open")},
    "set_reject_on_discard": {"enabled": ("yes", "no")},
    "complete_transaction": {},
    "delete_transaction": {},
}


def starts(runbook: Runbook) -> Iterator[tuple[str, Pair]]:
    """Where to begin, each with its name. What the runbook never speaks of is left as it should be."""
    words = _words(runbook)
    base = Pair(depth=(BACKLOG, 0))
    if "transactions" in words:
        base = base._replace(held=("prepared", "prepared"))
    yield "the source is active and holds a backlog, the bridge is bound", base
    yield "replication was suspended, and messages passed the queue by", base._replace(rejects=False, bypassed=True)
    yield "the source is dark", base._replace(dark=True)
    yield "the sites are cut off from each other", base._replace(link=False)
    moved = base._replace(active=(False, True), last=TARGET)
    yield "the target is active already", moved
    back = moved._replace(active=(True, True), others="fence" in words, serving=("health" not in words, True))
    if "fence" in words:
        yield "the source came back active while the target is active, its door open", back
        yield "the source came back active behind a shut door", back._replace(door=("shut", "open"))
    if "external_fence" in words:
        yield "the source came back active behind the fence of the plan", back._replace(outside=(True, False))
    if not words & {"fence", "external_fence"}:
        yield "the source came back active while the target is active", back
    if "endpoints" in words:
        yield "endpoints hold messages from before a fail-over", base._replace(unequal=True)


def _words(runbook: Runbook) -> frozenset[str]:
    words = {check.reading for check in _checks(runbook)}
    words |= {step.for_each.reading for step in runbook.steps if step.for_each is not None}
    words |= {"endpoints"} if any(step.compare for step in runbook.steps) else set()
    doors = {"set_backbone": "fence", "set_external_fence": "external_fence"}
    return frozenset(words | {doors[do.action] for do in _dos(runbook) if do.action in doors})


def unexplored(runbook: Runbook) -> list[str]:
    """The readings, fields, actions and arguments that the model does not know; empty when it can be explored."""
    found: dict[str, None] = {}
    for check in _checks(runbook):
        _look(found, check.reading, FIELDS, check.where)
    for step in runbook.steps:
        if step.for_each is not None:
            _look(found, step.for_each.reading, ITEM_FIELDS, step.for_each.where)
        if step.progress is not None:
            _look(found, step.progress.reading, FIELDS, (step.progress.field,))
    for do in _dos(runbook):
        known = _ACTIONS.get(do.action)
        if known is None:
            found[f"action {do.action}"] = None
            continue
        for name, value in do.args.items():
            if value not in known.get(name, ()):
                found[f"action {do.action} with {name} {value}"] = None
    return list(found)


def _look(found: dict[str, None], reading: str, known: Mapping[str, frozenset[str]], fields: Iterable[str]) -> None:
    if reading not in known:
        found[f"reading {reading}"] = None
        return
    for field in fields:
        if field not in known[reading]:
            found[f"{field} of reading {reading}"] = None


def _checks(runbook: Runbook) -> Iterator[Check]:
    for step in runbook.steps:
        yield from (*step.only_if, *step.require, *step.expect, *step.until, *step.never, *step.guard)
        if step.undo is not None:
            yield from (*step.undo.require, *step.undo.expect)


def _dos(runbook: Runbook) -> Iterator[Do]:
    for step in runbook.steps:
        yield from _dos_of(step)


def _dos_of(step: Step) -> Iterator[Do]:
    if step.do is not None:
        yield step.do
    if step.undo is not None:
        yield step.undo.do
