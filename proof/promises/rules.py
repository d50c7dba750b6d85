"""The rules of one family: the promises in terms of its devices. The rules for every device are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proof.promises.by_facets import Meaning
from proof.promises.facts import Broken, Case, Intent, LaneFacts, Plain


@dataclass(frozen=True, slots=True)
class Rules:
    """Each rule yields every promise that it finds broken.

    ``meaning``: the meaning of the family's readings and actions, for the rules that hold for every family. ``order``:
    judges a change that is on its way to a site, with the recorded intent that the change carries out. ``record``: judges
    an event of a lane that is on record. ``LaneFacts`` does not contain the event yet. ``world``: judges the present
    state of a lane's service. ``end``: the same, once no process leads the run any more. ``counts``: does the verdict of
    ``end`` on a lane depend on the outcome of its messages? ``lasting``: judges the state once all runs of the world are
    over. ``claim``: judges a report's statement about a service. ``gives_up``: does an order make the source give up its
    clients, so that for a while no site serves? ``noted``: the facts of the world to keep with an order.
    ``not_idempotent``: actions that must not take effect twice. ``shared``: actions on a whole site, which affect more
    than one service. ``outside``: actions that no device of the world counts.
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
