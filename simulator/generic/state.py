"""The state of a simulated pair of a declared family at one moment, and the rules of its file.

An action sets the values of ``makes`` at a site. The resulting state also depends on ``model``: a server serves only
while it runs. Nothing here depends on runbooks or on the expectations of a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from orchestrator.model.declared.requests import ModelFile, flags_in, rules_in
from simulator.generic.layout import GenericLayout, GenericService, ItemLayout

FOR_EVER = 1e18
SERVES, LINK, BACKLOG, SUSPENDED = "serves", "link", "backlog", "suspended"
_LEAST = 1e-6  # units: smaller amounts count as none


@dataclass(slots=True)
class End:
    """One service at one site. ``told``: the flags that actions set. ``written``: units that this site took.
    ``reached``: units of these that the mate has. ``dropped``: units of these that are lost. ``lingers``: until when
    clients stay connected after the service ended. ``keeps``: connected clients still write although the site was
    told not to serve."""

    told: dict[str, bool]
    written: float = 0.0
    reached: float = 0.0
    dropped: float = 0.0
    lingers: float = 0.0
    keeps: bool = False
    in_doubt: int = 0
    items: list[ItemLayout] = field(default_factory=list)

    @property
    def waiting(self) -> float:
        """The units that the mate lacks."""
        return self.written - self.reached


@dataclass(slots=True)
class ServiceState:
    """``changes``: moment, site, new role, origin. ``effects``: site, action, arguments, number of effects.
    ``takers``: the sites that take clients from each moment on. ``late``: units that arrived after newer ones."""

    ends: dict[str, End]
    changes: list[tuple[float, str, str, str]] = field(default_factory=list)
    effects: list[tuple[str, str, dict[str, str], int]] = field(default_factory=list)
    takers: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    late: float = 0.0


@dataclass(slots=True)
class NodeState:
    """The node of one site. ``outside``: something outside the site keeps clients away. ``managed_until``: until when
    each other manager may act there. ``hidden_until``: until when the readings hide that."""

    up: bool = True
    silent_until: float = 0.0
    managed_until: dict[str, float] = field(default_factory=dict)
    hidden_until: dict[str, float] = field(default_factory=dict)
    outside: bool = False


@dataclass(slots=True)
class LinkState:
    """Until when the link is cut or slow, and since when it is down or up."""

    cut_until: float = 0.0
    slow_until: float = 0.0
    factor: float = 1.0
    lost_at: dict[str, float] = field(default_factory=dict)  # by service
    held_since: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """The whole pair."""

    services: dict[str, ServiceState]
    nodes: dict[str, NodeState]
    link: LinkState


def first_state(layout: GenericLayout) -> State:
    """The state at the start: no faults, and the source serves."""
    return State(
        services={one.name: _service(layout, one) for one in layout.services},
        nodes={site: NodeState() for site in layout.sites},
        link=LinkState(),
    )


def _service(layout: GenericLayout, service: GenericService) -> ServiceState:
    ends = {}
    for site in layout.sites:
        is_source = site == layout.source
        flags = {name: both[0 if is_source else 1] for name, both in flags_in(layout.model).items()}
        ends[site] = End(told={SERVES: is_source, **flags})
    source = ends[layout.source]
    source.written, source.in_doubt, source.items = float(service.waiting), service.in_doubt, list(service.items)
    return ServiceState(ends)


class Rules:
    """The rules of one layout, applied to a state at a moment."""

    def __init__(self, layout: GenericLayout) -> None:
        self._layout = layout
        self._rules: Mapping[str, ModelFile] = rules_in(layout.model)

    def so(self, state: State, service: str, site: str, name: str) -> bool:
        """Is this field, or the facet ``serves``, true at this end?"""
        return state.services[service].ends[site].told.get(name, False) and self.allowed(state, service, site, name)

    def allowed(self, state: State, service: str, site: str, name: str) -> bool:
        """Are the conditions of ``name`` met: those of this end, and those that either end must meet?"""
        rule = self._rules.get(name)
        if rule is None:
            return True
        ends = (site, self._layout.mate_of(site))
        here = self._fits(state, service, site, rule.only_while)
        return here and any(self._fits(state, service, one, rule.either_end) for one in ends)

    def _fits(self, state: State, service: str, site: str, wanted: Mapping[str, bool]) -> bool:
        return all(self.shown(state, service, site, name) is value for name, value in wanted.items())

    def shown(self, state: State, service: str, site: str, name: str) -> bool:
        """The same as ``so``, but also for the link. This cannot recurse, because no condition of ``link`` is the
        link itself."""
        return self.linked(state, service) if name == LINK else self.so(state, service, site, name)

    def linked(self, state: State, service: str) -> bool:
        """Would the link be up with a working network?"""
        sites = self._layout.sites
        ready = all(state.nodes[site].up for site in sites)
        return ready and all(self.allowed(state, service, site, LINK) for site in sites)

    def passes(self, state: State, service: str, moment: float) -> bool:
        """Is the link up?"""
        return moment >= state.link.cut_until and self.linked(state, service)

    def takes(self, state: State, service: str, site: str) -> bool:
        """Does this site serve clients?"""
        node = state.nodes[site]
        serves = state.services[service].ends[site].keeps or self.so(state, service, site, SERVES)
        return node.up and not node.outside and serves

    def answers(self, state: State, service: str, site: str, reading: str) -> bool:
        """Is this reading answered if the node is up?"""
        way = self._layout.readings.get(reading, "")
        return all(self.allowed(state, service, site, name) for name in (reading, way))

    def obeys(self, state: State, service: str, site: str, action: str) -> bool:
        """Does this action reach the component that must obey it?"""
        return self.allowed(state, service, site, self._layout.actions[action].way)

    def drops(self, state: State, service: str, site: str) -> bool:
        """True if the units that only this end has are lost in the present state."""
        rule = self._rules.get(BACKLOG)
        return rule is not None and bool(rule.dropped_while) and self._fits(state, service, site, rule.dropped_while)

    def restarted(self) -> Iterator[tuple[str, bool]]:
        """The values that the fields of an end get when its node starts again."""
        for name, rule in self._rules.items():
            if rule.restarted is not None:
                yield name, rule.restarted

    # Time

    def flow(self, state: State, service: GenericService, moment: float, seconds: float) -> None:
        """Let ``seconds`` pass without other changes: clients write, and the link carries the waiting units."""
        one = state.services[service.name]
        passes = self.passes(state, service.name, moment)
        slow = state.link.factor if moment < state.link.slow_until else 1.0
        for site, end in one.ends.items():
            rate = service.rate if self.takes(state, service.name, site) else 0.0
            waiting = end.waiting + rate * seconds
            end.written += rate * seconds
            if passes and not self.so(state, service.name, site, SUSPENDED):
                least = min(waiting, rate * self._layout.lag)
                left = max(least, waiting - service.drain / slow * seconds)
                left = 0.0 if left < _LEAST else left
                if self.takes(state, service.name, self._layout.mate_of(site)):
                    one.late += max(0.0, waiting - left)
                waiting = left
            end.reached = end.written - waiting
        self.drop(state, service.name)

    def drop(self, state: State, service: str) -> None:
        """Drop the units that only one end has, if the file says so."""
        for site, end in state.services[service].ends.items():
            if end.waiting > 0 and self.drops(state, service, site):
                end.dropped += end.waiting
                end.reached = end.written


def whole(units: float) -> int:
    """Whole units, rounded up, so that only an empty amount is 0."""
    return ceil(units - _LEAST)


def shown_items(end: End, reading: str) -> list[dict[str, Any]]:
    """The items that a reading lists, as fields."""
    return [dict(one.fields) for one in end.items if one.reading == reading]
