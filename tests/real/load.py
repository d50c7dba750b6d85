"""Clients that write numbers while a service moves, and remember which were accepted, when and where."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from typing import Generic, Protocol, Self, TypeVar

from tests.real.places import Place, wait_for


class Held(Protocol):
    """A site that can be asked for what it has."""

    name: str

    def has(self) -> Counter[int]:
        """The numbers, and how often each is there."""


P = TypeVar("P", bound=Place)


class Load(ABC, Generic[P]):
    """Each client tries all ``places``, and writes where it is let in. In namespaces it is at one site, and knows no
    other server: no cut keeps it away from that."""

    numbers = count(1)  # no number is written twice, whichever load writes it
    ends: tuple[type[BaseException], ...] = (OSError,)  # what ends a session

    def __init__(self, places: Iterable[P], workers: int = 3) -> None:
        self.accepted: dict[int, tuple[float, str]] = {}
        self._places = list(places)
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(one,), daemon=True) for one in range(workers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(30)

    def _work(self, worker: int) -> None:
        own = worker % len(self._places)
        first = self._places[own]
        tried = [first] if first.spaces else [*self._places[own:], *self._places[:own]]
        with first.inside():
            while not self._end.is_set():
                for place in tried:
                    with suppress(*self.ends):
                        self._write_at(place, worker)
                self._end.wait(0.02)

    @abstractmethod
    def _write_at(self, place: P, worker: int) -> None:
        """One session: write until it ends."""

    def at(self, name: str) -> list[float]:
        """When a site accepted something."""
        return sorted(moment for moment, site in list(self.accepted.values()) if site == name)

    @property
    def sites_in_order(self) -> list[str]:
        """The sites that accepted something, one after the other: a site that comes twice was active again."""
        found: list[str] = []
        for _, site in sorted(self.accepted.values()):
            if not found or found[-1] != site:
                found.append(site)
        return found

    def goes_on(self, more: int = 20, site: str = "") -> None:
        """Fail unless more are accepted, at a ``site`` if one is named."""

        def number() -> int:
            return len(self.at(site) if site else self.accepted)

        before = number()
        wait_for(lambda: number() > before + more)

    def arrives_at(self, *places: Held, once: bool = False) -> None:
        """Fail unless each site has every accepted number, sooner or later."""
        for place in places:
            wait_for(lambda place=place: not self.lost_at(place))
            has = place.has()
            assert not once or all(has[number] == 1 for number in self.accepted)

    def lost_at(self, place: Held) -> set[int]:
        """Accepted numbers that a site does not have."""
        return set(self.accepted) - set(place.has())
