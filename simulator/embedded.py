"""The built-in pair of simulated sites, for a first try and for rehearsals without an inventory.

The names are those of the procedure's example: New York and New Jersey, and the message VPN Trading_VPN.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from simulator.solace.layout import ManagerLayout, SiteLayout, TransactionLayout, VpnLayout, WorldLayout
from simulator.solace.world import World

HOME, AWAY = "ny", "nj"
_TITLES = {HOME: "New York", AWAY: "New Jersey"}
_NODES = {HOME: "NY_Appliance1", AWAY: "NJ_Appliance1"}


def embedded_inventory(world: Path | str = "memory:embedded") -> Inventory:
    """The inventory of the embedded pair. ``world``: the path of the world's file, or ``memory:NAME``."""
    sites = {
        name: Site(
            title=_TITLES[name],
            adapter="mock",
            devices=(Device(name=_NODES[name], router_name=_NODES[name]),),
            options={"world": str(world)},
        )
        for name in (HOME, AWAY)
    }
    services = tuple(vpn.name for vpn in embedded_layout().vpns)
    # The simulated transaction managers recover within 3 s.
    pair = {"name": "trading", "sites": (HOME, AWAY), "services": services, "transaction_wait": "5s"}
    return Inventory(sites=sites, pairs=(Pair.model_validate(pair),))


def embedded_world(path: Path, clock: Clock) -> World:
    """The embedded pair from the file ``path``. The file is created if it does not exist.

    Raises ``Unreachable``, with a hint, for a file that is not a world.
    """
    if path.exists():
        return World.load(path, clock)
    world = World(embedded_layout(), clock, path=path)
    world.save()
    return world


def embedded_layout(*, ha: bool = False) -> WorldLayout:
    """The layout with New York active. With ``ha``, each site is a pair of nodes.

    Trading_VPN has a constant backlog, because its bridge carries exactly what its publishers send. The bridge back
    carries more. Otherwise a restored New York would never catch up.
    """
    trading = VpnLayout(
        name="Trading_VPN",
        publish_rate=1_200.0,
        consume_rate=2_400.0,
        drain_rate=1_200.0,
        return_rate=3_000.0,
        backlog=4_000,
        transactions=_transactions(),
        manager=ManagerLayout(outcomes=(("0021ABC4-00-01", "commit"),), reconciles_after=3.0),
    )
    risk = VpnLayout(name="Risk_VPN", publish_rate=150.0, drain_rate=900.0, backlog=60, sync_every=4)
    settlement = VpnLayout(name="Settlement_VPN", publish_rate=40.0, drain_rate=400.0, backlog=25)
    return WorldLayout(
        sites=(SiteLayout(HOME, _nodes(HOME, ha)), SiteLayout(AWAY, _nodes(AWAY, ha))),
        vpns=(trading, risk, settlement),
    )


def _nodes(site: str, ha: bool) -> tuple[str, ...]:
    primary = _NODES[site]
    return (primary, primary.replace("1", "2")) if ha else (primary,)


def _transactions() -> tuple[TransactionLayout, ...]:
    """The transactions at the start. Two are prepared and replicated, and an operator must decide them. The others can be
    ignored (seed, step 4)."""
    return (
        TransactionLayout(
            xid="0021B028-00-01",
            client="settle-07/15848/#000c0001",
            username="settlement",
            consumed=tuple(range(3_118_727_406, 3_118_727_416)),
            endpoint="orders",
            age=95.0,
        ),
        TransactionLayout(
            xid="0021ABC4-00-01",
            client="book-02/20117/#000c0004",
            username="booking",
            published=3,
            spooled=3,
            age=41.0,
        ),
        TransactionLayout(
            xid="0021B030-00-01",
            state="ACTIVE",
            replicated=False,
            client="book-03/20118/#000c0007",
            published=1,
            age=1.0,
        ),
        TransactionLayout(
            xid="0021B02F-00-02", state="IDLE", replicated=False, client="settle-07/15848/#000c0001", age=12.0
        ),
        TransactionLayout(
            xid="#local-000c0009-17",
            type="LOCAL",
            state="ACTIVE",
            replicated=False,
            client="feed-01/9002/#000c0009",
            age=0.4,
        ),
    )
