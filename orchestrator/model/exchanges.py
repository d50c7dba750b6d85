"""The exact exchanges between this program and a device, for a person who wants to see the source of a reading.

An adapter whose sessions report to a ``Witness`` declares an ``Explanation`` in its class variable ``explanation``. A
witness only gets exchanges that happen anyway: nothing more is sent to a device for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Exchange:
    """One line or request that was sent to a device, and its answer.

    ``device``: its name in the inventory. ``prompt``: the prompt at which a line was typed; empty for a request.
    ``sent``: empty if the session could not be opened. ``answer``: the text that the parsers got. ``status`` and
    ``date``: the status and the ``Date`` header of an HTTP answer. ``failed``: the class name of the error, if there was
    no answer. ``why``: the message of the error. ``asked_at`` and ``answered_at`` are by the clock of this program,
    seconds since the epoch.
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
    """Receives each exchange, in the order in which the exchanges end. Must not raise."""

    def heard(self, exchange: Exchange) -> None:
        """Receive one more exchange."""
        ...


@dataclass(frozen=True, slots=True)
class Explanation:
    """The knowledge of a family about its exchanges.

    ``names_in``: the names, addresses and numbers in an exchange that belong to the owner of the device, exactly as
    written. ``words``: words of the devices themselves, in lower case, which are never such names. ``refusal``: the words
    with which the device refused, or empty.
    """

    names_in: Callable[[Exchange], Iterable[str]]
    words: frozenset[str]
    refusal: Callable[[Exchange], str]
