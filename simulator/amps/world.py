"""The simulated AMPS world: a fabric, its time, its file and its faults.

The world is deterministic: time moves on a fixed grid of ticks, independent of when a caller reads the world. So the
same layout, faults, requests and clock give the same world. Its effects follow from the rules of ``fabric``. It never
imports the engine.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError, Unreachable
from simulator.amps.account import FabricTally
from simulator.amps.admin.console import Console
from simulator.amps.admin.samples import take_sample
from simulator.amps.bootstrap import waiting_for_ever
from simulator.amps.fabric import Fabric, State
from simulator.amps.fault_injection import Asked, FaultInjector
from simulator.amps.faults import Fault
from simulator.amps.instance import Files
from simulator.amps.journal import Entry
from simulator.amps.layout import FabricLayout, fabric_from
from simulator.solace.appliance import Refused
from simulator.world.fault_lines import AnswerFault
from simulator.world.persistent import DAMAGE, Kept
from simulator.world.store import WorldFile

_STATE: TypeAdapter[State] = TypeAdapter(State)
_QUIET_MAX = 600.0  # seconds: how often a fabric without changes is still processed
_LEAST = 1e-9  # seconds: floating-point tolerance for the time of a tick
_SAME = 1e-6  # ticks: floating-point tolerance for the number of ticks
FAMILY = "amps"
BY_HAND = "by-hand"  # the publisher of messages of known content

Event = tuple[float, int, str, list[Any]]  # moment, order of arrival, kind, details


class AmpsWorld(Kept):
    """All simulated objects. Safe to use from several threads. All questions within one ``request`` see the same
    moment."""

    def __init__(self, layout: FabricLayout, clock: Clock, *, path: Path | None = None) -> None:
        super().__init__(clock, path)
        self.layout = layout
        self.fabric = Fabric(layout)
        self.fabric.step(0.0)  # the fabric starts with connected links and clients
        self._events: list[Event] = []
        self._arrivals = 0
        self.revision = 0  # changes with every step, event and command
        self._faults = FaultInjector(self)
        self._sample()

    @classmethod
    def load(cls, path: Path, clock: Clock) -> AmpsWorld:
        """The world from the file ``path``. Raises ``Unreachable`` with a hint when the file cannot be used."""
        file = WorldFile(path)
        data = file.read()
        try:
            world = cls(_layout_of(data), clock, path=path)
            world._restore(data, elapsed=0.0)
        except DAMAGE as error:
            raise file.damaged(error) from error
        world._file = file
        return world

    # Asking

    def console(self, instance: str) -> Console:
        """One instance, as its administration shows it. Raises ``DefinitionError`` for an unknown instance."""
        return Console(self, self.layout.instance(instance))

    def tally(self) -> FabricTally:
        """The independent account, now."""
        with self.request():
            return self.fabric.tally()

    def log(self, instance: str) -> tuple[str, ...]:
        """The event log of an instance, without times. Raises ``DefinitionError``."""
        self.layout.instance(instance)
        with self.request():
            return tuple(
                " ".join(filter(None, (one.level + ":", one.number, one.text))) for one in self._of(instance).log
            )

    def records(self, instance: str, topic: str) -> dict[str, str]:
        """The SOW of a topic at one instance: maps key to data (the published data, or ``publisher/number``)."""
        known = self.layout.instance(instance).topic(topic)
        with self.request():
            found = self._of(instance).sow.get(known.id if known else topic, {})
            return {key: one.data or f"{one.publisher}/{one.number_of(key)}" for key, one in found.items()}

    def circles(self) -> tuple[str, ...]:
        """Empty instances that bootstrap from each other, and therefore wait for ever."""
        with self.request():
            return waiting_for_ever(self.fabric)

    def next_numbers(self) -> dict[str, int]:
        """The number of the next message of each publisher."""
        with self.request():
            return self.fabric.next_numbers()

    def is_steady(self, before: Mapping[str, int], within: float) -> bool:
        """True if only new messages would move for ``within`` seconds, without any request. All messages that publishers
        numbered below ``before`` are then at their final places."""
        with self.request():
            until = self.moment + within
            return not (self._events and self._events[0][0] <= until) and self.fabric.is_steady(before, until)

    # Disturbing

    def inject(self, faults: Iterable[Fault]) -> None:
        """Script faults. Raises ``DefinitionError`` for a fault that names an unknown instance."""
        with self.request():
            self._faults.give(faults)

    def happened(self) -> tuple[str, ...]:
        """The faults that have happened so far, as they were written."""
        with self.request():
            return self._faults.happened()

    def notice(self, asked: Asked) -> None:
        """Trigger the state faults that wait for this request. Raises ``Refused`` when a fault refuses the request."""
        self._faults.notice(asked)

    def answer_fault(self, asked: Asked) -> AnswerFault | None:
        """The fault of the answer to this request, if any. The caller that sends the answer applies the fault."""
        with self.request():
            return self._faults.answer(asked)

    def obey_later(self, instance: str, action: str, target: str, after: float) -> None:
        """Plan a delayed request. The instance obeys it in ``after`` seconds, if it then can."""
        with self.request():
            self.plan(self.moment + after, "request", [instance, action, target])

    def plan(self, moment: float, kind: str, details: list[Any]) -> None:
        """Plan an event for a moment of world time. It happens at the first tick after that moment."""
        self._arrivals += 1
        heapq.heappush(self._events, (moment, self._arrivals, kind, details))

    def kill(self, instance: str) -> None:
        """Kill the process of an instance, without a message in its event log. Raises ``DefinitionError``."""
        self._do("kill", instance)

    def start(self, instance: str) -> None:
        """A person starts an instance that is down. Raises ``DefinitionError``."""
        self._do("start", instance)

    def lose(self, instance: str, files: Files = "all") -> None:
        """A person deletes the SOW files, or all files, of an instance that is down. Raises ``DefinitionError``."""
        if self._of(instance).phase != "down":
            raise DefinitionError(f"{instance} is running; its files are lost only while it is down")
        self._do("lose", instance, files)

    def publish(self, instance: str, topic: str, key: str, data: str = "", *, delete: bool = False) -> None:
        """Publish one message of known content, or delete a record. Raises ``DefinitionError``."""
        self.layout.instance(instance)
        with self.request():
            where = self._of(instance)
            if not where.serves:
                raise DefinitionError(f"{instance} does not take messages now")
            by = BY_HAND
            number = 1 + max((one.highest.get(by, 0) for one in self.fabric.instances.values()), default=0)
            kind: Literal["publish", "sow_delete"] = "sow_delete" if delete else "publish"
            self.fabric.write(
                where, Entry(0, by, number, number + 1, topic, (), self.moment, key=key, data=data, kind=kind)
            )
            self.remember()

    def remember(self) -> None:
        """See ``Kept``."""
        super().remember()
        self.revision += 1

    # Behind the scenes

    def _of(self, instance: str) -> Any:
        return self.fabric.instances[instance]

    def _do(self, kind: str, instance: str, files: str = "all") -> None:
        self.layout.instance(instance)
        with self.request():
            self._happen(kind, [instance, files])
            self.remember()

    def _pass_until(self, target: float) -> None:
        """Run all ticks up to ``target``. The grid of ticks starts with the world. A planned event happens at the
        first tick after its moment."""
        tick = self.layout.tick
        while self.fabric.now + tick <= target + _LEAST:
            step = self._next_tick(target)
            self._happen_until(step)
            self.fabric.step(step)
            self._sample()
            self.revision += 1
        self.moment = max(self.moment, target)

    def _next_tick(self, target: float) -> float:
        """The moment of the next tick at which anything can change."""
        tick, now = self.layout.tick, self.fabric.now
        index = round(now / tick) + 1
        if self.fabric.is_quiet():
            last = int(min(target, now + _QUIET_MAX) / tick + _SAME)
            if self._events:
                # Do not skip the tick just before the event: the event starts from the state at the end of that tick.
                last = min(last, ceil(self._events[0][0] / tick - _SAME) - 1)
            index = max(index, last)
        return round(index * tick, 9)

    def let_due_happen(self) -> None:
        """Run the events that were just planned for now."""
        self._happen_until(self.moment)

    def _happen_until(self, moment: float) -> None:
        while self._events and self._events[0][0] <= moment:
            _, _, kind, details = heapq.heappop(self._events)
            self._happen(kind, details)

    def _happen(self, kind: str, details: list[Any]) -> None:
        now = self.fabric.now
        self.revision += 1
        match kind, details:
            case "fault", [int(index), about]:
                self._faults.fire(index, about)
            case "kill", [name, *_]:
                self._of(name).kill(now)
            case "start", [name, *_]:
                self._start(name, now)
            case "lose", [name, files]:
                if self._of(name).phase == "down":
                    self._of(name).lose(files, self.layout.instance(name))
            case "request", [name, action, target]:
                with suppress(Refused, Unreachable):
                    self.console(name).obey(action, target)
            case _:
                raise ValueError(f"the world knows no event {kind} {details}")

    def _start(self, name: str, now: float) -> None:
        instance, layout = self._of(name), self.layout.instance(name)
        if instance.phase == "down":
            instance.start(layout, now, keeps_fetched=self.layout.assume.interrupted_bootstrap == "goes_on")
            lets_in = any(one.enabled for one in layout.transports if not one.is_replication)
            made = ("open" if lets_in else "closed", "sync", "unproxied")
            self.fabric.ledger.changes += [(now, name, what, "start") for what in made]

    def _sample(self) -> None:
        """Take the statistics once per interval since the instance's start, unless a fault keeps them stale."""
        for layout in self.layout.instances:
            instance = self.fabric.instances[layout.name]
            if instance.phase == "down" or self.fabric.now < instance.sample_at:
                continue
            passed = int((self.fabric.now - instance.sample_at) / layout.interval)
            moment = instance.sample_at + passed * layout.interval
            instance.sample_at = moment + layout.interval
            if self.fabric.now >= instance.stale_until:
                instance.keep_sample(take_sample(self.fabric, instance, moment))

    def _dump(self) -> dict[str, Any]:
        firsts = [one.journal.first_at for one in self.fabric.instances.values()]
        sampled = [one.oldest_at for instance in self.fabric.instances.values() for one in instance.samples]
        starts = [one.started_at for one in self.fabric.instances.values()]
        oldest = min([self.moment, *(one for one in (*firsts, *sampled) if one is not None), *starts])
        return {
            **self._dump_time(oldest),
            "family": FAMILY,
            "layout": self.layout.model_dump(mode="json"),
            "fabric": {"now": self.fabric.now, **_STATE.dump_python(self.fabric.state, mode="json")},
            "events": self._events,
            "arrivals": self._arrivals,
            "faults": self._faults.dump(),
        }

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        self.layout = _layout_of(data)
        state = {name: value for name, value in data["fabric"].items() if name != "now"}
        try:
            self.fabric = Fabric(self.layout, _STATE.validate_python(state), float(data["fabric"]["now"]))
        except ValidationError as error:
            raise ValueError(str(error.errors()[0]["loc"])) from error
        self.fabric.check_names()
        self._events = [(float(at), int(order), str(kind), list(more)) for at, order, kind, more in data["events"]]
        heapq.heapify(self._events)
        self._arrivals = int(data["arrivals"])
        self._faults.restore(data["faults"])
        self.revision += 1
        self._restore_time(data, elapsed)


def _layout_of(data: Mapping[str, Any]) -> FabricLayout:
    if data["family"] != FAMILY:
        raise ValueError(f"it is a world of {data['family']}")
    return fabric_from(data["layout"])
