"""Pages through the messages of endpoints over SEMP's monitor API. Reads only: nothing is consumed or delivered.

docs/sources/solace.md, 1.7. Brokers were seen to list messages in the order of their ids, but no source promises this
order. So each page is checked, and another order is refused, because such a reading could not be resumed. SEMP does not
report content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from adapters.solace.semp.client import SempReader
from adapters.solace.semp.endpoints import durable_endpoints, endpoint_path
from adapters.solace.semp.envelope import Object, count_in, moment_in, size_of, text_in
from orchestrator.errors import UnreadableReply
from orchestrator.family.contract import BrowsedMessage, Endpoint, EndpointStats

_ID, _SPOOLED, _STATE = "msgId", "spooledTime", "replicationState"
_GROUP_ID = "replicationGroupMsgId"
_SIZES = ("contentSize", "attachmentSize")
# Expiry, dead message queue and priority of a message: these explain differences that are not a loss.
_FATE = ("expiryTime", "dmqEligible", "priority")
_MESSAGE = (_ID, _SPOOLED, _STATE, _GROUP_ID, *_SIZES, "redeliveryCount", *_FATE)
_COUNTERS = ("spooledMsgCount", "deletedMsgCount", "msgs.count")
_STATES: Mapping[str, Literal["replicated", "not-replicated", "pending-replication"]] = {
    "replicated": "replicated",
    "not-replicated": "not-replicated",
    "pending-replication": "pending-replication",
}


def list_endpoints(reader: SempReader, service: str) -> list[Endpoint]:
    """Every durable queue and topic endpoint, by name, except the replication queue."""
    return sorted(Endpoint(service, name, kind) for kind, name, _ in durable_endpoints(reader, service))


def count_endpoint(reader: SempReader, endpoint: Endpoint) -> EndpointStats:
    """The endpoint's depth and life-time counters, as far as the broker reports them."""
    path = _path(endpoint)
    item = reader.one(path, select=_COUNTERS)
    depth = size_of(item.collections, "msgs")
    return EndpointStats(
        messages=reader.size(path + "/msgs") if depth is None else depth,
        spooled_total=count_in(item.data, "spooledMsgCount"),
        deleted_total=count_in(item.data, "deletedMsgCount"),
    )


def browse_endpoint(reader: SempReader, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
    """The endpoint's messages, page by page. Raises ``AdapterError``."""
    last = -1 if after is None else after.number
    # If a broker ignores the condition, it lists all messages, and the earlier ones are skipped here.
    where = None if after is None else f"{_ID}>{after.number}"
    previous = -1
    for item in reader.all(_path(endpoint) + "/msgs", select=_MESSAGE, where=where):
        number = count_in(item.data, _ID)
        if number is None:
            raise _unreadable(reader, endpoint, item.data, f"has a message without {_ID}")
        if number <= previous:
            raise _unreadable(reader, endpoint, item.data, "does not list its messages in the order of their ids")
        previous = number
        if number > last:
            yield _held(reader, endpoint, number, item.data)


def _held(reader: SempReader, endpoint: Endpoint, number: int, data: Object) -> BrowsedMessage:
    spooled = moment_in(data, _SPOOLED)
    if spooled is None:
        raise _unreadable(reader, endpoint, data, f"has a message without {_SPOOLED}")
    state = _STATES.get(text_in(data, _STATE) or "")
    message_id = text_in(data, _GROUP_ID)
    if message_id is None and state == "not-replicated":
        message_id = f"{reader.device}#{number}"  # at this site only, so it is not compared
    if message_id is None:
        raise _unreadable(reader, endpoint, data, f"has a replicated message without {_GROUP_ID}")
    sizes = [size for name in _SIZES if (size := count_in(data, name)) is not None]
    return BrowsedMessage(
        number=number,
        message_id=message_id,
        spooled_at=spooled,
        size=sum(sizes) if sizes else None,
        replicated=state,
        redeliveries=count_in(data, "redeliveryCount"),
        expires_at=moment_in(data, "expiryTime"),
        dmq_eligible=eligible if isinstance(eligible := data.get("dmqEligible"), bool) else None,
        priority=count_in(data, "priority"),
    )


def _path(endpoint: Endpoint) -> str:
    return endpoint_path(endpoint.kind, endpoint.service, endpoint.name)


def _unreadable(reader: SempReader, endpoint: Endpoint, data: Object, why: str) -> UnreadableReply:
    text = f"{endpoint.kind} {endpoint.name} of {reader.device} {why}"
    return UnreadableReply(text, text=str(data)[:4000], device=reader.device)
