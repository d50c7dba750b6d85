"""The built-in simulated pair of AMPS instances, for rehearsals and for the lab.

Two equivalent instances of one group, New York and London, each replicating to the other with sync acknowledgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from simulator.amps.layout import (
    BootstrapLayout,
    ConsumerLayout,
    DestinationLayout,
    FabricLayout,
    InstanceLayout,
    PublisherLayout,
    QueueLayout,
    SubscriberLayout,
    TopicLayout,
    TransportLayout,
    fabric_from,
)
from simulator.amps.world import AmpsWorld

SERVICE = "orders"
HOME, AWAY = "ny", "ldn"
INSTANCES = {HOME: "orders-ny", AWAY: "orders-ldn"}
GROUP = "orders"
_CLOSED_AT_START = (
    TransportLayout(name="amps-tcp", enabled=False),
    TransportLayout(name="amps-replication", type="amps-replication"),
)
# The file of the pair's world in a lab's directory.
WORLD_FILE = "amps-world.json"


def amps_layout(*, sync: bool = True, queues: bool = True, bootstrap: bool = False) -> FabricLayout:
    """The layout of the pair. Clients prefer New York. ``sync`` false: async links, as to a recovery site.

    ``bootstrap``: an instance that starts with an empty log fetches its state from the other.
    """
    servers = tuple(INSTANCES.values())
    instances = tuple(
        InstanceLayout(
            name=name,
            site=site,
            group=GROUP,
            topics=(TopicLayout(name="orders", keys=("/id",)), TopicLayout(name="jobs")),
            queues=(QueueLayout(name="jobs-queue", underlying="jobs"),) if queues else (),
            destinations=(DestinationLayout(name=_mate(name), group=GROUP, sync=sync, pass_through=".*"),),
            bootstrap=BootstrapLayout(servers=(_mate(name),)) if bootstrap else None,
            interval=1.0,
            journal_messages=500,
            retention=120.0,
        )
        for site, name in INSTANCES.items()
    )
    jobs = PublisherLayout(name="job-feed", servers=servers, topic="jobs", rate=10.0)
    return FabricLayout(
        instances=instances,
        publishers=(
            PublisherLayout(name="order-feed", servers=servers, topic="orders", rate=20.0),
            *([jobs] * queues),
        ),
        subscribers=(SubscriberLayout(name="order-book", servers=servers, topic="orders"),),
        consumers=(ConsumerLayout(name="worker", servers=servers, queue="jobs-queue"),) if queues else (),
        ack_interval=0.5,
        tick=0.2,
    )


def amps_inventory(world: Path | str, *, sync: bool = True) -> Inventory:
    """The inventory of the pair. ``world``: the path of the world's file, or ``memory:NAME``. ``sync``: as in its
    layout."""
    sites = {
        site: Site(
            title={HOME: "New York", AWAY: "London"}[site],
            adapter="mock-amps",
            devices=(Device(name=name),),
            options={"world": str(world), "link": "sync" if sync else "async"},
        )
        for site, name in INSTANCES.items()
    }
    return Inventory(sites=sites, pairs=(Pair(name=GROUP, sites=(HOME, AWAY), services=(SERVICE,)),))


def amps_world(
    path: Path, clock: Clock, assume: Mapping[str, object] | None = None, *, sync: bool | None = None
) -> AmpsWorld:
    """The pair from the file ``path``. The file is created if it does not exist. ``assume``: its ``Assumptions``.
    ``sync``: the mode of its links. None keeps the links of an existing pair and means sync for a new pair.

    Raises ``Unreachable`` with a hint, or ``DefinitionError`` for invalid assumptions, or for assumptions or links that
    differ from those of an existing pair.
    """
    if path.exists():
        world = AmpsWorld.load(path, clock)
        is_sync = all(link.sync for one in world.layout.instances for link in one.destinations)
        if _assuming(world.layout, assume or {}) != world.layout or sync not in (None, is_sync):
            raise DefinitionError(
                f"the instances in {path.parent} were made with other assumptions or links",
                hint="give another --directory, or delete this one to start again",
            )
        return world
    layout = _beside_async_links() if sync is False else amps_layout()
    world = AmpsWorld(_assuming(layout, assume or {}), clock, path=path)
    world.save()
    return world


def _beside_async_links() -> FabricLayout:
    """The pair with async links. London starts with closed client transports, because clients must not continue there
    before London has all messages."""
    layout = amps_layout(sync=False, bootstrap=True)
    instances = [
        one.model_copy(update={"transports": _CLOSED_AT_START}) if one.site == AWAY else one
        for one in layout.instances
    ]
    return layout.model_copy(update={"instances": tuple(instances)})


def _assuming(layout: FabricLayout, assume: Mapping[str, object]) -> FabricLayout:
    plain = layout.model_dump(mode="json")
    return fabric_from({**plain, "assume": {**plain["assume"], **assume}})


def _mate(name: str) -> str:
    return next(other for other in INSTANCES.values() if other != name)
