"""Actions that are under way, and lanes that wait until a site has room for their actions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from orchestrator.engine.dispatch import Fleet
from orchestrator.model import events as ev
from orchestrator.model.runbook import Side


class Acting:
    """The number of actions that wait for a site is limited: the last one should be sent before its readings are too old.
    A lane that is kept out decides again, from new readings, once there is room."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._under_way: dict[tuple[str, int], Side] = {}
        self._waiting: Counter[Side] = Counter()
        self._kept_out: dict[str, ev.ActionIntended] = {}  # by lane, the longest waiting first

    def __bool__(self) -> bool:
        """Is an action under way?"""
        return bool(self._under_way)

    def admit(self, service: str, events: Iterable[ev.Event]) -> bool:
        """May a lane record ``events``? If so, all actions among them count as under way from now on. Without room the
        lane is kept out."""
        intents = [event for event in events if isinstance(event, ev.ActionIntended)]
        if intents and self._room(intents[0]) <= 0:  # the actions of one lane are all for one site
            self._kept_out[service] = intents[0]
            return False
        for intent in intents:
            self._under_way[(service, intent.intent)] = intent.on
            self._waiting[intent.on] += 1
        return True

    def end(self, service: str, intent: int) -> None:
        """Note that an action has ended."""
        side = self._under_way.pop((service, intent), None)
        if side is not None:
            self._waiting[side] -= 1

    def let_in(self) -> list[str]:
        """Let in lanes that were kept out, the longest waiting first, as many as there is room for. Returns them."""
        room: dict[Side, int] = {}
        chosen = []
        for service, intent in self._kept_out.items():
            left = room.setdefault(intent.on, self._room(intent))
            if left > 0:
                room[intent.on] = left - 1
                chosen.append(service)
        for service in chosen:
            del self._kept_out[service]
        return chosen

    def _room(self, intent: ev.ActionIntended) -> int:
        return self._fleet.room(intent.on, intent.action) - self._waiting[intent.on]
