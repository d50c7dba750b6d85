"""The families that are installed, as their distributions offer them: entry points of the group ``failover.families``.

The name of an entry point is the name of the family; its value is an object that ``families`` describes. Built-ins and
third parties come through the same door. A family that cannot be imported is in no other one's way: ``problems`` says
why it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

GROUP = "failover.families"
_NEEDED = ("words", "readings", "runbooks")


@dataclass(frozen=True, slots=True)
class Installed:
    """What was found: ``families`` by name, and by name why one cannot be used."""

    families: Mapping[str, object]
    problems: Mapping[str, str]


@cache
def installed() -> Installed:
    """All of them, imported once in the life of a process."""
    families: dict[str, object] = {}
    problems: dict[str, str] = {}
    offered: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = offered.setdefault(entry.name, entry)
        if other.value != entry.value:
            problems[entry.name] = f"it is offered twice: {other.value} and {entry.value}"
    for name, entry in offered.items():
        if name not in problems:
            found, why = _load(entry)
            if why:
                problems[name] = why
            else:
                families[name] = found
    return Installed(families, problems)


def _load(entry: EntryPoint) -> tuple[object, str]:
    """The family, or why there is none."""
    try:
        found: object = entry.load()
    except Exception as error:  # noqa: BLE001 - importing runs code of others, which may raise anything
        return None, f"it cannot be imported: {type(error).__name__}: {error}"
    if getattr(found, "name", None) != entry.name:
        return None, f"{entry.value} is not a family called {entry.name}"
    lacking = [name for name in _NEEDED if not hasattr(found, name)]
    return (None, f"{entry.value} has no {', '.join(lacking)}") if lacking else (found, "")
