"""The readings of a site over the CLI: who can connect, what its endpoints hold, and what its nodes are.

docs/sources/solace-cli.md, 1 to 10, 12, 13, 16 and 18. Each function reads like its counterpart over SEMP. A value that
the CLI does not print is unknown: the level of the account has no ``show``, and the oldest message of an endpoint has
no known layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from adapters.solace.names import checked_endpoint, quoted
from adapters.solace.nodes import Node
from adapters.solace.parse_doors import parse_backbone, parse_clients, parse_connections, parse_interface
from adapters.solace.parse_endpoints import Message, Row, is_of, parse_endpoints, parse_messages
from adapters.solace.parse_platform import config_sync_in, mate_in, moment_in, transaction_mode_in, version_in
from adapters.solace.parse_queue import REPLICATION_QUEUE
from adapters.solace.parse_replication import parse_replication
from adapters.solace.reading_models import EndpointDepth, Endpoints, NodeFence, Platform
from adapters.solace.refusals import unreadable
from adapters.solace.tables import lines_of
from orchestrator.errors import CommandRejected, Forbidden, NoSuchService, NotServing, UnreadableReply
from orchestrator.family.contract import EndpointKind
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role

Answers = dict[str, Reading | Failure]
Told = TypeVar("Told")

SHOW_SERVICE, SHOW_CLIENTS, SHOW_VPNS = "show service", "show client *", "show message-vpn * detail"
SHOW_REPLICATIONS = "show message-vpn * replication"
SHOW_VERSION, SHOW_MATE, SHOW_CONFIG_SYNC = "show version", "show replication", "show config-sync"
SHOW_SPOOL_DETAIL, SHOW_CLOCK = "show message-spool detail", "show clock"
KINDS: tuple[EndpointKind, ...] = ("queue", "topic-endpoint")
# Errors in one ``show`` of several that leave the answers to the others readable.
_NO_ANSWER = (CommandRejected, NoSuchService, NotServing, UnreadableReply)


# The fence


def fence_lines(interface: str | None = None) -> list[str]:
    """The commands of ``read_fence``."""
    return [_show_door(interface), SHOW_CLIENTS, SHOW_REPLICATIONS]


def read_fence(node: Node, interface: str | None) -> NodeFence:
    """The node's fence state, from ``interface`` or the message backbone. Raises ``AdapterError`` when the session
    breaks."""
    return NodeFence(
        node=node.device.name,
        backbone_up=_told(lambda: _lets_in(node, interface)),
        clients=_told(lambda: _clients(node)),
        active=_told(lambda: _active(node)),
    )


def _lets_in(node: Node, interface: str | None) -> bool | None:
    text = node.read(_show_door(interface))
    if interface is None:
        return parse_backbone(text, node.device.name)
    return parse_interface(text, interface, node.device.name)


def _show_door(interface: str | None) -> str:
    return SHOW_SERVICE if interface is None else f"show interface {interface}"


def _clients(node: Node) -> int | None:
    """Connected clients. If the output is empty, the connections of the message VPNs count: 0 means no client. Any
    other number may include the node's own connections, so the result is None."""
    text = node.read(SHOW_CLIENTS)
    if lines_of(text):
        return parse_clients(text, node.device.name)
    return 0 if parse_connections(node.read(SHOW_VPNS)) == 0 else None


# A row of the table of replication states that is not a message VPN (docs/sources/solace-cli.md).
_CONFIG_SYNC = "#config-sync"


def _active(node: Node) -> int | None:
    """The number of replicated message VPNs with activity; None if one does not report it and no other has activity."""
    rows = parse_replication(node.read(SHOW_REPLICATIONS), node.device.name)
    states = [
        False if row.enabled is False or row.role is Role.STANDBY else None if row.role is None else row.enabled
        for name, row in rows.items()
        if name != _CONFIG_SYNC
    ]
    return states.count(True) or (None if None in states else 0)


def _told(read: Callable[[], Told | None]) -> Told | None:
    """The value that ``read`` returns, or None if the node answers with something else."""
    try:
        return read()
    except _NO_ANSWER:
        return None


# Endpoints


def read_endpoints(node: Node, services: Sequence[str]) -> Answers:
    """Every durable endpoint of each of ``services``: how many messages it holds, and since when the oldest is there.

    An error about one service is the answer for that service. Raises ``AdapterError`` when the session breaks.
    """
    answers: Answers = {}
    for service in services:
        try:
            answers[service] = Endpoints(
                items=tuple(_depth(node, kind, row) for kind, row in endpoints(node, service))
            )
        except (CommandRejected, NoSuchService, UnreadableReply) as error:
            answers[service] = Failure.of(error)
    return answers


