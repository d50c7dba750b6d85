"""The readings of a site over SEMP: who can connect, what its endpoints hold, and what its nodes are.

docs/sources/solace.md, 1.5 to 1.7, 1.10 and 2.2. Nothing here changes a device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal

from adapters.http.exchange import Reply
from adapters.solace.reading_models import EndpointDepth, Endpoints, NodeFence, Platform
from adapters.solace.semp.client import Item, SempReader
from adapters.solace.semp.endpoints import KINDS, collection_of, durable_endpoints, endpoint_path
from adapters.solace.semp.envelope import count_in, flag_in, moment_in, size_of, text_in
from adapters.solace.semp.nodes import BROKER
from adapters.solace.semp.paths import PAGE, path_of, query_of
from adapters.solace.semp.readings import Answers, vpn_lines, vpns
from adapters.solace.semp.v1 import (
    SHOW_REPLICATION,
    interface_in,
    line_of,
    mate_in,
    oldest_in,
    show_interface,
    show_oldest,
)
from orchestrator.errors import CommandRejected, NoSuchService, UnreadableReply
from orchestrator.family.contract import EndpointKind
from orchestrator.model.outcome import Failure

_NAME = "msgVpnName"
_BACKBONE = "serviceMsgBackboneEnabled"
_ENABLED, _ROLE = "replicationEnabled", "replicationRole"
_DOOR = (_NAME, _ENABLED, _ROLE, "clients.count")
_MODE = "guaranteedMsgingTransactionReplicationCompatibilityMode"
_GROUP_SYNC, _SYNC = "configSyncRedundancyGroupUp", "configSyncUp"
_PLATFORM = ("version", _MODE, "configSyncEnabled", _GROUP_SYNC, _SYNC)
_MODES: Mapping[str, Literal["legacy", "transacted"]] = {"legacy": "legacy", "transacted": "transacted"}

_ABOUT_USER = path_of("monitor", "about", "user")
_LEVEL = "globalAccessLevel"

_ATTRIBUTES = ("lowestMsgId", "msgs.count")
_MESSAGE = ("msgId", "spooledTime")


# The fence


def fence_lines(interface: str | None = None) -> list[str]:
    """The requests of ``read_fence``; requests for the clients of each message VPN are additional."""
    door = f"GET {BROKER}{query_of(select=(_BACKBONE,))}" if interface is None else line_of(show_interface(interface))
    return [
        door,
        f"GET {path_of('monitor', 'msgVpns')}{query_of(select=_DOOR, count=PAGE)}",
    ]


def _lets_in(reader: SempReader, interface: str | None) -> bool | None:
    if interface is None:
        return flag_in(reader.one(BROKER, select=(_BACKBONE,)).data, _BACKBONE)
    try:
        return interface_in(reader.show(show_interface(interface)), interface)
    except CommandRejected:
        return None  # no appliance, or no such interface


def read_fence(reader: SempReader, interface: str | None) -> NodeFence:
    """The node's fence state, from ``interface`` or the message backbone. Raises ``AdapterError``."""
    up = _lets_in(reader, interface)
    name = reader.device
    try:
        listed = list(reader.all(path_of("monitor", "msgVpns"), select=_DOOR))
    except (CommandRejected, NoSuchService):
        return NodeFence(node=name, backbone_up=up)
    return NodeFence(node=name, backbone_up=up, clients=_clients(reader, listed), active=_active(listed))


def _clients(reader: SempReader, listed: Sequence[Item]) -> int | None:
    """Connected clients of all message VPNs; the node's own, whose names start with ``#``, are not counted.

    None if the node refuses to tell: an unknown number is not 0.
    """
    try:
        return _count_clients(reader, listed)
    except (CommandRejected, NoSuchService):
        return None


def _count_clients(reader: SempReader, listed: Sequence[Item]) -> int:
    found = 0
    for vpn in listed:
        name = text_in(vpn.data, _NAME)
        if name is None:
            raise UnreadableReply(
                f"{reader.device} lists a message VPN without a name", text=str(vpn.data), device=reader.device
            )
        if size_of(vpn.collections, "clients") == 0:
            continue
        clients = reader.all(path_of("monitor", "msgVpns", name, "clients"), select=("clientName",))
        found += sum(not (text_in(client.data, "clientName") or "").startswith("#") for client in clients)
    return found


def _active(listed: Sequence[Item]) -> int | None:
    """The number of replicated message VPNs with activity; None if one does not report it and no other has activity."""
    states = [_is_active(vpn) for vpn in listed]
    return states.count(True) or (None if None in states else 0)


def _is_active(vpn: Item) -> bool | None:
    enabled, role = flag_in(vpn.data, _ENABLED), text_in(vpn.data, _ROLE)
    if enabled is False or (role is not None and role != "active"):
        return False
    return None if enabled is None or role is None else True


# Endpoints


