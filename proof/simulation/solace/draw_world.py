"""Draws a world: two sites, alone or as HA pairs, their services, rates and transactions. Most are small."""

from __future__ import annotations

from random import Random

from proof.simulation.story import Kind
from simulator.solace.appliance import Outcome
from simulator.solace.layout import (
    ManagerLayout,
    SiteLayout,
    TransactionLayout,
    TransactionStateName,
    VpnLayout,
    WorldLayout,
)

NODES = {"ny": ("NY1", "NY2"), "nj": ("NJ1", "NJ2")}
_NAMES = ("Trading_VPN", "Risk_VPN", "Orders_VPN")
# These kinds act on the whole site, so it has other services, too.
_SHARED: frozenset[Kind] = frozenset(
    {"uncontrolled-isolated", "uncontrolled-commanded", "restore", "restore-commanded", "guard"}
)
_OUTCOMES: tuple[Outcome, ...] = ("commit", "rollback")
_STATES: tuple[TransactionStateName, ...] = ("PREPARED", "PREPARED", "PREPARED", "ACTIVE", "COMPLETE", "IDLE")


def draw_layout(chance: Random, kind: Kind, source: str) -> WorldLayout:
    """The world before anything happens. In a fail-back the source is not the site that was active first."""
    first = source if kind != "failback" else next(name for name in NODES if name != source)
    sites = [
        SiteLayout(name, nodes if chance.random() < 0.4 else nodes[:1], chance.choice((0.0, 0.002, 0.05, 0.4)))
        for name, nodes in NODES.items()
    ]
    count = chance.choices((1, 2, 3), (35, 50, 15) if kind in _SHARED else (78, 16, 6))[0]
    return WorldLayout(
        sites=(sites[0], sites[1]),
        vpns=tuple(_vpn(chance, name) for name in _NAMES[:count]),
        active=first,
        link_latency=chance.choice((0.001, 0.005, 0.1)),
        window=chance.choice((1, 20, 255)),
        redial=chance.choice((0.2, 1.0, 4.0)),
        reconnect=chance.choice((0.1, 1.0, 5.0)),
        ack_batch=chance.choice((1, 20)),
        takeover=chance.choice((0.5, 2.0, 6.0)),
        congested=chance.choice((50, 1_000)),
        seed=chance.randrange(1_000),
    )


def _vpn(chance: Random, name: str) -> VpnLayout:
    publish = chance.choice((0.0, 5.0, 100.0, 300.0))
    transactions = tuple(_transaction(chance, number) for number in range(chance.choice((0, 0, 1, 2))))
    ended = tuple((one.xid, chance.choice(_OUTCOMES)) for one in transactions if chance.random() < 0.4)
    backlog = chance.choice((0, 0, 1, 40, 300, 900))
    return VpnLayout(
        name,
        publish_rate=publish,
        consume_rate=chance.choice((50.0, 400.0, 2_000.0)),
        drain_rate=publish * chance.choice((1.2, 3.0)) + chance.choice((20.0, 200.0)),
        backlog=backlog,
        unconsumed=chance.choice((0, 0, backlog, 200)),
        sync_every=chance.choice((0, 0, 1, 3)),
        quota_mb=chance.choice((60_000, 60_000, 1)),
        reject_on_discard=chance.random() < 0.95,
        reject_when_ineligible=chance.random() < 0.3,
        replicated=chance.random() < 0.98,
        transactions=transactions,
        manager=ManagerLayout(outcomes=ended, reconciles_after=chance.choice((0.5, 2.0, 4.0))),
    )


def _transaction(chance: Random, number: int) -> TransactionLayout:
    state = chance.choice(_STATES)
    return TransactionLayout(
        xid=f"1-{number:02x}-{chance.randrange(256):02x}",
        state=state,
        replicated=chance.random() < 0.85,
        type="XA" if chance.random() < 0.9 else "LOCAL",
        published=chance.choice((0, 3)),
        age=chance.choice((0.0, 30.0)),
    )
