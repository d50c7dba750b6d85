"""The simulated world: two sites, their nodes and message VPNs, time, and faults.

The world is deterministic: the same layout, faults, requests and clock give the same world. Its effects follow from
the rules of ``vpn``, ``stream`` and ``centre``, never from the expectations of a runbook. It never imports the engine.

World time counts seconds from the world's start and passes only while a process runs the world. A world with a file
saves its state before it answers. The caller therefore never gets an answer that a dead process could lose.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError, Unreachable
from simulator.solace.account import Tally
from simulator.solace.appliance import NoSuchObject, Refused
from simulator.solace.centre import Centre
from simulator.solace.fault_injection import FaultInjector, Seen
from simulator.solace.faults import Fault
from simulator.solace.layout import WorldLayout, layout_from
from simulator.solace.node import SimulatedAppliance
from simulator.solace.vpn import Vpn
from simulator.world.fault_lines import AnswerFault
from simulator.world.persistent import DAMAGE, Kept
from simulator.world.store import WorldFile

Event = tuple[float, int, str, list[Any]]  # moment, order of arrival, kind, details


class World(Kept):
    """All simulated objects. Safe to use from several threads. All questions within one ``request`` see the same
    moment."""

    def __init__(self, layout: WorldLayout, clock: Clock, *, path: Path | None = None) -> None:
        super().__init__(clock, path)
        self.layout = layout
        self._happening = False
        self._events: list[Event] = []
        self._arrivals = 0
        self._faults = FaultInjector(self)
        self._build(layout)
        for vpn in self._vpns.values():
            vpn.begin()

    @classmethod
    def load(cls, path: Path, clock: Clock) -> World:
        """The world from the file ``path``. Raises ``Unreachable`` with a hint when the file cannot be used."""
        file = WorldFile(path)
        data = file.read()
        try:
            world = cls(layout_from(data["layout"]), clock, path=path)
            world._restore(data, elapsed=0.0)
        except DAMAGE as error:
            raise file.damaged(error) from error
        world._file = file
        return world

    # Asking

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the two sites. Clients try the first site first."""
        return tuple(self.centres)

    @property
    def vpn_names(self) -> tuple[str, ...]:
        return tuple(self._vpns)

    def has_vpn(self, name: str) -> bool:
        """Is there such a message VPN?"""
        return name in self._vpns

    def appliance(self, site: str, node: str) -> SimulatedAppliance:
        """One node, as its management shows it. Raises ``DefinitionError`` for an unknown node."""
        self.centre(site).node(node)
        return SimulatedAppliance(self, site, node)

    def centre(self, site: str) -> Centre:
        """The data centre of a site. Raises ``DefinitionError`` for an unknown site."""
        if site not in self.centres:
            raise DefinitionError(f"the simulated world has no site {site}; it has {', '.join(self.centres)}")
        return self.centres[site]

    def reachable(self, site: str, node: str) -> bool:
        """Does the node's management answer now?"""
        with self.request():
            return self.centre(site).reachable(node, self.now())

    def vpn(self, name: str) -> Vpn:
        """A message VPN, brought up to now. Raises ``NoSuchObject``. Call it inside ``request``."""
        vpn = self._vpns.get(name)
        if vpn is None:
            raise NoSuchObject(f"message VPN {name} does not exist")
        vpn.advance(self.now())
        return vpn

    def tally(self, vpn: str) -> Tally:
        """The independent account of one VPN, now. Raises ``NoSuchObject``."""
        with self.request():
            return self.vpn(vpn).tally()

    def tallies(self) -> Mapping[str, Tally]:
        """The independent account of every VPN, now."""
        with self.request():
            return {name: self.vpn(name).tally() for name in self._vpns}

    # Disturbing

    def inject(self, faults: Iterable[Fault]) -> None:
        """Script faults. Raises ``DefinitionError`` for a fault that names an unknown site, node or VPN."""
        with self.request():
            self._faults.give(faults)

    def happened(self) -> tuple[str, ...]:
        """The faults that have happened so far, as they were written."""
        with self.request():
            return self._faults.happened()

    def notice(self, seen: Seen) -> None:
        """Trigger the state faults that wait for this request to a node. Raises ``Refused`` when a fault refuses the
        request."""
        self._faults.notice(seen)

    def answer_fault(self, seen: Seen) -> AnswerFault | None:
        """The fault of the answer to this request, if any. The caller that sends the answer applies the fault."""
        with self.request():
            return self._faults.answer(seen)

    def obey_later(self, site: str, node: str, action: str, args: Mapping[str, str], vpn: str, after: float) -> None:
        """Plan a delayed command. The node obeys it in ``after`` seconds, if it then can."""
        with self.request():
            self.plan(self.now() + after, "command", [site, node, action, dict(args), vpn])

    def plan(self, moment: float, kind: str, details: list[Any]) -> None:
        """Plan an event for a moment of world time."""
        self._arrivals += 1
        heapq.heappush(self._events, (moment, self._arrivals, kind, details))

    def change(self, effect: Callable[[], object]) -> None:
        """Let ``effect`` change a site. Every VPN is brought up to now before the change, and settled after it."""
        for vpn in self._vpns.values():
            vpn.advance(self.moment)
        effect()
        for vpn in self._vpns.values():
            vpn.settle()

    def affected(self, name: str | None) -> Sequence[Vpn]:
        """The named VPN, or all of them, brought up to the present world time."""
        chosen = [self._vpns[name]] if name is not None else list(self._vpns.values())
        for vpn in chosen:
            vpn.advance(self.moment)
        return chosen

    # Behind the scenes

    def _build(self, layout: WorldLayout) -> None:
        self.layout = layout
        self.centres = {site.name: Centre(site) for site in layout.sites}
        self._vpns = {vpn.name: Vpn(vpn, layout, self.centres) for vpn in layout.vpns}

    def let_due_happen(self) -> None:
        """Run the events that were just planned for now."""
        if not self._happening:  # else the running loop takes the event next
            self._pass_until(self.moment)

    def _pass_until(self, target: float) -> None:
        """Run all events up to ``target``, in order of time. World time is then ``target``."""
        self._happening = True
        try:
            while self._events and self._events[0][0] <= target:
                moment, _, kind, details = heapq.heappop(self._events)
                self.moment = max(self.moment, moment)
                self._happen(kind, details)
        finally:
            self._happening = False
        self.moment = target

    def _happen(self, kind: str, details: list[Any]) -> None:
        match kind, details:
            case "fault", [int(index), vpn]:
                self._faults.fire(index, vpn)
            case "serve", [site, node]:
                self.change(lambda: self.centres[site].serve(node))
            case "up", [site, node]:
                self.change(lambda: self.take_over(site, self.centres[site].recover(node)))
            case "store", [site]:
                self.change(lambda: self.centres[site].store_again())
            case "command", [site, node, action, args, vpn]:
                with suppress(Refused, Unreachable):
                    self.appliance(site, node).obey(action, vpn, args)
            case _:
                raise ValueError(f"the world knows no event {kind} {details}")

    def take_over(self, site: str, node: str | None) -> None:
        """Plan that ``node``, if not None, has the message spool after the take-over time."""
        if node is not None:
            self.plan(self.moment + self.layout.takeover, "serve", [site, node])

    def _dump(self) -> dict[str, Any]:
        oldest = min((vpn.stream.stamps[0][1] for vpn in self._vpns.values()), default=self.moment)
        return {
            **self._dump_time(oldest),
            "layout": asdict(self.layout),
            "centres": {name: centre.dump() for name, centre in self.centres.items()},
            "vpns": {name: vpn.dump() for name, vpn in self._vpns.items()},
            "events": self._events,
            "arrivals": self._arrivals,
            "faults": self._faults.dump(),
        }

    def _restore(self, data: Mapping[str, Any], *, elapsed: float) -> None:
        self._build(layout_from(data["layout"]))
        for name, centre in self.centres.items():
            centre.restore(data["centres"][name])
        for name, vpn in self._vpns.items():
            vpn.restore(data["vpns"][name])
        self._events = [
            (float(moment), int(order), str(kind), list(more)) for moment, order, kind, more in data["events"]
        ]
        heapq.heapify(self._events)
        self._arrivals = int(data["arrivals"])
        self._faults.restore(data["faults"])
        self._restore_time(data, elapsed)
