"""The statistics of one instance as a tree of texts, as its administration interface shows a sample.

Sources: docs/sources/amps.md, 6.2 and 6.5. Every value is a text. A collection is a list whose members
have an ``id``. Values that 60East does not document are marked as assumptions. Nothing here reads an instance itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from simulator.amps.admin.figures import ClientFigures, IncomingFigures, Sample
from simulator.amps.journal import journal_name
from simulator.amps.layout import DestinationLayout, FabricLayout, InstanceLayout
from simulator.amps.replication import client_name

Epoch = Callable[[float], float]
Row = dict[str, Any]
_STAMP = "%Y%m%dT%H%M%S.%fZ"


def statistics_of(fabric: FabricLayout, layout: InstanceLayout, sample: Sample, epoch: Epoch) -> Row:
    """The content of ``/amps/instance`` for a sample. ``epoch`` converts world time to seconds since the epoch."""
    return {
        "name": layout.name,
        "name_hash": str(crc32(layout.name.encode())),
        "group": layout.group_name,
        "version": layout.version,
        "pid": str(4_000 + sample.starts),
        "uptime": uptime(sample.moment - sample.started_at),
        "timestamp": stamp(epoch(sample.moment)),
        "config_path": f"/etc/amps/{layout.name}.xml",
        "clients": _clients(fabric, sample, epoch),
        "queues": _queues(sample, layout),
        "replication": [
            *_links(sample, layout, epoch),
            *(_incoming(fabric, layout, one, epoch) for one in sample.incoming),
        ],
        "sow": _sow(sample, layout),
        "transaction_log": _log(sample, epoch),
        "transports": _transports(sample, layout),
    }


def stamp(seconds: float) -> str:
    """Seconds since the epoch as a timestamp like ``20250101T000010.000000Z``."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_STAMP)


def uptime(seconds: float) -> str:
    """Seconds as ``hh:mm:ss.uuuuuu``."""
    whole = max(0.0, seconds)
    return f"{int(whole // 3600):02d}:{int(whole % 3600 // 60):02d}:{whole % 60:09.6f}"


def flag(value: bool) -> str:
    """Assumption: "1" and "0" (the exporter feeds these fields to gauges)."""
    return "1" if value else "0"


def transport_id(layout: InstanceLayout, name: str) -> str:
    """Assumption: transports are numbered from 1, in the order of the configuration (constructed fixture, 6.5)."""
    return str(next(number for number, one in enumerate(layout.transports, 1) if one.name == name))


def _transports(sample: Sample, layout: InstanceLayout) -> list[Row]:
    return [
        {
            "id": transport_id(layout, one.name),
            "name": one.name,
            "type": one.type,
            "message_type": "" if one.is_replication else "json",
            "options": "",
            "is_enabled": flag(sample.transports.get(one.name, False)),
        }
        for one in layout.transports
    ]


def _links(sample: Sample, layout: InstanceLayout, epoch: Epoch) -> list[Row]:
    """Links out of the instance. Assumptions: ``id`` is the destination's name (the documented base path ends in it).
    ``seconds_behind`` is the age of the oldest message without an acknowledgement, in whole seconds."""
    rows = []
    for link in sample.links:
        described = _destination(layout, link.name)
        rows.append(
            {
                "id": described.name,
                "name": described.name,
                "destination_name": described.name,
                "destination_group_name": described.group,
                "client_name": client_name(layout, described),
                "client_type": "destination",
                "replication_type": "sync" if link.sync else "async",
                "is_connected": flag(link.connected),
                "pass_through": described.pass_through or "",
                "seconds_behind": str(link.behind_s),
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


def _destination(layout: InstanceLayout, name: str) -> DestinationLayout:
    return next(one for one in layout.destinations if one.name == name)


def _incoming(fabric: FabricLayout, layout: InstanceLayout, link: IncomingFigures, epoch: Epoch) -> Row:
    """A link that ends here. Assumption: its ``id`` is the name of the connection."""
    name = _connection(fabric, link)
    return {
        "id": name,
        "name": link.source,
        "destination_name": layout.name,
        "destination_group_name": layout.group_name,
        "client_name": name,
        "client_type": "source",
        "replication_type": "sync" if link.sync else "async",
        "is_connected": "1",
        "seconds_behind": "0",
        "connect_time": _moment(link.connected_at, epoch),
        "disconnect_count": str(link.disconnects),
    }


def _connection(fabric: FabricLayout, link: IncomingFigures) -> str:
    source = fabric.instance(link.source)
    return client_name(source, _destination(source, link.name))


def _clients(fabric: FabricLayout, sample: Sample, epoch: Epoch) -> list[Row]:
    """Applications, and other instances: a replication source appears among the clients (JFV)."""
    rows = [_client(client, epoch) for client in sample.clients]
    for link in sample.incoming:
        name = _connection(fabric, link)
        rows.append(
            {
                "id": str(crc32(name.encode()) % 10_000 + 100_000),
                "client_name": name,
                "connection_name": "amps-replication",
                "connect_time": _moment(link.connected_at, epoch),
            }
        )
    return rows


def _client(client: ClientFigures, epoch: Epoch) -> Row:
    return {
        "id": str(client.id),
        "client_name": client.name,
        "client_name_hash": str(crc32(client.name.encode())),
        "connection_name": f"amps-tcp-{client.id}",
        "connect_time": stamp(epoch(client.connected_at)),
        "remote_address": f"127.0.0.1:{40_000 + client.id}",
        "authenticated_id": "app",
    }


def _queues(sample: Sample, layout: InstanceLayout) -> list[Row]:
    return [
        {
            "id": one.id,
            "topic": one.name,
            "message_type": one.message_type,
            "queue_depth": str(queue.depth),
            "owned": str(queue.owned),
            "backlog": str(queue.backlog),
            "age_of_oldest_lease": str(queue.oldest_lease_s),
            "proxied_transfer": "enabled" if queue.proxied else "disabled",
            "transferred_in": str(queue.transferred_in),
            "transferred_out": str(queue.transferred_out),
        }
        for one in layout.queues
        for queue in (sample.queues[one.name],)
    ]


def _sow(sample: Sample, layout: InstanceLayout) -> list[Row]:
    return [
        {
            "id": one.id,
            "topic": one.name,
            "message_type": one.message_type,
            "valid_keys": str(figures.keys),
            "insert_count": str(figures.inserts),
            "update_count": str(figures.updates),
            "delete_count": str(figures.deletes),
            "path": f"./sow/{one.name}.sow",
        }
        for one in layout.topics
        if one.keys
        for figures in (sample.sow[one.id],)
    ]


def _log(sample: Sample, epoch: Epoch) -> Row:
    """The journals. Assumption: the timestamps are empty before the first message."""
    return {
        "journals": [
            {
                "id": str(file.number),
                "file_name": journal_name(file.number, compressed=file.compressed),
                "min_timestamp": _moment(file.oldest_at, epoch),
                "max_timestamp": _moment(file.newest_at, epoch),
                "is_archived": flag(file.archived),
                "is_compressed": flag(file.compressed),
            }
            for file in sample.journals
        ],
        "min_timestamp": _moment(sample.oldest_at, epoch),
        "max_timestamp": _moment(sample.newest_at, epoch),
        "write_latency": "0",
        "write_size": "0",
    }


def _moment(moment: float | None, epoch: Epoch) -> str:
    return "" if moment is None else stamp(epoch(moment))
