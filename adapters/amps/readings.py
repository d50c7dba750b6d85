"""Makes readings from the statistics of one instance. A value is None if it was not reported, or may be older than this
program's last action.

Sources: docs/sources/amps.md, 6.2 (fields), 9.4 (journals), 3.5 (bootstrap). Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adapters.amps.actions import links_out, permission_paths
from adapters.amps.config.model import REPLICATION_TYPES
from adapters.amps.document import Node, count_in, flag_in, list_in, moment_in, seconds_in, text_in, uptime_in
from adapters.amps.instances import AmpsInstance
from adapters.amps.paths import CONFIGURATION, look_at
from adapters.amps.reading_models import (
    Bootstrap,
    Clients,
    Instance,
    Link,
    Links,
    Permissions,
    Queue,
    Queues,
    Sow,
    SowTopic,
    TransactionLog,
    Transport,
    Transports,
)
from orchestrator.errors import CommandRejected, NoSuchService
from orchestrator.family.contract import ReadingSpec
from orchestrator.model.reading import Reading, sum_of

_WHO = ("name", "group", "version", "uptime", "timestamp")
_NAMES_KEPT = 5
# If a new sample is taken during a reading, the reading is repeated; AMPS takes samples seconds apart.
_LOOKS_AT_ONE_SAMPLE = 3


def read_instance(instance: AmpsInstance, service: str) -> Instance:
    """Which instance answers. Each value has its own node, and the guide does not list all of them
    (docs/sources/amps.md, 6.2 has no ``group``). A refused node makes its value unknown; the reading fails only if
    every node is refused."""
    reader = instance.reader
    told = {name: reader.leaf(name) for name in (*_WHO, "replication")}
    if not any(told.values()):
        told["name"] = reader.node("name")  # raises the reason
    return Instance(
        name=text_in(told["name"], "name"),
        group=text_in(told["group"], "group"),
        version=text_in(told["version"], "version"),
        uptime_s=uptime_in(told["uptime"], "uptime"),
        sampled_at=moment_in(told["timestamp"], "timestamp"),
        recovered=_has_recovered(instance, told["replication"]),
    )


def _has_recovered(instance: AmpsInstance, replication: Node) -> bool | None:
    """True once the instance replicates, since replication starts after recovery (docs/sources/amps.md, 3.5). Never
    False: no value shows that recovery has not finished."""
    links = links_out(replication)
    is_told = instance.assume.recovered_when_replicating and instance.samples.is_settled(instance.interval_s())
    return True if is_told and any(flag_in(link, "is_connected") for link in links or ()) else None


def read_transports(instance: AmpsInstance, service: str) -> Transports:
    """Every incoming transport. The inventory may name the transports for clients."""
    nodes = _sampled(instance, "transports")
    wanted = instance.of(service).client_transports
    return Transports(items=tuple(_transport(node, wanted) for node in nodes or ()))


def _transport(node: Node, wanted: Sequence[str] | None) -> Transport:
    name, kind = text_in(node, "name") or text_in(node, "id") or "", text_in(node, "type")
    is_for_others: bool | None = None if kind is None else kind in REPLICATION_TYPES
    if wanted is not None:
        is_for_others = name not in wanted
    return Transport(name=name, type=kind, replication=is_for_others, enabled=flag_in(node, "is_enabled"))


def read_clients(instance: AmpsInstance, service: str) -> Clients:
    """Applications that are connected: not other instances, and not clients that the inventory excludes."""
    nodes = _sampled(instance, "clients")
    if nodes is None:
        return Clients()
    names = [text_in(node, "client_name") or text_in(node, "connection_name") or "" for node in nodes]
    names = [name for name in names if "amps-replication" not in name and instance.is_application(name)]
    return Clients(count=len(names), names=tuple(sorted(names)[:_NAMES_KEPT]))


def read_links(instance: AmpsInstance, service: str) -> Links:
    """Every link out of the instance, with its configured type."""
    stamp, node = _one_sample(instance, "replication")
    interval_s = instance.interval_s()
    if not instance.samples.is_settled(interval_s):
        return Links(interval_s=interval_s)
    served, samples = instance.served(), instance.samples
    gap = samples.poll(interval_s)
    items = []
    for link in links_out(node) or ():
        name = text_in(link, "name") or text_in(link, "destination_name") or text_in(link, "id") or ""
        configured = served.destination(name, text_in(link, "destination_name")) if served else None
        connected, behind_s = flag_in(link, "is_connected"), seconds_in(link, "seconds_behind")
        lasts = {
            limit: samples.lasts_s(
                (name, limit),
                _is_within(connected, behind_s, limit),
                stamp,
                text_in(link, "disconnect_count"),
            )
            for limit in (0.0, instance.assume.keeping_up_s)
        }
        items.append(
            Link(
                name=name,
                destination=text_in(link, "destination_name"),
                group=text_in(link, "destination_group_name"),
                connected=connected,
                sync=_is_sync(text_in(link, "replication_type")),
                configured_sync=_is_sync(configured.sync_type) if configured else None,
                behind_s=behind_s,
                calm_s=lasts[0.0],
                steady_s=lasts[instance.assume.keeping_up_s],
                messages_out=count_in(link, "messages_out"),
            )
        )
    return Links(
        mate=_named(instance, items, instance.of(service).mate),
        interval_s=interval_s,
        apart_s=gap.apart_s if gap else None,
        apart_most_s=gap.most_s if gap else None,
        items=tuple(items),
    )


def _is_within(connected: bool | None, behind_s: float | None, limit: float) -> bool | None:
    """Is the link connected, and at most ``limit`` seconds behind?"""
    return None if connected is None or behind_s is None else connected and behind_s <= limit


def _mate(links: Sequence[Link], wanted: str | None) -> str | None:
    """The name of the link to the other site: the one that the inventory means, or the only one."""
    if wanted is None:
        return links[0].name if len(links) == 1 else None
    fitting = [link.name for link in links if wanted in (link.name, link.destination)]
    fitting = fitting or [link.name for link in links if wanted == link.group]
    return fitting[0] if len(fitting) == 1 else None


def _named(instance: AmpsInstance, links: Sequence[Link], wanted: str | None) -> str | None:
    """The name of the link to the other site. Raises ``NoSuchService`` if the instance shows links, and none or several
    of them fit: waiting does not change that."""
    mate = _mate(links, wanted)
    if mate is not None or not links:
        return mate
    name = instance.device.name
    shown = ", ".join(sorted(link.name for link in links))
    why = (
        f"no link of {name}, or more than one, has the name, destination or group {wanted!r}"
        if wanted is not None
        else f"{name} has several links, and the inventory does not name the one to the mate"
    )
    raise NoSuchService(f"{why}; set `mate` in the site's options to one of these: {shown}", device=name)


def _is_sync(word: str | None) -> bool | None:
    return {"sync": True, "async": False}.get(word or "")


def read_queues(instance: AmpsInstance, service: str) -> Queues:
    """Every queue. A list that is left out, or refused, is empty only if the configuration has no queue either."""
    served = instance.served()
    is_without = served is not None and not served.instance.queues
    try:
        nodes = _sampled(instance, "queues")
    except CommandRejected:
        if not is_without:
            raise
        nodes = None
    if nodes is None:
        return Queues(items=() if is_without else None)
    return Queues(items=tuple(_queue(node) for node in nodes))


def _queue(node: Node) -> Queue:
    return Queue(
        name=text_in(node, "topic") or text_in(node, "id") or "",
        message_type=text_in(node, "message_type"),
        depth=count_in(node, "queue_depth"),
        owned=count_in(node, "owned"),
        proxied=flag_in(node, "proxied_transfer"),
    )


def read_transaction_log(instance: AmpsInstance, service: str) -> TransactionLog:
    """The journals on disk, and the room for them."""
    log, journals = _log(instance)
    served = instance.served()
    size = None if served is None else served.journal_bytes
    files = None if journals is None else sum(flag_in(one, "is_archived") is not True for one in journals)
    oldest = _moments(log, journals, "min_timestamp")
    newest = _moments(log, journals, "max_timestamp")
    return TransactionLog(
        files=files,
        bytes=None if files is None or size is None else files * size,
        capacity_bytes=instance.of(service).journal_capacity,
        oldest_at=min(oldest, default=None),
        newest_at=max(newest, default=None),
        empty=_is_empty(log, journals),
        outage_s=instance.outage_s,
    )


def _log(instance: AmpsInstance) -> tuple[Node, Sequence[Node] | None]:
    node = instance.reader.node("transaction_log")
    found = list_in(node, "transaction_log")
    log: Node = found[0] if found else {}
    return log, list_in(log, "journals")


def _moments(log: Node, journals: Sequence[Node] | None, name: str) -> list[float]:
    told = [moment_in(one, name) for one in (log, *(journals or ()))]
    return [one for one in told if one is not None]


def _is_empty(log: Node, journals: Sequence[Node] | None) -> bool | None:
    """Is the log empty? True only if the time of the newest message is reported, and the report says that there is
    none."""
    if _moments(log, journals, "max_timestamp"):
        return False
    said = [one["max_timestamp"] for one in (log, *(journals or ())) if "max_timestamp" in one]
    is_none = [one in ("", "0", 0, None) for one in said]
    return True if is_none and all(is_none) else None


def read_bootstrap(instance: AmpsInstance, service: str) -> Bootstrap:
    """Whether the instance would fetch its state from another one at its next start."""
    served = instance.served()
    log, journals = _log(instance)
    found = None if served is None else served.instance.bootstrap
    return Bootstrap(
        configured=None if served is None else found is not None,
        empty=_is_empty(log, journals),
        records=_records(read_sow(instance, service)),
        sources=tuple(address.text for address in found.addresses) if found else (),
    )


def read_sow(instance: AmpsInstance, service: str) -> Sow:
    """Every SOW topic. A list that is left out, or refused, is empty only if the configuration has none either."""
    nodes = list_in(instance.reader.leaf("sow"), "sow")
    if nodes is None:
        served = instance.served()
        return Sow(items=() if served is not None and not served.instance.sow else None)
    return Sow(
        items=tuple(
            SowTopic(
                topic=text_in(node, "topic") or text_in(node, "id") or "",
                message_type=text_in(node, "message_type"),
                records=count_in(node, "valid_keys"),
            )
            for node in nodes
        )
    )


def _records(sow: Sow) -> int | None:
    return None if sow.items is None else sum_of(one.records for one in sow.items)


def read_permissions(instance: AmpsInstance, service: str) -> Permissions:
    """The answer of the entitlement check for each action. The check changes nothing."""
    told = {
        path: instance.reader.may(path, instance.assume.check_segment) for path in permission_paths(instance, service)
    }
    denied = tuple(path for path, granted in told.items() if granted is False)
    return Permissions(denied=denied, known=bool(told) and None not in told.values())


def _sampled(instance: AmpsInstance, name: str) -> Sequence[Node] | None:
    """A collection; None if it was left out, or may be older than this program's last action. A refusal (404) counts as
    left out if the inventory says that such a list is empty."""
    try:
        node = instance.reader.node(name)
    except CommandRejected:
        if not instance.assume.missing_list_is_empty:
            raise
        node = {}
    if not instance.samples.is_settled(instance.interval_s()):
        return None
    nodes = list_in(node, name)
    return [] if nodes is None and name not in node and instance.assume.missing_list_is_empty else nodes


def _one_sample(instance: AmpsInstance, name: str) -> tuple[float | None, Node]:
    """A node, and the time of its sample, which is the same before and after the reading."""
    stamp = _stamp(instance)
    for _ in range(_LOOKS_AT_ONE_SAMPLE):
        node, before = instance.reader.node(name), stamp
        stamp = _stamp(instance)
        if stamp == before:
            break
    return stamp, node


def _stamp(instance: AmpsInstance) -> float | None:
    return moment_in(instance.reader.leaf("timestamp"), "timestamp")


Reads = Callable[[AmpsInstance, str], Reading]


def _spec(name: str, summary: str, *targets: str) -> ReadingSpec:
    lines = [f"GET {target}" for target in targets]
    return ReadingSpec(name, summary, lambda services: lines)


READERS: Mapping[str, Reads] = {
    "instance": read_instance,
    "transports": read_transports,
    "clients": read_clients,
    "links": read_links,
    "queues": read_queues,
    "transaction_log": read_transaction_log,
    "bootstrap": read_bootstrap,
    "sow": read_sow,
    "permissions": read_permissions,
}
_MAY = "/amps/administrator/authorization/entitlement/transport/amps-admin/check.json?path=<each action>"
SPECS: Mapping[str, ReadingSpec] = {
    one.name: one
    for one in (
        _spec(
            "instance",
            "Name and start time of the instance, and whether it replicates",
            *map(look_at, (*_WHO, "replication")),
        ),
        _spec("transports", "Incoming transports and whether they are enabled", look_at("transports")),
        _spec("clients", "Applications that are connected", look_at("clients")),
        _spec("links", "Links to other instances", look_at("timestamp"), look_at("replication"), CONFIGURATION),
        _spec("queues", "Queues and the messages that this instance owns", look_at("queues")),
        _spec("transaction_log", "Journals on disk", look_at("transaction_log"), CONFIGURATION),
        _spec(
            "bootstrap",
            "Whether the instance would fetch its state from another instance",
            look_at("transaction_log"),
            look_at("sow"),
            CONFIGURATION,
        ),
        _spec("sow", "Records of each SOW topic", look_at("sow"), CONFIGURATION),
        _spec("permissions", "What the account may do, according to the entitlement check", _MAY),
    )
}
