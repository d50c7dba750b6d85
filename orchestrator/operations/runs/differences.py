"""The differences of two documents of the same kind, one line for each place: ``steps.drain.hold: 5s -> 0s``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Every difference between ``one`` and ``other``, values as in JSON, in the order of ``one``. Items of a list are
    matched by their ``id``, if they have one, else by their position."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            yield from _at(one, other, key, f"{place}.{key}" if place else str(key))
    elif isinstance(one, list) and isinstance(other, list):
        before, after = _by_name(one), _by_name(other)
        for key in dict.fromkeys([*before, *after]):
            yield from _at(before, after, key, f"{place}.{key}")
        if list(before) != list(after) and set(before) == set(after):
            yield f"{place}: in another order: {', '.join(after)}"
    elif one != other:
        yield f"{place}: {_told(one)} -> {_told(other)}"


_MISSING = object()


def _at(one: Mapping[str, Any], other: Mapping[str, Any], key: str, place: str) -> Iterator[str]:
    before, after = one.get(key, _MISSING), other.get(key, _MISSING)
    if after is _MISSING:
        yield f"{place}: missing here: {_told(before)}"
    elif before is _MISSING:
        yield f"{place}: only here: {_told(after)}"
    else:
        yield from differences(before, after, place)


def _by_name(items: Sequence[Any]) -> dict[str, Any]:
    ids = [item.get("id") if isinstance(item, Mapping) else None for item in items]
    named = all(isinstance(one, str) for one in ids) and len(set(ids)) == len(ids)
    return {str(ids[number]) if named else str(number + 1): item for number, item in enumerate(items)}


def _told(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
