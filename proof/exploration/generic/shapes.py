"""Readings of any family, made from the values of their facets.

A facet that is a field gets its value directly. For a derived facet, values of the other fields are tried, fewest first,
until the facet has the value. A field that no facet determines stays unknown. This module must never know a family.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from orchestrator.model.facets import Facet
from orchestrator.model.reading import Bounds, Item, Reading, Where, field_names, item_field_names, item_model

# The number that is read of a queue with units, and of an empty queue.
SOME, NONE = 100, 0
# The maximum number of combinations that are tried for a derived facet.
_TRIES = 20_000

Facets = Mapping[Facet, object]


def reading_with(model: type[Reading], wanted: Facets, texts: Sequence[str]) -> Reading | None:
    """A reading with these values of its facets. None: no such reading exists. ``texts``: the values for text fields."""
    fixed = {name: wanted[facet] for facet, name in model.facets.items() if facet in wanted}
    derived = {facet for facet, name in model.facets.items() if facet in wanted and name not in model.model_fields}
    fixed = {name: value for name, value in fixed.items() if name in model.model_fields}
    if not derived:
        return _made(model, fixed)
    free = {
        name: _domain(field.annotation, texts)
        for name, field in model.model_fields.items()
        if name not in fixed and name != "kind"
    }
    free = {name: domain for name, domain in free.items() if len(domain) > 1}
    for values in itertools.islice(itertools.product(*free.values()), _TRIES):
        made = _made(model, {**fixed, **dict(zip(free, values, strict=True))})
        if made is not None and all(made.facet(facet) == wanted[facet] for facet in derived):
            return made
    return None


def _made(model: type[Reading], values: Mapping[str, Any]) -> Reading | None:
    try:
        return model(**values)
    except ValidationError:
        return None


def _domain(annotation: Any, texts: Sequence[str]) -> list[Any]:
    """The values of a type, unknown first. Only unknown for a type with too many values."""
    values: list[Any] = [None]
    for one in get_args(annotation) if get_origin(annotation) not in (None, Literal) else (annotation,):
        if get_origin(one) is Literal:
            values += get_args(one)
        elif one is bool:
            values += [True, False]
        elif one is int:
            values += [NONE, SOME]
        elif one is str:
            values += texts
        elif isinstance(one, type) and issubclass(one, Enum):
            values += list(one)
    return values


def told_by(readings: Sequence[Reading]) -> frozenset[str]:
    """The fields and derived values that are known in at least one of these readings of one model."""
    names = field_names(type(readings[0])) if readings else frozenset[str]()
    return frozenset(name for name in names if any(getattr(one, name) is not None for one in readings))


def item_for(model: type[Reading], where: Where) -> Item | None:
    """An item of this reading that fits ``where``. None: the model has no such item."""
    kind = item_model(model)
    if kind is None or not set(where) <= item_field_names(model):
        return None
    needed = {name: "item" for name, field in kind.model_fields.items() if field.is_required()}
    try:
        return kind(**{**needed, **{name: _fitting(wanted) for name, wanted in where.items()}})
    except ValidationError:
        return None


def _fitting(wanted: Any) -> Any:
    if isinstance(wanted, Bounds):
        return wanted.at_least if wanted.at_least is not None else wanted.at_most
    return wanted[0] if isinstance(wanted, tuple) else wanted


def texts_in(wheres: Sequence[Where]) -> Iterator[str]:
    """The texts with which a runbook compares fields."""
    for where in wheres:
        for wanted in where.values():
            for one in wanted if isinstance(wanted, tuple) else (wanted,):
                if isinstance(one, str):
                    yield one
