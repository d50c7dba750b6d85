"""The interface of one simulated Solace node, for the in-process adapter and for the lab's CLI.

The simulated pair of sites implements this interface. Values are those that a real node knows about itself. ``None`` is
the ``-`` of the CLI's tables: "not applicable on this side".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

RoleName = Literal["active", "standby"]
BridgeName = Literal["up", "queue-unbound", "down"]
Outcome = Literal["commit", "rollback"]
EndpointKind = Literal["queue", "topic-endpoint"]
CompatibilityMode = Literal["legacy", "transacted"]


class Refused(Exception):
    """The node refuses the command. The text of the error is the text that the node prints."""


class SpoolNotActive(Refused):
    """A node without the active message spool refuses to show its content (docs/sources/solace-cli.md, 19)."""

    def __init__(self) -> None:
        super().__init__("message-spool operational status is not AD-ACTIVE")


class NoSuchObject(Refused):
    """There is no such message VPN, queue or transaction."""


@dataclass(frozen=True, slots=True)
class VpnReplication:
    """One row of ``show message-vpn … replication`` (docs/sources/solace-procedure.md, flags legend)."""

    vpn: str
    admin_up: bool
    role: RoleName
    local_bridge: BridgeName | None  # standby only
    remote_bridge_up: bool | None  # active only
    queue_bound: bool | None  # active only
    sync_eligible: bool | None  # active only
    reject_when_ineligible: bool
    transaction_mode: Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class QueueView:
    """The replication queue: messages held now (unacknowledged ones included), megabytes, quota in megabytes."""

    vpn: str
    messages: int
    usage_mb: float
    high_water_mb: float
    quota_mb: int
    reject_on_discard: bool


@dataclass(frozen=True, slots=True)
class TransactionView:
    """One transaction. ``consumed``: (message id, endpoint type, endpoint name). ``in_state_s``: seconds."""

    xid: str
    vpn: str
    type: Literal["XA", "LOCAL"]
    state: Literal["ACTIVE", "SUSPENDED", "IDLE", "PREPARED", "COMPLETE"]
    replicated: bool
    client: str
    client_username: str
    in_state_s: float
    messages_published: int
    messages_consumed: int
    spooled: int
    consumed: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RedundancyView:
    """The values of ``show redundancy`` and ``show message-spool`` for one node."""

    configured: bool  # False: a node without an HA mate
    up: bool
    role: Literal["Primary", "Backup"]
    mate_router_name: str
    mate_link_up: bool
    activity: Literal["Local Active", "Mate Active", "Local Inactive"]
    spool: Literal["AD-Active", "AD-Standby", "AD-Activating", "AD-NotReady", "AD-Disabled"]
    released: str = ""  # printed in place of Enabled by a node that gave up activity

    @property
    def config_status(self) -> str:
        """The Configuration Status as the node prints it."""
        return self.released or ("Enabled" if self.configured else "Shutdown")


class Appliance(Protocol):
    """One node of a site. It obeys commands at once. A node that does not serve refuses changes."""

    @property
    def router_name(self) -> str: ...

    def vpn_names(self) -> Sequence[str]: ...

    def replication(self, vpn: str) -> VpnReplication:
        """Raises ``NoSuchObject``."""
        ...

    def replication_queue(self, vpn: str) -> QueueView:
        """Raises ``NoSuchObject`` for an unknown VPN, or a VPN that is not replicated."""
        ...

    def transactions(self, vpn: str) -> Sequence[TransactionView]:
        """Raises ``NoSuchObject``."""
        ...

    def redundancy(self) -> RedundancyView: ...

    def set_role(self, vpn: str, role: RoleName) -> None:
        """Raises ``Refused``."""
        ...

    def complete_transaction(self, vpn: str, xid: str, outcome: Outcome) -> None:
        """Heuristic commit or rollback. Raises ``Refused`` unless the transaction is prepared."""
        ...

    def delete_transaction(self, vpn: str, xid: str) -> None:
        """Raises ``Refused`` unless the transaction is complete."""
        ...


@dataclass(frozen=True, slots=True)
class ClientView:
    """A connected client. The names of the node's own clients start with ``#``."""

    name: str
    vpn: str
    username: str


@dataclass(frozen=True, slots=True)
class EndpointView:
    """A durable queue or topic endpoint: messages held now, megabytes, and the oldest of them.

    ``oldest_at`` is the time at which the oldest message was spooled, by this node's clock, seconds since the epoch.
    """

    vpn: str
    name: str
    kind: EndpointKind
    messages: int
    usage_mb: float
    oldest_id: int | None
    oldest_at: float | None


@dataclass(frozen=True, slots=True)
class MessageView:
    """One message in an endpoint. ``number`` is the same at both sites. ``spooled_at`` is by this node's clock, seconds
    since the epoch. ``size`` is in bytes."""

    number: int
    spooled_at: float
    size: int
    state: Literal["replicated", "not-replicated", "pending-replication"]


@dataclass(frozen=True, slots=True)
class PlatformView:
    """The version and the settings of the node. ``clock`` is the node's own clock, seconds since the epoch.

    ``config_sync_up`` also needs the other site. ``config_sync_group_up`` needs only the HA mate. It is None without
    a mate. ``mate_router`` is the configured replication mate.
    """

    version: str
    transactions: CompatibilityMode
    config_sync_up: bool
    config_sync_group_up: bool | None
    mate_router: str
    clock: float


# Optional protocols. An appliance without them leaves the values out, as an older broker does.


@runtime_checkable
class Gated(Protocol):
    """An appliance that has clients and a message backbone through which they connect (docs/sources/solace.md, 1.5)."""

    def is_backbone_up(self) -> bool: ...

    def clients(self, vpn: str) -> Sequence[ClientView]:
        """Raises ``NoSuchObject``."""
        ...


@runtime_checkable
class Holding(Protocol):
    """An appliance that shows its durable endpoints, without the replication queue."""

    def endpoints(self, vpn: str) -> Sequence[EndpointView]:
        """Raises ``NoSuchObject``."""
        ...

    def messages(
        self, vpn: str, kind: EndpointKind, name: str, after: int | None, count: int
    ) -> Sequence[MessageView]:
        """Up to ``count`` messages with numbers above ``after``, in order. Raises ``NoSuchObject``."""
        ...


@runtime_checkable
class Described(Protocol):
    """An appliance that shows its version and its settings."""

    def platform(self) -> PlatformView: ...
