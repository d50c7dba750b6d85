"""What passed between this program and a device, word for word: for who wants to see what a reading was made of.

An adapter that lets its sessions tell a ``Witness`` says so by an ``Explanation``, a class variable ``explanation``. What
a witness hears is what is sent anyhow: there is no second way to ask a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Exchange:
    """One thing that a device was sent, and what it answered.

    ``device`` is its name in the inventory; ``prompt``: where a line was typed, empty for a request; ``sent`` is empty
    for a session that could not be made. ``answer`` is what the parsers were given. ``status`` and ``date`` are the
    status and the header of that name of an HTTP answer. ``failed`` is the class name of the error in place of an answer,
    ``why`` its sentence. The moments are of our own clock, seconds since the epoch.
    """

    device: str
    sent: str
    asked_at: float
    answered_at: float
    prompt: str = ""
    answer: str = ""
    status: int | None = None
    date: str = ""
    failed: str = ""
    why: str = ""


class Witness(Protocol):
    """Gets each exchange, in the order in which they end. Must not raise."""

    def heard(self, exchange: Exchange) -> None:
        """One more."""
        ...


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a family knows of its exchanges.

    ``names_in``: what is in one as the name, address or number of something that belongs to its owner, as it is
    written there. ``words``: the devices' own words, in lower case, which are no such name wherever they are.
    ``refusal``: in which words the device refused, or empty.
    """

    names_in: Callable[[Exchange], Iterable[str]]
    words: frozenset[str]
    refusal: Callable[[Exchange], str]
