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


class _Reading(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReplicationStatus(_Reading):
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


class QueueDepth(_Reading):
    """``replication_queue``: what the site holds for its mate.

    ``messages`` is the number spooled now, including those delivered and not yet acknowledged; never a rate and never
    a life-time counter. ``usage_mb`` is megabytes in use, ``quota_mb`` the limit.
    """

    kind: Literal["replication_queue"] = "replication_queue"
    messages: int | None = Field(default=None, ge=0)
    usage_mb: float | None = None
    quota_mb: float | None = None

    @property
    def drained(self) -> bool | None:
        """True only for a depth that was read, and was 0."""
        return None if self.messages is None else self.messages == 0


class Transaction(_Reading):
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


class Transactions(_Reading):
    """``transactions``: every transaction of one service at one site."""

    kind: Literal["transactions"] = "transactions"
    items: tuple[Transaction, ...] = ()


class DeviceHealth(_Reading):
    """``health``: which node serves, and whether its message spool does. ``node`` is its inventory name."""

    kind: Literal["health"] = "health"
    node: str | None = None
    serving: bool | None = None
    spool_active: bool | None = None
    mate_node: str | None = None
    redundancy_up: bool | None = None


Reading = Annotated[
    ReplicationStatus | QueueDepth | Transactions | DeviceHealth,
    Field(discriminator="kind"),
]

READINGS: Mapping[str, type[_Reading]] = {
    "replication": ReplicationStatus,
    "replication_queue": QueueDepth,
    "transactions": Transactions,
    "health": DeviceHealth,
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


def _names(model: type[_Reading]) -> frozenset[str]:
    derived = {name for name in vars(model) if isinstance(vars(model)[name], property)}
    return frozenset(model.model_fields) | derived


def matches(subject: _Reading, where: Where) -> bool | None:
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


def describe(subject: _Reading, names: Sequence[str]) -> str:
    """``role standby, bridge unknown``: the values of ``names`` for a sentence."""
    return ", ".join(f"{name.replace('_', ' ')} {_word(getattr(subject, name))}" for name in names)


def _word(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
