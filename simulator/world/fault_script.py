"""The faults that a world was given, and which of them have happened. Requests to the world trigger the faults.

Triggers check the request and the state of the world, never the knowledge of a runbook or an engine. Each world
defines the meaning of its requests and the effect of its faults in its own subclass of ``FaultScript``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from orchestrator.errors import DefinitionError
from simulator.solace.appliance import Refused
from simulator.world.fault_lines import AnswerFault, Fault, Grammar, StateFaultT, When

AskedT = TypeVar("AskedT")


class Stage(Protocol):
    """A world in which faults happen."""

    moment: float

    def plan(self, moment: float, kind: str, details: list[Any]) -> None:
        """Plan an event for a moment of world time. The kind ``fault`` calls ``fire`` with ``details``."""

    def let_due_happen(self) -> None:
        """Run the events that were just planned for now."""


@dataclass(slots=True)
class _Armed(Generic[StateFaultT]):
    fault: Fault[StateFaultT]
    given_at: float
    fired_at: float | None = None
    due_at: float | None = None  # of a fault of an answer: when the wait that its trigger started ends

    @property
    def can_be_set_off(self) -> bool:
        """Can a request still trigger the fault?"""
        if self.fired_at is None:
            return self.fault.when.phase != "at"
        return isinstance(self.fault.what, AnswerFault) and self.fault.what.lasts is not None


class FaultScript(ABC, Generic[StateFaultT, AskedT]):
    """The faults of one world."""

    def __init__(self, stage: Stage, grammar: Grammar[StateFaultT], refusal: str) -> None:
        """``refusal``: the message to the caller when a fault refuses the request."""
        self._stage = stage
        self._grammar = grammar
        self._refusal = refusal
        self._armed: list[_Armed[StateFaultT]] = []
        self._waiting: list[tuple[int, _Armed[StateFaultT]]] = []  # the armed faults that a request can still trigger

    def give(self, faults: Iterable[Fault[StateFaultT]]) -> None:
        """Arm faults. Raises ``DefinitionError`` for a fault that names an object the world does not have."""
        given = list(faults)
        for fault in given:
            problem = self._misnamed(fault, given)
            if problem:
                raise DefinitionError(f"{fault.text!r}: {problem}")
        for fault in given:
            self._armed.append(_Armed(fault, self._stage.moment))
            if fault.when.phase == "at":
                self._plan(len(self._armed) - 1, None)
        self._sort_out()

    def notice(self, asked: AskedT) -> None:
        """Trigger the state faults that wait for ``asked``. Raises ``Refused`` when a fault refuses the request."""
        refused = False
        for index, armed in self._waiting:
            what = armed.fault.what
            if not isinstance(what, AnswerFault):
                about = self._hit(armed, asked)
                if about is not None:
                    self._plan(index, about or None)
            elif what.kind == "refuse" and self._hit(armed, asked) is not None:
                refused = True
        self._stage.let_due_happen()
        if refused:
            raise Refused(self._refusal)

    def answer(self, asked: AskedT) -> AnswerFault | None:
        """The fault of the answer to ``asked``, if any. Refusals are excluded, because ``notice`` raises them."""
        for _, armed in self._waiting:
            what = armed.fault.what
            if isinstance(what, AnswerFault) and what.kind != "refuse" and self._hit(armed, asked) is not None:
                return what
        return None

    def fire(self, index: int, about: str | None) -> None:
        """A state fault happens now at ``about``. None means everywhere it can happen."""
        armed = self._armed[index]
        armed.fired_at = self._stage.moment
        if not isinstance(armed.fault.what, AnswerFault):
            self._disturb(armed.fault.what, about)

    def happened(self) -> tuple[str, ...]:
        """The faults that have happened, as they were written."""
        return tuple(armed.fault.text for armed in self._armed if armed.fired_at is not None)

    def dump(self) -> list[Any]:
        """Plain data for the world's file."""
        return [[armed.fault.text, armed.given_at, armed.fired_at, armed.due_at] for armed in self._armed]

    def restore(self, data: Any) -> None:
        """Load the data of ``dump``. Raises ValueError, TypeError or ``DefinitionError`` for other data."""
        self._armed = [
            _Armed(
                self._grammar.fault(str(text)), float(given), *(None if one is None else float(one) for one in more)
            )
            for text, given, *more in data
        ]
        self._sort_out()

    def _sort_out(self) -> None:
        self._waiting = [(index, armed) for index, armed in enumerate(self._armed) if armed.can_be_set_off]

    def _plan(self, index: int, about: str | None) -> None:
        self._stage.plan(self._stage.moment + self._armed[index].fault.when.after, "fault", [index, about])

    def _hit(self, armed: _Armed[StateFaultT], asked: AskedT) -> str | None:
        """The object that the fault hits because of ``asked`` ("" for everything), or None if it does not match or is
        over.

        A fault hits once. A fault of an answer with a duration hits until the duration ends. A fault of an answer
        with a wait does not hit before it is due.
        """
        what, now = armed.fault.what, self._stage.moment
        lasts = what.lasts if isinstance(what, AnswerFault) else None
        if armed.fired_at is not None and (lasts is None or now >= armed.fired_at + lasts):
            return None
        if isinstance(what, AnswerFault) and not self._can_go_wrong(what, asked):
            return None
        about = self._trigger(armed.fault.when, asked)
        if about is None or (isinstance(what, AnswerFault) and not self._is_due(armed)):
            return None
        if armed.fired_at is None:
            armed.fired_at = now
            self._sort_out()
        return about

    def _is_due(self, armed: _Armed[StateFaultT]) -> bool:
        """Is the wait over? The first matching request starts it."""
        if armed.due_at is None:
            armed.due_at = self._stage.moment + armed.fault.when.after
        return self._stage.moment >= armed.due_at

    # Methods of each world

    @abstractmethod
    def _misnamed(self, fault: Fault[StateFaultT], given: Sequence[Fault[StateFaultT]]) -> str:
        """Why a name in the fault is unknown to the world, or "". ``given``: all faults given together with it."""

    @abstractmethod
    def _can_go_wrong(self, what: AnswerFault, asked: AskedT) -> bool:
        """Can this fault happen to the answer to ``asked``?"""

    @abstractmethod
    def _trigger(self, when: When, asked: AskedT) -> str | None:
        """The object that the fault hits if ``asked`` is its trigger ("" for everything), else None."""

    @abstractmethod
    def _disturb(self, what: StateFaultT, about: str | None) -> None:
        """Apply the state fault at ``about``."""
