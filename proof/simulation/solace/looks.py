"""The world as the judge sees it: plain data, taken from the world itself, never from readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.solace.world import World


def look(world: World, outside: Sequence[list[Any]] = (), *, count: bool = False) -> dict[str, Any]:
    """The present true state, in the shape of ``proof.promises``. With ``count``, also the outcome of messages.

    ``outside``: effects of commands outside the devices of the world. A door is open if both its backbone and its
    interface are up.
    """
    with world.request():
        return {
            "moment": world.now(),
            "sites": {
                name: {
                    "serves": centre.serves,
                    "doors": [node.backbone and node.interface for node in centre.nodes.values()],
                }
                for name, centre in world.centres.items()
            },
            "services": {name: _service(world, name, outside, count) for name in world.vpn_names},
        }


def _service(world: World, name: str, outside: Sequence[list[Any]], count: bool) -> dict[str, Any]:
    vpn = world.vpn(name)
    ledger = vpn.ledger
    seen: dict[str, Any] = {
        "replicated": vpn.layout.replicated,
        "roles": {site: side.role for site, side in vpn.sides.items()},
        "queued": {site: side.queue.count for site, side in vpn.sides.items()},
        "changes": [[one.moment, one.site, one.role, one.by] for one in ledger.roles],
        "both_active": [
            [moment, next((later for later, _ in ledger.activity[index + 1 :]), vpn.at)]
            for index, (moment, sites) in enumerate(ledger.activity)
            if len(sites) > 1
        ],
        "effects": [
            *([key.site, key.action, dict(key.args), counted.effects] for key, counted in ledger.commands.items()),
            *outside,
        ],
        "manager_due": vpn.reconcile_at is not None,
    }
    if count:
        seen["transactions"] = {
            site: {xid: held.state for xid, held in side.transactions.items()} for site, side in vpn.sides.items()
        }
        tally = vpn.tally()
        seen["lost"] = tally.lost
        received = [key.action for key, counted in ledger.commands.items() for _ in range(counted.received)]
        seen["received"] = received + [action for _, action, _, ran in outside for _ in range(ran)]
    return seen
