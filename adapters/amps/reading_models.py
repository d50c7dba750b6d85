"""Readings of an AMPS instance, as its administration interface reports them (docs/sources/amps.md, 6.2, 6.1).

One service is the client traffic of one instance at each site. AMPS has no active and no standby: an instance serves if
its client transports are open. Its statistics are samples, taken once per interval (``Admin/Interval``, 10 s by
default). An adapter gives ``None`` for a value if its only sample is older than the adapter's own last action.

The table lists the actions of every adapter of AMPS. Each action is idempotent, and is its own inverse.

====================== ===================================== ============================================================
action                 argument                              what it does
====================== ===================================== ============================================================
set_client_transports  state: enabled | disabled             every incoming transport but the replication one
set_link_mode          mode: sync | async                    upgrades or downgrades the link to the mate
set_proxied_transfer   state: enabled | disabled             proxied transfer of every queue of the instance
====================== ===================================== ============================================================
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from orchestrator.model.facets import Facet
from orchestrator.model.reading import Left, Reading, ReadingModel, all_of, none_of, sum_of

# How many whole sample intervals a link must have been calm to count as caught up: one reading of 0 proves nothing.
CALM_INTERVALS = 2


class Instance(Reading):
    """``instance``: the instance that answers. ``uptime_s``: since its start; ``sampled_at``: the moment of its last
    sample, by its own clock, seconds since the epoch.

    ``recovered``: whether the instance has finished its recovery. It is True once the instance replicates to another
    one, because replication starts after recovery, bootstrap included (docs/sources/amps.md, 3.5). It is never False.
    """

    facets: ClassVar[Mapping[Facet, str]] = {Facet.NODE: "name"}
    reaches: ClassVar[bool] = True

    kind: Literal["instance"] = "instance"
    name: str | None = None
    group: str | None = None
    version: str | None = None
    uptime_s: float | None = None
    sampled_at: float | None = None
    recovered: bool | None = None


class Transport(ReadingModel):
    """One incoming transport. ``replication``: the transport takes other instances, and no clients."""

    name: str
    type: str | None = None
    replication: bool | None = None
    enabled: bool | None = None


class Transports(Reading):
    """``transports``: every incoming transport of the instance; ``open`` and ``closed`` refer to those for clients."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.SERVES: "_serves"}
    exclusive: ClassVar[bool] = False  # across sync links, both instances of a healthy pair let clients in
    sampled: ClassVar[bool] = True

    kind: Literal["transports"] = "transports"
    items: tuple[Transport, ...] = ()

    @property
    def open(self) -> bool | None:
        """Every client transport is enabled; unknown when there is none."""
        return all_of([one.enabled for one in self._for_clients])

    @property
    def closed(self) -> bool | None:
        """Every client transport is disabled; unknown when there is none."""
        return all_of([None if one.enabled is None else not one.enabled for one in self._for_clients])

    def is_mixed(self) -> bool:
        """Some transports are enabled, others are not."""
        return self.closed is False and self.open is False

    @property
    def _serves(self) -> bool | None:
        return bool(self.open) if self.open or self.closed else None

    @property
    def _for_clients(self) -> list[Transport]:
        return [one for one in self.items if one.replication is not True]


