"""Applications: highly available clients that find a server, publish, subscribe, and take from queues.

Sources: docs/sources/amps.md, 9 and 11 (publish store, bookmarks, duplicates), 9.7 (sync). A disconnected publisher
stops producing. A subscriber's bookmark store discards messages that it already received.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulator.amps.instance import Instance
from simulator.amps.journal import Entry
from simulator.amps.layout import ClientLayout, ConsumerLayout, PublisherLayout, SubscriberLayout
from simulator.amps.queue import Lease
from simulator.world.intervals import Numbers

if TYPE_CHECKING:
    from simulator.amps.fabric import Fabric


@dataclass(slots=True)
class Client:
    """A client: the instance it is connected to, if any, and its number there."""

    at: str | None = None
    id: int = 0
    try_at: float = 0.0
    connected_at: float = 0.0

    def leave(self, now: float, again: float) -> None:
        """The connection is gone."""
        self.at, self.try_at = None, now + again


@dataclass(slots=True)
class Publisher(Client):
    """``next``: the number of the next message. ``acked``: all messages up to this number are persisted. ``sent``: all
    messages up to this number were sent over the present connection."""

    next: int = 1
    acked: int = 0
    sent: int = 0
    fraction: float = 0.0


@dataclass(slots=True)
class Subscriber(Client):
    """``bookmark``: the last received message. ``last``: the highest received number of each publisher. ``position``: in
    the log of the connected instance."""

    bookmark: tuple[str, int] | None = None
    last: dict[str, int] = field(default_factory=dict)
    position: int | None = None


@dataclass(slots=True)
class Consumer(Client):
    """Takes messages from a queue. Messages taken but not acknowledged are leased there."""

    fraction: float = 0.0


def settle(fabric: Fabric, client: Client, layout: ClientLayout, taking: Container[str]) -> bool:
    """Leave a server that is gone, and connect to one of the ``taking`` servers. Returns whether the client is served
    now."""
    if client.at not in taking:
        disconnect(fabric, client, layout.name)
        if fabric.now >= client.try_at:
            _connect(fabric, client, layout, taking)
    return client.at is not None and fabric.instances[client.at].serves


def _connect(fabric: Fabric, client: Client, layout: ClientLayout, taking: Container[str]) -> None:
    client.at = next((one for one in layout.servers if one in taking), None)
    client.try_at = fabric.now + fabric.layout.client_reconnect
    if client.at is not None:
        client.id = fabric.next_client_id()
        client.connected_at = fabric.now
        if isinstance(client, Publisher):
            client.sent = client.acked
        if isinstance(client, Subscriber):
            client.position = None


def disconnect(fabric: Fabric, client: Client, name: str) -> None:
    """The connection breaks. The client will search for another server."""
    if client.at is None:
        return
    instance = fabric.instances[client.at]
    for queue in instance.queues.values():
        queue.release(name, fabric.now + fabric.layout.assume.leases_kept)
        queue.expire(fabric.now)
    if instance.phase != "down":
        instance.note(
            fabric.now, "info", "07-0013", f"AMPS client session disconnect: {name} reason: connection closed"
        )
    client.leave(fabric.now, fabric.layout.client_reconnect)


def publish(fabric: Fabric, layout: PublisherLayout, client: Publisher, passed: float) -> None:
    """Learn which messages are persisted, resend the others after a reconnect, then send new messages."""
    assert client.at is not None, "asked of a connected client only"
    instance = fabric.instances[client.at]
    persisted = min(instance.persisted_of.get(layout.name, 0), client.next - 1)
    if persisted > client.acked:
        fabric.ledger.acknowledge(layout.name, client.acked + 1, persisted + 1)
        client.acked = persisted
        client.sent = max(client.sent, persisted)
    client.fraction += layout.rate * passed
    due = int(client.fraction)
    if due:
        client.fraction -= due
        client.next += min(due, max(0, layout.store - (client.next - 1 - client.acked)))
    if client.sent + 1 < client.next:
        entry = Entry(0, layout.name, client.sent + 1, client.next, layout.topic, (), fabric.now, keys=layout.keys)
        fabric.write(instance, entry)
        client.sent = client.next - 1


def read(fabric: Fabric, layout: SubscriberLayout, client: Subscriber) -> None:
    """Receive the new messages of the log. With ``fully_durable``, receive only messages that every sync destination
    has."""
    assert client.at is not None, "asked of a connected client only"
    instance = fabric.instances[client.at]
    if client.position is None:
        client.position = _begin(instance, layout, client)
    end = instance.persisted if layout.fully_durable else instance.journal.next
    if end <= client.position:
        return
    for entry in instance.journal.between(client.position, end):
        if entry.topic == layout.topic:
            first = max(entry.first, client.last.get(entry.publisher, 0) + 1)
            if first < entry.stop:
                fabric.ledger.deliver(layout.name, entry.publisher, [(first, entry.stop)])
                client.last[entry.publisher] = entry.stop - 1
            client.bookmark = (entry.publisher, entry.stop - 1)
    client.position = end


def _begin(instance: Instance, layout: SubscriberLayout, client: Subscriber) -> int:
    """The start position: after the bookmark. If the instance does not know the bookmark: now, or the start of the
    log."""
    if client.bookmark is None:
        return instance.journal.lowest
    found = instance.journal.find(*client.bookmark)
    if found is not None:
        return found + 1
    return instance.journal.next if layout.not_found == "now" else instance.journal.lowest


def consume(fabric: Fabric, layout: ConsumerLayout, client: Consumer, passed: float) -> None:
    """Acknowledge the finished messages, then take messages that may be delivered here."""
    assert client.at is not None, "asked of a connected client only"
    instance = fabric.instances[client.at]
    queue = instance.queues.get(layout.queue)
    if queue is None:
        return
    leases, queue.leases = queue.leases, []
    for lease in leases:
        if lease.consumer == layout.name and lease.until <= fabric.now:
            queue.acknowledge(lease.publisher, [(lease.start, lease.stop)])
        else:
            queue.leases.append(lease)
    client.fraction += layout.rate * passed
    room = int(client.fraction)
    client.fraction -= room
    for publisher in [publisher for publisher, held in queue.held.items() if held.count]:
        ready = queue.ready(publisher, fabric.owned_within_reach(instance.name, layout.queue, publisher))
        for start, stop in ready:
            stop = min(stop, start + room)
            if start < stop:
                room -= stop - start
                queue.leases.append(Lease(publisher, start, stop, layout.name, fabric.now, fabric.now + layout.work))
                fabric.ledger.deliver(layout.name, publisher, [(start, stop)])


def still_reachable(fabric: Fabric, layout: SubscriberLayout, client: Subscriber, publisher: str) -> Numbers:
    """The messages that the subscriber can still get. With a connection: the messages after its position there, and those
    that links will replicate to that instance. Without: the later messages of every instance that takes clients."""
    last = client.last.get(publisher, 0)
    if client.at is None or client.position is None:
        places = [fabric.instances[one] for one in layout.servers if fabric.takes_clients(one)] or [
            fabric.instances[one] for one in layout.servers if fabric.instances[one].serves
        ]
        found = Numbers(run for one in places for run in one.journal.numbers(publisher))
    else:
        here = fabric.instances[client.at]
        found = here.journal.numbers(publisher, client.position)
        known = here.highest.get(publisher, 0)
        for other in fabric.instances.values():
            if fabric.has_link(other.name, here.name):
                for start, stop in other.journal.numbers(publisher):
                    found.add(max(start, known + 1), stop)
    found.discard(0, last + 1)
    return found
