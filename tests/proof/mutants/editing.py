"""How a guard is removed: one short passage of a function's source is replaced, and the function compiled again.

The code object of the function itself is swapped, so that everybody who imported it meets the broken one. A passage
that does not stand exactly once in the function any more is an error: a mutant that changes nothing proves nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from tests.proof.mutants.swapping import Swap


class DoesNotFit(Exception):
    """The source was changed since the mutant was written."""


def edit(function: Any, *changes: tuple[str, str]) -> Swap:
    """``function`` with each passage (old, new) of its source replaced. A property or a cached function will do."""
    plain = _plain(function)
    return (plain, "__code__", lambda code: _compiled(plain, code, changes))


def _plain(function: Any) -> Any:
    """What is behind a property, a class method or a cache."""
    if isinstance(function, property):
        return function.fget
    return getattr(function, "__wrapped__", getattr(function, "__func__", function))


def _compiled(function: Any, code: CodeType, changes: tuple[tuple[str, str], ...]) -> CodeType:
    path = inspect.getsourcefile(function)
    assert path is not None  # it is ours, so it has a file
    lines = Path(path).read_text("utf-8").splitlines(keepends=True)
    own, first = inspect.getsourcelines(function)
    text = "".join(own)
    for old, new in changes:
        if text.count(old) != 1:
            raise DoesNotFit(f"{code.co_qualname} has {old!r} {text.count(old)} times")
        text = text.replace(old, new)
    whole = "".join([*lines[: first - 1], text, *lines[first - 1 + len(own) :]])
    found = [
        one for one in _codes(compile(whole, path, "exec", dont_inherit=True)) if one.co_qualname == code.co_qualname
    ]
    if len(found) != 1:
        raise DoesNotFit(f"{path} has {len(found)} functions called {code.co_qualname}")
    return found[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)
