"""Readings: what can be observed on a device, in one vocabulary for all families.

A reading never changes a device. Every value may be ``None``, which means *unknown*: the device did not say, or what
it said applies to the other side only. Absent is not false (facts: "SEMP v2 omits attributes that do not apply").

``matches`` compares a reading with the ``where`` of a runbook in three values: true, false, unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.reading import ReadingModel, all_of
from orchestrator.readings_amps import (
    Bootstrap,
    Clients,
    Instance,
    Links,
    Permissions,
    Queues,
    Sow,
    TransactionLog,
    Transports,
)


class Role(StrEnum):
    """Who serves clients: at most one site of a pair may be active."""

    ACTIVE = "active"
    STANDBY = "standby"


class Bridge(StrEnum):
    """The local replication bridge, meaningful on the standby: it dials the active and binds to its queue."""

    BOUND = "bound"
    UNBOUND = "unbound"
    DOWN = "down"


class TransactionState(StrEnum):
    """Seed 003, flags legend of ``show transaction``."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    IDLE = "idle"
    PREPARED = "prepared"
    COMPLETE = "complete"


class ReplicationStatus(ReadingModel):
    """``replication``: one service's replication state as one site sees it.

    ``bridge`` means something on the standby only; ``queue_bound``, ``remote_bridge_up`` and ``sync_eligible`` on the
    active only. The pair is judged from both ends (facts/solace.md section 0, point 5).
    """

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
        """Does the device report whether this service is eligible for synchronous replication? Seed 003 prints ``-`` for
        a healthy active message VPN, twice."""
        return self.sync_eligible is not None


class QueueDepth(ReadingModel):
    """``replication_queue``: what the site holds for its mate.

    ``messages`` is the number spooled now, including those delivered and not yet acknowledged; never a rate and never
    a life-time counter. ``usage_mb`` is megabytes in use, ``quota_mb`` the limit. ``rejects_on_discard`` false means
    that replication is suspended once the quota is reached (seed 003, uncontrolled, step 3).
    """

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


class Transaction(ReadingModel):
    """One transaction as the device lists it. ``in_state_s``: seconds since its last change of state."""

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
        """What an action names this item by."""
        return self.xid


class Transactions(ReadingModel):
    """``transactions``: every transaction of one service at one site."""

    kind: Literal["transactions"] = "transactions"
    items: tuple[Transaction, ...] = ()


class DeviceHealth(ReadingModel):
    """``health``: which node serves, and whether its message spool does. ``node`` is its inventory name."""

    kind: Literal["health"] = "health"
    node: str | None = None
    serving: bool | None = None
    spool_active: bool | None = None
    mate_node: str | None = None
    redundancy_up: bool | None = None


class NodeFence(ReadingModel):
    """One node's door to clients. ``backbone_up`` false: it takes no client, on any port; of a site whose fence plan
    shuts an interface, it is that which is up or not. ``clients`` are connected now, its own internal ones not counted.
    ``active`` replicated services have activity on it, and would serve whoever comes in."""

    node: str
    backbone_up: bool | None = None
    clients: int | None = None
    active: int | None = None

    @property
    def closed(self) -> bool | None:
        """No client is on it, and none can come."""
        if self.backbone_up is not False:
            return None if self.backbone_up is None else False
        return None if self.clients is None else self.clients == 0


class Fence(ReadingModel):
    """``fence``: can clients reach this site? Judged over every node the inventory lists, serving or not.

    ``closed`` is true only when every node was read with its backbone down and no client; a node that does not answer
    makes it unknown (facts/solace.md section 3.9: the flag is not config-synced, so each node is read).
    """

    kind: Literal["fence"] = "fence"
    nodes: tuple[NodeFence, ...] = ()

    @property
    def closed(self) -> bool | None:
        """No client is on any node, and none can come."""
        return all_of([node.closed for node in self.nodes])

    @property
    def open(self) -> bool | None:
        """Every node lets clients in."""
        return all_of([node.backbone_up for node in self.nodes])

    @property
    def idle(self) -> bool | None:
        """No service has activity here: whoever comes in is served by nobody. The door is that of all services."""
        return all_of([None if node.active is None else node.active == 0 for node in self.nodes])

    def is_mixed(self) -> bool:
        """Neither shut nor open."""
        return self.closed is False and self.open is False


class ExternalFence(ReadingModel):
    """``external_fence``: are clients kept off this site by a means outside of its devices? The word of the check that
    belongs to the command of the site's fence plan; ``output`` is what it said besides, cut and without secrets."""

    kind: Literal["external_fence"] = "external_fence"
    closed: bool | None = None
    output: str = ""


class EndpointDepth(ReadingModel):
    """One queue or topic endpoint. ``oldest_at``: when its oldest message was spooled, by the broker's clock, seconds
    since the epoch; None when it is empty or was not told."""

    name: str
    endpoint: Literal["queue", "topic-endpoint"]
    messages: int | None = None
    oldest_at: float | None = None

    @property
    def key(self) -> str:
        """What tells it from the others of its service."""
        return f"{self.endpoint}:{self.name}"