class Clients(Reading):
    """``clients``: application clients connected now. Not counted are other instances, and clients that the site's
    options exclude (``not_applications``). ``names``: the first of the counted clients."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.CLIENTS: "count"}
    left: ClassVar[Mapping[str, Left]] = {"count": Left("client", "still connected")}
    sampled: ClassVar[bool] = True

    kind: Literal["clients"] = "clients"
    count: int | None = None
    names: tuple[str, ...] = ()

    @property
    def gone(self) -> bool | None:
        """No application is connected."""
        return None if self.count is None else self.count == 0


class Link(ReadingModel):
    """One replication link out of the instance. ``sync``: how the link acknowledges *now*. ``configured_sync``: how it
    acknowledges after a restart. ``behind_s``: ``seconds_behind``; a single 0 proves nothing. ``calm_s``: for how long
    the link has been read as connected and 0 behind, from the first such sample to the last. ``steady_s``: for how long
    it has been no further behind than a link under load always is, since acknowledgements come about each second
    (docs/sources/amps.md, 6.2)."""

    name: str
    destination: str | None = None
    group: str | None = None
    connected: bool | None = None
    sync: bool | None = None
    configured_sync: bool | None = None
    behind_s: float | None = None
    calm_s: float | None = None
    steady_s: float | None = None
    messages_out: int | None = None

    @property
    def downgraded(self) -> bool | None:
        """Configured as sync, and async now: the mate is no fail-over target during this time."""
        if self.sync is True or self.configured_sync is False:
            return False
        return None if self.sync is None or self.configured_sync is None else True


class Links(Reading):
    """``links``: every replication link out of the instance. ``mate`` is the name of the link to the other site. The
    properties refer to that link, and are unknown if there is none. ``interval_s``: seconds between two samples.

    ``apart_s``: the seconds since the previous reading, if that is too long for the samples to prove anything.
    ``apart_most_s``: the longest time that is not too long. Both are None if this reading came in time."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.LINK: "connected"}
    left: ClassVar[Mapping[str, Left]] = {"behind_s": Left("s", "behind", "s")}
    risk: ClassVar[str] = "link"
    sampled: ClassVar[bool] = True

    kind: Literal["links"] = "links"
    mate: str | None = None
    interval_s: float | None = None
    apart_s: float | None = None
    apart_most_s: float | None = None
    items: tuple[Link, ...] = ()

    def remark(self, names: Collection[str]) -> str:
        """``samples too far apart (13 s, at most 10 s)``: why ``caught_up`` and ``keeping_up`` are not reached."""
        if self.apart_s is None or self.apart_most_s is None or not {"caught_up", "keeping_up"} & set(names):
            return ""
        return f"samples too far apart ({self.apart_s:.0f} s, at most {self.apart_most_s:.0f} s)"

    def left_behind(self, at: str) -> str:
        """See ``Reading``: how the link to the mate acknowledged decides what may be missing there."""
        if self.sync is None:
            return ""
        if self.sync and self.connected is not False:
            return f"its link was sync at {at}"
        how = "downgraded" if self.downgraded else "async" if not self.sync else "not connected"
        return f"its link was {how.upper()} at {at}, so the mate may lack messages"

    def to_mate(self) -> Link | None:
        """The link to the other site, or None."""
        return next((one for one in self.items if one.name == self.mate), None)

    @property
    def connected(self) -> bool | None:
        """Is the link to the mate connected?"""
        link = self.to_mate()
        return link.connected if link else None

    @property
    def sync(self) -> bool | None:
        """Does the link to the mate acknowledge synchronously now?"""
        link = self.to_mate()
        return link.sync if link else None

    @property
    def configured_sync(self) -> bool | None:
        """Does the link to the mate acknowledge synchronously after a restart?"""
        link = self.to_mate()
        return link.configured_sync if link else None

    @property
    def downgraded(self) -> bool | None:
        """Is the link to the mate configured as sync, and async now?"""
        link = self.to_mate()
        return link.downgraded if link else None

    @property
    def behind_s(self) -> float | None:
        """The delay that the link to the mate reports; not an estimate of the time that catching up takes
        (docs/sources/amps.md, 6.2)."""
        link = self.to_mate()
        return link.behind_s if link else None

    @property
    def caught_up(self) -> bool | None:
        """Has the link to the mate been connected and 0 behind for two whole sample intervals?"""
        link = self.to_mate()
        return None if link is None else self._lasts(link, link.calm_s)

    @property
    def keeping_up(self) -> bool | None:
        """Like ``caught_up``, while messages flow: connected, and no further behind than acknowledgements always
        are."""
        link = self.to_mate()
        return None if link is None else self._lasts(link, link.steady_s)

    def _lasts(self, link: Link, seconds: float | None) -> bool | None:
        if self.interval_s is None or link.connected is None or link.behind_s is None:
            return None
        return seconds is not None and seconds >= CALM_INTERVALS * self.interval_s


class Queue(ReadingModel):
    """One queue. ``owned``: messages whose delivery this instance decides on; its loss makes them undeliverable."""

    name: str
    message_type: str | None = None
    depth: int | None = None
    owned: int | None = None
    proxied: bool | None = None


