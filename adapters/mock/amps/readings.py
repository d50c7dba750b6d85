"""From the statistics of a simulated instance to readings. None for what the last sample is too old to tell.

A reading is of the last sample, as on the wire; what an administrator did after that sample is not in it, so nothing
that he could have changed is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.mock.amps.configuration import replication_address
from adapters.mock.amps.console import Console
from adapters.mock.amps.instance import Sample
from adapters.mock.amps.layout import FabricLayout
from adapters.mock.amps.samples import moment_of
from orchestrator.readings import Reading
from orchestrator.readings_amps import (
    Bootstrap,
    Clients,
    Instance,
    Link,
    Links,
    Permissions,
    Queue,
    Queues,
    TransactionLog,
    Transport,
    Transports,
)

_NAMES_KEPT = 5
_JOURNAL_BYTES = 10 * 1024**2  # as the served configuration has it

_KEEPING_UP_S = 1.0  # acknowledgements come about each second

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """One instance as a session sees it. ``epoch`` gives the clock's time of a moment of world time."""

    console: Console
    fabric: FabricLayout
    epoch: Callable[[float], float]
    mate: str | None = None
    capacity_bytes: int | None = None
    outage_s: float | None = None

    @property
    def sample(self) -> Sample | None:
        """The last sample, unless an administrator changed something since."""
        samples = self.console.samples
        touched = self.console.instance.touched_at
        if not samples or (touched is not None and samples[-1].moment <= touched):
            return None
        return samples[-1]

    def rows(self, kind: str) -> Sequence[Row] | None:
        """A collection of that sample."""
        return None if self.sample is None else self.sample.tree[kind]


def read_instance(view: View) -> Instance:
    """Who answers."""
    instance, layout = view.console.instance, view.console.layout
    links = view.rows("replication")
    replicates = links is not None and any(row["is_connected"] == "1" for row in _out(links))
    last = view.console.samples[-1].moment if view.console.samples else None
    return Instance(
        name=layout.name,
        group=layout.group_name,
        version=layout.version,
        uptime_s=None if last is None else last - instance.started_at,
        sampled_at=None if last is None else view.epoch(last),
        recovered=True if replicates else None,
    )


def read_transports(view: View) -> Transports:
    """Every incoming transport."""
    return Transports(
        items=tuple(
            Transport(
                name=row["name"],
                type=row["type"],
                replication=row["type"].startswith("amps-replication"),
                enabled=row["is_enabled"] == "1",
            )
            for row in view.rows("transports") or ()
        )
    )


def read_clients(view: View) -> Clients:
    """Applications that are connected."""
    rows = view.rows("clients")
    if rows is None:
        return Clients()
    names = sorted(row["client_name"] for row in rows if "amps-replication" not in row["client_name"])
    return Clients(count=len(names), names=tuple(names[:_NAMES_KEPT]))


def read_links(view: View) -> Links:
    """Every link out of the instance."""
    interval_s = view.console.layout.interval
    rows = view.rows("replication")
    if rows is None:
        return Links(interval_s=interval_s)
    configured = {one.name: one.sync for one in view.console.layout.destinations}
    items = tuple(
        Link(
            name=row["name"],
            destination=row["destination_name"],
            group=row["destination_group_name"],
            connected=row["is_connected"] == "1",
            sync=row["replication_type"] == "sync",
            configured_sync=configured[row["name"]],
            behind_s=float(row["seconds_behind"]),
            calm_s=_lasts_s(view, row["id"], 0.0),
            steady_s=_lasts_s(view, row["id"], _KEEPING_UP_S),
            messages_out=int(row["messages_out"]),
        )
        for row in _out(rows)
    )
    return Links(mate=_mate(items, view.mate), interval_s=interval_s, items=items)


def _out(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["client_type"] == "destination"]


def _mate(links: Sequence[Link], wanted: str | None) -> str | None:
    if wanted is None:
        return links[0].name if len(links) == 1 else None
    return next((link.name for link in links if wanted in (link.name, link.group)), None)


def _lasts_s(view: View, id_: str, behind_s: float) -> float:
    """From the first of the latest samples, without a gap, that all show the link connected and so far behind at most."""
    samples = view.console.samples
    touched = view.console.instance.touched_at
    first = None
    for sample in reversed(samples):
        row = next(one for one in sample.tree["replication"] if one["id"] == id_)
        is_so = row["is_connected"] == "1" and float(row["seconds_behind"]) <= behind_s
        if not is_so or (touched is not None and sample.moment <= touched):
            break
        first = sample.moment
    return 0.0 if first is None else samples[-1].moment - first


def read_queues(view: View) -> Queues:
    """Every queue."""
    rows = view.rows("queues")
    if rows is None:
        return Queues()
    return Queues(
        items=tuple(
            Queue(
                name=row["topic"],
                message_type=row["message_type"],
                depth=int(row["queue_depth"]),
                owned=int(row["owned"]),
                proxied=row["proxied_transfer"] == "enabled",
            )
            for row in rows
        )
    )


def read_transaction_log(view: View) -> TransactionLog:
    """The journals on disk, as the last sample has them."""
    log = _log(view)
    if log is None:
        return TransactionLog(outage_s=view.outage_s)
    files = sum(one["is_archived"] == "0" for one in log["journals"])
    return TransactionLog(
        files=files,
        bytes=files * _JOURNAL_BYTES,
        capacity_bytes=view.capacity_bytes,
        oldest_at=moment_of(log["min_timestamp"]),
        newest_at=moment_of(log["max_timestamp"]),
        empty=not log["max_timestamp"],
        outage_s=view.outage_s,
    )


def _log(view: View) -> Row | None:
    samples = view.console.samples
    log: Row | None = samples[-1].tree["transaction_log"] if samples else None
    return log


def read_bootstrap(view: View) -> Bootstrap:
    """Whether the instance would fetch its state from another one at its next start."""
    described, log = view.console.layout.bootstrap, _log(view)
    servers = described.servers if described is not None else ()
    return Bootstrap(
        configured=described is not None,
        empty=None if log is None else not log["max_timestamp"],
        sources=tuple(replication_address(view.fabric, one) for one in servers),
    )


def read_permissions(view: View) -> Permissions:
    """The simulated account may do everything."""
    return Permissions(known=True)


READERS: Mapping[str, Callable[[View], Reading]] = {
    "instance": read_instance,
    "transports": read_transports,
    "clients": read_clients,
    "links": read_links,
    "queues": read_queues,
    "transaction_log": read_transaction_log,
    "bootstrap": read_bootstrap,
    "permissions": read_permissions,
}
