"""The configuration file of a simulated instance, as ``/amps/instance/config.xml`` serves it.

Elements and their order are those of docs/sources/amps.md, 3 and 4. This module only writes configuration files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

from simulator.amps.layout import DestinationLayout, FabricLayout, InstanceLayout, QueueLayout, TopicLayout

_INDENT = "  "
_REPLICATION_PORT = 10_004
_CLIENT_PORT = 9_007


def replication_address(fabric: FabricLayout, name: str) -> str:
    """The replication address of an instance: host and port as in its configuration. No process listens there."""
    return f"{name}.example.com:{_REPLICATION_PORT + fabric.names.index(name)}"


def configuration_xml(fabric: FabricLayout, instance: InstanceLayout, *, admin: str) -> str:
    """The whole file. ``admin``: the address of its administration."""
    lines = [
        "<!-- A SIMULATED instance. -->",
        "<AMPSConfig>",
        *_nested(1, "", lambda: _top(instance)),
        *_nested(1, "Admin", lambda: iter([_tag("InetAddr", admin), _tag("Interval", f"{instance.interval:g}s")])),
        *_nested(1, "Transports", lambda: _transports(fabric, instance)),
        *_nested(1, "TransactionLog", lambda: _log(instance)),
        *_nested(1, "SOW", lambda: _sow(instance)),
        *_nested(1, "Replication", lambda: _replication(fabric, instance)),
        *_nested(1, "Bootstrap", lambda: _bootstrap(fabric, instance)),
        "</AMPSConfig>",
    ]
    return "\n".join(lines) + "\n"


def _tag(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _nested(depth: int, name: str, inside: Callable[[], Iterator[str]]) -> list[str]:
    """The indented lines of an element, or no lines if the element is empty."""
    lines = list(inside())
    if not lines:
        return []
    if not name:
        return [_INDENT * depth + line for line in lines]
    return [
        f"{_INDENT * depth}<{name}>",
        *(f"{_INDENT * (depth + 1)}{line}" for line in lines),
        f"{_INDENT * depth}</{name}>",
    ]


def _element(name: str, *lines: str) -> Iterator[str]:
    yield from _nested(0, name, lambda: iter(lines))


def _top(instance: InstanceLayout) -> Iterator[str]:
    yield _tag("Name", instance.name)
    yield _tag("Group", instance.group_name)


def _transports(fabric: FabricLayout, instance: InstanceLayout) -> Iterator[str]:
    for number, one in enumerate(instance.transports):
        at = (
            replication_address(fabric, instance.name).partition(":")[2]
            if one.is_replication
            else str(_CLIENT_PORT + number)
        )
        state = () if one.enabled else (_tag("InitialState", "disabled"),)
        protocol = () if one.is_replication else (_tag("Protocol", "amps"),)
        yield from _element(
            "Transport", _tag("Name", one.name), _tag("Type", one.type), _tag("InetAddr", at), *protocol, *state
        )


def _log(instance: InstanceLayout) -> Iterator[str]:
    logged = [(one.name, one.message_type) for one in instance.topics if one.logged]
    logged += [(one.name, one.message_type) for one in instance.queues if one.name not in dict(logged)]
    if logged:
        yield _tag("JournalDirectory", f"./{instance.name}/journal")
        yield _tag("JournalSize", "10MB")
    for name, message_type in logged:
        yield from _element("Topic", _tag("Name", name), _tag("MessageType", message_type))


def _sow(instance: InstanceLayout) -> Iterator[str]:
    for topic in instance.topics:
        if topic.keys:
            yield from _sow_topic(topic)
    for queue in instance.queues:
        yield from _queue(queue)


def _sow_topic(topic: TopicLayout) -> Iterator[str]:
    yield from _element(
        "Topic",
        _tag("Name", topic.name),
        _tag("MessageType", topic.message_type),
        *(_tag("Key", key) for key in topic.keys),
        _tag("FileName", f"./sow/{topic.name}.sow"),
    )


def _queue(queue: QueueLayout) -> Iterator[str]:
    owner = (_tag("InitialOwner", queue.initial_owner),) if queue.kind == "GroupLocalQueue" else ()
    yield from _element(
        queue.kind,
        _tag("Name", queue.name),
        _tag("MessageType", queue.message_type),
        _tag("UnderlyingTopic", queue.topic),
        *owner,
    )


def _replication(fabric: FabricLayout, instance: InstanceLayout) -> Iterator[str]:
    for link in instance.destinations:
        yield from _element("Destination", *_destination(fabric, instance, link))


def _destination(fabric: FabricLayout, instance: InstanceLayout, link: DestinationLayout) -> Iterator[str]:
    types = {one.message_type for one in instance.topics} | {one.message_type for one in instance.queues} or {"json"}
    for topic in link.topics:
        for message_type in sorted(types):
            exclude = (_tag("ExcludeValidation", ",".join(sorted(topic.exclude))),) if topic.exclude else ()
            yield from _element("Topic", _tag("MessageType", message_type), _tag("Name", topic.name), *exclude)
    yield _tag("Name", link.name)
    if link.pass_through is not None:
        yield _tag("PassThrough", link.pass_through)
    yield _tag("Group", link.group)
    yield _tag("SyncType", "sync" if link.sync else "async")
    yield from _element("Transport", *_addresses(fabric, link.addresses))


def _addresses(fabric: FabricLayout, servers: tuple[str, ...]) -> Iterator[str]:
    for server in servers:
        yield _tag("InetAddr", replication_address(fabric, server))
    yield _tag("Type", "amps-replication")


def _bootstrap(fabric: FabricLayout, instance: InstanceLayout) -> Iterator[str]:
    if instance.bootstrap is None:
        return
    for pattern in instance.bootstrap.topics:
        yield from _element("Topic", _tag("Name", pattern), _tag("MessageType", "json"))
    yield _tag("DataType", ",".join(sorted(instance.bootstrap.data)))
    yield from _element("Transport", *_addresses(fabric, instance.bootstrap.servers))
