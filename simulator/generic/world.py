"""A simulated pair of a declared family: its time, its file, its faults and the independent account.

Between two events only the flow of units changes the state, so time passes in one step from event to event. The
effects follow from the family's file (``state``). This module never imports the engine and knows no step of a runbook.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from simulator.generic.fault_injection import Asked, FaultInjector
from simulator.generic.faults import Fault
from simulator.generic.layout import GenericLayout, GenericService
from simulator.generic.state import FOR_EVER, SERVES, End, Rules, State, first_state, whole
from simulator.world.fault_lines import AnswerFault
from simulator.world.persistent import DAMAGE, Kept
from simulator.world.store import WorldFile

_STATE: TypeAdapter[State] = TypeAdapter(State)
FAMILY = "generic"
_SETTLE = "settle"


@dataclass(frozen=True, slots=True)
class View:
    """The view of one site on one service. ``told``: the state, by field. ``backlog`` None: unknown to the site.
    ``managers``: whether each other manager may act there (acts, unknown, none)."""

    serves: bool
    link: bool
    backlog: int | None
    mark: int
    reached: int
    clients: int
    in_doubt: int
    told: Mapping[str, bool]
    end: End
    managers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GenericTally:
    """The account of one service. ``lost``: units that were taken, but that no serving site has. ``stranded``: the
    lost units that a site which does not serve still holds."""

    lost: int
    stranded: int
    out_of_order: int
    both_active: tuple[tuple[float, float], ...]


class GenericWorld(Kept):
    """All simulated objects. Safe to use from several threads. All questions within one ``request`` see the same
    moment."""

    def __init__(self, layout: GenericLayout, clock: Clock, *, path: Path | None = None) -> None:
        super().__init__(clock, path)
        self.layout = layout
        self.state = first_state(layout)
        self._rules = Rules(layout)
        self._events: list[tuple[float, int, str, list[Any]]] = []
        self._arrivals = 0
        self._faults = FaultInjector(self)
        self._settle()

    @classmethod
    def load(cls, path: Path, clock: Clock) -> GenericWorld:
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

    def service(self, name: str) -> GenericService | None:
        """The service of this name, if the pair has it."""
        return next((one for one in self.layout.services if one.name == name), None)

    def is_up(self, site: str) -> bool:
        """Is the node up, and does it answer management requests?"""
        node = self.state.nodes[site]
        return node.up and self.moment >= node.silent_until

    def managers(self, site: str) -> dict[str, str]:
        """Whether each other manager may act there, as its reading shows it: acts, unknown or none."""
        node = self.state.nodes[site]
        return {
            name: "unknown" if self.moment < node.hidden_until.get(name, 0.0) else "acts" if acts else "none"
            for name in self.layout.managers
            for acts in (self.moment < node.managed_until.get(name, 0.0),)
        }

    def is_managed(self, site: str) -> bool:
        """May another manager act there?"""
        return any(self.moment < until for until in self.state.nodes[site].managed_until.values())

    def answers(self, site: str, service: str, reading: str) -> bool:
        """Is this reading answered there if the node is up?"""
        return self._rules.answers(self.state, service, site, reading)

    def obeys(self, site: str, service: str, action: str) -> bool:
        """Does this action reach the component that must obey it, if the node is up?"""
        return self._rules.obeys(self.state, service, site, action)

    def view(self, site: str, service: str) -> View:
        """The site's present view of a service. Call it within a ``request``."""
        state, rules = self.state, self._rules
        one, mate = state.services[service].ends, self.layout.mate_of(site)
        layout, end = self.service(service), one[site]
        assert layout is not None
        takes = rules.takes(state, service, site)
        lost_at = state.link.lost_at.get(service, -FOR_EVER)
        knows = rules.allowed(state, service, site, "backlog")
        return View(
            serves=rules.so(state, service, site, SERVES),
            link=rules.passes(state, service, self.moment) or self.moment < lost_at + self.layout.noticed,
            backlog=whole(end.waiting) if knows else None,
            mark=whole(end.written),
            reached=whole(one[mate].written) - whole(one[mate].waiting),
            clients=layout.clients if takes or self.moment < end.lingers else 0,
            in_doubt=end.in_doubt,
            told={name: rules.so(state, service, site, name) for name in end.told},
            end=end,
            managers=self.managers(site),
        )

    def tally(self, service: str) -> GenericTally:
        """The independent account, now."""
        with self.request():
            one = self.state.services[service]
            serving = [site for site in self.layout.sites if self._rules.takes(self.state, service, site)]
            stranded = sum(
                whole(end.waiting)
                for site, end in one.ends.items()
                if site not in serving and self.layout.mate_of(site) in serving
            )
            dropped = sum(whole(end.dropped) for end in one.ends.values())
            both = [
                (start, end)
                for (start, sites), (end, _) in pairwise([*one.takers, (self.moment, ())])
                if len(sites) > 1
            ]
            return GenericTally(stranded + dropped, stranded, round(one.late), tuple(both))

    def is_linked(self, service: str) -> bool:
        """Is the link up now?"""
        return self._rules.passes(self.state, service, self.moment)

    def takes(self, service: str, site: str) -> bool:
        """Does this site serve clients now?"""
        return self._rules.takes(self.state, service, site)

    # Changing

    def obey(self, site: str, service: str, action: str, args: Mapping[str, str]) -> None:
        """The site obeys an action. Call it within a ``request``."""
        if self.obeys(site, service, action):
            self.state.services[service].effects.append((site, action, dict(args), 1))
        self.act(site, service, action, args, by="command")
        self.remember()

    def obey_in_part(self, site: str, service: str, action: str, args: Mapping[str, str]) -> None:
        """The site obeys only the first request of an action with several requests. If the action ends the service,
        new clients are refused, but connected clients stay. Any other action is obeyed completely."""
        declared, state = self.layout.actions[action], self.state.services[service]
        if declared.parts == 1 or declared.makes.get(SERVES) is not False:
            return self.obey(site, service, action, args)
        if not self.state.nodes[site].up or not self.obeys(site, service, action):
            return None
        before, end = self._serving(), state.ends[site]
        state.effects.append((site, action, dict(args), 1))
        end.keeps = self._rules.takes(self.state, service, site)
        end.told[SERVES] = False
        self._settle()
        self._note(before, "command")
        self.remember()
        return None

    def act(self, site: str, service: str, action: str, args: Mapping[str, str], *, by: str) -> None:
        """Apply an action to the site, by the family's file."""
        node, declared = self.state.nodes[site], self.layout.actions[action]
        if not (node.up and self.obeys(site, service, action)):
            return
        before = self._serving()
        touched = list(self.state.services) if declared.whole_site else [service]
        for name in touched:
            end = self.state.services[name].ends[site]
            end.told.update(declared.makes)
            end.keeps = end.keeps and SERVES not in declared.makes
            if declared.item:
                end.items = [one for one in end.items if one.key != args.get(declared.item)]
                end.in_doubt = min(end.in_doubt, len(end.items))
        self._settle()
        self._note(before, by)

    def obey_later(self, site: str, service: str, action: str, args: Mapping[str, str], after: float) -> None:
        """Plan a delayed request. The site obeys it in ``after`` seconds, if it then can."""
        self.plan(self.moment + after, "action", [site, service, action, dict(args)])

    def fence(self, site: str, *, closed: bool) -> None:
        """Let something outside the site keep clients away, or let them in again."""
        with self.request():
            self.state.nodes[site].outside = closed
            self._settle()
            self.remember()

    # Disturbing

    def inject(self, faults: Iterable[Fault]) -> None:
        """Script faults. Raises ``DefinitionError`` for a fault that names an unknown object."""
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
        """The fault of the answer to this request, if any."""
        return self._faults.answer(asked)

    def disturb_link(self, factor: float | None, lasts: float | None) -> None:
        """Cut the link (``factor`` None), or let it carry only one of ``factor`` units."""
        until = FOR_EVER if lasts is None else self.moment + lasts
        if factor is None:
            self.state.link.cut_until = until
        else:
            self.state.link.slow_until, self.state.link.factor = until, factor
        self._until(until)

    def silence(self, site: str, lasts: float | None) -> None:
        """Let the site not answer management requests."""
        until = FOR_EVER if lasts is None else self.moment + lasts
        self.state.nodes[site].silent_until = until
        self._until(until)

    def manage(self, site: str, manager: str, lasts: float | None, *, hidden: bool) -> None:
        """Let another manager act at the site for ``lasts`` seconds. With ``hidden``, its reading instead hides
        whether it may act. An empty ``manager`` means every manager."""
        node = self.state.nodes[site]
        until = node.hidden_until if hidden else node.managed_until
        for name in (manager,) if manager else self.layout.managers:
            until[name] = FOR_EVER if lasts is None else self.moment + lasts

    def turn(self, site: str, *, up: bool, lasts: float | None = None) -> None:
        """Turn the node down, for ``lasts`` seconds if given, or up again."""
        node, before = self.state.nodes[site], self._serving()
        if node.up is up:
            return
        node.up = up
        for service in self.state.services.values():
            service.ends[site].keeps = False
        for name, value in self._rules.restarted() if up else ():
            for service in self.state.services.values():
                service.ends[site].told[name] = value
        self._settle()
        self._note(before, "start" if up else "down")
        if lasts is not None:
            self.plan(self.moment + lasts, "up", [site])

    def plan(self, moment: float, kind: str, details: list[Any]) -> None:
        """Plan an event for a moment of world time."""
        self._arrivals += 1
        heapq.heappush(self._events, (moment, self._arrivals, kind, details))

    def let_due_happen(self) -> None:
        """Run the events that were just planned for now."""
        self._happen_until(self.moment)

    # Behind the scenes

    def _until(self, moment: float) -> None:
        self._settle()
        if moment < FOR_EVER:
            self.plan(moment, _SETTLE, [])

    def _serving(self) -> dict[tuple[str, str], bool]:
        return {
            (name, site): self._rules.so(self.state, name, site, SERVES)
            for name in self.state.services
            for site in self.layout.sites
        }

    def _note(self, before: Mapping[tuple[str, str], bool], by: str) -> None:
        """Record the sites that now serve and did not before, or the reverse."""
        for (name, site), serves in self._serving().items():
            if serves is not before[name, site]:
                what = "active" if serves else "standby"
                self.state.services[name].changes.append((self.moment, site, what, by))

    def _settle(self) -> None:
        """Apply the immediate consequences of a change: update the sites that take clients, and the state of the link."""
        for name, one in self.state.services.items():
            takers = tuple(site for site in self.layout.sites if self._rules.takes(self.state, name, site))
            if not one.takers or one.takers[-1][1] != takers:
                for site in set(one.takers[-1][1] if one.takers else ()) - set(takers):
                    layout = self.service(name)
                    assert layout is not None
                    one.ends[site].lingers = self.moment + layout.lingers if self.state.nodes[site].up else 0.0
                one.takers.append((self.moment, takers))
            link = self.state.link
            began, ended = link.lost_at, link.held_since
            if self._rules.passes(self.state, name, self.moment):
                began, ended = ended, began
            began.setdefault(name, self.moment)
            ended.pop(name, None)
            self._rules.drop(self.state, name)

    def _pass_until(self, target: float) -> None:
        while self._events and self._events[0][0] <= target:
            self._flow_until(self._events[0][0])
            self._happen_until(self.moment)
        self._flow_until(target)

    def _flow_until(self, moment: float) -> None:
        seconds = moment - self.moment
        if seconds <= 0:
            return
        for service in self.layout.services:
            self._rules.flow(self.state, service, self.moment, seconds)
        self.moment = moment

    def _happen_until(self, moment: float) -> None:
        while self._events and self._events[0][0] <= moment:
            _, _, kind, details = heapq.heappop(self._events)
            self._happen(kind, details)

    def _happen(self, kind: str, details: list[Any]) -> None:
        match kind, details:
            case "fault", [int(index), about]:
                self._faults.fire(index, about)
            case "up", [site]:
                self.turn(site, up=True)
            case "action", [site, service, action, args]:
                if self.state.nodes[site].up:
                    self.obey(site, service, action, args)
            case "settle", []:
                self._settle()
            case _:
                raise ValueError(f"the world knows no event {kind} {details}")

    def _dump(self) -> dict[str, Any]:
        return {
            **self._dump_time(0.0),
            "family": FAMILY,
            "layout": self.layout.model_dump(mode="json", by_alias=True),
            "state": _STATE.dump_python(self.state, mode="json"),
            "events": self._events,
            "arrivals": self._arrivals,
            "faults": self._faults.dump(),
        }

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        self.layout = _layout_of(data)
        self._rules = Rules(self.layout)
        try:
            self.state = _STATE.validate_python(data["state"])
        except ValidationError as error:
            raise ValueError(str(error.errors()[0]["loc"])) from error
        if set(self.state.services) != {one.name for one in self.layout.services}:
            raise ValueError("its services are not those of its layout")
        self._events = [(float(at), int(order), str(kind), list(more)) for at, order, kind, more in data["events"]]
        heapq.heapify(self._events)
        self._arrivals = int(data["arrivals"])
        self._faults.restore(data["faults"])
        self._restore_time(data, elapsed)


def _layout_of(data: Mapping[str, Any]) -> GenericLayout:
    if data["family"] != FAMILY:
        raise ValueError(f"it is a world of {data['family']}")
    try:
        return GenericLayout.model_validate(data["layout"])
    except ValidationError as error:
        raise DefinitionError(str(error.errors()[0]["loc"])) from error
