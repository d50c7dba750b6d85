"""The families that are installed, as their distributions offer them: entry points of the group ``failover.families``.

The name of an entry point is the name of the family. Its value is an object that ``families`` describes. Built-in
families and families of third parties are loaded in the same way. The code that finds family files offers their families
(``offer``). A family that cannot be imported does not block the others: ``problems`` says why it is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

GROUP = "failover.families"
_NEEDED = ("words", "readings", "runbooks")


@dataclass(frozen=True, slots=True)
class Installed:
    """The families that were found. ``families``: by name. ``problems``: by name, why a family cannot be used."""

    families: Mapping[str, object]
    problems: Mapping[str, str]


_offered: dict[str, Callable[[], object]] = {}
# Families from the record of a run, by name, as they were when the run started.
_recorded: dict[str, object] = {}
_forget: list[Callable[[], None]] = []
Remembered = TypeVar("Remembered", bound=Callable[..., Any])


def offer(source: str, load: Callable[[], object]) -> None:
    """Make one more family known. ``source``: where the family comes from; a source is offered only once. ``load`` makes
    the family when the families are first needed, and may raise."""
    if source not in _offered:
        _offered[source] = load
        for forget in _forget:
            forget()


@contextmanager
def offered(source: str, load: Callable[[], object]) -> Iterator[None]:
    """``offer``, only within this block. Does nothing if ``source`` is offered already."""
    if source in _offered:
        yield
        return
    offer(source, load)
    try:
        yield
    finally:
        del _offered[source]
        for forget in _forget:
            forget()


def offer_recorded(name: str, family: object) -> None:
    """Make a family known as the record of a run has it. This family replaces one of the same name that a file
    declares."""
    if _recorded.get(name) != family:
        _recorded[name] = family
        for forget in _forget:
            forget()


def remembered(function: Remembered) -> Remembered:
    """Like ``functools.cache``, but the cache is cleared when a family is offered."""
    made = cache(function)
    _forget.append(made.cache_clear)
    return made  # type: ignore[return-value]


@remembered
def installed() -> Installed:
    """All families, imported once."""
    families, problems = dict(distributed().families), dict(distributed().problems)
    families = {**_recorded, **families}
    for source, load in _offered.items():
        try:
            declared = load()
        except Exception as error:  # noqa: BLE001 - what a file declares may be wrong in any way
            problems[source] = str(error)
            continue
        name = str(getattr(declared, "name", ""))
        if name in _recorded:
            continue
        if name in families:
            problems[source] = f"the family {name} is already installed"
        else:
            families[name] = declared
    return Installed(families, problems)


def installed_as(name: str) -> object | None:
    """The family of this name, or None. The files of families are read only for a name that no distribution offers."""
    found = distributed().families.get(name)
    return installed().families.get(name) if found is None else found


@cache
def distributed() -> Installed:
    """The families that distributions offer, without those that files declare."""
    families: dict[str, object] = {}
    problems: dict[str, str] = {}
    offered: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = offered.setdefault(entry.name, entry)
        if other.value != entry.value:
            problems[entry.name] = f"two distributions offer this family: {other.value} and {entry.value}"
    for name, entry in offered.items():
        if name not in problems:
            found, why = _load(entry)
            if why:
                problems[name] = why
            else:
                families[name] = found
    return Installed(families, problems)


def _load(entry: EntryPoint) -> tuple[object, str]:
    """The family, or a text that says why there is none."""
    try:
        found: object = entry.load()
    except Exception as error:  # noqa: BLE001 - importing runs code of others, which may raise anything
        return None, f"the family cannot be imported: {type(error).__name__}: {error}"
    if getattr(found, "name", None) != entry.name:
        return None, f"{entry.value} is not a family called {entry.name}"
    lacking = [name for name in _NEEDED if not hasattr(found, name)]
    return (None, f"{entry.value} has no {', '.join(lacking)}") if lacking else (found, "")
