"""Message VPNs of Solace appliances and brokers."""

from __future__ import annotations

from orchestrator.model.families import SHIPPED, Family, Words
from orchestrator.model.readings_solace import (
    DeviceHealth,
    Endpoints,
    Fence,
    Platform,
    QueueDepth,
    ReplicationStatus,
    Transactions,
)

SOLACE = Family(
    name="solace",
    words=Words("message VPN", "message VPNs", "message", keeps="its message spool"),
    readings={
        "replication": ReplicationStatus,
        "replication_queue": QueueDepth,
        "transactions": Transactions,
        "health": DeviceHealth,
        "fence": Fence,
        "endpoints": Endpoints,
        "platform": Platform,
    },
    runbooks=SHIPPED / "solace",
    makes={("set_role", "role"): {"active": True, "standby": False}},
)
