"""Editions by name: maps a typed text such as ``slow-line=60`` to its change. An unknown name is refused.

This module does not depend on the effect of an edition. ``editions`` and ``amps.editions`` have the two lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from orchestrator.errors import DefinitionError

ChangeT = TypeVar("ChangeT")
PLAIN = "plain"  # no edition at all


@dataclass(frozen=True, slots=True)
class Named(Generic[ChangeT]):
    """One edition. ``sentence``: the difference of its devices. ``make``: returns the change for a number.

    ``number``: the default number. None for an edition without a number.
    """

    name: str
    sentence: str
    make: Callable[[float], ChangeT]
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Catalogue(Generic[ChangeT]):
    """The editions of one family of devices. ``devices``: the name of these devices."""

    devices: str
    entries: Sequence[Named[ChangeT]]

    def chosen(self, texts: Iterable[str]) -> list[ChangeT]:
        """The change of each text, in order. Raises ``DefinitionError`` with the whole list."""
        wanted = list(texts)
        if wanted == [PLAIN]:
            return []
        return [self._change(text) for text in wanted]

    def lines(self) -> list[str]:
        """One line per edition: its name and its sentence."""
        width = max(len(_spelled(one)) for one in self.entries)
        return [f"{_spelled(one):<{width}}  {one.sentence}" for one in self.entries]

    def _change(self, text: str) -> ChangeT:
        name, equals, number = text.partition("=")
        found = next((one for one in self.entries if one.name == name), None)
        if found is None:
            raise DefinitionError(f"--edition {text}: there is no such edition of {self.devices}", hint=self._help())
        if not equals:
            return found.make(found.number or 0.0)
        if found.number is None or not _is_number(number):
            raise DefinitionError(f"--edition {text}: write {_spelled(found)}", hint=self._help())
        return found.make(float(number))

    def _help(self) -> str:
        return f"the editions of {self.devices} are\n" + "\n".join(self.lines())


def _spelled(one: Named[ChangeT]) -> str:
    return one.name if one.number is None else f"{one.name}[={one.number:g}]"


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit() and len(text) <= 9
