"""Takes the statistics of one instance. Its administration shows them until the next sample.

Sources: docs/sources/amps.md, 6.2 and 6.5. Nothing here changes the fabric.
"""

from __future__ import annotations

from simulator.amps.admin.figures import (
    ClientFigures,
    IncomingFigures,
    JournalFigures,
    LinkFigures,
    QueueFigures,
    Sample,
    SowFigures,
)
from simulator.amps.fabric import Fabric
from simulator.amps.instance import Instance
from simulator.amps.journal import JournalFile
from simulator.amps.layout import InstanceLayout
from simulator.amps.queue import Queue, count_of
from simulator.amps.replication import is_sync, linked, oldest_unacked


def take_sample(fabric: Fabric, instance: Instance, moment: float) -> Sample:
    """The present statistics of ``instance``, dated ``moment``."""
    layout = fabric.described(instance.name)
    return Sample(
        moment=moment,
        starts=instance.starts,
        started_at=instance.started_at,
        clients=tuple(
            ClientFigures(name, client.id, client.connected_at) for name, client in fabric.clients_at(instance.name)
        ),
        links=tuple(_links(fabric, instance, layout)),
        incoming=tuple(_incoming(fabric, instance)),
        queues={name: _queue(fabric, queue) for name, queue in instance.queues.items()},
        sow={one.id: _sow(instance, one.id) for one in layout.topics if one.keys},
        journals=tuple(map(_journal, instance.journal.files)),
        transports=dict(instance.transports),
    )


def _links(fabric: Fabric, instance: Instance, layout: InstanceLayout) -> list[LinkFigures]:
    found = []
    for described, link in linked(layout, instance):
        oldest = oldest_unacked(fabric, instance, described, link)
        found.append(
            LinkFigures(
                name=described.name,
                connected=link.to is not None,
                sync=is_sync(described, link),
                behind_s=0 if oldest is None else int(fabric.now - oldest),
                messages_out=link.messages_out,
                connected_at=link.connected_at,
                disconnected_at=link.disconnected_at,
                disconnects=link.disconnects,
            )
        )
    return found


def _incoming(fabric: Fabric, instance: Instance) -> list[IncomingFigures]:
    return [
        IncomingFigures(other.name, described.name, is_sync(described, link), link.connected_at, link.disconnects)
        for other in fabric.instances.values()
        if other.serves and other is not instance
        for described, link in linked(fabric.described(other.name), other)
        if link.to == instance.name
    ]


def _queue(fabric: Fabric, queue: Queue) -> QueueFigures:
    oldest = min((lease.since for lease in queue.leases), default=None)
    return QueueFigures(
        depth=queue.depth,
        owned=count_of(queue.owned),
        backlog=queue.backlog,
        oldest_lease_s=0 if oldest is None else int(fabric.now - oldest),
        proxied=queue.proxied,
        transferred_in=queue.transferred_in,
        transferred_out=queue.transferred_out,
    )


def _sow(instance: Instance, topic_id: str) -> SowFigures:
    return SowFigures(len(instance.sow.get(topic_id, {})), *instance.sow_counts.get(topic_id, (0, 0, 0)))


def _journal(file: JournalFile) -> JournalFigures:
    oldest, newest = (file.entries[0].at, file.entries[-1].at) if file.entries else (None, None)
    return JournalFigures(file.number, oldest, newest, file.archived, file.compressed)
