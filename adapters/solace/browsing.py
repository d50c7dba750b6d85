"""Shows the messages of endpoints over the CLI, for snapshots. Reads only: nothing is consumed or delivered.

docs/sources/solace-cli.md, 12: no source prints the layout, so it is read by labels. An endpoint is refused if a
message shows no id, time or group id. The CLI shows a whole endpoint within one answer; a long queue needs SEMP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from adapters.solace.nodes import Node
from adapters.solace.parse_endpoints import Message
from adapters.solace.site_readings import endpoints, messages
from orchestrator.errors import UnreadableReply
from orchestrator.family.contract import BrowsedMessage, Endpoint, EndpointStats

_STATES: Mapping[str, Literal["replicated", "not-replicated", "pending-replication"]] = {
    "yes": "replicated",
    "no": "not-replicated",
    "pending": "pending-replication",
}


def list_endpoints(node: Node, service: str) -> list[Endpoint]:
    """Every durable queue and topic endpoint, by name, except the replication queue."""
    return sorted(Endpoint(service, row.name, kind) for kind, row in endpoints(node, service))


def count_endpoint(node: Node, endpoint: Endpoint) -> EndpointStats:
    """The depth of the endpoint. The CLI's table has no life-time counters. Raises ``AdapterError``."""
    depths = [row.messages for kind, row in endpoints(node, endpoint.service) if _is(endpoint, kind, row.name)]
    return EndpointStats(messages=depths[0] if depths else None)


def browse_endpoint(node: Node, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
    """The endpoint's messages in the order of their ids. Raises ``AdapterError``."""
    if count_endpoint(node, endpoint).messages == 0:
        return
    last = previous = -1 if after is None else after.number
    for message in messages(node, endpoint.kind, endpoint.name, endpoint.service):
        if message.number is None or message.spooled_at is None:
            raise _unreadable(node, endpoint, message, "without their id, or without a time in a known time zone")
        if message.number <= last:
            continue
        if message.number <= previous:
            raise _unreadable(node, endpoint, message, "in an order that is not the order of their ids")
        previous = message.number
        yield _held(node, endpoint, message, message.number, message.spooled_at)


def _held(node: Node, endpoint: Endpoint, message: Message, number: int, spooled_at: float) -> BrowsedMessage:
    state = _STATES.get(message.replicated or "")
    message_id = message.group_id
    if message_id is None and state == "not-replicated":
        message_id = f"{node.device.name}#{number}"  # at this site only, so there is no message to compare it with
    if message_id is None:
        raise _unreadable(node, endpoint, message, "without their replication group id")
    return BrowsedMessage(
        number=number,
        message_id=message_id,
        spooled_at=spooled_at,
        size=message.size,
        replicated=state,
        redeliveries=message.redeliveries,
        dmq_eligible=message.dmq_eligible,
        priority=message.priority,
    )


def _is(endpoint: Endpoint, kind: str, name: str) -> bool:
    return (endpoint.kind, endpoint.name) == (kind, name)


def _unreadable(node: Node, endpoint: Endpoint, message: Message, why: str) -> UnreadableReply:
    text = f"{node.device.name} shows messages of {endpoint.kind} {endpoint.name} {why}"
    hint = "the CLI of this version does not show what a snapshot needs: add solace-semp under `also` of the site"
    return UnreadableReply(text, text=str(message), device=node.device.name, hint=hint)
