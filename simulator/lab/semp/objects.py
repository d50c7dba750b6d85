"""The objects of SEMP v2, made from an appliance's views: attributes and the sizes of their collections.

Attribute names and values are those of docs/sources/solace.md, 1.4 to 1.10. A value that does not apply on this
side, or that the appliance does not know, is left out of the answer, not false. Nothing here changes an appliance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.solace.appliance import (
    Appliance,
    Described,
    EndpointView,
    Gated,
    Holding,
    NoSuchObject,
    QueueView,
    Refused,
    TransactionView,
    VpnReplication,
)
from simulator.solace.browsing import message_id

REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"
BRIDGE = "#MSGVPN_REPLICATION_BRIDGE"
SEMP_VERSION = "2.46"  # assumption: the SEMP version of each load is not recorded
_MEGABYTE = 1_048_576
# Every page lists all messages again, so an endpoint with more messages than this is shown only in part.
_SHOWN_MAX = 100_000

Value = bool | int | str | None
Attributes = Mapping[str, Callable[[], Value]]
Sizes = Mapping[str, Callable[[], int | None]]


@dataclass(frozen=True, slots=True)
class Thing:
    """One object. Its values are read only on demand, because the world can see each reading of a queue."""

    attributes: Attributes
    sizes: Sizes = field(default_factory=dict)


def constant(value: Value) -> Callable[[], Value]:
    return lambda: value


def _constants(**values: Value) -> dict[str, Callable[[], Value]]:
    return {name: constant(value) for name, value in values.items()}


class Objects:
    """The objects of one appliance."""

    def __init__(self, appliance: Appliance) -> None:
        self._appliance = appliance

    def broker(self) -> Thing:
        """The broker itself: ``GET /SEMP/v2/monitor/``."""
        appliance = self._appliance
        platform = appliance.platform() if isinstance(appliance, Described) else None
        gated = appliance if isinstance(appliance, Gated) else None
        attributes = _constants(
            version=None if platform is None else platform.version,
            guaranteedMsgingTransactionReplicationCompatibilityMode=None
            if platform is None
            else platform.transactions,
            configSyncEnabled=None if platform is None else True,
            configSyncUp=None if platform is None else platform.config_sync_up,
            configSyncRedundancyGroupUp=None if platform is None else bool(platform.config_sync_group_up),
            guaranteedMsgingEnabled=True,
        )
        attributes["serviceMsgBackboneEnabled"] = lambda: None if gated is None else gated.is_backbone_up()
        attributes["guaranteedMsgingOperationalStatus"] = lambda: _spool_status(appliance.redundancy().spool)
        return Thing(attributes, {"msgVpns": lambda: len(appliance.vpn_names())})

    def vpns(self) -> list[Thing]:
        """Every message VPN, in order."""
        return [self.vpn(name) for name in sorted(self._appliance.vpn_names())]

    def vpn(self, name: str) -> Thing:
        """One message VPN. Raises ``NoSuchObject``."""
        row = self._appliance.replication(name)
        queue = _Once(lambda: self._replication_queue(name))
        is_active, has_bridge = row.role == "active", row.local_bridge is not None
        attributes = _constants(
            msgVpnName=name,
            enabled=True,
            state="standby" if row.admin_up and not is_active else "up",
            replicationEnabled=row.admin_up,
            replicationRole=row.role,
            replicationBridgeName=BRIDGE if row.admin_up else None,
            replicationBridgeUp=None if not has_bridge else row.local_bridge != "down",
            replicationBridgeBoundToQueue=None if not has_bridge else row.local_bridge == "up",
            replicationRemoteBridgeUp=row.remote_bridge_up,
            replicationQueueBound=row.queue_bound,
            replicationSyncEligible=row.sync_eligible,
            replicationRejectMsgWhenSyncIneligibleEnabled=row.reject_when_ineligible,
            replicationTransactionMode=row.transaction_mode,
        )
        attributes["replicationQueueMaxMsgSpoolUsage"] = lambda: None if (q := queue()) is None else q.quota_mb
        attributes["replicationQueueRejectMsgToSenderOnDiscardEnabled"] = lambda: (
            None if (q := queue()) is None else q.reject_on_discard
        )
        return Thing(
            attributes,
            {
                "bridges": constant_size(1 if row.admin_up else 0),
                "clients": lambda: len(self.clients(name)) if isinstance(self._appliance, Gated) else None,
                "queues": lambda: len(self.queues(name)),
                "topicEndpoints": lambda: len(self.topic_endpoints(name)),
                "transactions": lambda: len(self._appliance.transactions(name)),
            },
        )

    def bridges(self, vpn: str) -> list[Thing]:
        """The replication bridge, if any. On the active VPN the bridge is disabled (section 1.6)."""
        row = self._appliance.replication(vpn)
        if not row.admin_up:
            return []
        return [Thing(_constants(msgVpnName=vpn, bridgeName=BRIDGE, bridgeVirtualRouter="primary", **_bridge(row)))]

    def clients(self, vpn: str) -> list[Thing]:
        """The connected clients. An appliance without this information refuses, because "unknown" differs from "no
        clients"."""
        self._appliance.replication(vpn)
        if not isinstance(self._appliance, Gated):
            raise Refused("this simulated appliance does not report clients")
        found = self._appliance.clients(vpn)
        return [
            Thing(_constants(msgVpnName=vpn, clientName=client.name, clientUsername=client.username))
            for client in found
        ]

    def queues(self, vpn: str) -> list[Thing]:
        """The replication queue and the durable queues."""
        own = self._replication_queue_thing(vpn)
        return ([] if own is None else [own]) + [_endpoint(one, "queueName") for one in self._endpoints(vpn, "queue")]

    def topic_endpoints(self, vpn: str) -> list[Thing]:
        return [_endpoint(one, "topicEndpointName") for one in self._endpoints(vpn, "topic-endpoint")]

    def messages(self, vpn: str, kind: str, name: str) -> tuple[list[Thing], int]:
        """The messages that can be shown, in the order of their ids, and the number of all messages. Raises
        ``NoSuchObject``."""
        if kind == "queue" and name == REPLICATION_QUEUE:
            return [], self._appliance.replication_queue(vpn).messages
        found = next((one for one in self._endpoints(vpn, kind) if one.name == name), None)
        if found is None or not isinstance(self._appliance, Holding):
            raise NoSuchObject(f"{kind} {name} does not exist")
        key = "queueName" if kind == "queue" else "topicEndpointName"
        return [
            Thing(
                _constants(
                    msgVpnName=vpn,
                    msgId=one.number,
                    spooledTime=int(one.spooled_at),
                    replicationState=one.state,
                    replicationGroupMsgId=message_id(one.number),
                    attachmentSize=one.size,
                    contentSize=0,
                    redeliveryCount=0,
                    expiryTime=0,
                    dmqEligible=False,
                    priority=4,
                    undelivered=True,
                    **{key: name},
                )
            )
            for one in self._appliance.messages(vpn, found.kind, name, None, _SHOWN_MAX)
        ], found.messages

    def transactions(self, vpn: str) -> list[Thing]:
        return [_transaction(one) for one in self._appliance.transactions(vpn)]

    def _endpoints(self, vpn: str, kind: str) -> Sequence[EndpointView]:
        self._appliance.replication(vpn)
        found = self._appliance.endpoints(vpn) if isinstance(self._appliance, Holding) else ()
        return [one for one in found if one.kind == kind]

    def _replication_queue(self, vpn: str) -> QueueView | None:
        try:
            return self._appliance.replication_queue(vpn)
        except NoSuchObject:
            return None

    def _replication_queue_thing(self, vpn: str) -> Thing | None:
        view = self._replication_queue(vpn)
        if view is None:
            return None
        attributes = _constants(
            msgVpnName=vpn,
            queueName=REPLICATION_QUEUE,
            durable=True,
            msgSpoolUsage=round(view.usage_mb * _MEGABYTE),
            msgSpoolPeakUsage=round(view.high_water_mb * _MEGABYTE),
            maxMsgSpoolUsage=view.quota_mb,
            # A life-time counter, not a depth. It must only not be less than the present number of messages.
            spooledMsgCount=view.messages + round(view.high_water_mb * _MEGABYTE),
            lowestMsgId=None,
        )
        return Thing(attributes, {"msgs": constant_size(view.messages)})


