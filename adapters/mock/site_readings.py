"""What the simulated sites tell beside replication: fences, endpoints, transactions, platform. Used by ``adapter``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from adapters.mock.appliance import TransactionView
from adapters.mock.node import SimulatedAppliance
from orchestrator.clock import Clock
from orchestrator.errors import Unreachable
from orchestrator.readings import (
    EndpointDepth,
    Endpoints,
    Fence,
    NodeFence,
    Platform,
    Transaction,
    TransactionState,
)

_TYPES: Mapping[str, Literal["xa", "local"]] = {"XA": "xa", "LOCAL": "local"}


def fence(nodes: Sequence[SimulatedAppliance]) -> Fence:
    """Every node of the site, also those that do not answer: about these nothing is known."""
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
    """Of the serving node. The simulated account may do everything."""
    view = node.platform()
    # Within a pair: the whole is down also when only the other site is away (facts/solace.md section 1.10).
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
