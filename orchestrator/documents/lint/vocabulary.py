"""Checks that a runbook's words fit an adapter's declarations: readings, their fields and values, actions, their
arguments.

This module only compares a runbook with declarations. It knows no adapter and must never connect to anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from orchestrator.documents.source_map import Diagnostic, Path, quoted
from orchestrator.family.contract import ActionSpec, ReadingSpec
from orchestrator.family.reachability import model_of
from orchestrator.model.comparisons import compared_by, known_comparisons
from orchestrator.model.findings import Level
from orchestrator.model.reading import (
    Bounds,
    Elsewhere,
    Reading,
    Scalar,
    WhereValue,
    field_names,
    item_field_names,
    item_model,
)
from orchestrator.model.runbook import Check, Decide, Do, ForEach, Progress, Runbook, Side, Step
from orchestrator.suggestions import suggest

Readings = Mapping[str, ReadingSpec]
Actions = Mapping[str, ActionSpec]

# A person may always choose to wait or to stop. An action does not have to know these two outcomes.
ALWAYS_LEGAL = ("stop", "wait")


def lint_words(
    runbook: Runbook, readings: Readings, actions: Actions, *, side: Side | None = None
) -> Iterator[Diagnostic]:
    """All errors of words, step by step. If ``side`` is given, only the errors of that side's words."""
    sides: tuple[Side, ...] = ("source", "target") if side is None else (side,)
    for index, step in enumerate(runbook.steps):
        path: Path = ("steps", index)
        for check, place in checks_of(step, path):
            if check.on in sides:
                yield from _check(check, place, readings)
        if step.for_each is not None and step.for_each.on in sides:
            yield from _for_each(step.for_each, (*path, "for_each"), readings)
        for number, look in enumerate(step.report):
            if look.on in sides:
                yield from _unknown_reading(look.reading, (*path, "report", number), readings)
        if step.compare is not None:
            yield from _compare(step.compare, sides, (*path, "compare"), readings)
        if step.progress is not None and step.progress.on in sides:
            yield from progress_words(step.progress, (*path, "progress"), readings)
        if step.do is not None and step.do.on in sides:
            yield from _do(step.do, (*path, "do"), actions, has_items=step.for_each is not None, decide=step.decide)
            yield from _items(step, step.do, path, actions)
        if step.undo is not None and step.undo.do.on in sides:
            yield from _do(step.undo.do, (*path, "undo", "do"), actions, has_items=False, decide=None)


def _compare(name: str, sides: Sequence[Side], path: Path, readings: Readings) -> Iterator[Diagnostic]:
    """A comparison whose readings are missing shows nothing, so its gate asks the operator."""
    if name not in known_comparisons():
        sentence = f"no comparison is called {quoted(name)}"
        yield Diagnostic(path, Level.ERROR, "unknown-comparison", sentence, suggest(name, known_comparisons()))
    for side, reading in compared_by(name):
        if side in sides and reading not in readings:
            sentence = f"no reading is called {quoted(reading)}, so the comparison {name} has no value of the {side}"
            hint = (
                "the run asks an operator; --evidence REPORT, --attest TEXT or --accept-risk TEXT answers in advance"
            )
            yield Diagnostic(path, Level.WARNING, "comparison-unread", sentence, hint)


def checks_of(step: Step, path: Path) -> Iterator[tuple[Check, Path]]:
    """Every check of a step, with its path."""
    groups: list[tuple[Path, Iterable[Check]]] = [
        ((*path, "only_if"), step.only_if),
        ((*path, "require"), step.require),
        ((*path, "reconfirm"), step.reconfirm),
        ((*path, "never"), step.never),
        ((*path, "expect"), step.expect),
        ((*path, "until"), step.until),
        ((*path, "guard"), step.guard),
    ]
    if step.undo is not None:
        groups += [((*path, "undo", "require"), step.undo.require), ((*path, "undo", "expect"), step.undo.expect)]
    for place, checks in groups:
        for index, check in enumerate(checks):
            yield check, (*place, index)


# --- readings --------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """The kind of value in a field of a reading. ``words`` are the only values of a text field, if they are known."""

    name: Literal["true or false", "a whole number", "a number", "a text", "a value that cannot be compared"]
    words: tuple[str, ...] = ()


@cache
def _kinds(model: type[Any], names: frozenset[str]) -> Mapping[str, _Kind]:
    hints = get_type_hints(model)
    derived = {name: get_type_hints(vars(model)[name].fget)["return"] for name in names if name not in hints}
    return {name: _kind(hints.get(name, derived.get(name))) for name in names}


