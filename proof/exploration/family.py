"""What a family of services has to tell for the walk: a model of its pair, and its own promises.

A model is a small thing with rules of its own, taken from the documents: immutable, hashable, nothing random. It must
never know which step is asking, nor what a step expects. A side is 0 (source) or 1 (target), the sides that a run fixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Do, Runbook, Side

SOURCE, TARGET = 0, 1
SIDE_NAMES: tuple[Literal["source", "target"], Literal["source", "target"]] = ("source", "target")

_T = TypeVar("_T")


def with_side(both: tuple[_T, _T], side: int, value: _T) -> tuple[_T, _T]:
    """``both`` with another value for one side."""
    return (value, both[1]) if side == SOURCE else (both[0], value)


class Change(NamedTuple):
    """An action on a side, with its arguments in order of their names."""

    side: int
    action: str
    args: tuple[tuple[str, str], ...]

    def arg(self, name: str) -> str:
        """The argument, or an empty text."""
        return dict(self.args).get(name, "")


def change_of(do: Do) -> Change:
    """The change that a runbook speaks of."""
    return Change(SIDE_NAMES.index(do.on), do.action, tuple(sorted(do.args.items())))


class Moment(Protocol):
    """One moment of a pair. ``late``: a change that was obeyed and has yet to land."""

    @property
    def late(self) -> Change | None: ...

    def with_late(self, change: Change | None) -> Self:
        """The same moment, with another change on its way, or none."""
        ...


class Evidence(Protocol):
    """What a run has read, and what was decided in it, as far as the promises of the family ask for it."""

    def noted(self, event: ev.Observed) -> Self:
        """With what a round of readings shows."""
        ...

    def decided(self, event: ev.GateDecided) -> Self:
        """With a decision of a person."""
        ...


P = TypeVar("P", bound=Moment)
E = TypeVar("E", bound=Evidence)
# For protocols whose values are only written or only read.
_P_in = TypeVar("_P_in", bound=Moment, contravariant=True)

# What happens, where it leads, and whether it is the world's own course (or a mishap, or a person's doing).
Move = tuple[str, P, bool]


class Live(Protocol[P, E]):
    """What can still matter to a lane. Two states that differ in nothing else go the same way.

    ``reverts``: the lane can still roll back. ``rulings``: decisions on items may still be checked.
    """

    @property
    def reverts(self) -> bool: ...

    @property
    def rulings(self) -> bool: ...

    def pair(self, pair: P) -> P:
        """``pair`` without what can no longer matter."""
        ...

    def evidence(self, evidence: E) -> E:
        """``evidence`` without what can no longer matter."""
        ...


class Words(NamedTuple):
    """The words a model knows: readings with their fields, readings with those of their items, comparisons, actions with
    the values of their arguments (None: any). Other words would read as unknown for ever, which explores nothing."""

    fields: Mapping[str, frozenset[str]]
    items: Mapping[str, frozenset[str]]
    compares: frozenset[str]
    actions: Mapping[str, Mapping[str, tuple[str, ...] | None]]


class Sharing(Protocol[P]):
    """What two services of one pair of sites share. ``Any`` is what the family keeps it in, a value that can be a key."""

    def around(self, pair: P) -> Any:
        """What of ``pair`` is not the service's own."""
        ...

    def shows(self, pair: P, *, relies: bool) -> Any:
        """What is around another service beside this one; ``relies``: this one relies on what is shut at the source."""
        ...

    def beside(self, pair: P, around: Any) -> P:
        """``pair`` with that around it."""
        ...

    def relied_on(self, pair: P) -> tuple[tuple[Side, str], ...]:
        """On what a service that is in this moment relies, since an earlier run: sides and actions."""
        ...


class Family(Protocol[P, E]):
    """One family of services.

    ``adapter``: the built-in one that declares its actions; empty: any of the family. ``half``: what
    has obeyed when only a part of a device did.
    ``sharing``: what two services share; None: a pair of sites is of one service alone.
    """

    name: str
    adapter: str
    half: str
    words: Words

    @property
    def sharing(self) -> Sharing[P] | None:
        """See above."""
        ...

    def unexplored(self, runbook: Runbook) -> list[str]:
        """What of ``runbook`` the model does not know; empty when it can be explored."""
        ...

    def harmless(self, runbook: Runbook) -> list[str]:
        """The actions and commands that are taken to change nothing that is read: what they do is not declared, and no
        reading is to prove it."""
        ...

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, P]]:
        """Where to start, each with its name: the moments in which a person may reach for ``runbook``, fitting or
        not. What it never speaks of is left as it should be."""
        ...

    def evidence(self, runbook: Runbook) -> E:
        """Before anything was read."""
        ...

    def live(self, runbook: Runbook, lane: Lane) -> Live[P, E]:
        """What can still matter to ``lane``."""
        ...

    # --- the device ---------------------------------------------------------------------------------------------------

    def reaches(self, pair: P, side: int, word: str) -> bool:
        """Can this side be asked for ``word``, a reading or an action?"""
        ...

    def read(self, pair: P, side: int, reading: str) -> Reading:
        """One reading of one side, as it is."""
        ...

    def blank(self, reading: str) -> Reading | None:
        """The reading with nothing told; None where that is no case of its own."""
        ...

    def obey(self, pair: P, change: Change) -> P | None:
        """The pair once ``change`` has taken effect; None when the device refuses it by its own rules."""
        ...

    def obey_half(self, pair: P, change: Change) -> P | None:
        """The pair once a part of the device has obeyed; None for what has no parts."""
        ...

    def delays(self, change: Change) -> bool:
        """May it take effect after the device has answered, or has not?"""
        ...

    def is_so(self, pair: P, change: Change) -> bool:
        """Is what ``change`` does the case, in part at least?"""
        ...

    def drifts(self, pair: P, asked: frozenset[str], looks: frozenset[str]) -> Iterable[Move[P]]:
        """What may happen to the pair before readings are answered, one thing at a time. ``asked``: their names and
        sides; ``looks``: the fields that matter in this step. What could not show may wait until it can."""
        ...

    def claims(self, pair: P, side: int, wish: str) -> tuple[bool, bool, P]:
        """The journal's answer to a claim on what a whole site has: is it granted, is whoever is in the way another
        lane that is still under way, and the pair from then on."""
        ...

    # --- its promises -------------------------------------------------------------------------------------------------

    def forbids(self, evidence: E, change: Change, *, undo: bool) -> list[str]:
        """The rules that deciding upon ``change`` breaks, by what is known; ``undo``: it takes a step back."""
        ...

    def harms(self, evidence: E, before: P, after: P, change: Change, *, undo: bool) -> list[str]:
        """The rules that ``change`` breaks by taking effect, by how things are."""
        ...

    def booked(self, evidence: E, before: P, after: P, change: Change) -> E:
        """The evidence after ``change`` was obeyed, as far as the promises ask what was done."""
        ...

    def leaves(self, evidence: E, pair: P, outcome: ev.Outcome) -> list[str]:
        """The rules that ending here breaks, by how things are."""
        ...


def complete_pending(family: Family[P, E], pair: P) -> P:
    """The pair once what was obeyed has taken effect."""
    if pair.late is None:
        return pair
    rest = pair.with_late(None)
    return family.obey(rest, pair.late) or rest
