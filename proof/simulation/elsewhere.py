"""A person at another terminal, who answers the questions of a run that others lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from proof.simulation.effects import FROM_ELSEWHERE, answered, decided

_WHO = "eve"
# What is open in each lane (gate, item) and how it was asked; what is put into the run's inbox.
Open = Mapping[str, Mapping[tuple[str, str | None], Mapping[str, Any]]]
Put = Callable[[Mapping[str, str]], None]


class Elsewhere:
    """``effects`` counts what was answered and what of that was decided, ``hit`` how often questions were met."""

    def __init__(self, effects: Counter[str], hit: Counter[str]) -> None:
        self._effects = effects
        self._hit = hit
        self._waiting: list[str] = []  # answers to the next question, where there was none

    def answer(self, choice: str, lanes: Open, put: Put) -> None:
        """Every question that is open now; if there is none, the next one."""
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
        """A question is open. Is it answered by who waited for one?"""
        waiting, self._waiting = self._waiting, []
        for choice in waiting:
            self.answer(choice, lanes, put)
        return len(self._waiting) < len(waiting)

    def count(self, rulings: list[Mapping[str, Any]]) -> None:
        """What was decided in the end."""
        self._effects.update(decided(ruling["choice"]) for ruling in rulings if ruling["by"] == _WHO)