class Endpoints(ReadingModel):
    """``endpoints``: every durable endpoint that may hold replicated messages; the replication queue is not one."""

    kind: Literal["endpoints"] = "endpoints"
    items: tuple[EndpointDepth, ...] = ()


class Platform(ReadingModel):
    """``platform``: what must fit between mates before a move, as the serving node tells it.

    ``level`` is the account's own global access level. ``clock_offset_s``: the node's clock minus ours, seconds.
    ``mate`` is the router name of the replication mate as the node has it configured.
    """

    kind: Literal["platform"] = "platform"
    node: str | None = None
    version: str | None = None
    transactions: Literal["legacy", "transacted"] | None = None
    config_sync_up: bool | None = None
    mate: str | None = None
    level: str | None = None
    clock_offset_s: float | None = None


class Reachability(ReadingModel):
    """``reachability``: does the site's management answer at all, and if so with which role? Always had: that nobody
    answers is an answer. Made by the fleet from the reading ``replication`` or ``instance``, for every adapter."""

    kind: Literal["reachability"] = "reachability"
    answers: bool
    role: Role | None = None
    why: str = ""

    @property
    def role_known(self) -> bool:
        """Did the site say which role it has?"""
        return self.role is not None


class SiteClaims(ReadingModel):
    """``site_claims``: who else relies on something that belongs to a whole site, or is changing it. The journal
    answers, not a device, so no runbook names it.

    ``granted``: the claim that was wished for is recorded. Otherwise ``others`` are the services that stand in the way,
    each with its run, and ``is_waiting`` says that they are still under way, so that asking again may help.
    """

    kind: Literal["site_claims"] = "site_claims"
    thing: str
    wish: Literal["hold", "release", "leave"]
    granted: bool
    others: tuple[str, ...] = ()
    is_waiting: bool = False


Reading = Annotated[
    ReplicationStatus
    | QueueDepth
    | Transactions
    | DeviceHealth
    | Fence
    | ExternalFence
    | Endpoints
    | Platform
    | Reachability
    | SiteClaims
    | Instance
    | Transports
    | Clients
    | Links
    | Queues
    | TransactionLog
    | Bootstrap
    | Sow
    | Permissions,
    Field(discriminator="kind"),
]

READINGS: Mapping[str, type[ReadingModel]] = {
    "replication": ReplicationStatus,
    "replication_queue": QueueDepth,
    "transactions": Transactions,
    "health": DeviceHealth,
    "fence": Fence,
    "external_fence": ExternalFence,
    "endpoints": Endpoints,
    "platform": Platform,
    "reachability": Reachability,
    "instance": Instance,
    "transports": Transports,
    "clients": Clients,
    "links": Links,
    "queues": Queues,
    "transaction_log": TransactionLog,
    "bootstrap": Bootstrap,
    "sow": Sow,
    "permissions": Permissions,
}

Scalar = bool | int | float | str


class Bounds(BaseModel):
    """A ``where`` value that is a range; both ends belong to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: float | None = None
    at_most: float | None = None


WhereValue = Scalar | Bounds | tuple[Scalar, ...]
Where = Mapping[str, WhereValue]


def field_names(reading: str) -> frozenset[str]:
    """The names a ``where`` on this reading may use: its fields and its derived values."""
    return _names(READINGS[reading]) - {"kind"}


def item_field_names(reading: str) -> frozenset[str]:
    """The names a ``for_each`` on this reading may filter by; empty when the reading has no items."""
    return _names(Transaction) - {"key"} if READINGS[reading] is Transactions else frozenset()


def _names(model: type[ReadingModel]) -> frozenset[str]:
    derived = {name for name, value in vars(model).items() if isinstance(value, property) and name[0] != "_"}
    return frozenset(model.model_fields) | derived


def matches(subject: ReadingModel, where: Where) -> bool | None:
    """Does the reading (or item) fit ``where``? None when a value that matters is unknown and none is wrong."""
    verdict: bool | None = True
    for name, wanted in where.items():
        fits = _fits(getattr(subject, name), wanted)
        if fits is False:
            return False
        if fits is None:
            verdict = None
    return verdict


def _fits(value: object, wanted: WhereValue) -> bool | None:
    if value is None:
        return None
    if isinstance(wanted, Bounds):
        if not isinstance(value, int | float):
            return False
        low = wanted.at_least is None or value >= wanted.at_least
        return low and (wanted.at_most is None or value <= wanted.at_most)
    if isinstance(wanted, tuple):
        return any(value == one for one in wanted)
    return value == wanted


def describe(subject: ReadingModel, names: Sequence[str]) -> str:
    """``role standby, bridge unknown``: the values of ``names`` for a sentence, with the reading's ``remark``."""
    values = [f"{name.replace('_', ' ')} {_word(getattr(subject, name))}" for name in names]
    return ", ".join([*values, *filter(None, [subject.remark(names)])])


def _word(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
