"""The place of a service: its devices, which identify a pair under any name in an inventory. No connections are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from orchestrator.model import events as ev
from orchestrator.model.inventory import Device, Site, is_this_machine

# Longest place that is kept as text, in characters: with a service name it must fit into a database column.
_PLACE_MAX = 300


def service_place(service: str, sites: Iterable[Site]) -> str:
    """The identity of a service: its name and its devices, independent of the site names and adapters in the inventory.

    Limitation: the name of a host and its address count as different devices.
    """
    devices = sorted(_place(device) + str(site.options.get("world", "")) for site in sites for device in site.devices)
    place = ",".join(devices)
    if len(place) > _PLACE_MAX:
        place = f"sha256:{sha256(place.encode()).hexdigest()}"
    return f"{service}@{place}"


def _place(device: Device) -> str:
    """The identity of a device: its host, without the port. On this machine the port is included, because all labs and
    tunnels have the same address here."""
    host = (device.address or device.name).lower()
    return f"{host}:{device.port}" if is_this_machine(host) else host


def place_of(plan: ev.Plan) -> str:
    """The place of a run, equal for both directions."""
    return pair_place([plan.inventory.sites[name] for name in (plan.source, plan.target)])


def pair_place(sites: Sequence[Site]) -> str:
    """The devices of both sites, with their adapters: each interface has its own speed."""
    ways = sorted("+".join([site.adapter, *sorted(one.adapter for one in site.also)]) for site in sites)
    return f"{service_place('', sites)} over {', '.join(ways)}"
