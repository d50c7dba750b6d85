"""What the simulated sites report: roles, fences, endpoints, transactions, platform. Used by ``adapter``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from adapters.solace.reading_models import (
    Bridge,
    EndpointDepth,
    Endpoints,
    Fence,
    NodeFence,
    Platform,
    ReplicationStatus,
    Transaction,
    TransactionState,
)
from orchestrator.clock import Clock
from orchestrator.errors import NoSuchService, NotServing, Unreachable
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role
from simulator.solace.appliance import BridgeName, NoSuchObject, TransactionView
from simulator.solace.node import SimulatedAppliance

_BRIDGES: Mapping[BridgeName, Bridge] = {"up": Bridge.BOUND, "queue-unbound": Bridge.UNBOUND, "down": Bridge.DOWN}
_TYPES: Mapping[str, Literal["xa", "local"]] = {"XA": "xa", "LOCAL": "local"}


def fence(nodes: Sequence[SimulatedAppliance]) -> Fence:
    """The fence of every node of the site. A node that does not answer is unknown."""
    return Fence(nodes=tuple(_node_fence(node) for node in nodes))


def _node_fence(node: SimulatedAppliance) -> NodeFence:
    try:
        clients = sum(not client.name.startswith("#") for vpn in node.vpn_names() for client in node.clients(vpn))
        rows = [node.replication(vpn) for vpn in node.vpn_names()]
        active = sum(row.admin_up and row.role == "active" for row in rows)
        return NodeFence(node=node.router_name, backbone_up=node.is_backbone_up(), clients=clients, active=active)
    except Unreachable:
        return NodeFence(node=node.router_name)


def endpoints(node: SimulatedAppliance, vpn: str) -> Endpoints:
    """The durable endpoints of one message VPN. Raises ``NoSuchObject``."""
    return Endpoints(
        items=tuple(
            EndpointDepth(name=view.name, endpoint=view.kind, messages=view.messages, oldest_at=view.oldest_at)
            for view in node.endpoints(vpn)
        )
    )


def platform(node: SimulatedAppliance, clock: Clock) -> Platform:
    """The platform of the serving node. The simulated account may do everything."""
    view = node.platform()
    # Within a pair, the group counts: the whole is also down if only the other site is down (docs/sources/solace.md,
    # 1.10).
    group = view.config_sync_group_up
    return Platform(
        node=node.router_name,
        version=view.version,
        transactions=view.transactions,
        config_sync_up=view.config_sync_up if group is None else group,
        mate=view.mate_router,
        level="admin",
        clock_offset_s=view.clock - clock.now(),
    )


def transaction(view: TransactionView) -> Transaction:
    """One transaction of a message VPN, in any state."""
    return Transaction(
        xid=view.xid,
        state=TransactionState(view.state.lower()),
        type=_TYPES[view.type],
        replicated=view.replicated,
        client=view.client,
        published=view.messages_published,
        consumed=view.messages_consumed,
        in_state_s=view.in_state_s,
    )


def status(node: SimulatedAppliance, service: str) -> ReplicationStatus:
    """``replication`` of the node that serves. Raises ``NoSuchObject``."""
    row = node.replication(service)
    return ReplicationStatus(
        enabled=row.admin_up,
        role=Role(row.role),
        bridge=None if row.local_bridge is None else _BRIDGES[row.local_bridge],
        remote_bridge_up=row.remote_bridge_up,
        queue_bound=row.queue_bound,
        sync_eligible=row.sync_eligible,
        reject_when_ineligible=row.reject_when_ineligible,
        transaction_mode=row.transaction_mode,
    )


def configured_role(node: SimulatedAppliance, service: str) -> ReplicationStatus | Failure:
    """``replication`` of a site whose spool is ready on no node: standby, or a failure. Its nodes share the role."""
    try:
        row = node.replication(service)
    except NoSuchObject as error:
        return Failure.of(NoSuchService(str(error), device=node.router_name))
    if row.role == "standby":
        return ReplicationStatus(enabled=row.admin_up, role=Role.STANDBY)
    return Failure.of(NotServing("no message spool of the site is ready, and the configured role is active"))
