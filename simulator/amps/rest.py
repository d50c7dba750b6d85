"""Checks whether a fabric is at rest. Quiet: ticks can be skipped. Steady: no earlier activity is left.

The checks must match the rules of ``fabric``. If a check wrongly reports rest, the world loses time or messages.
Nothing here changes the fabric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.amps import replication, sharing
from simulator.amps.clients import Client
from simulator.amps.instance import Instance
from simulator.amps.layout import ClientLayout, DestinationLayout, InstanceLayout
from simulator.amps.link import Link

if TYPE_CHECKING:
    from simulator.amps.fabric import Fabric

# The end of a cut without an end, in the world's file: a moment that no world reaches.
FOR_EVER = 1e15


def is_quiet(fabric: Fabric) -> bool:
    """True if nothing changes until an event from outside. Only for a fabric without publishing clients."""
    if not _all_are_up_or_down(fabric) or any(fabric.now < end < FOR_EVER for end in fabric.state.cuts.values()):
        return False
    if any(_is_restless(fabric, one) for one in fabric.layout.instances):
        return False
    return not _has_restless_client(fabric)


def is_steady(fabric: Fabric, before: Mapping[str, int], until: float) -> bool:
    """True if only new messages would move up to the moment ``until``.

    All messages that publishers numbered below ``before`` are then at their final places. Later messages may be on their
    way. The check covers only present activity. The fabric does not know planned events.
    """
    if not _all_are_up_or_down(fabric) or any(fabric.now < end <= until for end in fabric.state.cuts.values()):
        return False
    if any(_is_at_work(fabric, one, before, until) for one in fabric.layout.instances):
        return False
    return not sharing.is_unshared(fabric) and not _has_moving_client(fabric)


def _all_are_up_or_down(fabric: Fabric) -> bool:
    return all(one.phase in ("running", "down") for one in fabric.instances.values())


# Quiet


def _is_restless(fabric: Fabric, layout: InstanceLayout) -> bool:
    """Must an instance still carry, connect, downgrade or deliver anything?"""
    instance = fabric.instances[layout.name]
    if not instance.serves:
        return False
    for described, link in replication.linked(layout, instance):
        owes = link.acked < instance.journal.next
        if owes and (link.to is not None or layout.downgrade is not None):
            return True
        if _is_about_to_change(fabric, instance, described, link):
            return True
    return any(queue.depth for queue in instance.queues.values()) and bool(fabric.layout.consumers)


def _has_restless_client(fabric: Fabric) -> bool:
    state = fabric.state
    if any(one.at is None or one.acked < one.next - 1 for one in state.publishers.values()):
        return True
    for subscriber in state.subscribers.values():
        at = fabric.instances.get(subscriber.at or "")
        if at is None or subscriber.position is None or subscriber.position < at.journal.next:
            return True
    return any(one.at is None for one in state.consumers.values())


def _is_about_to_change(fabric: Fabric, instance: Instance, described: DestinationLayout, link: Link) -> bool:
    """Will the link be lost or connected? A refused link keeps trying without success, so it does not count."""
    if link.to is not None:
        return not fabric.can_link(instance.name, link.to)
    return not link.refused and any(fabric.can_link(instance.name, one) for one in described.addresses)


# Steady


def _is_at_work(fabric: Fabric, layout: InstanceLayout, before: Mapping[str, int], until: float) -> bool:
    """Is a link behind or about to change, or is a scheduled action of the configuration due?"""
    instance = fabric.instances[layout.name]
    if not instance.serves:
        return False
    files, kept = instance.journal.files, layout.retention
    if kept is not None and len(files) > 1 and files[0].entries[-1].at < until - kept:
        return True
    for described, link in replication.linked(layout, instance):
        if _is_about_to_change(fabric, instance, described, link):
            return True
        # A disconnected link is downgraded once it owes an acknowledgement. Then those messages are acknowledged.
        if layout.downgrade is not None and described.sync and link.to is None and not link.downgraded:
            return True
        if link.to is not None and _has_of_before(instance, link.acked, before):
            return True
    return replication.can_persist(layout, instance) and _has_of_before(instance, instance.persisted, before)


def _has_of_before(instance: Instance, position: int, before: Mapping[str, int]) -> bool:
    """Does the log have, from ``position`` on, a message that its publisher numbered below ``before``?"""
    return any(one.first < before.get(one.publisher, 0) for one in instance.journal.since(position))


def _has_moving_client(fabric: Fabric) -> bool:
    """Is a client about to connect or disconnect? A connected client has already read all it may read."""
    state, layout = fabric.state, fabric.layout
    kinds = (
        (layout.publishers, state.publishers),
        (layout.subscribers, state.subscribers),
        (layout.consumers, state.consumers),
    )
    return any(_is_moving(fabric, one, known[one.name]) for described, known in kinds for one in described)


def _is_moving(fabric: Fabric, described: ClientLayout, client: Client) -> bool:
    if client.at is not None:
        return not fabric.takes_clients(client.at)
    return any(fabric.takes_clients(server) for server in described.servers)
