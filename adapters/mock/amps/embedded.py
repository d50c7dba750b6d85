"""A simulated pair of AMPS instances that comes with the product, for rehearsals and for the lab.

Two equivalent instances of one group, New York and London, each replicating to the other with sync acknowledgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adapters.mock.amps.layout import (
    BootstrapLayout,
    ConsumerLayout,
    DestinationLayout,
    FabricLayout,
    InstanceLayout,
    PublisherLayout,
    QueueLayout,
    SubscriberLayout,
    TopicLayout,
    fabric_from,
)
from adapters.mock.amps.world import AmpsWorld
from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.site import Device, Inventory, Pair, Site

SERVICE = "orders"
HOME, AWAY = "ny", "ldn"
INSTANCES = {HOME: "orders-ny", AWAY: "orders-ldn"}
GROUP = "orders"
# What keeps the pair in a lab's directory.
WORLD_FILE = "amps-world.json"


def amps_layout(*, sync: bool = True, queues: bool = True, bootstrap: bool = False) -> FabricLayout:
    """Clients prefer New York. ``sync`` false: the links acknowledge asynchronously, as to a recovery site.

    ``bootstrap``: each would fetch its state from the other, should it start with nothing in its log.
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
    """The inventory of the pair. ``world``: the file that keeps it, or ``memory:NAME``; ``sync`` as its layout."""
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


def amps_world(path: Path, clock: Clock, assume: Mapping[str, object] | None = None) -> AmpsWorld:
    """The pair kept at ``path``; made there first when there is no such file. ``assume``: its ``Assumptions``.

    Raises ``Unreachable`` with a hint, ``DefinitionError`` for assumptions that are none, or come too late.
    """
    if path.exists():
        world = AmpsWorld.load(path, clock)
        if assume and _assuming(world.layout, assume) != world.layout:
            raise DefinitionError(
                f"the instances in {path.parent} were made with other assumptions",
                hint="give another --directory, or delete this one to start anew",
            )
        return world
    world = AmpsWorld(_assuming(amps_layout(), assume or {}), clock, path=path)
    world.save()
    return world


def _assuming(layout: FabricLayout, assume: Mapping[str, object]) -> FabricLayout:
    plain = layout.model_dump(mode="json")
    return fabric_from({**plain, "assume": {**plain["assume"], **assume}})


def _mate(name: str) -> str:
    return next(other for other in INSTANCES.values() if other != name)
