"""Simulated copies of pairs of AMPS instances, for rehearsals. Unknown values are assumed or drawn from a seed.

``assumptions`` lists the assumptions for the user of the rehearsal. Traffic is drawn from a seed, because no reading
of AMPS tells how much clients publish. Nothing here reads an instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from simulator.amps.admin.statistics import transport_id
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
)
from simulator.amps.world import AmpsWorld

INTERVAL_S = 10.0
_RELEASE = "5.3.5.135"
_TOPIC = TopicLayout(name="orders", keys=("/id",))
# The maximum number of topics, and of queues, of an instance that have clients in the copy.
_BUSY = 2


@dataclass(frozen=True, slots=True)
class Known:
    """The known values of one instance; None means unknown. ``sync``: is the link to its mate configured as sync?
    ``starts_open``: are its client transports enabled after a start (InitialState)? ``interval_s``: seconds between
    samples."""

    name: str
    site: str
    sync: bool
    group: str | None = None
    version: str | None = None
    interval_s: float | None = None
    starts_open: bool | None = None
    topics: tuple[TopicLayout, ...] | None = None
    queues: tuple[QueueLayout, ...] | None = None


def assumptions(known: Known, mate: Known) -> Iterator[str]:
    """The assumptions about an instance, as text."""
    if known.group is None:
        yield "its group is that of its mate"
    if known.version is None:
        yield f"it runs {_RELEASE}"
    if known.interval_s is None:
        yield f"it takes samples every {INTERVAL_S:g}s"
    if known.starts_open is None:
        yield "its client transports start disabled"
    if known.topics is None:
        yield "it has one topic, with records" if mate.topics is None else "it has the topics of its mate"
    if known.queues is None:
        yield "it has no queue" if mate.queues is None else "it has the queues of its mate"


def copied_fabric(pairs: Sequence[tuple[Known, Known]], *, seed: int, bootstrap: bool = False) -> FabricLayout:
    """A fabric of these pairs. In each pair the first instance serves. The same seed gives the same traffic.

    ``bootstrap``: an instance that starts with an empty log fetches its state from its mate.
    """
    draw = Random(f"fabric:{seed}")
    instances = [
        _instance(known, mate, bootstrap=bootstrap)
        for one, other in pairs
        for known, mate in ((one, other), (other, one))
    ]
    traffic = [_traffic(one, other, seed) for one, other in pairs]
    return FabricLayout(
        instances=tuple(instances),
        publishers=tuple(one for busy in traffic for one in busy.publishers),
        subscribers=tuple(one for busy in traffic for one in busy.subscribers),
        consumers=tuple(one for busy in traffic for one in busy.consumers),
        latency=round(draw.uniform(0.002, 0.02), 4),
        ack_interval=0.5,
        tick=0.2,
        validates=False,
    )


def _instance(known: Known, mate: Known, *, bootstrap: bool) -> InstanceLayout:
    topics = {one.name: one for one in _topics(known, mate)}
    queues = _queues(known, mate)
    for queue in queues:
        topics.setdefault(queue.topic, TopicLayout(name=queue.topic, message_type=queue.message_type))
    return InstanceLayout(
        name=known.name,
        site=known.site,
        group=_group(known, mate),
        topics=tuple(topics.values()),
        queues=queues,
        transports=(
            TransportLayout(name="amps-tcp", enabled=bool(known.starts_open)),
            TransportLayout(name="amps-replication", type="amps-replication"),
        ),
        destinations=(
            DestinationLayout(name=mate.name, group=_group(mate, known), sync=known.sync, pass_through=".*"),
        ),
        bootstrap=BootstrapLayout(servers=(mate.name,)) if bootstrap else None,
        interval=known.interval_s or INTERVAL_S,
        version=known.version or _RELEASE,
    )


def _group(known: Known, mate: Known) -> str:
    return known.group or mate.group or f"{min(known.name, mate.name)}-group"


def _topics(known: Known, mate: Known) -> tuple[TopicLayout, ...]:
    return known.topics or mate.topics or (_TOPIC,)


def _queues(known: Known, mate: Known) -> tuple[QueueLayout, ...]:
    return next((one for one in (known.queues, mate.queues) if one is not None), ())


@dataclass(frozen=True, slots=True)
class _Traffic:
    publishers: tuple[PublisherLayout, ...]
    subscribers: tuple[SubscriberLayout, ...]
    consumers: tuple[ConsumerLayout, ...]


def _traffic(serving: Known, mate: Known, seed: int) -> _Traffic:
    """The applications of a pair. They prefer the instance that serves."""
    draw = Random(f"{serving.name}:{seed}")
    servers = (serving.name, mate.name)
    named = partial("{}/{}-{}".format, serving.name)
    topics, queues = _topics(serving, mate)[:_BUSY], _queues(serving, mate)[:_BUSY]
    busy = list(dict.fromkeys([*(one.name for one in topics), *(one.topic for one in queues)]))
    return _Traffic(
        tuple(
            PublisherLayout(name=named(one, "feed"), servers=servers, topic=one, rate=float(draw.randint(5, 100)))
            for one in busy
        ),
        tuple(SubscriberLayout(name=named(one.name, "book"), servers=servers, topic=one.name) for one in topics),
        tuple(ConsumerLayout(name=named(one.name, "worker"), servers=servers, queue=one.name) for one in queues),
    )


def let_in(world: AmpsWorld, instance: str, *, is_open: bool) -> None:
    """Enable or disable all client transports of an instance, independent of their InitialState."""
    with world.request():
        console = world.console(instance)
        for one in console.layout.transports:
            if not one.is_replication:
                id_ = transport_id(console.layout, one.name)
                console.obey("enable" if is_open else "disable", f"transports/{id_}")
