"""Two simulated Solace sites as the stage of a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import Clock
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from proof.simulation.outside import FencedAdapter, OutsideFence, as_effects
from proof.simulation.solace.looks import look
from proof.simulation.solace.own import OwnAdapter, OwnCommands
from proof.simulation.story import FenceCommand, OwnCommand
from simulator.solace.faults import parse_fault
from simulator.solace.layout import WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS

_NAME = "night"


class SolaceStage:
    """See ``stage.Stage``."""

    def __init__(
        self, layout: WorldLayout, clock: Clock, fence: FenceCommand | None = None, own: OwnCommand | None = None
    ) -> None:
        self._layout = layout
        self._world = World(layout, clock)
        self._reference = WORLDS.register(_NAME, self._world)
        self._fence = None if fence is None else OutsideFence(fence, clock, self._fencing(fence.site))
        self._own = None if own is None else OwnCommands(own)

    def _fencing(self, site: str) -> Callable[[bool], None]:
        """The function that closes or opens the site, for the command of its fence plan."""
        centre = self._world.centre(site)

        def turn(closed: bool) -> None:
            def change() -> None:
                for node in centre.layout.nodes:
                    centre.set_interface(node, up=not closed)

            with self._world.request():
                self._world.change(change)

        return turn

    @property
    def sites(self) -> Sequence[str]:
        """In the order of the layout."""
        return tuple(site.name for site in self._layout.sites)

    def inventory(self, *, command_timeout: float) -> Inventory:
        """One device for each node."""
        sites = {
            site.name: Site(
                adapter="mock",
                devices=tuple(Device(name=node, router_name=node) for node in site.nodes),
                options={"world": self._reference},
                command_timeout=command_timeout,
            )
            for site in self._layout.sites
        }
        services = tuple(vpn.name for vpn in self._layout.vpns)
        one, other = sites
        return Inventory(sites=sites, pairs=(Pair(name="night", sites=(one, other), services=services),))

    def inject(self, faults: Iterable[str]) -> None:
        """Injects faults in the grammar of ``simulator.solace.faults``."""
        self._world.inject(parse_fault(text) for text in faults)

    def released(self) -> AbstractContextManager[None]:
        """See ``stage.Stage``."""
        return self._world.released()

    def happened(self) -> Sequence[str]:
        """See ``stage.Stage``."""
        return self._world.happened()

    def adapter(self, site: Site, context: AdapterContext) -> Adapter:
        """The simulated appliances, in process, and the command of the site's fence plan if it has one."""
        if self._fence is not None and self._fence.site == site.name:
            inner = cast("Adapter", MockAdapter(site, context))
            return cast("Adapter", FencedAdapter(inner, context.clock, self._fence))
        if self._own is not None:
            return cast("Adapter", OwnAdapter(site, context, self._own))
        return cast("Adapter", MockAdapter(site, context))

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """Roles, queues, doors, transactions."""
        if self._fence is not None:
            self._fence.settle()
        seen = look(self._world, as_effects(self._fence), count=count)
        if self._own is not None:
            for name, service in seen["services"].items():
                service["effects"] += self._own.effects(name)
        return seen

    def settling(self, longest: float, *, counts: bool) -> Iterator[float]:
        """The whole time at once, because simulated time in which nothing happens costs nothing."""
        yield longest

    def close(self) -> None:
        """Removes the world from the known worlds."""
        WORLDS.forget(_NAME)
