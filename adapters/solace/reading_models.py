"""Readings of one message VPN, and of the devices that serve it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from orchestrator.model.facets import Facet
from orchestrator.model.reading import Item, Reading, ReadingModel, all_of
from orchestrator.model.readings import Role


class Bridge(StrEnum):
    """The local replication bridge, meaningful on the standby: it dials the active and binds to its queue."""

    BOUND = "bound"
    UNBOUND = "unbound"
    DOWN = "down"


class TransactionState(StrEnum):
    """docs/sources/solace-procedure.md, controlled 4: the flags legend of ``show transaction``."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    IDLE = "idle"
    PREPARED = "prepared"
    COMPLETE = "complete"


_OF_THE_OTHER_ROLE: Mapping[Role, frozenset[str]] = {
    Role.ACTIVE: frozenset({"bridge"}),
    Role.STANDBY: frozenset({"remote_bridge_up", "queue_bound", "sync_eligible"}),
}


class ReplicationStatus(Reading):
    """``replication``: one service's replication state as one site sees it.

    ``bridge`` is meaningful on the standby only; ``queue_bound``, ``remote_bridge_up`` and ``sync_eligible`` on the
    active only. The pair is judged from both ends (docs/sources/solace.md, 0.5).
    """

    facets: ClassVar[Mapping[Facet, str]] = {
        Facet.SERVES: "_serves",
        Facet.LINK: "_link",
        Facet.BLOCKED: "_blocked",
    }
    reaches: ClassVar[bool] = True
    risk: ClassVar[str] = "sync eligibility"
    sampled: ClassVar[bool] = True

    kind: Literal["replication"] = "replication"
    enabled: bool | None = None
    role: Role | None = None
    bridge: Bridge | None = None
    remote_bridge_up: bool | None = None
    queue_bound: bool | None = None
    sync_eligible: bool | None = None
    reject_when_ineligible: bool | None = None
    transaction_mode: Literal["sync", "async"] | None = None

    @property
    def sync_told(self) -> bool:
        """Does the device report whether this service is eligible for synchronous replication? The procedure prints
        ``-`` for a healthy active message VPN, twice (docs/sources/solace-procedure.md, controlled 1)."""
        return self.sync_eligible is not None

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """See ``ReadingModel``."""
        return self.role is None or name not in _OF_THE_OTHER_ROLE[self.role]

    def left_behind(self, at: str) -> str:
        """See ``Reading``."""
        if self.sync_eligible is None:
            return ""
        return f"it {'was' if self.sync_eligible else 'was NOT'} eligible for synchronous replication at {at}"

    @property
    def _serves(self) -> bool | None:
        return None if self.role is None else self.role is Role.ACTIVE

    @property
    def _link(self) -> bool | None:
        if self.role is Role.ACTIVE:
            return self.queue_bound
        return None if self.role is None or self.bridge is None else self.bridge is Bridge.BOUND

    @property
    def _blocked(self) -> bool | None:
        if self.role is not Role.ACTIVE or self.reject_when_ineligible is None:
            return None
        return self.reject_when_ineligible and not self.sync_eligible


class QueueDepth(Reading):
    """``replication_queue``: the messages that the site holds for its mate.

    ``messages`` is the number spooled now, including those delivered and not yet acknowledged; never a rate and never
    a life-time counter. ``usage_mb`` is megabytes in use, ``quota_mb`` the limit. ``rejects_on_discard`` false means
    that replication is suspended once the quota is reached (docs/sources/solace-procedure.md, uncontrolled 3).
    """

    facets: ClassVar[Mapping[Facet, str]] = {Facet.BACKLOG: "messages", Facet.SUSPENDED: "_suspended"}
    unit: ClassVar[str] = "message"
    risk: ClassVar[str] = "queue"
    sampled: ClassVar[bool] = True

    kind: Literal["replication_queue"] = "replication_queue"
    messages: int | None = Field(default=None, ge=0)
    usage_mb: float | None = None
    quota_mb: float | None = None
    rejects_on_discard: bool | None = None

    @property
    def percent_full(self) -> float | None:
        """Usage in percent of the quota."""
        if self.usage_mb is None or not self.quota_mb:
            return None
        return 100.0 * self.usage_mb / self.quota_mb

    @property
    def drained(self) -> bool | None:
        """True only for a depth that was read, and was 0."""
        return None if self.messages is None else self.messages == 0

    @property
    def _suspended(self) -> bool | None:
        return None if self.rejects_on_discard is None else not self.rejects_on_discard


