"""The durable endpoints of a message VPN over SEMP: where each kind is listed, and which of them count.

docs/sources/solace.md, 1.7. Endpoints that end with their client, and the replication queue, are left out. An endpoint
without a name in the list raises, because its messages may be the ones that a person asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adapters.solace.semp.client import Item, SempReader
from adapters.solace.semp.envelope import flag_in, text_in
from adapters.solace.semp.paths import REPLICATION_QUEUE, path_of
from orchestrator.errors import UnreadableReply
from orchestrator.family.contract import EndpointKind

# The collection of each kind, and the attribute with the name of an endpoint.
KINDS: Mapping[EndpointKind, tuple[str, str]] = {
    "queue": ("queues", "queueName"),
    "topic-endpoint": ("topicEndpoints", "topicEndpointName"),
}


def durable_endpoints(
    reader: SempReader, service: str, select: Sequence[str] = ()
) -> Iterator[tuple[EndpointKind, str, Item]]:
    """Kind, name and attributes (``select``) of each. Raises ``AdapterError``, ``UnreadableReply`` for a nameless one."""
    for kind, (_, key) in KINDS.items():
        for item in reader.all(collection_of(kind, service), select=(key, "durable", *select)):
            if flag_in(item.data, "durable") is False:
                continue
            name = text_in(item.data, key)
            if name is None:
                raise UnreadableReply(
                    f"{reader.device} lists a {kind} of {service} without a name",
                    text=str(item.data),
                    device=reader.device,
                )
            if name != REPLICATION_QUEUE:
                yield kind, name, item


def collection_of(kind: EndpointKind, service: str) -> str:
    """The path of the list of endpoints of this kind."""
    return path_of("monitor", "msgVpns", service, KINDS[kind][0])


def endpoint_path(kind: EndpointKind, service: str, name: str) -> str:
    """The path of one endpoint."""
    return path_of("monitor", "msgVpns", service, KINDS[kind][0], name)
