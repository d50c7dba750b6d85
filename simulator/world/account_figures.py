"""The world's account in figures, for the end of a simulated run. Only reports may read them, never a decision."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.clock import Clock
from orchestrator.model.inventory import Site
from simulator.amps.worlds import AMPS_WORLDS
from simulator.generic.worlds import GENERIC_WORLDS
from simulator.world.worlds import WORLDS

_AMPS = "mock-amps"


def accounts(site: Site, clock: Clock, services: Sequence[str]) -> dict[str, dict[str, int]]:
    """Messages lost, duplicated and out of order, and how often both sites were active, for each service of the world.

    ``stranded``: the lost messages that a site which does not serve still holds.

    Raises ``DefinitionError`` or ``Unreachable`` when the site's world cannot be acquired.
    """
    if site.adapter == _AMPS:
        return _of_fabric(site, clock, services)
    if site.adapter.startswith("mock-"):
        return _of_generic(site, clock, services)
    world = WORLDS.acquire(str(site.options["world"]), clock)
    try:
        with world.request():
            tallies = {service: world.tally(service) for service in services if world.has_vpn(service)}
    finally:
        WORLDS.release(world)
    return {
        service: {
            "lost": tally.lost,
            "stranded": tally.stranded,
            "duplicated": tally.duplicated,
            "out_of_order": tally.out_of_order,
            "both_active_intervals": len(tally.both_active),
        }
        for service, tally in tallies.items()
    }


def _of_generic(site: Site, clock: Clock, services: Sequence[str]) -> dict[str, dict[str, int]]:
    """The figures of a declared family. Its world does not record units that arrive twice, so ``duplicated`` is 0."""
    world = GENERIC_WORLDS.acquire(str(site.options["world"]), clock)
    try:
        tallies = {service: world.tally(service) for service in services if world.service(service) is not None}
    finally:
        GENERIC_WORLDS.release(world)
    return {
        service: {
            "lost": tally.lost,
            "stranded": tally.stranded,
            "duplicated": 0,
            "out_of_order": tally.out_of_order,
            "both_active_intervals": len(tally.both_active),
        }
        for service, tally in tallies.items()
    }


def _of_fabric(site: Site, clock: Clock, services: Sequence[str]) -> dict[str, dict[str, int]]:
    """A service of AMPS is an instance's client traffic. Its account covers all publishers that can use the instance."""
    world = AMPS_WORLDS.acquire(str(site.options["world"]), clock)
    try:
        tally, publishers = world.tally(), world.layout.publishers
    finally:
        AMPS_WORLDS.release(world)
    figures = {}
    for service in services:
        device = (site.options.get("services") or {}).get(service, service)
        names = {one.name for one in publishers if device in one.servers or len(site.devices) == 1}
        streams = [one for one in tally.streams if one.publisher in names]
        figures[service] = {
            "lost": sum(one.lost for one in streams),
            "stranded": sum(one.stranded for one in streams),
            "duplicated": sum(one.duplicated for one in streams),
            "out_of_order": sum(one.out_of_order for one in streams),
            "both_active_intervals": len(tally.both_open),
        }
    return figures
