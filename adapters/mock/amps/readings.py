"""Makes readings from the statistics of a simulated instance. A value is None if the last sample is too old.

A reading shows the last sample, as on the wire. An action of an administrator after that sample is not in it, so every
value that the action could have changed is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

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
from orchestrator.model.reading import Reading
from simulator.amps.admin.configuration import replication_address
from simulator.amps.admin.console import Console
from simulator.amps.admin.figures import LinkFigures, Sample
from simulator.amps.layout import FabricLayout

_NAMES_KEPT = 5
_JOURNAL_BYTES = 10 * 1024**2  # as the served configuration has it

_KEEPING_UP_S = 1.0  # acknowledgements come about each second


class View(NamedTuple):
    """One instance as a session sees it. ``epoch`` turns a moment of world time into the clock's time."""

    console: Console
    fabric: FabricLayout
    epoch: Callable[[float], float]
    mate: str | None = None
    capacity_bytes: int | None = None
    outage_s: float | None = None

    @property
    def last(self) -> Sample | None:
        """The last sample."""
        samples = self.console.samples
        return samples[-1] if samples else None

    @property
    def sample(self) -> Sample | None:
        """The last sample, unless an administrator changed something since."""
        touched, last = self.console.instance.touched_at, self.last
        return None if last is None or (touched is not None and last.moment <= touched) else last

    def time_of(self, moment: float | None) -> float | None:
        """The clock's time of a moment, if there is one."""
        return None if moment is None else self.epoch(moment)


def read_instance(view: View) -> Instance:
    """The instance that answers."""
    instance, layout = view.console.instance, view.console.layout
    last, sample = view.last, view.sample
    replicates = sample is not None and any(link.connected for link in sample.links)
    return Instance(
        name=layout.name,
        group=layout.group_name,
        version=layout.version,
        uptime_s=None if last is None else last.moment - instance.started_at,
        sampled_at=None if last is None else view.epoch(last.moment),
        recovered=True if replicates else None,
    )


def read_transports(view: View) -> Transports:
    """Every incoming transport."""
    if view.sample is None:
        return Transports()
    enabled = view.sample.transports
    return Transports(
        items=tuple(
            Transport(
                name=one.name,
                type=one.type,
                replication=one.is_replication,
                enabled=enabled.get(one.name, False),
            )
            for one in view.console.layout.transports
        )
    )


def read_clients(view: View) -> Clients:
    """Applications that are connected."""
    if view.sample is None:
        return Clients()
    names = sorted(client.name for client in view.sample.clients)
    return Clients(count=len(names), names=tuple(names[:_NAMES_KEPT]))


def read_links(view: View) -> Links:
    """Every link out of the instance."""
    layout, sample = view.console.layout, view.sample
    if sample is None:
        return Links(interval_s=layout.interval)
    described = {one.name: one for one in layout.destinations}
    items = tuple(
        Link(
            name=link.name,
            destination=link.name,
            group=described[link.name].group,
            connected=link.connected,
            sync=link.sync,
            configured_sync=described[link.name].sync,
            behind_s=float(link.behind_s),
            calm_s=_lasts_s(view, link, 0.0),
            steady_s=_lasts_s(view, link, _KEEPING_UP_S),
            messages_out=link.messages_out,
        )
        for link in sample.links
    )
    return Links(mate=_mate(items, view.mate), interval_s=layout.interval, items=items)


def _mate(links: Sequence[Link], wanted: str | None) -> str | None:
    if wanted is None:
        return links[0].name if len(links) == 1 else None
    return next((link.name for link in links if wanted in (link.name, link.group)), None)


def _lasts_s(view: View, link: LinkFigures, behind_s: float) -> float:
    """For how long the latest samples, without a gap, show the link connected and at most ``behind_s`` behind."""
    samples = view.console.samples
    touched = view.console.instance.touched_at
    first = None
    for sample in reversed(samples):
        seen = next(one for one in sample.links if one.name == link.name)
        is_so = seen.connected and seen.behind_s <= behind_s
        if not is_so or (touched is not None and sample.moment <= touched):
            break
        first = sample.moment
    return 0.0 if first is None else samples[-1].moment - first


def read_queues(view: View) -> Queues:
    """Every queue."""
    if view.sample is None:
        return Queues()
    figures = view.sample.queues
    return Queues(
        items=tuple(
            Queue(
                name=one.name,
                message_type=one.message_type,
                depth=figures[one.name].depth,
                owned=figures[one.name].owned,
                proxied=figures[one.name].proxied,
            )
            for one in view.console.layout.queues
        )
    )


def read_transaction_log(view: View) -> TransactionLog:
    """The journals on disk, as the last sample has them."""
    last = view.last
    if last is None:
        return TransactionLog(outage_s=view.outage_s)
    files = sum(not one.archived for one in last.journals)
    return TransactionLog(
        files=files,
        bytes=files * _JOURNAL_BYTES,
        capacity_bytes=view.capacity_bytes,
        oldest_at=view.time_of(last.oldest_at),
        newest_at=view.time_of(last.newest_at),
        empty=last.newest_at is None,
        outage_s=view.outage_s,
    )


def read_bootstrap(view: View) -> Bootstrap:
    """Whether the instance would fetch its state from another one at its next start."""
    described, last = view.console.layout.bootstrap, view.last
    servers = described.servers if described is not None else ()
    return Bootstrap(
        configured=described is not None,
        empty=None if last is None else last.newest_at is None,
        records=None if last is None else sum(one.keys for one in last.sow.values()),
        sources=tuple(replication_address(view.fabric, one) for one in servers),
    )


def read_sow(view: View) -> Sow:
    """Every SOW topic."""
    last = view.last
    if last is None:
        return Sow()
    topics = [one for one in view.console.layout.topics if one.keys]
    return Sow(
        items=tuple(
            SowTopic(topic=one.name, message_type=one.message_type, records=last.sow[one.id].keys) for one in topics
        )
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
    "sow": read_sow,
    "permissions": read_permissions,
}
