"""The interface of an engine for algorithms, and the SQL text of the algorithms.

The text is SQL that both engines accept, with a few macros for their differences (``Dialect``). With these rules, which
``tests/architecture`` checks, both engines give the same rows. Every order states the place of empty values. The text
does not divide. No aggregate picks "any" or "first" of several values. A sum in the result is cast.
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
# A function that returns the SQL of a macro for its arguments.
Macro = Callable[..., str]

_SECTION = re.compile(r"^--- (\w+)[^\n]*\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_NAME = re.compile(r"\b([a-z_][a-z0-9_]*)\(")


@dataclass(frozen=True, slots=True)
class Near:
    """The messages for a closer check: the numbers in ``ranges``, both ends included, of ``endpoints`` (None: all)."""

    endpoints: Collection[str] | None
    ranges: Sequence[Range]


class Executor(Protocol):
    """A running engine. It knows tables by name. The caller closes the engine."""

    name: str
    """Name and version, for the report."""
    hash_bits: int
    """The number of bits in the hash of a message."""
    tells_ranges: bool
    """Does the engine read less if the wanted numbers are given?"""

    def open_sides(self, left: Side, right: Side, services: Collection[str]) -> None:
        """Make the views ``rows_l`` and ``rows_r``: the messages of these services, with ``service`` and the columns of
        the schema. ``micros`` replaces ``spooled_at``, and ``expires`` replaces ``expires_at``, both in microseconds."""
        ...

    def check_output(self, place: Place) -> None:
        """Check that this engine can write below ``place``, which is not on this machine. Called before any computation.
        Raises ``FailoverError``."""
        ...

    def expect(self, rows: int) -> None:
        """Announce the number of input rows of the next queries."""
        ...

    def narrow(self, near: Near | None) -> None:
        """Make the view ``near``: messages of both sides, with the column ``side``. It has at least the messages of
        ``near`` (None: all)."""
        ...

    def given(self, name: str, table: pa.Table) -> None:
        """Register a small table of the caller as ``name``."""
        ...

    def read(self, name: str, what: str, places: Sequence[Place], settings: Mapping[str, Any]) -> None:
        """Make the table ``name`` from these files, as ``pipeline.engines.readers`` reads them."""
        ...

    def view(self, name: str, sql: str) -> None:
        """Give a query a name."""
        ...

    def hold(self, name: str, sql: str) -> None:
        """Compute the rows of a query once, and keep them in memory or on disk."""
        ...

    def rows(self, sql: str) -> list[Row]:
        """The rows of a query with few rows."""
        ...

    def write(self, sql: str, place: Place, *, is_small: bool) -> None:
        """Write the rows of a query to a directory of Parquet files, one if ``is_small``. Raises ``OutputLost``."""
        ...

    def release(self) -> None:
        """Release every table."""
        ...

    @property
    def dialect(self) -> Dialect:
        """The SQL of this engine for the macros."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """The SQL of one engine for each macro and its arguments.

    - ``hash64(a, …)``: 63 or 64 bits of a hash, an integer; equal within one run for equal values.
    - ``wsum(x)``, ``wmul(a, b)``, ``wsub(a, b)``: arithmetic modulo 2**64, whatever the sign is.
    - ``floordiv(a, b)``: of integers, rounded down.
    - ``moment(x)``: the time that is ``x`` microseconds after the epoch.
    - ``ratio(a, b)``: the only division, of floating-point numbers.
    - ``percentile_of(x, share)``: a percentile, interpolated between the two nearest values.
    - ``named(x)``: a name that is also an SQL keyword.
    """

    macros: Mapping[str, Macro]

    def spelled(self, text: str) -> str:
        """``text`` with every macro expanded."""
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
    """The arguments of a call after its opening bracket, and the text after its closing bracket."""
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
    raise ValueError(f"the text has an unclosed bracket: {text[:80]}")


class Script:
    """One algorithm for one engine: the named sections of a file of ``pipeline/sql``."""

    def __init__(self, name: str, executor: Executor) -> None:
        self._sections = _sections(name)
        self._executor = executor

    def text(self, section: str, /, **values: object) -> str:
        """One section for this engine, with ``values`` in place of ``{names}``."""
        return self._executor.dialect.spelled(self._sections[section].format(**values))

    def view(self, section: str, as_name: str = "", /, **values: object) -> None:
        """Make the section a view named ``as_name``, or named like the section."""
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