def endpoint_lines(services: Sequence[str]) -> list[str]:
    """The commands of ``read_endpoints``; ``oldest_lines`` are additional."""
    return [_show_all(kind, service) for service in services for kind in KINDS]


def oldest_lines(services: Sequence[str]) -> list[str]:
    """The commands for the endpoints that hold messages."""
    return [show_messages(kind, f"<{kind}>", service, oldest=True) for service in services for kind in KINDS]


def endpoints(node: Node, service: str) -> list[tuple[EndpointKind, Row]]:
    """Kind and row of each durable endpoint of ``service``, except the replication queue. Raises ``AdapterError``."""
    found: list[tuple[EndpointKind, Row]] = []
    for kind in KINDS:
        rows = _listed(node, kind, service)
        found += [(kind, row) for row in rows if row.is_durable is not False and row.name != REPLICATION_QUEUE]
    return found


def _listed(node: Node, kind: EndpointKind, service: str) -> list[Row]:
    """The rows of one listing. Without endpoints nothing is printed (section 10). For topic endpoints, an empty output
    counts as none if the wider listing also shows none of ``service``. For queues it raises, because a replicated
    message VPN always has a replication queue."""
    name = node.device.name
    text = node.read(_show_all(kind, service))
    if lines_of(text):
        rows = parse_endpoints(text, name)
        strangers = [row for row in rows if not is_of(row, service)]
        if strangers:
            raise unreadable(
                f"it shows an endpoint of {strangers[0].vpn}, but the request was for {service}", text, name
            )
        return rows
    if kind == "queue":
        raise unreadable(f"it shows no queue of {service}, not even the replication queue", text, name)
    wider = node.read(f"show {kind} *")
    return [row for row in parse_endpoints(wider, name) if row.vpn == service] if lines_of(wider) else []


def _depth(node: Node, kind: EndpointKind, row: Row) -> EndpointDepth:
    oldest = None if row.messages == 0 else _told(lambda: _oldest(node, kind, row))
    return EndpointDepth(name=row.name, endpoint=kind, messages=row.messages, oldest_at=oldest)


def _oldest(node: Node, kind: EndpointKind, row: Row) -> float | None:
    try:
        command = show_messages(kind, checked_endpoint(row.name), row.vpn, oldest=True)
    except Forbidden:
        return None
    times = [message.spooled_at for message in parse_messages(node.read(command), node.device.name)]
    return min(time for time in times if time is not None) if times and None not in times else None


def messages(node: Node, kind: EndpointKind, name: str, service: str) -> list[Message]:
    """Every message of an endpoint that the CLI shows. Raises ``AdapterError``."""
    return parse_messages(
        node.read(show_messages(kind, checked_endpoint(name), service, oldest=False)), node.device.name
    )


def show_messages(kind: EndpointKind, name: str, service: str, *, oldest: bool) -> str:
    """The command that shows messages; the order of its words is that of SEMP v1's schema (section 12)."""
    which = "messages oldest detail count num-elements 1" if oldest else "messages detail"
    return f"show {kind} {quoted(name)} message-vpn {quoted(service)} {which}"


def _show_all(kind: EndpointKind, service: str) -> str:
    return f"show {kind} * message-vpn {quoted(service)}"


# The platform


def read_platform(node: Node, is_pair: bool) -> Platform:
    """The platform of the serving node; a value that is not shown is unknown. Raises ``AdapterError`` if the session
    breaks."""
    return Platform(
        node=node.device.name,
        version=version_in(node.read(SHOW_VERSION)),
        transactions=transaction_mode_in(node.read(SHOW_SPOOL_DETAIL)),
        config_sync_up=config_sync_in(node.read(SHOW_CONFIG_SYNC), is_pair=is_pair),
        mate=mate_in(node.read(SHOW_MATE)),
        clock_offset_s=_clock_offset(node),
    )


def platform_lines() -> list[str]:
    """The commands of ``read_platform``."""
    return [SHOW_VERSION, SHOW_SPOOL_DETAIL, SHOW_CONFIG_SYNC, SHOW_MATE, SHOW_CLOCK]


def _clock_offset(node: Node) -> float | None:
    """The node's clock minus this machine's. The node prints whole seconds, so half a second is added."""
    asked_at = node.clock.now()
    there = moment_in(node.read(SHOW_CLOCK))
    return None if there is None else there + 0.5 - (asked_at + node.clock.now()) / 2
