"""What a line means, before anything is done about it: the words, their errors, and plans.

A plan is made by reading the line alone. Only running it checks the appliance, or changes it.
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
    """The line is no command in this place."""


class TooLow(Exception):
    """The session's access level does not allow the command."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session stands. ``path`` is ``("configure", "message-vpn")``; ``vpn`` or ``interface`` is the one that it
    is about."""

    is_enabled: bool = False
    path: tuple[str, ...] = ()
    vpn: str = ""
    interface: str = ""

    @property
    def mode(self) -> str:
        """``exec``, ``enabled``, or ``configure/message-vpn``."""
        return "/".join(self.path) or ("enabled" if self.is_enabled else "exec")


@dataclass(frozen=True, slots=True)
class Plan:
    """``run`` gives the lines to print and may raise ``Refused``; afterwards the session is at ``place``.

    ``warning`` is set when the command asks before it runs; ``paging`` switches the pager; ``ends`` ends the session.
    """

    kind: Kind
    run: Callable[[], Sequence[str]] = tuple
    place: Place | None = None
    warning: str = ""
    paging: bool | None = None
    ends: bool = False


def words_of(line: str) -> list[str]:
    """The words of a line; quotes hold a name with blanks together. Raises ``Invalid`` for an open quote."""
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
    """``{"message-vpn": "V", "detail": ""}`` of ``message-vpn V detail``, in any order, each at most once."""
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
    """``*`` stands for any text, ``?`` for one character, everything else for itself."""
    parts = ("." if char == "?" else ".*" if char == "*" else re.escape(char) for char in pattern)
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None
