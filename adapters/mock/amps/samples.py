"""The statistics of one instance, as a tree of texts: what its administration interface shows of a sample.

Sources: facts/amps.md sections 6.2 and 6.5. Every value is a text; a collection is a list whose members have an
``id``. What 60East does not document is marked as an assumption. Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zlib import crc32

from adapters.mock.amps.clients import Client
from adapters.mock.amps.fabric import Fabric
from adapters.mock.amps.instance import Instance
from adapters.mock.amps.layout import InstanceLayout
from adapters.mock.amps.replication import client_name, is_sync, linked, oldest_unacked

Epoch = Callable[[float], float]
Row = dict[str, Any]
_STAMP = "%Y%m%dT%H%M%S.%fZ"


def take_sample(fabric: Fabric, instance: Instance, moment: float, epoch: Epoch) -> Row:
    """What ``/amps/instance`` shows, taken at ``moment``."""
    layout = fabric.layout.instance(instance.name)
    return {
        "name": layout.name,
        "name_hash": str(crc32(layout.name.encode())),
        "group": layout.group_name,
        "version": layout.version,
        "pid": str(4_000 + instance.starts),
        "uptime": uptime(moment - instance.started_at),
        "timestamp": stamp(epoch(moment)),
        "config_path": f"/etc/amps/{layout.name}.xml",
        "clients": _clients(fabric, instance, epoch),
        "queues": _queues(fabric, instance, layout),
        "replication": [*_links(fabric, instance, layout, epoch), *_incoming(fabric, instance, epoch)],
        "sow": _sow(instance, layout),
        "transaction_log": _log(instance, epoch),
        "transports": _transports(instance, layout),
    }


@lru_cache(maxsize=10_000)  # each sample tells the same moments of the same journals again
def stamp(seconds: float) -> str:
    """``20250101T000010.000000Z`` of seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_STAMP)


def moment_of(text: str) -> float | None:
    """Seconds since the epoch of what ``stamp`` wrote; None of an empty text."""
    return datetime.strptime(text, _STAMP).replace(tzinfo=UTC).timestamp() if text else None


def uptime(seconds: float) -> str:
    """``hh:mm:ss.uuuuuu``."""
    whole = max(0.0, seconds)
    return f"{int(whole // 3600):02d}:{int(whole % 3600 // 60):02d}:{whole % 60:09.6f}"


def flag(value: bool) -> str:
    """Assumption: "1" and "0" (the exporter feeds these fields to gauges)."""
    return "1" if value else "0"


def transport_id(layout: InstanceLayout, name: str) -> str:
    """Assumption: transports are numbered from 1, in the order of the configuration (constructed fixture, 6.5)."""
    return str(next(number for number, one in enumerate(layout.transports, 1) if one.name == name))


def _transports(instance: Instance, layout: InstanceLayout) -> list[Row]:
    return [
        {
            "id": transport_id(layout, one.name),
            "name": one.name,
            "type": one.type,
            "message_type": "" if one.is_replication else "json",
            "options": "",
            "is_enabled": flag(instance.transports.get(one.name, False)),
        }
        for one in layout.transports
    ]


def _links(fabric: Fabric, instance: Instance, layout: InstanceLayout, epoch: Epoch) -> list[Row]:
    """Links out of the instance. Assumption: ``id`` is the destination's name (the documented base path ends in it);
    ``seconds_behind`` is the age of the oldest message that is not acknowledged, whole seconds."""
    rows = []
    for described, link in linked(layout, instance):
        oldest = oldest_unacked(fabric, instance, described, link)
        rows.append(
            {
                "id": described.name,
                "name": described.name,
                "destination_name": described.name,
                "destination_group_name": described.group,
                "client_name": client_name(layout, described),
                "client_type": "destination",
                "replication_type": "sync" if is_sync(described, link) else "async",
                "is_connected": flag(link.to is not None),
                "pass_through": described.pass_through or "",
                "seconds_behind": str(0 if oldest is None else int(fabric.now - oldest)),
                "messages_out": str(link.messages_out),
                "messages_out_per_sec": "0",
                "bytes_out": str(link.messages_out * 256),
                "bytes_out_per_sec": "0",
                "connect_time": _moment(link.connected_at, epoch),
                "disconnect_time": _moment(link.disconnected_at, epoch),
                "disconnect_count": str(link.disconnects),
                "authenticated_id": "",
                "destination_admin_addr": "",
            }
        )
    return rows


