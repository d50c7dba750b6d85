"""Where a service is: its devices, by which a pair is known whatever an inventory calls it. It must not connect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from orchestrator.model import events as ev
from orchestrator.model.inventory import Device, Site, is_this_machine

# Characters of a place that are kept as they are: with a service's name it fits into the column of a server.
_PLACE_MAX = 300


def service_place(service: str, sites: Iterable[Site]) -> str:
    """Which service this is, whatever the inventory calls the sites it is at, and however it speaks to them.

    What it cannot know: that a host's name and its address are the same device.
    """
    devices = sorted(_place(device) + str(site.options.get("world", "")) for site in sites for device in site.devices)
    place = ",".join(devices)
    if len(place) > _PLACE_MAX:
        place = f"sha256:{sha256(place.encode()).hexdigest()}"
    return f"{service}@{place}"


def _place(device: Device) -> str:
    """A device is the same over every port; but on this machine, where labs and tunnels have one address for all."""
    host = (device.address or device.name).lower()
    return f"{host}:{device.port}" if is_this_machine(host) else host


def place_of(plan: ev.Plan) -> str:
    """Where a run is, in either direction."""
    return pair_place([plan.inventory.sites[name] for name in (plan.source, plan.target)])


def pair_place(sites: Sequence[Site]) -> str:
    """The devices of both sites, and how they are spoken to: an interface has its own pace."""
    ways = sorted("+".join([site.adapter, *sorted(one.adapter for one in site.also)]) for site in sites)
    return f"{service_place('', sites)} over {', '.join(ways)}"
