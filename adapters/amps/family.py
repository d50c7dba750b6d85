"""Instances of 60East AMPS."""

from __future__ import annotations

from orchestrator.model.families import SHIPPED, Family, Words
from orchestrator.model.readings_amps import (
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

AMPS = Family(
    name="amps",
    words=Words(
        "instance",
        "instances",
        "message",
        none_serves="NO INSTANCE LETS CLIENTS IN",
        outage="no instance let clients in",
        keeps="its journals",
    ),
    readings={
        "instance": Instance,
        "transports": Transports,
        "clients": Clients,
        "links": Links,
        "queues": Queues,
        "transaction_log": TransactionLog,
        "bootstrap": Bootstrap,
        "sow": Sow,
        "permissions": Permissions,
    },
    runbooks=SHIPPED / "amps",
    makes={("set_client_transports", "state"): {"enabled": True, "disabled": False}},
)
