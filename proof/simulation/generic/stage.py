"""A simulated pair of a declared family as the stage of a run, and as the judge sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from adapters.mock.declared.adapter import mock_name
from orchestrator.clock import Clock
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.families import Family
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from proof.simulation.outside import FencedAdapter, OutsideFence, as_effects
from proof.simulation.story import FenceCommand
from simulator.generic.faults import parse_generic_fault
from simulator.generic.layout import GenericLayout
from simulator.generic.state import whole
from simulator.generic.world import GenericWorld
from simulator.generic.worlds import GENERIC_WORLDS

_NAME = "night"


class GenericStage:
    """See ``stage.Stage``."""

    def __init__(
        self, layout: GenericLayout, clock: Clock, family: Family, fence: FenceCommand | None = None
    ) -> None:
        self._layout, self._family = layout, family
        self._world = GenericWorld(layout, clock)
        self._reference = GENERIC_WORLDS.register(_NAME, self._world)
        self._fence = None
        if fence is not None:
            site = fence.site
            self._fence = OutsideFence(fence, clock, lambda closed: self._world.fence(site, closed=closed))

    @property
    def sites(self) -> Sequence[str]:
        """In the order of the layout."""
        return self._layout.sites

    def inventory(self, *, command_timeout: float) -> Inventory:
        """One device for each site."""
        sites = {
            site: Site(
                adapter=mock_name(self._family.name),
                devices=(Device(name=f"{site}-1"),),
                options={"world": self._reference},
                command_timeout=command_timeout,
            )
            for site in self._layout.sites
        }
        services = tuple(one.name for one in self._layout.services)
        return Inventory(sites=sites, pairs=(Pair(name="night", sites=self._layout.sites, services=services),))

    def inject(self, faults: Iterable[str]) -> None:
        """Injects faults in the grammar of ``simulator.generic.faults``."""
        self._world.inject(parse_generic_fault(text) for text in faults)

    def released(self) -> AbstractContextManager[None]:
        """See ``stage.Stage``."""
        return self._world.released()

    def happened(self) -> Sequence[str]:
        """See ``stage.Stage``."""
        return self._world.happened()

    def adapter(self, site: Site, context: AdapterContext) -> Adapter:
        """The simulated site, in process, and the command of its fence plan if it has one."""
        kind = cast("type[Adapter]", self._family.adapters[mock_name(self._family.name)])
        inner = kind(site, context)
        if self._fence is None or self._fence.site != site.name:
            return inner
        return cast("Adapter", FencedAdapter(inner, context.clock, self._fence))

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """The serving sites, the waiting units and the obeyed actions, taken from the world itself."""
        if self._fence is not None:
            self._fence.settle()
        with self._world.request():
            services = {one.name: self._service(one.name, count=count) for one in self._layout.services}
            nodes = {
                site: {"serves": node.up, "managers": self._world.managers(site)}
                for site, node in self._world.state.nodes.items()
            }
            return {"moment": self._world.now(), "sites": nodes, "services": services}

    def _service(self, name: str, *, count: bool) -> dict[str, Any]:
        world, sites = self._world, self._layout.sites
        state, tally = world.state.services[name], world.tally(name)
        views = {site: world.view(site, name) for site in sites}
        found = {
            "serving": {site: view.serves for site, view in views.items()},
            "takes": {site: world.takes(name, site) for site in sites},
            "waiting": {site: whole(state.ends[site].waiting) for site in sites},
            "linked_since": world.state.link.held_since.get(name),
            "changes": [list(one) for one in state.changes],
            "both_active": [list(one) for one in tally.both_active],
            "effects": [*map(list, state.effects), *as_effects(self._fence)],
            "received": [list(one) for one in state.effects],
        }
        return {**found, "lost": tally.lost} if count else found

    def settling(self, longest: float, *, counts: bool) -> Iterator[float]:
        """The whole time at once, because simulated time in which nothing happens costs nothing."""
        yield longest

    def close(self) -> None:
        """Removes the world from the known worlds."""
        GENERIC_WORLDS.forget(_NAME)
