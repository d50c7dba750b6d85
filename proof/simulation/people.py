"""People around a run: the person at the terminal, and those who have to approve its plan. They give only drawn
answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import cast

from orchestrator.model import events as ev
from orchestrator.model.runbook import Choice
from proof.simulation.effects import AT_THE_DESK, SAID_OF_THE_PLAN, answered
from proof.simulation.process import OffsetClock, Onlooker
from proof.simulation.story import Person, Sought

_HEARD_S = 1.5  # how long a question stays on the screen once a person elsewhere has answered it
_OTHER_PLAN = "0" * 64


class SimulatedPrompter:
    """A person who gives the drawn answers in turn, correctly, wrongly or late, and then leaves. ``effects`` counts the
    answers."""

    def __init__(
        self, person: Person, clock: OffsetClock, onlooker: Onlooker, effects: Counter[str], reason: str
    ) -> None:
        self._onlooker = onlooker
        self._effects = effects
        self._left = list(person.answers)
        self._thinks = person.thinks
        self._clock = clock
        self._reason = reason

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """Asks the person while everything else waits."""
        if self._onlooker.asked():
            self._clock.sleep(_HEARD_S)
        if self._left:
            self._clock.sleep(self._thinks)
        return self.say(service, gate)

    def thinks(self) -> float:
        """The seconds that the person thinks while everything else continues. See ``fleet.Thoughtful``."""
        heard = _HEARD_S if self._onlooker.asked() else 0.0
        return heard + (self._thinks if self._left else 0.0)

    def say(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """The next answer."""
        ruling = self._next(gate)
        self._onlooker.answered(service, gate, ruling)
        return ruling

    def _next(self, gate: ev.GateOpened) -> ev.Ruling | None:
        if not self._left:
            return None
        choice = self._left.pop(0)
        if choice == "first":
            choice = gate.choices[0]
        self._effects[answered(AT_THE_DESK, choice, gate.choices, is_late=self._thinks > 0)] += 1
        return ev.Ruling.model_construct(choice=cast("Choice", choice), reason=self._reason, by="ann")


class Approvers:
    """The people who have to approve a plan. Each gives the drawn answer at the drawn time, while the plan waits."""

    def __init__(self, sought: Sought | None, begun_at: float, effects: Counter[str]) -> None:
        words = () if sought is None else sought.words
        self._coming = sorted(((begun_at + one.after, one) for one in words), key=lambda pair: pair[0])
        self._effects = effects

    def speak(self, now: float, digest: str, put: Callable[[Mapping[str, str]], None]) -> None:
        """Puts the answers that are due into the inbox. ``digest`` is the plan's."""
        while self._coming and self._coming[0][0] <= now:
            word = self._coming.pop(0)[1]
            said = {
                "kind": "approval",
                "choice": word.choice,
                "by": word.by,
                "host": "elsewhere",
                "reason": word.reason,
            }
            put({**said, "plan": _OTHER_PLAN if word.of_other_plan else digest})
            self._effects[f"{SAID_OF_THE_PLAN}: {word.choice}"] += 1
