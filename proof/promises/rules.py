"""The rules of one family: what the promises mean for its devices. What holds for every device is not said here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proof.promises.by_facets import Meaning
from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain


@dataclass(frozen=True, slots=True)
class Rules:
    """Each rule yields every promise that it finds broken.

    ``meaning``: what its readings and actions mean for the rules that hold for every family.
    ``order``: a change is on its way to a site, with the recorded intent that it carries out. ``record``: an event of a
    lane is on record, and the lane has not taken it in yet. ``world``: what is true of a lane's service now; ``end``:
    the same once no one leads the run any more. ``counts``: does what ``end`` says of a lane depend on the outcome of
    its messages? ``lasting``: what is true once all runs of the world are over. ``claim``: what a report says of a
    service. ``gives_up``: does an order make the source give up its clients, so that for a while none serves? ``noted``:
    what is to be kept of the world with an order. ``not_idempotent``: actions that must not take effect twice.
    ``shared``: actions on a whole site, whose effect is on more than one service; ``outside``: those that no device of
    the world counts.
    """

    meaning: Meaning
    order: Callable[[Case, LaneFacts, Plain, Intent | None, Plain | None], Iterator[Broken]]
    record: Callable[[Case, LaneFacts, Plain, Plain | None], Iterator[Broken]]
    world: Callable[[Case, LaneFacts, Plain, Plain], Iterator[Broken]]
    end: Callable[[Case, LaneFacts, Plain, Plain], Iterator[Broken]]
    counts: Callable[[Case, LaneFacts], bool]
    lasting: Callable[[Case, LaneFacts, Plain, Plain], Iterator[Broken]]
    claim: Callable[[Case, LaneFacts, Plain, Plain], Iterator[Broken]]
    gives_up: Callable[[Case, LaneFacts, Plain, Plain | None], bool]
    noted: Callable[[Plain, Plain | None], Plain] = lambda order, world: {}
    not_idempotent: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
