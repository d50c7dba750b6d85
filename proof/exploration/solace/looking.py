"""The readings of the Solace pair, reduced to the fields that a runbook checks. This module must never know which step
asks."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.solace.reading_models import (
    Bridge,
    DeviceHealth,
    EndpointDepth,
    Endpoints,
    Fence,
    NodeFence,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence, Reachability, Role
from proof.exploration.family import SOURCE
from proof.exploration.solace.pair import XID, Held, Pair

FIELDS: Mapping[str, frozenset[str]] = {
    "replication": frozenset(
        {"enabled", "role", "bridge", "remote_bridge_up", "queue_bound", "sync_eligible", "sync_told"}
    ),
    "replication_queue": frozenset({"messages", "drained", "rejects_on_discard"}),
    "health": frozenset({"serving", "spool_active"}),
    "fence": frozenset({"closed", "open", "idle"}),
    "external_fence": frozenset({"closed"}),
    "reachability": frozenset({"answers", "role", "role_known"}),
}
ITEM_FIELDS: Mapping[str, frozenset[str]] = {
    "transactions": frozenset({"xid", "state", "type", "replicated", "in_state_s"})
}
# The number of messages that is read for each depth class.
MESSAGES = (0, 10, 100)

_STATES: dict[Held, TransactionState] = {
    "prepared": TransactionState.PREPARED,
    "committed": TransactionState.COMPLETE,
    "rolled-back": TransactionState.COMPLETE,
}


def blank(reading: str) -> Reading | None:
    """The reading with all values unknown. None if that is not a separate case."""
    match reading:
        case "replication":
            return ReplicationStatus()
        case "replication_queue":
            return QueueDepth()
        case "fence":
            return Fence(nodes=(NodeFence(node="a"),))
        case "transactions":
            return Transactions(items=(Transaction(xid=XID),))
        case _:
            return None


def read(pair: Pair, side: int, reading: str) -> Reading:
    """One true reading of one side."""
    match reading:
        case "replication":
            return _replication(pair, side)
        case "replication_queue":
            return QueueDepth(messages=MESSAGES[pair.depth[side]], rejects_on_discard=pair.rejects)
        case "transactions":
            return _transactions(pair.held[side])
        case "health":
            return DeviceHealth(serving=pair.serving[side], spool_active=pair.serving[side])
        case "fence":
            return _fence(pair, side)
        case "external_fence":
            return ExternalFence(closed=pair.outside[side])
        case "endpoints":
            return _endpoints(pair, side)
        case "reachability":
            return Reachability(answers=True, role=_role(pair, side))
        case _:
            raise ValueError(f"the model has no reading {reading}")


def _role(pair: Pair, side: int) -> Role:
    return Role.ACTIVE if pair.active[side] else Role.STANDBY


def _replication(pair: Pair, side: int) -> ReplicationStatus:
    """The replication status. Each flag is set only on the side where it has a meaning (docs/sources/solace.md, 0.5)."""
    role, mate_bound = _role(pair, side), pair.bound(1 - side)
    if role is Role.STANDBY:
        return ReplicationStatus(enabled=True, role=role, bridge=Bridge.BOUND if pair.bound(side) else Bridge.DOWN)
    return ReplicationStatus(
        enabled=True,
        role=role,
        remote_bridge_up=mate_bound,
        queue_bound=mate_bound,
        sync_eligible=None if pair.untold else mate_bound and pair.depth[side] == 0,
    )


def _transactions(held: Held) -> Transactions:
    if held == "gone":
        return Transactions()
    return Transactions(
        items=(Transaction(xid=XID, state=_STATES[held], type="xa", replicated=True, in_state_s=600),)
    )


def _fence(pair: Pair, side: int) -> Fence:
    """The fence of two nodes: the active node and its mate."""
    active = int(pair.active[side]) + int(pair.others and side == SOURCE)
    ups = {"open": (True, True), "half": (False, True), "shut": (False, False)}[pair.door[side]]
    return Fence(
        nodes=tuple(
            NodeFence(node=node, backbone_up=up, clients=1 if up else 0, active=active if node == "a" else 0)
            for node, up in zip("ab", ups, strict=True)
        )
    )


def _endpoints(pair: Pair, side: int) -> Endpoints:
    messages = 0 if pair.unequal and side != SOURCE else 1
    return Endpoints(items=(EndpointDepth(name="orders", endpoint="queue", messages=messages),))
