"""The meaning of a line before it is obeyed: its words, its errors and its plan.

A plan is made only from the line. Only the run of the plan reads or changes the appliance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from simulator.lab.command_log import Kind

Level = Literal["admin", "read-only"]
_WORD = re.compile(r'"([^"]*)"|([^\s"]+)')


class Invalid(Exception):
    """The line is not a command in this mode."""


class TooLow(Exception):
    """The session's access level does not allow the command."""


@dataclass(frozen=True, slots=True)
class Place:
    """The mode of a session. ``path``: for example ``("configure", "message-vpn")``. ``vpn`` or ``interface``: the
    object of the mode."""

    is_enabled: bool = False
    path: tuple[str, ...] = ()
    vpn: str = ""
    interface: str = ""

    @property
    def mode(self) -> str:
        """The name of the mode: ``exec``, ``enabled``, or for example ``configure/message-vpn``."""
        return "/".join(self.path) or ("enabled" if self.is_enabled else "exec")


@dataclass(frozen=True, slots=True)
class Plan:
    """``run`` returns the lines to print and may raise ``Refused``. Afterwards the session is at ``place``.

    ``warning`` is set if the command asks before it runs. ``paging`` switches the pager. ``ends`` ends the session.
    """

    kind: Kind
    run: Callable[[], Sequence[str]] = tuple
    place: Place | None = None
    warning: str = ""
    paging: bool | None = None
    ends: bool = False


def words_of(line: str) -> list[str]:
    """The words of a line. Quotes keep a name with blanks together. Raises ``Invalid`` for an open quote."""
    words: list[str] = []
    position = 0
    stripped = line.strip()
    while position < len(stripped):
        found = _WORD.match(stripped, position)
        if found is None:
            raise Invalid
        words.append(found[2] if found[1] is None else found[1])
        position = found.end()
        if position < len(stripped) and not stripped[position].isspace():
            raise Invalid
        while position < len(stripped) and stripped[position].isspace():
            position += 1
    return words


def options(words: Sequence[str], *, valued: Sequence[str] = (), bare: Sequence[str] = ()) -> dict[str, str]:
    """The options in ``words``: ``message-vpn V detail`` gives ``{"message-vpn": "V", "detail": ""}``. They may have any
    order, but each occurs at most once."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in found or word not in (*valued, *bare) or (word in valued and not rest):
            raise Invalid
        found[word] = rest.pop(0) if word in valued else ""
    return found


def is_pattern(name: str) -> bool:
    """Does ``name`` have wildcards?"""
    return "*" in name or "?" in name


def fits(name: str, pattern: str) -> bool:
    """Does ``name`` match ``pattern``? ``*`` matches any text, ``?`` one character."""
    parts = ("." if char == "?" else ".*" if char == "*" else re.escape(char) for char in pattern)
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None
