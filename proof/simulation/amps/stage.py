"""A simulated AMPS pair as the stage of a simulated run. A service is a group, which has one instance at each site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from adapters.mock.amps.adapter import MockAmpsAdapter
from orchestrator.clock import Clock
from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from proof.simulation.amps.looks import look
from simulator.amps.faults import parse_amps_fault
from simulator.amps.layout import FabricLayout
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS

_NAME = "night"
_GLANCE_S = 1.0  # the interval between two checks of a settling world


class AmpsStage:
    """See ``stage.Stage``."""

    def __init__(self, layout: FabricLayout, clock: Clock) -> None:
        self._layout = layout
        self._world = AmpsWorld(layout, clock)
        self._reference = AMPS_WORLDS.register(_NAME, self._world)
        self._seen: tuple[int, dict[str, Any]] = (-1, {})  # the revision of the world, and the value

    @property
    def sites(self) -> Sequence[str]:
        """In the order of the layout."""
        return tuple(dict.fromkeys(one.site_name for one in self._layout.instances))

    def inventory(self, *, command_timeout: float) -> Inventory:
        """One device for each instance of a site, each with the service of its group."""
        sites = {
            site: Site(
                adapter="mock-amps",
                devices=tuple(Device(name=name) for name in instances.values()),
                options={"world": self._reference, "services": instances},
                command_timeout=command_timeout,
            )
            for site in self.sites
            if (instances := {one.group_name: one.name for one in self._layout.instances if one.site_name == site})
        }
        services = tuple(dict.fromkeys(one.group_name for one in self._layout.instances))
        one, other = sites
        return Inventory(sites=sites, pairs=(Pair(name="night", sites=(one, other), services=services),))

    def inject(self, faults: Iterable[str]) -> None:
        """Injects faults in the grammar of ``simulator.amps.faults``."""
        self._world.inject(parse_amps_fault(text) for text in faults)

    def released(self) -> AbstractContextManager[None]:
        """See ``stage.Stage``."""
        return self._world.released()

    def happened(self) -> Sequence[str]:
        """See ``stage.Stage``."""
        return self._world.happened()

    def adapter(self, site: Site, context: AdapterContext) -> Adapter:
        """The simulated instances, in process."""
        return cast("Adapter", MockAmpsAdapter(site, context))

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """Doors, links, queues, and the number of messages that each instance is ahead of its mate."""
        if count:
            return look(self._world, count=True)
        with self._world.request():
            if self._seen[0] != self._world.revision:  # between two ticks mostly nothing is done
                self._seen = (self._world.revision, look(self._world))
            return {**self._seen[1], "moment": self._world.now()}

    def settling(self, longest: float, *, counts: bool) -> Iterator[float]:
        """Waits until the fabric is steady, because publishers never stop and each simulated second costs time. Messages
        that seem lost get the whole time to arrive. If messages do not count, the simulation does not wait for them."""
        before, left = self._world.next_numbers() if counts else {}, longest
        while left > 0:
            yield (passed := min(_GLANCE_S, left))
            left -= passed
            if self._world.is_steady(before, left) and not (counts and self._world.tally().lost):
                return

    def close(self) -> None:
        """Removes the world from the known worlds."""
        AMPS_WORLDS.forget(_NAME)
