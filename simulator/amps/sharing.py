"""The exchange between connected instances about their queues: acknowledgements, and the ownership of messages.

Sources: docs/sources/amps.md, 9.1. Two points are assumed: when acknowledgements arrive (``Assumptions.queue_acks``)
and which messages an owner hands over (``Assumptions.grants``).
"""

from __future__ import annotations

from itertools import permutations
from math import floor
from typing import TYPE_CHECKING

from simulator.amps.instance import Instance

if TYPE_CHECKING:
    from simulator.amps.fabric import Fabric

_TRANSFERS_A_TICK = 200  # maximum number of messages of one queue that an owner hands over


def share_queues(fabric: Fabric, passed: float) -> None:
    """Run the exchange for all connected instances, ``passed`` seconds after the last one."""
    is_heard = fabric.layout.assume.queue_acks == "at_once" or _is_due(fabric, passed)
    for one, other in fabric.pairs:
        if one.queues and fabric.are_connected(one.name, other.name):
            for name, queue in one.queues.items():
                if name in other.queues:
                    if is_heard:
                        queue.hear(other.queues[name])
                        other.queues[name].hear(queue)
                    _hand_over(fabric, one, other, name)


def is_unshared(fabric: Fabric) -> bool:
    """Will an owner hand over a message, or will a message return from a gone consumer?"""
    queues = [queue for one in fabric.instances.values() for queue in one.queues.values()]
    if any(not lease.consumer for queue in queues for lease in queue.leases):
        return True
    return any(
        _is_granted(fabric, owner, asker, queue) and owner.queues[queue].can_give(asker.queues[queue])
        for owner, asker in permutations(fabric.instances.values(), 2)
        if owner.queues and fabric.are_connected(owner.name, asker.name)
        for queue in owner.queues
        if queue in asker.queues
    )


def _is_due(fabric: Fabric, passed: float) -> bool:
    """Has a moment passed at which acknowledgements are exchanged? These moments are on a grid from the world's start."""
    every = fabric.layout.ack_interval
    return floor(round(fabric.now / every, 6)) > floor(round((fabric.now - passed) / every, 6))


def _hand_over(fabric: Fabric, one: Instance, other: Instance, queue: str) -> None:
    # Decide both directions before any transfer. Otherwise a message could come back at the same moment.
    gives, gets = _is_granted(fabric, one, other, queue), _is_granted(fabric, other, one, queue)
    if gives:
        one.queues[queue].give(other.queues[queue], _TRANSFERS_A_TICK)
    if gets:
        other.queues[queue].give(one.queues[queue], _TRANSFERS_A_TICK)


def _is_granted(fabric: Fabric, owner: Instance, asker: Instance, queue: str) -> bool:
    """Does ``owner`` hand over messages to ``asker``, which has consumers for them?"""
    if not owner.queues[queue].owns_any or not fabric.consumes(asker.name, queue):
        return False
    if not fabric.consumes(owner.name, queue):
        return True
    return fabric.layout.assume.grants == "left_over" and not asker.queues[queue].has_ready
