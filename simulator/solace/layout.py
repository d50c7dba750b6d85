"""The initial content of a world: sites, nodes, message VPNs, clients, transactions.

Frozen data with defaults, so that a test names only the values it needs.
Durations are seconds, rates are messages a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.errors import DefinitionError
from simulator.solace.appliance import Outcome

TransactionStateName = Literal["ACTIVE", "SUSPENDED", "IDLE", "PREPARED", "COMPLETE"]


@dataclass(frozen=True, slots=True)
class SiteLayout:
    """One site of one node or two. Two nodes are an HA pair, and the first one starts with the message spool.

    ``latency`` is one round trip of the management network.
    """

    name: str
    nodes: tuple[str, ...]
    latency: float = 0.002


@dataclass(frozen=True, slots=True)
class TransactionLayout:
    """A transaction that exists when time starts. ``age`` is how long the transaction has been in its state.

    ``consumed`` are message ids consumed from ``endpoint``. A prepared, replicated transaction is known to both sites
    (docs/sources/solace.md, 4.3: prepared ones are mirrored, active branches are not).
    """

    xid: str
    state: TransactionStateName = "PREPARED"
    type: Literal["XA", "LOCAL"] = "XA"
    replicated: bool = True
    client: str = "app/15848/#000c0001"
    username: str = "default"
    published: int = 0
    spooled: int = 0
    consumed: tuple[int, ...] = ()
    endpoint: str = "orders"
    age: float = 30.0


@dataclass(frozen=True, slots=True)
class ManagerLayout:
    """The applications' transaction manager: the outcomes in its log, and the seconds between a promotion and its
    reconciliation.

    At the newly active site it completes and forgets the transactions that have an outcome. It leaves all others.
    """

    outcomes: tuple[tuple[str, Outcome], ...] = ()
    reconciles_after: float = 3.0


@dataclass(frozen=True, slots=True)
class VpnLayout:
    """One message VPN at both sites, with one stream of publishers and one of consumers.

    Every ``sync_every``-th message is on a synchronously replicated topic (0: none, 1: all). ``backlog`` messages are
    in the active's replication queue when time starts. ``unconsumed`` of them also wait for a consumer there.
    ``drain_rate`` is the rate of the bridge. ``return_rate`` is its rate towards the site that was active first
    (None: the same). ``message_bytes`` is the size of one message in the spool (the procedure shows 0.0006 MB for
    one).
    """

    name: str
    publish_rate: float = 100.0
    consume_rate: float = 2_000.0
    drain_rate: float = 1_200.0
    return_rate: float | None = None
    backlog: int = 0
    unconsumed: int = 0
    sync_every: int = 0
    message_bytes: int = 629
    quota_mb: int = 60_000
    reject_on_discard: bool = True
    reject_when_ineligible: bool = False
    transaction_mode: Literal["sync", "async"] = "async"
    replicated: bool = True
    transactions: tuple[TransactionLayout, ...] = ()
    manager: ManagerLayout = field(default_factory=ManagerLayout)


@dataclass(frozen=True, slots=True)
class WorldLayout:
    """Two sites and the links between them.

    ``link_latency``: one way between the sites. ``window``: the maximum number of messages that the bridge has
    delivered without an acknowledgement (docs/sources/solace.md, 1.4, egress flow window 255). ``redial``: how long a
    bridge takes to dial and then to bind. ``reconnect``: the clients' pause between two tries of their host list.
    ``ack_batch`` and ``ack_after``: the active tells the standby about consumption after this many messages, or after
    this time (docs/sources/solace.md, 4.1). ``takeover``: how long an HA switch-over takes. ``congested``: with more
    queued messages, synchronous replication is not eligible.
    """

    sites: tuple[SiteLayout, SiteLayout]
    vpns: tuple[VpnLayout, ...]
    active: str = ""
    link_latency: float = 0.005
    window: int = 255
    redial: float = 1.0
    reconnect: float = 1.0
    ack_batch: int = 20
    ack_after: float = 1.0
    takeover: float = 2.0
    congested: int = 1_000
    seed: int = 1

    def __post_init__(self) -> None:
        names = [site.name for site in self.sites]
        if names[0] == names[1]:
            raise DefinitionError(f"both sites of the world are called {names[0]}")
        if self.active and self.active not in names:
            raise DefinitionError(f"the world has no site {self.active}; it has {names[0]} and {names[1]}")
        if any(not 1 <= len(site.nodes) <= 2 for site in self.sites):
            raise DefinitionError("a site of the world has one or two nodes")
        if len({vpn.name for vpn in self.vpns}) != len(self.vpns):
            raise DefinitionError("two message VPNs of the world have the same name")

    @property
    def first_active(self) -> str:
        """The site that is active when time starts: the named one, or the first."""
        return self.active or self.sites[0].name


def layout_from(data: Mapping[str, Any]) -> WorldLayout:
    """The layout from its ``dataclasses.asdict`` in a file. Raises KeyError, TypeError or ValueError."""
    one, other = ({**site, "nodes": tuple(site["nodes"])} for site in data["sites"])
    return WorldLayout(
        **{
            **data,
            "sites": (SiteLayout(**one), SiteLayout(**other)),
            "vpns": tuple(_vpn_from(vpn) for vpn in data["vpns"]),
        }
    )


def transaction_from(data: Mapping[str, Any]) -> TransactionLayout:
    """One transaction from its data in a file. Raises KeyError or TypeError."""
    return TransactionLayout(**{**data, "consumed": tuple(data["consumed"])})


def _vpn_from(data: Mapping[str, Any]) -> VpnLayout:
    manager = data["manager"]
    outcomes = tuple((xid, outcome) for xid, outcome in manager["outcomes"])
    return VpnLayout(
        **{
            **data,
            "transactions": tuple(transaction_from(one) for one in data["transactions"]),
            "manager": ManagerLayout(**{**manager, "outcomes": outcomes}),
        }
    )
