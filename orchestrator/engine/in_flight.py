"""Actions that are on their way, and lanes that wait until a site has room for theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from orchestrator.engine.dispatch import Fleet
from orchestrator.model import events as ev
from orchestrator.model.runbook import Side


class Acting:
    """What waits for a site is limited: the last of it should leave before what it depends on is too old. A lane that is
    kept out decides again, from new readings, once there is room."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._under_way: dict[tuple[str, int], Side] = {}
        self._waiting: Counter[Side] = Counter()
        self._kept_out: dict[str, ev.ActionIntended] = {}  # by lane, the longest waiting first

    def __bool__(self) -> bool:
        """Is anything on its way?"""
        return bool(self._under_way)

    def admit(self, service: str, events: Iterable[ev.Event]) -> bool:
        """May a lane record these? All actions among them are on their way from now on; without room the lane is kept
        out."""
        intents = [event for event in events if isinstance(event, ev.ActionIntended)]
        if intents and self._room(intents[0]) <= 0:  # those of one lane are all for one site
            self._kept_out[service] = intents[0]
            return False
        for intent in intents:
            self._under_way[(service, intent.intent)] = intent.on
            self._waiting[intent.on] += 1
        return True

    def end(self, service: str, intent: int) -> None:
        """An action has ended."""
        side = self._under_way.pop((service, intent), None)
        if side is not None:
            self._waiting[side] -= 1

    def let_in(self) -> list[str]:
        """Lanes that were kept out, as many as there is room for now, the longest waiting first."""
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
