"""How an engine is broken for the length of a play: a function of the product is swapped for another one, and back.

This is the one place that replaces parts of the product from outside. It is for plays of broken engines alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

# Where, under which name, and what from the original makes the broken one. ``where`` is a module, a class or a table.
Swap = tuple[Any, Any, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken engine. ``about``: what it does wrong, in words; ``family``: whose runbooks show it, if only one's do;
    ``kind``: the class of guard that is gone."""

    name: str
    about: str
    swaps: tuple[Swap, ...]
    family: str | None = None
    kind: str = ""


@contextmanager
def broken_by(mutant: Mutant) -> Iterator[None]:
    """Until the end of the block the product is broken in this way."""
    with ExitStack() as stack:
        for where, name, make in mutant.swaps:
            stack.enter_context(_swapped(where, name, make))
        yield


@contextmanager
def _swapped(where: Any, name: Any, make: Callable[[Any], Any]) -> Iterator[None]:
    if isinstance(where, Mapping):
        assert isinstance(where, MutableMapping)  # a table that can be written to
        original = where[name]
        where[name] = make(original)
        try:
            yield
        finally:
            where[name] = original
        return
    original = getattr(where, name)
    setattr(where, name, make(original))
    try:
        yield
    finally:
        setattr(where, name, original)