def read_endpoints(reader: SempReader, services: Sequence[str]) -> Answers:
    """Every durable endpoint of each of ``services``: how many messages it holds, and how old the oldest is."""
    answers: Answers = {}
    for service, vpn in vpns(reader, services, (_NAME,)).items():
        answers[service] = vpn if isinstance(vpn, Failure) else _endpoints(reader, service)
    return answers


def endpoint_lines(services: Sequence[str]) -> list[str]:
    """The requests of ``read_endpoints``; a request for the oldest message of each endpoint is additional."""
    lists = [
        f"GET {collection_of(kind, service)}{query_of(select=(name, 'durable', *_ATTRIBUTES), count=PAGE)}"
        for service in services
        for kind, (_, name) in KINDS.items()
    ]
    return [vpn_lines(services, (_NAME,)), *lists]


def _endpoints(reader: SempReader, service: str) -> Endpoints | Failure:
    try:
        listed = list(durable_endpoints(reader, service, _ATTRIBUTES))
        items = [_endpoint(reader, service, kind, name, item) for kind, name, item in listed]
    except (CommandRejected, NoSuchService, UnreadableReply) as error:
        return Failure.of(error)
    return Endpoints(items=tuple(items))


def _endpoint(reader: SempReader, service: str, kind: EndpointKind, name: str, item: Item) -> EndpointDepth:
    path = endpoint_path(kind, service, name)
    depth = size_of(item.collections, "msgs")
    if depth is None:
        depth = reader.size(path + "/msgs")
    oldest = None
    if depth != 0:
        oldest = _oldest_in_v1(reader, service, name) if kind == "queue" else None
        if oldest is None:
            oldest = _oldest_in_v2(reader, path, count_in(item.data, "lowestMsgId"))
    return EndpointDepth(name=name, endpoint=kind, messages=depth, oldest_at=oldest)


def _oldest_in_v1(reader: SempReader, service: str, queue: str) -> float | None:
    """SEMP v1 has a request for the oldest message of a queue. No source gives its form for topic endpoints."""
    try:
        return oldest_in(reader.show(show_oldest(queue, service)), queue)
    except (CommandRejected, UnreadableReply):
        return None


def _oldest_in_v2(reader: SempReader, path: str, lowest: int | None) -> float | None:
    """The oldest message, read by its id, since no order of ``msgs`` is promised (section 1.7). None if it was consumed
    meanwhile."""
    if lowest is None:
        return None
    try:
        found = reader.one(f"{path}/msgs/{lowest}", select=_MESSAGE).data
    except (NoSuchService, CommandRejected):
        return None
    return moment_in(found, "spooledTime")


# The platform


def read_platform(reader: SempReader, is_pair: bool) -> Platform:
    """The platform of the serving node, and the level of the account. Raises ``AdapterError``."""
    broker, reply = reader.dated(BROKER, select=_PLATFORM)
    return Platform(
        node=reader.device,
        version=text_in(broker.data, "version"),
        transactions=_MODES.get(text_in(broker.data, _MODE) or ""),
        config_sync_up=_config_sync(broker, is_pair=is_pair),
        mate=_mate(reader),
        level=level_of(reader),
        clock_offset_s=_clock_offset(reply),
    )


def platform_lines() -> list[str]:
    """The requests of ``read_platform``."""
    return [
        f"GET {BROKER}{query_of(select=_PLATFORM)}",
        line_of(SHOW_REPLICATION),
        f"GET {_ABOUT_USER}{query_of(select=(_LEVEL,))}",
    ]


def level_of(reader: SempReader) -> str | None:
    """The global access level of the account; None when the broker does not report."""
    try:
        return text_in(reader.one(_ABOUT_USER, select=(_LEVEL,)).data, _LEVEL)
    except (CommandRejected, NoSuchService):
        return None


def _config_sync(broker: Item, *, is_pair: bool) -> bool | None:
    """Within a pair, the redundancy group counts: ``configSyncUp`` is also False if only the other site is away
    (section 1.10)."""
    if flag_in(broker.data, "configSyncEnabled") is False:
        return False
    return flag_in(broker.data, _GROUP_SYNC if is_pair else _SYNC)


def _mate(reader: SempReader) -> str | None:
    try:
        return mate_in(reader.show(SHOW_REPLICATION))
    except (CommandRejected, UnreadableReply):
        return None


def _clock_offset(reply: Reply) -> float | None:
    """The node's clock minus this machine's, from the ``Date`` of the answer: whole seconds in GMT (RFC 9110,
    5.6.7)."""
    try:
        there = parsedate_to_datetime(reply.headers["date"])
    except (KeyError, ValueError, TypeError):
        return None
    seconds = (there if there.tzinfo else there.replace(tzinfo=UTC)).timestamp() + 0.5
    return seconds - (reply.asked_at + reply.answered_at) / 2
