"""What an algorithm asks of an engine, and the text in which it asks.

The text is SQL that both engines have, with a few macros for what they call or do differently (``Dialect``). Its rules,
which ``tests/architecture`` holds: whoever orders says where an empty value stands; nothing divides; no fold picks "any"
or "first" of several; a sum that leaves the text is cast. Then both give the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import pyarrow as pa

from pipeline.places import Place
from pipeline.sides import Side

Row = Mapping[str, Any]
Say = Callable[[str], None]
Range = tuple[int, int]
# The text of a macro, for its arguments.
Macro = Callable[..., str]

_SECTION = re.compile(r"^--- (\w+)[^\n]*\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_NAME = re.compile(r"\b([a-z_][a-z0-9_]*)\(")


@dataclass(frozen=True, slots=True)
class Near:
    """What a closer check needs: of ``endpoints`` (None: of all) the numbers in ``ranges``, both ends included."""

    endpoints: Collection[str] | None
    ranges: Sequence[Range]


class Executor(Protocol):
    """An engine at work. Tables are known to it by name; whoever uses one closes it."""

    name: str
    """Name and version, for the report."""
    hash_bits: int
    """How wide the hashes of messages are."""
    tells_ranges: bool
    """Does it read less where the wanted numbers are given?"""

    def open_sides(self, left: Side, right: Side, services: Collection[str]) -> None:
        """The views ``rows_l`` and ``rows_r``: the messages of these services, with ``service`` and the columns of the
        schema, ``micros`` for ``spooled_at`` and ``expires`` for ``expires_at``, both in microseconds."""
        ...

    def check_output(self, place: Place) -> None:
        """Check, before anything is computed, that this engine can write below ``place``, which is not on this machine.
        Raises ``FailoverError``."""
        ...

    def expect(self, rows: int) -> None:
        """So many rows are what the next queries start with."""
        ...

    def narrow(self, near: Near | None) -> None:
        """The view ``near``: the messages of both sides, with the column ``side``; at least those of ``near``, or all."""
        ...

    def given(self, name: str, table: pa.Table) -> None:
        """A small table of the caller's."""
        ...

    def read(self, name: str, what: str, places: Sequence[Place], settings: Mapping[str, Any]) -> None:
        """The table ``name``: what is in these files, as ``pipeline.engines.readers`` reads them."""
        ...

    def view(self, name: str, sql: str) -> None:
        """A name for a query."""
        ...

    def hold(self, name: str, sql: str) -> None:
        """A query whose rows are computed once and kept, in memory or on disk."""
        ...

    def rows(self, sql: str) -> list[Row]:
        """The rows of a query, which are few."""
        ...

    def write(self, sql: str, place: Place, *, is_small: bool) -> None:
        """The rows of a query as a directory of Parquet files, of one where it ``is_small``. Raises ``OutputLost``."""
        ...

    def release(self) -> None:
        """Let go of every table."""
        ...

    @property
    def dialect(self) -> Dialect:
        """How it says what the other says differently."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one engine calls or does differently: for each macro what stands for it, given its arguments.

    - ``hash64(a, …)``: 63 or 64 bits of a hash, an integer; equal within one run for equal values.
    - ``wsum(x)``, ``wmul(a, b)``, ``wsub(a, b)``: arithmetic modulo 2**64, whatever the sign is.
    - ``floordiv(a, b)``: of integers, rounded down.
    - ``moment(x)``: the moment that is so many microseconds after the epoch.
    - ``ratio(a, b)``: the one division, of numbers with a point.
    - ``percentile_of(x, share)``: between the two nearest values.
    - ``named(x)``: a name that is a word of SQL's as well.
    """

    macros: Mapping[str, Macro]

    def spelled(self, text: str) -> str:
        """``text`` with every macro spelled out."""
        found = _NAME.search(text)
        out = []
        while found:
            macro = self.macros.get(found[1])
            if macro is None:
                out.append(text[: found.end()])
                text = text[found.end() :]
            else:
                arguments, rest = _arguments(text[found.end() :])
                out += [text[: found.start()], macro(*map(self.spelled, arguments))]
                text = rest
            found = _NAME.search(text)
        return "".join([*out, text])


def _arguments(text: str) -> tuple[list[str], str]:
    """The arguments of a call whose bracket is open, and what is behind its closing one."""
    depth, begin, found = 0, 0, []
    is_quoted = False
    for place, sign in enumerate(text):
        if sign == "'":
            is_quoted = not is_quoted
        elif is_quoted:
            continue
        elif sign == "(":
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
        elif sign in ",)" and not depth:
            found.append(text[begin:place].strip())
            begin = place + 1
            if sign == ")":
                return found, text[begin:]
    raise ValueError(f"a bracket is not closed: {text[:80]}")


class Script:
    """One algorithm: named sections of a file of ``pipeline/sql``, for one engine."""

    def __init__(self, name: str, executor: Executor) -> None:
        self._sections = _sections(name)
        self._executor = executor

    def text(self, section: str, /, **values: object) -> str:
        """One section for this engine, with ``values`` put in for ``{names}``."""
        return self._executor.dialect.spelled(self._sections[section].format(**values))

    def view(self, section: str, as_name: str = "", /, **values: object) -> None:
        """Give the section a name, its own unless another is given."""
        self._executor.view(as_name or section, self.text(section, **values))

    def hold(self, section: str, as_name: str = "", /, **values: object) -> None:
        """Compute the section once."""
        self._executor.hold(as_name or section, self.text(section, **values))

    def rows(self, section: str, /, **values: object) -> list[Row]:
        """The rows of the section."""
        return self._executor.rows(self.text(section, **values))


@cache
def _sections(name: str) -> Mapping[str, str]:
    text = (files("pipeline") / "sql" / f"{name}.sql").read_text("utf-8")
    parts = _SECTION.split(text)
    return {title: _COMMENT.sub("", body).strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}