class Transaction(Item):
    """One transaction as the device lists it. ``in_state_s``: seconds since its last change of state."""

    argument: ClassVar[str] = "xid"
    shown: ClassVar[tuple[str, ...]] = ("type", "state", "client", "published", "consumed")

    xid: str
    state: TransactionState | None = None
    type: Literal["xa", "local"] | None = None
    replicated: bool | None = None
    client: str | None = None
    published: int | None = None
    consumed: int | None = None
    in_state_s: float | None = None

    @property
    def key(self) -> str:
        """The name of this item in an action."""
        return self.xid

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """See ``ReadingModel``. Client and counts matter only for a transaction that waits for an outcome."""
        waits = self.state is TransactionState.PREPARED and self.replicated is not False
        return waits or name not in ("client", "published", "consumed")


class Transactions(Reading):
    """``transactions``: every transaction of one service at one site."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.IN_DOUBT: "_prepared"}

    kind: Literal["transactions"] = "transactions"
    items: tuple[Transaction, ...] = ()

    @property
    def _prepared(self) -> int | None:
        states = [item.state for item in self.items]
        return None if None in states else states.count(TransactionState.PREPARED)


class DeviceHealth(Reading):
    """``health``: which node serves, and whether its message spool is active. ``node`` is its inventory name."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.NODE: "_serving_node"}

    kind: Literal["health"] = "health"
    node: str | None = None
    serving: bool | None = None
    spool_active: bool | None = None
    mate_node: str | None = None
    redundancy_up: bool | None = None

    @property
    def _serving_node(self) -> str | None:
        return self.node if self.serving else None

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """See ``ReadingModel``."""
        return not (is_alone and name in ("mate_node", "redundancy_up"))


class NodeFence(ReadingModel):
    """Whether one node is open to clients. ``backbone_up`` is False if the node takes no client, on any port. If the
    site's fence plan shuts an interface, ``backbone_up`` is the state of that interface. ``clients`` are connected now,
    without the node's own internal clients. ``active`` replicated services have activity on the node, and would serve
    any client that connects."""

    node: str
    backbone_up: bool | None = None
    clients: int | None = None
    active: int | None = None

    @property
    def closed(self) -> bool | None:
        """No client is connected to the node, and none can connect."""
        if self.backbone_up is not False:
            return None if self.backbone_up is None else False
        return None if self.clients is None else self.clients == 0


class Fence(Reading):
    """``fence``: whether clients can reach this site, judged over every node in the inventory, serving or not.

    ``closed`` is True only if every node was read with its backbone down and no client. If a node does not answer,
    ``closed`` is unknown (docs/sources/solace.md, 3.9: the flag is not config-synced, so each node is read).
    """

    kind: Literal["fence"] = "fence"
    nodes: tuple[NodeFence, ...] = ()

    @property
    def closed(self) -> bool | None:
        """No client is connected to any node, and none can connect."""
        return all_of([node.closed for node in self.nodes])

    @property
    def open(self) -> bool | None:
        """Every node lets clients in."""
        return all_of([node.backbone_up for node in self.nodes])

    @property
    def idle(self) -> bool | None:
        """No service has activity here, so a client that connects is not served. The fence covers all services."""
        return all_of([None if node.active is None else node.active == 0 for node in self.nodes])

    def is_mixed(self) -> bool:
        """Neither shut nor open."""
        return self.closed is False and self.open is False


class EndpointDepth(Item):
    """One queue or topic endpoint. ``oldest_at``: when its oldest message was spooled, by the broker's clock, seconds
    since the epoch; None when it is empty or was not reported."""

    name: str
    endpoint: Literal["queue", "topic-endpoint"]
    messages: int | None = None
    oldest_at: float | None = None

    @property
    def key(self) -> str:
        """The key that identifies the endpoint within its service."""
        return f"{self.endpoint}:{self.name}"

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """See ``ReadingModel``. An empty endpoint has no oldest message."""
        return self.messages != 0


class Endpoints(Reading):
    """``endpoints``: every durable endpoint that may hold replicated messages; the replication queue is not one."""

    kind: Literal["endpoints"] = "endpoints"
    items: tuple[EndpointDepth, ...] = ()


class Platform(Reading):
    """``platform``: the values that must fit between mates before a move, as the serving node reports them.

    ``level`` is the account's own global access level. ``clock_offset_s``: the node's clock minus this machine's,
    seconds. ``mate`` is the router name of the replication mate that is configured on the node.
    """

    kind: Literal["platform"] = "platform"
    node: str | None = None
    version: str | None = None
    transactions: Literal["legacy", "transacted"] | None = None
    config_sync_up: bool | None = None
    mate: str | None = None
    level: str | None = None
    clock_offset_s: float | None = None