def _incoming(fabric: Fabric, instance: Instance, epoch: Epoch) -> list[Row]:
    """Links that end here. Assumption: their ``id`` is the name of the connection."""
    rows = []
    for other in fabric.instances.values():
        if not other.serves:
            continue
        layout = fabric.layout.instance(other.name)
        for described, link in linked(layout, other):
            if link.to == instance.name:
                rows.append(
                    {
                        "id": client_name(layout, described),
                        "name": other.name,
                        "destination_name": instance.name,
                        "destination_group_name": fabric.group_of(instance.name),
                        "client_name": client_name(layout, described),
                        "client_type": "source",
                        "replication_type": "sync" if is_sync(described, link) else "async",
                        "is_connected": "1",
                        "seconds_behind": "0",
                        "connect_time": _moment(link.connected_at, epoch),
                        "disconnect_count": str(link.disconnects),
                    }
                )
    return rows


def _clients(fabric: Fabric, instance: Instance, epoch: Epoch) -> list[Row]:
    """Applications, and other instances: a replication source appears among the clients (JFV)."""
    rows = [_client(name, client, epoch) for name, client in fabric.clients_at(instance.name)]
    for row in _incoming(fabric, instance, epoch):
        rows.append(
            {
                "id": str(crc32(str(row["client_name"]).encode()) % 10_000 + 100_000),
                "client_name": row["client_name"],
                "connection_name": "amps-replication",
                "connect_time": row["connect_time"],
            }
        )
    return rows


def _client(name: str, client: Client, epoch: Epoch) -> Row:
    return {
        "id": str(client.id),
        "client_name": name,
        "client_name_hash": str(crc32(name.encode())),
        "connection_name": f"amps-tcp-{client.id}",
        "connect_time": stamp(epoch(client.connected_at)),
        "remote_address": f"127.0.0.1:{40_000 + client.id}",
        "authenticated_id": "app",
    }


def _queues(fabric: Fabric, instance: Instance, layout: InstanceLayout) -> list[Row]:
    rows = []
    for one in layout.queues:
        queue = instance.queues[one.name]
        oldest = min((lease.since for lease in queue.leases), default=None)
        rows.append(
            {
                "id": one.id,
                "topic": one.name,
                "message_type": one.message_type,
                "queue_depth": str(queue.depth),
                "owned": str(sum(numbers.count for numbers in queue.owned.values())),
                "backlog": str(queue.backlog),
                "age_of_oldest_lease": str(0 if oldest is None else int(fabric.now - oldest)),
                "proxied_transfer": "enabled" if queue.proxied else "disabled",
                "transferred_in": str(queue.transferred_in),
                "transferred_out": str(queue.transferred_out),
            }
        )
    return rows


def _sow(instance: Instance, layout: InstanceLayout) -> list[Row]:
    rows = []
    for one in layout.topics:
        if one.keys:
            inserts, updates, deletes = instance.sow_counts.get(one.id, [0, 0, 0])
            rows.append(
                {
                    "id": one.id,
                    "topic": one.name,
                    "message_type": one.message_type,
                    "valid_keys": str(len(instance.sow.get(one.id, {}))),
                    "insert_count": str(inserts),
                    "update_count": str(updates),
                    "delete_count": str(deletes),
                    "path": f"./sow/{one.name}.sow",
                }
            )
    return rows


def _log(instance: Instance, epoch: Epoch) -> Row:
    """The journals. Assumption: an empty text where there is no message yet."""
    journal = instance.journal
    return {
        "journals": [
            {
                "id": str(file.number),
                "file_name": file.file_name,
                "min_timestamp": _moment(file.entries[0].at if file.entries else None, epoch),
                "max_timestamp": _moment(file.entries[-1].at if file.entries else None, epoch),
                "is_archived": flag(file.archived),
                "is_compressed": flag(file.compressed),
            }
            for file in journal.files
        ],
        "min_timestamp": _moment(journal.first_at, epoch),
        "max_timestamp": _moment(journal.last_at, epoch),
        "write_latency": "0",
        "write_size": "0",
    }


def _moment(moment: float | None, epoch: Epoch) -> str:
    return "" if moment is None else stamp(epoch(moment))
