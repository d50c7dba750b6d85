"""Simulated copies of a pair, for rehearsals. The names come from an inventory, all other values from a seed.

A copy contains only names: no address, account or rate of the real sites.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from orchestrator.model.inventory import Site
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World


def copied_layout(
    sites: tuple[Site, Site], services: Sequence[str], *, seed: int, active: str, catches_up: bool
) -> WorldLayout:
    """A world with these sites and services. The same seed gives the same world.

    ``catches_up``: bridges and consumers are faster than publishers, so the backlog of an outage drains while people
    wait. Otherwise they are equally fast, and each queue has a backlog of a few seconds.

    Raises ``DefinitionError`` for a site of more than two nodes.
    """
    draw = Random(f"sites:{seed}")
    one, other = (
        SiteLayout(
            site.name, tuple(device.name for device in site.devices), latency=round(draw.uniform(0.002, 0.02), 4)
        )
        for site in sites
    )
    return WorldLayout(
        sites=(one, other),
        vpns=tuple(_vpn(name, seed, catches_up=catches_up) for name in services),
        active=active,
        link_latency=round(draw.uniform(0.002, 0.02), 4),
        seed=seed,
    )


def _vpn(name: str, seed: int, *, catches_up: bool) -> VpnLayout:
    draw = Random(f"{name}:{seed}")
    rate = float(round(10 ** draw.uniform(1.3, 2.9)))  # 20 to 800 a second
    backlog = round(rate * draw.uniform(2.0, 6.0))
    return VpnLayout(
        name=name,
        publish_rate=rate,
        consume_rate=round(rate * draw.uniform(2.0, 4.0)) if catches_up else rate,
        drain_rate=round(rate * draw.uniform(2.5, 4.0)) if catches_up else rate,
        backlog=backlog,
        unconsumed=round(backlog * draw.uniform(0.2, 0.8)),
        sync_every=draw.choice((0, 0, 1, 4)),
        message_bytes=draw.randint(300, 4_000),
    )


def darken(world: World, site: str, seconds: float | None = None) -> None:
    """Every node of ``site`` dies. With ``seconds``, the nodes come back unchanged after that time."""
    with world.request():
        centre = world.centre(site)
        for node in centre.nodes:
            world.change(partial(centre.fail, node))
            if seconds is not None:
                world.plan(world.now() + seconds, "up", [site, node])


def shut(world: World, site: str) -> None:
    """Shut out clients and bridges from every node of ``site``, including dead nodes."""
    with world.request():
        centre = world.centre(site)
        for node in centre.nodes:
            world.change(partial(centre.set_backbone, node, up=False))
