"""The world of AMPS as the judge sees it: plain data, taken from the fabric itself, never from readings."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from simulator.amps.layout import InstanceLayout
from simulator.amps.world import AmpsWorld


def look(world: AmpsWorld, *, count: bool = False) -> dict[str, Any]:
    """The present true state. With ``count``, also the outcome of the messages. See ``proof.promises`` for the shape."""
    with world.request():
        known = world.fabric.instances
        pairs: dict[str, list[InstanceLayout]] = {}
        sites: dict[str, Any] = {}
        for layout in world.layout.instances:
            pairs.setdefault(layout.group_name, []).append(layout)
            site = sites.setdefault(layout.site_name, {"serves": True})
            site["serves"] = site["serves"] and known[layout.name].serves
        services = {name: _service(world, pair) for name, pair in pairs.items()}
        if count:
            for name, pair in pairs.items():
                services[name] |= _counted(world, pair)
        return {"moment": world.now(), "sites": sites, "services": services}


def _service(world: AmpsWorld, pair: list[InstanceLayout]) -> dict[str, Any]:
    ledger = world.fabric.ledger
    sites = {one.name: one.site_name for one in pair}
    first, second = (one.name for one in pair)
    return {
        "instances": {
            sites[first]: _instance(world, pair[0], second),
            sites[second]: _instance(world, pair[1], first),
        },
        "changes": [[at, sites[name], what, by] for at, name, what, by in ledger.changes if name in sites],
        "both_open": [
            [start, end]
            for (start, found), (end, _) in pairwise([*ledger.open, (world.fabric.now, ())])
            if first in found and second in found
        ],
        "effects": [
            [sites[name], action, {"target": target}, 1] for name, action, target in ledger.commands if name in sites
        ],
    }


def _instance(world: AmpsWorld, layout: InstanceLayout, mate: str) -> dict[str, Any]:
    fabric = world.fabric
    instance, other = fabric.instances[layout.name], fabric.instances[mate]
    link, described = instance.links[layout.destinations[0].name], layout.destinations[0]
    doors = [instance.transports[one.name] for one in layout.transports if not one.is_replication]
    return {
        "phase": instance.phase,
        "doors": doors if instance.phase != "down" else [False],
        "takes_clients": instance.serves and fabric.takes_clients(layout.name),
        "clients": len(fabric.clients_at(layout.name)),
        "connected": fabric.has_link(layout.name, mate),
        "cut_since": None if link.to is not None else (link.disconnected_at or 0.0),
        "configured_sync": described.sync,
        "sync": described.sync and not link.downgraded,
        "empty": instance.journal.is_empty,
        "proxied": any(queue.proxied for queue in instance.queues.values()),
        "owned": sum(numbers.count for queue in instance.queues.values() for numbers in queue.owned.values()),
        "ahead": sum(max(0, high - other.highest.get(by, 0)) for by, high in instance.highest.items()),
        "sampled_at": instance.samples[-1].moment if instance.samples else instance.started_at,
    }


def _counted(world: AmpsWorld, pair: list[InstanceLayout]) -> dict[str, Any]:
    """The number of lost messages: publishers were told that they are safe, and no reader can get them any more. Also the
    actions that instances received."""
    names = {one.name for one in pair}
    publishers = {one.name for one in world.layout.publishers if names.intersection(one.servers)}
    streams = [one for one in world.tally().streams if one.publisher in publishers]
    received = [action for name, action, _ in world.fabric.ledger.commands if name in names]
    return {"lost": sum(one.lost for one in streams), "received": received}