class Queues(Reading):
    """``queues``: every queue of the instance; ``items`` is None if they are unknown."""

    left: ClassVar[Mapping[str, Left]] = {"owned": Left("queue message", "still owned", at_risk=True)}
    sampled: ClassVar[bool] = True

    kind: Literal["queues"] = "queues"
    items: tuple[Queue, ...] | None = None

    @property
    def present(self) -> bool | None:
        """Has the instance any queue?"""
        return None if self.items is None else bool(self.items)

    @property
    def owned(self) -> int | None:
        """Messages owned here, in all queues."""
        return None if self.items is None else sum_of(one.owned for one in self.items)

    @property
    def proxied(self) -> bool | None:
        """Is proxied transfer on for every queue? Unknown when there is none."""
        return all_of([one.proxied for one in self.items or ()])

    @property
    def unproxied(self) -> bool | None:
        """Is proxied transfer off for every queue?"""
        return None if self.items is None else none_of(one.proxied for one in self.items)

    def is_mixed(self) -> bool:
        """Proxied transfer is on for some queues, and off for others."""
        return self.proxied is False and self.unproxied is False


class TransactionLog(Reading):
    """``transaction_log``: the journals on disk. ``bytes`` is their number times the configured ``JournalSize``, so
    rather too high than too low. ``capacity_bytes`` is the room that the inventory gives them. The moments are those of
    the oldest and newest message, seconds since the epoch. ``outage_s`` is the length of an outage of the mate that the
    inventory wants to survive: journals are kept until every destination has acknowledged them (docs/sources/amps.md,
    9.4)."""

    sampled: ClassVar[bool] = True

    kind: Literal["transaction_log"] = "transaction_log"
    files: int | None = None
    bytes: int | None = None
    capacity_bytes: int | None = None
    oldest_at: float | None = None
    newest_at: float | None = None
    empty: bool | None = None
    outage_s: float | None = None

    @property
    def survives_s(self) -> float | None:
        """For how many seconds there is room, if the log grows as it did between its oldest and newest message."""
        if None in (self.bytes, self.capacity_bytes, self.oldest_at, self.newest_at):
            return None
        assert self.bytes is not None and self.capacity_bytes is not None  # by the line above
        assert self.oldest_at is not None and self.newest_at is not None
        span = self.newest_at - self.oldest_at
        if span <= 0 or self.bytes <= 0:
            return None
        return max(0.0, self.capacity_bytes - self.bytes) * span / self.bytes

    @property
    def survives(self) -> bool | None:
        """Is there room for the outage that is to be survived?"""
        if self.survives_s is None or self.outage_s is None:
            return None
        return self.survives_s >= self.outage_s


class Bootstrap(Reading):
    """``bootstrap``: whether the instance would fetch its state from another one. It does so only at its start, and
    only while its transaction log holds no message (docs/sources/amps.md, 3.5). ``sources`` are the addresses, in the
    order in which they are tried. ``records``: the number of records in its SOW, all topics together.
    """

    kind: Literal["bootstrap"] = "bootstrap"
    configured: bool | None = None
    empty: bool | None = None
    records: int | None = None
    sources: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        """Does the instance hold a message in its log or a record in its SOW? Another instance can fetch either from it
        (docs/sources/amps.md, 3.5)."""
        found = [None if self.empty is None else not self.empty, None if self.records is None else self.records > 0]
        return True if True in found else None if None in found else False

    @property
    def waiting(self) -> bool | None:
        """Is the instance empty and set to bootstrap? Two such instances wait for each other without end. An instance
        whose SOW holds records has started already."""
        if self.configured is False or self.empty is False or self.records:
            return False
        return None if self.configured is None or self.empty is None else True


class SowTopic(ReadingModel):
    """One SOW topic. ``records``: ``valid_keys``, which counts versions where the topic keeps a history."""

    topic: str
    message_type: str | None = None
    records: int | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """The topic in the sense of AMPS: name and message type."""
        return self.topic, self.message_type


class Sow(Reading):
    """``sow``: every SOW topic of the instance, and how many records it holds; ``items`` is None if that is unknown."""

    kind: Literal["sow"] = "sow"
    items: tuple[SowTopic, ...] | None = None


class Permissions(Reading):
    """``permissions``: what the entitlement check of the instance says of the administrative actions that a run may
    need. ``denied``: those it refuses."""

    kind: Literal["permissions"] = "permissions"
    denied: tuple[str, ...] = ()
    known: bool | None = None

    @property
    def granted(self) -> bool | None:
        """May the account do all these actions? Unknown when the instance does not report."""
        return False if self.denied else True if self.known else None