def _kind(annotation: object) -> _Kind:
    if get_origin(annotation) in (Union, UnionType):
        annotation, *others = [part for part in get_args(annotation) if part is not NoneType]
        if {annotation, *others} == {int, float}:
            return _Kind("a number")
        if others:
            return _Kind("a value that cannot be compared")
    if get_origin(annotation) is Literal:
        return _Kind("a text", get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _Kind("a text", tuple(str(member.value) for member in annotation))
    plain: Mapping[object, _Kind] = {
        bool: _Kind("true or false"),
        int: _Kind("a whole number"),
        float: _Kind("a number"),
        str: _Kind("a text"),
    }
    return plain.get(annotation, _Kind("a value that cannot be compared"))


def _model(name: str, readings: Readings) -> type[Reading] | None:
    return model_of(readings[name]) if name in readings else None


def _unknown_reading(name: str, path: Path, readings: Readings) -> Iterator[Diagnostic]:
    if _model(name, readings) is None:
        hint = suggest(name, {one for one in readings if _model(one, readings) is not None})
        yield Diagnostic(
            (*path, "reading"), Level.ERROR, "unknown-reading", f"no reading is called {quoted(name)}", hint
        )


def _check(check: Check, path: Path, readings: Readings) -> Iterator[Diagnostic]:
    yield from _unknown_reading(check.reading, path, readings)
    model = _model(check.reading, readings)
    if model is not None:
        kinds = _kinds(model, field_names(model))
        yield from _where(check.where, (*path, "where"), kinds, f"reading {check.reading}")


def elsewhere_words(other: Elsewhere, path: Path, readings: Readings) -> Iterator[Diagnostic]:
    """Does the other site declare this reading and this field?"""
    yield from _unknown_reading(other.reading, path, readings)
    model = _model(other.reading, readings)
    if model is not None and other.field not in field_names(model):
        sentence = f"reading {other.reading} has no field {quoted(other.field)}"
        yield Diagnostic(path, Level.ERROR, "unknown-field", sentence, suggest(other.field, field_names(model)))


def _for_each(each: ForEach, path: Path, readings: Readings) -> Iterator[Diagnostic]:
    yield from _unknown_reading(each.reading, path, readings)
    model = _model(each.reading, readings)
    if model is None:
        return
    item = item_model(model)
    if item is None:
        sentence = f"reading {each.reading} has no items to work through"
        yield Diagnostic((*path, "reading"), Level.ERROR, "no-items", sentence)
        return
    kinds = _kinds(item, item_field_names(model))
    yield from _where(each.where, (*path, "where"), kinds, f"an item of {each.reading}")


def progress_words(progress: Progress | Elsewhere, path: Path, readings: Readings) -> Iterator[Diagnostic]:
    """Is the progress a number field of a declared reading?"""
    yield from _unknown_reading(progress.reading, path, readings)
    model = _model(progress.reading, readings)
    if model is None:
        return
    kinds = _kinds(model, field_names(model))
    numbers = [name for name, kind in kinds.items() if kind.name in ("a number", "a whole number")]
    if progress.field not in numbers:
        code = "progress-not-a-number" if progress.field in kinds else "unknown-field"
        sentence = f"progress must be a number of reading {progress.reading}, not {quoted(progress.field)}"
        yield Diagnostic((*path, "field"), Level.ERROR, code, sentence, suggest(progress.field, numbers))


def _where(
    where: Mapping[str, WhereValue], path: Path, kinds: Mapping[str, _Kind], what: str
) -> Iterator[Diagnostic]:
    for name, value in where.items():
        place = (*path, name)
        if name not in kinds:
            sentence = f"{what} has no field {quoted(name)}"
            yield Diagnostic(place, Level.ERROR, "unknown-field", sentence, suggest(name, kinds))
        elif isinstance(value, Bounds):
            yield from _range(name, value, kinds[name], place)
        elif isinstance(value, tuple):
            if not value:
                yield Diagnostic(
                    place,
                    Level.ERROR,
                    "never-true",
                    f"the list of values for {name} is empty, so the check is never true",
                )
            for one in value:
                yield from _scalar(name, one, kinds[name], place)
        else:
            yield from _scalar(name, value, kinds[name], place)


def _range(name: str, bounds: Bounds, kind: _Kind, path: Path) -> Iterator[Diagnostic]:
    if bounds.same_as is not None and kind.name != "a value that cannot be compared":
        return
    if kind.name not in ("a number", "a whole number"):
        yield Diagnostic(
            path, Level.ERROR, "wrong-where-value", f"{name} is {kind.name}, so {name} cannot have a range"
        )
    elif bounds.at_least is None and bounds.at_most is None and bounds.reaches is None:
        yield Diagnostic(
            path, Level.ERROR, "no-bounds", f"the range of {name} has no bounds", "give at_least or at_most"
        )
    elif bounds.at_least is not None and bounds.at_most is not None and bounds.at_least > bounds.at_most:
        yield Diagnostic(path, Level.ERROR, "never-true", f"the range of {name} is empty, so the check is never true")


def _scalar(name: str, value: Scalar, kind: _Kind, path: Path) -> Iterator[Diagnostic]:
    match kind.name:
        case "true or false":
            fits = isinstance(value, bool)
        case "a whole number":
            fits = isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
        case "a number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            fits = isinstance(value, str) and (not kind.words or value in kind.words)
    if fits and kind.name != "a value that cannot be compared":
        return
    sentence = f"{name} is {kind.name} and cannot be {quoted(value)}"
    hint = suggest(str(value), kind.words, label="allowed") if kind.words else ""
    yield Diagnostic(path, Level.ERROR, "wrong-where-value", sentence, hint)


# --- actions ---------------------------------------------------------------------------------------------


def _do(do: Do, path: Path, actions: Actions, *, has_items: bool, decide: Decide | None) -> Iterator[Diagnostic]:
    """Does a call fit the action's declaration? An undo works on the service, so it has no items and no decisions."""
    spec = actions.get(do.action)
    if spec is None:
        sentence = f"no action is called {quoted(do.action)}"
        yield Diagnostic((*path, "action"), Level.ERROR, "unknown-action", sentence, suggest(do.action, actions))
        return
    written = [name for name, argument in spec.arguments.items() if argument.filled_by == "runbook"]
    for name in do.args:
        if name not in spec.arguments:
            sentence = f"{do.action} has no argument {quoted(name)}"
            yield Diagnostic((*path, "args", name), Level.ERROR, "unknown-argument", sentence, suggest(name, written))
        elif name not in written:
            filler = spec.arguments[name].filled_by
            sentence = f"the {filler} fills argument {name} of {do.action}, not the runbook"
            yield Diagnostic(
                (*path, "args", name), Level.ERROR, "filled-argument", sentence, "leave the argument out"
            )
    for name, argument in spec.arguments.items():
        label = f"argument {name} of {do.action}"
        if argument.filled_by == "item" and not has_items:
            yield Diagnostic(
                path, Level.ERROR, "needs-for-each", f"{label} needs an item, but the step has no for_each"
            )
        elif argument.filled_by == "decision" and decide is None:
            yield Diagnostic(
                path, Level.ERROR, "needs-decide", f"{label} needs a decision, but the step has no decide"
            )
        elif argument.filled_by == "runbook" and name not in do.args:
            hint = f"choices: {', '.join(argument.choices)}" if argument.choices else ""
            yield Diagnostic(path, Level.ERROR, "missing-argument", f"{label} is missing", hint)
        elif argument.filled_by == "runbook" and argument.choices and do.args[name] not in argument.choices:
            sentence = f"{label} cannot be {quoted(do.args[name])}"
            hint = suggest(do.args[name], argument.choices, label="choices")
            yield Diagnostic((*path, "args", name), Level.ERROR, "wrong-argument", sentence, hint)


def _items(step: Step, do: Do, path: Path, actions: Actions) -> Iterator[Diagnostic]:
    """A step that works through items must pass each item to its action, and use the decisions on the items."""
    spec = actions.get(do.action)
    if spec is None or step.for_each is None:
        return
    fillers = {argument.filled_by for argument in spec.arguments.values()}
    if "item" not in fillers:
        sentence = f"{do.action} takes no item, so for_each would repeat the action on the whole service"
        yield Diagnostic((*path, "for_each"), Level.ERROR, "item-not-used", sentence)
    if step.decide is None:
        return
    decided = [argument for argument in spec.arguments.values() if argument.filled_by == "decision"]
    if not decided:
        sentence = f"{do.action} takes no decision, so a decision at gate {step.decide.gate} has no effect"
        yield Diagnostic((*path, "decide"), Level.ERROR, "decision-not-used", sentence)
    for argument in decided:
        for choice in step.decide.choices:
            if choice not in (*argument.choices, *ALWAYS_LEGAL) and argument.choices:
                sentence = f"{do.action} cannot carry out the choice {choice}"
                hint = f"choices: {', '.join(argument.choices)}"
                yield Diagnostic((*path, "decide", "choices"), Level.ERROR, "wrong-choice", sentence, hint)
