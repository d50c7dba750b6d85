"""The protocols that a family of services implements for the walk: a model of its pair, and its own promises.

A model is small and has its own rules, taken from the documents. It is immutable, hashable and not random. It must never
know which step asks, nor the expectations of a step. A side is 0 (source) or 1 (target), the sides that a run fixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Do, Runbook, Side

SOURCE, TARGET = 0, 1
# Each thing that another person does to a pair starts with these words.
ANOTHER_OPERATOR = "another operator"
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
    """The change that an action of a runbook describes."""
    return Change(SIDE_NAMES.index(do.on), do.action, tuple(sorted(do.args.items())))


class Moment(Protocol):
    """One moment of a pair. ``late``: a change that was obeyed and has not taken effect yet."""

    @property
    def late(self) -> Change | None: ...

    def with_late(self, change: Change | None) -> Self:
        """The same moment, with another late change, or with none."""
        ...


class Evidence(Protocol):
    """The readings and decisions of a run, as far as the promises of the family need them."""

    def noted(self, event: ev.Observed) -> Self:
        """The evidence after a round of readings."""
        ...

    def decided(self, event: ev.GateDecided) -> Self:
        """The evidence after a decision of a person."""
        ...


P = TypeVar("P", bound=Moment)
E = TypeVar("E", bound=Evidence)
# For protocols whose values are only written or only read.
_P_in = TypeVar("_P_in", bound=Moment, contravariant=True)

# A description, the pair afterwards, and whether the world moves by itself (False: a mishap, or a person's act).
Move = tuple[str, P, bool]


class Live(Protocol[P, E]):
    """The parts of a state that can still matter to a lane. Two states that differ only in other parts lead to the same
    states.

    ``reverts``: the lane can still roll back. ``rulings``: decisions on items may still be checked.
    """

    @property
    def reverts(self) -> bool: ...

    @property
    def rulings(self) -> bool: ...

    def pair(self, pair: P) -> P:
        """``pair`` without the parts that can no longer matter."""
        ...

    def evidence(self, evidence: E) -> E:
        """``evidence`` without the parts that can no longer matter."""
        ...


class Words(NamedTuple):
    """The words that a model knows: the fields of each reading, the item fields of each reading, comparisons, and actions
    with the values of their arguments (None: any). Other words would always read as unknown, and the walk would explore
    nothing."""

    fields: Mapping[str, frozenset[str]]
    items: Mapping[str, frozenset[str]]
    compares: frozenset[str]
    actions: Mapping[str, Mapping[str, tuple[str, ...] | None]]


class Sharing(Protocol[P]):
    """The parts that two services of one pair of sites share. ``Any`` is the family's own type for the shared part. Its
    values are hashable."""

    def around(self, pair: P) -> Any:
        """The part of ``pair`` that does not belong to the service alone."""
        ...

    def shows(self, pair: P, *, relies: bool) -> Any:
        """The shared part as another service sees it beside this one. ``relies``: this service relies on shut doors at
        the source."""
        ...

    def beside(self, pair: P, around: Any) -> P:
        """``pair`` with ``around`` as its shared part."""
        ...

    def relied_on(self, pair: P) -> tuple[tuple[Side, str], ...]:
        """The things on which a service in this moment relies since an earlier run, as sides and actions."""
        ...


class Family(Protocol[P, E]):
    """One family of services.

    ``adapter``: the built-in adapter that declares its actions; empty: any adapter of the family. ``half``: the words for
    a partial effect on a device. ``sharing``: the part that two services share; None: a pair of sites has only one
    service.
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
        """The words of ``runbook`` that the model does not know. Empty if the runbook can be explored."""
        ...

    def harmless(self, runbook: Runbook) -> list[str]:
        """The actions and commands that are assumed to change nothing that is read. Their effects are not declared, and
        no reading has to prove them."""
        ...

    def is_by_hand(self, what: str) -> bool:
        """Does a thing of this name change a pair so that only a person at the devices can change it back?"""
        ...

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, P]]:
        """The starts, each with its name: the moments in which a person may use ``runbook``, fitting or not. Everything
        that the runbook never mentions is in its normal state."""
        ...

    def evidence(self, runbook: Runbook) -> E:
        """The evidence before anything was read."""
        ...

    def live(self, runbook: Runbook, lane: Lane) -> Live[P, E]:
        """The parts of a state that can still matter to ``lane``."""
        ...

    # --- the device ---------------------------------------------------------------------------------------------------

    def reaches(self, pair: P, side: int, word: str) -> bool:
        """Can this side be asked for ``word``, a reading or an action?"""
        ...

    def read(self, pair: P, side: int, reading: str) -> Reading:
        """One true reading of one side."""
        ...

    def blank(self, reading: str) -> Reading | None:
        """The reading with all values unknown. None if that is not a separate case."""
        ...

    def obey(self, pair: P, change: Change) -> P | None:
        """The pair after ``change`` has taken effect. None if the device refuses the change by its own rules."""
        ...

    def obey_half(self, pair: P, change: Change) -> P | None:
        """The pair after only a part of the device has obeyed. None if the action has no parts."""
        ...

    def delays(self, change: Change) -> bool:
        """May the change take effect late, whether or not the device has answered?"""
        ...

    def is_so(self, pair: P, change: Change) -> bool:
        """Does the effect of ``change`` hold, at least in part?"""
        ...

    def drifts(self, pair: P, asked: frozenset[str], looks: frozenset[str]) -> Iterable[Move[P]]:
        """The things that may happen to the pair before readings are answered, one at a time. ``asked``: the names and
        sides of the readings; ``looks``: the fields that matter in this step. A thing that no reading can show may wait
        until one can."""
        ...

    def repaired(self, pair: P) -> Iterable[P]:
        """``pair`` once nothing is under way, with both sites repaired by people, only one of them, or none. Roles and
        fences stay as they are."""
        ...

    def claims(self, pair: P, side: int, wish: str) -> tuple[bool, bool, P]:
        """The journal's answer to a claim on a thing of a whole site. Returns whether the claim is granted, whether the
        obstacle is another lane that is still under way, and the pair afterwards."""
        ...

    # --- its promises -------------------------------------------------------------------------------------------------

    def forbids(self, evidence: E, change: Change, *, undo: bool) -> list[str]:
        """The rules that the decision for ``change`` breaks, by the evidence. ``undo``: the change rolls back a step."""
        ...

    def harms(self, evidence: E, before: P, after: P, change: Change, *, undo: bool) -> list[str]:
        """The rules that ``change`` breaks by taking effect, by the true state."""
        ...

    def booked(self, evidence: E, before: P, after: P, change: Change) -> E:
        """The evidence after ``change`` was obeyed, as far as the promises need past changes."""
        ...

    def leaves(self, evidence: E, pair: P, outcome: ev.Outcome) -> list[str]:
        """The rules that an end in this state breaks, by the true state."""
        ...


def complete_pending(family: Family[P, E], pair: P) -> P:
    """The pair after its late change, if any, has taken effect."""
    if pair.late is None:
        return pair
    rest = pair.with_late(None)
    return family.obey(rest, pair.late) or rest
