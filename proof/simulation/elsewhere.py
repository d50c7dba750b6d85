"""A person at another terminal, who answers the questions of a run that others lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from proof.simulation.effects import FROM_ELSEWHERE, answered, decided

_WHO = "eve"
# The open questions of each lane by gate and item, as they were asked. The function that puts an answer into the inbox.
Open = Mapping[str, Mapping[tuple[str, str | None], Mapping[str, Any]]]
Put = Callable[[Mapping[str, str]], None]


class Elsewhere:
    """The person. ``effects`` counts the answers and the decisions that follow from them. ``hit`` counts how often there
    were open questions."""

    def __init__(self, effects: Counter[str], hit: Counter[str]) -> None:
        self._effects = effects
        self._hit = hit
        self._waiting: list[str] = []  # answers to the next question, given when no question was open

    def answer(self, choice: str, lanes: Open, put: Put) -> None:
        """Answers every question that is open now. If there is none, answers the next one."""
        if not any(lanes.values()):
            self._waiting.append(choice)
            return
        self._hit["answer"] += 1
        for service, gates in lanes.items():
            for (gate, item), opened in gates.items():
                self._effects[answered(FROM_ELSEWHERE, choice, opened["choices"])] += 1
                wish = {"kind": "decide", "lane": service, "gate": gate, "choice": choice}
                said = {**wish, "by": _WHO, "reason": "told to"}
                put(said if item is None else {**said, "item": item})

    def hear(self, lanes: Open, put: Put) -> bool:
        """A question is open. True if the person has waited for a question and answers this one."""
        waiting, self._waiting = self._waiting, []
        for choice in waiting:
            self.answer(choice, lanes, put)
        return len(self._waiting) < len(waiting)

    def count(self, rulings: list[Mapping[str, Any]]) -> None:
        """Counts the decisions that this person's answers led to."""
        self._effects.update(decided(ruling["choice"]) for ruling in rulings if ruling["by"] == _WHO)
