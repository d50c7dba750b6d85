"""The operator's own commands (``run``, ``ensure``), added to the pair of any family.

Only its author knows the effect of a command. A command without an ``expect`` is done or not done, and changes nothing
that is read. A command with an ``expect`` has the effect of a family action that makes the expected reading true. If
there is no such action, the runbook is not explored. A command must never make a reading true in any other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple

from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.reading import Reading, matches
from orchestrator.model.runbook import Check, Do, Runbook, Side
from proof.exploration.family import SIDE_NAMES, Change, E, Family, Live, Move, P, Sharing, change_of
from proof.exploration.vocabulary import unexplored

ACTIONS = frozenset({"run", "ensure"})


def has_commands(runbook: Runbook) -> bool:
    """Does the runbook run any such command?"""
    return any(True for _ in _proofs(runbook))


def _proofs(runbook: Runbook) -> Iterator[tuple[Do, tuple[Check, ...]]]:
    """Every command, with the checks that show that it was done."""
    for step in runbook.steps:
        if step.do is not None and step.do.action in ACTIONS:
            yield step.do, step.expect
        if step.undo is not None and step.undo.do.action in ACTIONS:
            yield step.undo.do, step.undo.expect


class Commanded(NamedTuple, Generic[P]):
    """A pair, and the commands that were done, in the order in which they were done."""

    pair: P
    done: tuple[Change, ...] = ()

    @property
    def late(self) -> Change | None:
        """See ``family.Moment``."""
        return self.pair.late

    def with_late(self, change: Change | None) -> Commanded[P]:
        """See ``family.Moment``."""
        return self._replace(pair=self.pair.with_late(change))


class _Live(NamedTuple, Generic[P, E]):
    inner: Live[P, E]

    @property
    def reverts(self) -> bool:
        return self.inner.reverts

    @property
    def rulings(self) -> bool:
        return self.inner.rulings

    def pair(self, pair: Commanded[P]) -> Commanded[P]:
        return pair._replace(pair=self.inner.pair(pair.pair))

    def evidence(self, evidence: E) -> E:
        return self.inner.evidence(evidence)


class _Sharing(NamedTuple, Generic[P]):
    """Commands belong to one service alone."""

    inner: Sharing[P]

    def around(self, pair: Commanded[P]) -> Any:
        return self.inner.around(pair.pair)

    def shows(self, pair: Commanded[P], *, relies: bool) -> Any:
        return self.inner.shows(pair.pair, relies=relies)

    def beside(self, pair: Commanded[P], around: Any) -> Commanded[P]:
        return pair._replace(pair=self.inner.beside(pair.pair, around))

    def relied_on(self, pair: Commanded[P]) -> tuple[tuple[Side, str], ...]:
        return self.inner.relied_on(pair.pair)


class Commanding(Generic[P, E]):
    """See ``proof.exploration.family.Family``: ``family`` with the commands of ``runbook``."""

    def __init__(self, family: Family[P, E], runbook: Runbook) -> None:
        self._family = family
        self.name, self.adapter, self.half = family.name, family.adapter, family.half
        self.words = family.words._replace(actions={**family.words.actions, **dict.fromkeys(ACTIONS, _ANY)})
        self.sharing = None if family.sharing is None else _Sharing(family.sharing)
        self._as: dict[Change, Change] = {}
        self._unknown: list[str] = []
        for do, checks in _proofs(runbook):
            self._learn(runbook, do, checks)

    def _learn(self, runbook: Runbook, do: Do, checks: tuple[Check, ...]) -> None:
        """Finds the effect of a command that makes these checks true."""
        command = change_of(do)
        if not checks or command in self._as or unexplored(runbook, self.words):
            return
        pairs = [pair for _, pair in self._family.starts(runbook)]
        pairs += [after for pair in pairs for one in self._as.values() if (after := self._family.obey(pair, one))]
        for change in _changes(command.side, self._family.words.actions):
            for pair in pairs:
                after = self._family.obey(pair, change)
                if after is not None and self._hold(after, checks) and not self._hold(pair, checks):
                    self._as[command] = change
                    return
        names = ", ".join(dict.fromkeys(check.reading for check in checks))
        self._unknown.append(f"what command {command.arg('command')} does, which {names} is to show")

    def _hold(self, pair: P, checks: Iterable[Check]) -> bool:
        sides = [(SIDE_NAMES.index(check.on), check) for check in checks]
        return all(matches(self._family.read(pair, side, check.reading), check.where) for side, check in sides)

    def harmless(self, runbook: Runbook) -> list[str]:
        commands = [do.args["command"] for do, checks in _proofs(runbook) if not checks]
        return list(dict.fromkeys([*self._family.harmless(runbook), *commands]))

    def unexplored(self, runbook: Runbook) -> list[str]:
        return [*unexplored(runbook, self.words), *self._unknown]

    def is_by_hand(self, what: str) -> bool:
        return self._family.is_by_hand(what)

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, Commanded[P]]]:
        for name, pair in self._family.starts(runbook):
            yield name, Commanded(pair)

    def evidence(self, runbook: Runbook) -> E:
        return self._family.evidence(runbook)

    def live(self, runbook: Runbook, lane: Lane) -> Live[Commanded[P], E]:
        return _Live(self._family.live(runbook, lane))

    def reaches(self, pair: Commanded[P], side: int, word: str) -> bool:
        """A command runs where this program runs."""
        return word in ACTIONS or self._family.reaches(pair.pair, side, word)

    def read(self, pair: Commanded[P], side: int, reading: str) -> Reading:
        return self._family.read(pair.pair, side, reading)

    def blank(self, reading: str) -> Reading | None:
        return self._family.blank(reading)

    def obey(self, pair: Commanded[P], change: Change) -> Commanded[P] | None:
        like = self._as.get(change, change)
        if like.action not in ACTIONS:
            after = self._family.obey(pair.pair, like)
            return None if after is None else pair._replace(pair=after)
        done = (*(one for one in pair.done if one != change), change)
        return pair if change in pair.done else pair._replace(done=done)

    def obey_half(self, pair: Commanded[P], change: Change) -> Commanded[P] | None:
        """A command that fails half-way undoes its own changes (docs/reference/inventory.md)."""
        half = None if change.action in ACTIONS else self._family.obey_half(pair.pair, change)
        return None if half is None else pair._replace(pair=half)

    def delays(self, change: Change) -> bool:
        """The program waits for the end of a command, and the processes that it started end with it
        (docs/reference/inventory.md)."""
        return change.action not in ACTIONS and self._family.delays(change)

    def is_so(self, pair: Commanded[P], change: Change) -> bool:
        like = self._as.get(change, change)
        return change in pair.done if like.action in ACTIONS else self._family.is_so(pair.pair, like)

    def drifts(
        self, pair: Commanded[P], asked: frozenset[str], looks: frozenset[str]
    ) -> Iterator[Move[Commanded[P]]]:
        for what, after, is_course in self._family.drifts(pair.pair, asked, looks):
            yield what, pair._replace(pair=after), is_course

    def repaired(self, pair: Commanded[P]) -> Iterator[Commanded[P]]:
        for after in self._family.repaired(pair.pair):
            yield pair._replace(pair=after)

    def claims(self, pair: Commanded[P], side: int, wish: str) -> tuple[bool, bool, Commanded[P]]:
        granted, is_waiting, inner = self._family.claims(pair.pair, side, wish)
        return granted, is_waiting, pair._replace(pair=inner)

    def forbids(self, evidence: E, change: Change, *, undo: bool) -> list[str]:
        return self._family.forbids(evidence, self._as.get(change, change), undo=undo)

    def harms(
        self, evidence: E, before: Commanded[P], after: Commanded[P], change: Change, *, undo: bool
    ) -> list[str]:
        like = self._as.get(change, change)
        return self._family.harms(evidence, before.pair, after.pair, like, undo=undo)

    def booked(self, evidence: E, before: Commanded[P], after: Commanded[P], change: Change) -> E:
        return self._family.booked(evidence, before.pair, after.pair, self._as.get(change, change))

    def leaves(self, evidence: E, pair: Commanded[P], outcome: ev.Outcome) -> list[str]:
        return self._family.leaves(evidence, pair.pair, outcome)


# A command has any name.
_ANY: Mapping[str, None] = {"command": None}


def _changes(side: int, actions: Mapping[str, Mapping[str, Any]]) -> Iterator[Change]:
    """Every change that a family knows on one side, without those of a single item."""
    for action, arguments in actions.items():
        for name, values in arguments.items():
            for value in values:
                yield Change(side, action, ((name, value),))