class _Once:
    """Calls ``look`` at most once and keeps its result."""

    def __init__(self, look: Callable[[], QueueView | None]) -> None:
        self._look = look
        self._found: list[QueueView | None] = []

    def __call__(self) -> QueueView | None:
        if not self._found:
            self._found.append(self._look())
        return self._found[0]


def constant_size(size: int) -> Callable[[], int | None]:
    return lambda: size


def _spool_status(spool: str) -> str:
    return {
        "AD-Active": "active",
        "AD-Standby": "standby",
        "AD-Activating": "activating",
        "AD-NotReady": "not-ready",
        "AD-Disabled": "disabled",
    }[spool]


def _bridge(row: VpnReplication) -> dict[str, Value]:
    match row.local_bridge:
        case None:
            return {"enabled": False, "inboundState": "disabled", "inboundFailureReason": "Bridge disabled"}
        case "up":
            return {"enabled": True, "inboundState": "ready-in-sync", "boundToQueue": True}
        case "queue-unbound":
            return {"enabled": True, "inboundState": "ready-subscribing", "boundToQueue": False}
        case _:
            return {"enabled": True, "inboundState": "not-ready-connecting", "boundToQueue": False}


def _endpoint(view: EndpointView, key: str) -> Thing:
    attributes = _constants(
        msgVpnName=view.vpn,
        durable=True,
        msgSpoolUsage=round(view.usage_mb * _MEGABYTE),
        lowestMsgId=view.oldest_id,
        **{key: view.name},
    )
    return Thing(attributes, {"msgs": constant_size(view.messages)})


def _transaction(view: TransactionView) -> Thing:
    attributes = _constants(
        msgVpnName=view.vpn,
        xid=view.xid,
        type=view.type.lower(),
        state=view.state.lower(),
        replicated=view.replicated,
        timeInState=int(view.in_state_s),
        clientName=view.client,
        clientUsername=view.client_username,
    )
    return Thing(
        attributes,
        {
            "consumerMsgs": constant_size(view.messages_consumed),
            "publisherMsgs": constant_size(view.messages_published),
        },
    )


def consumer_messages(view: TransactionView) -> list[Thing]:
    """The messages that the transaction consumes."""
    return [
        Thing(_constants(msgVpnName=view.vpn, xid=view.xid, msgId=number, endpointType=kind, endpointName=name))
        for number, kind, name in view.consumed
    ]
