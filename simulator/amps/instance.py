"""One AMPS instance: its process, its log, its SOW, its queues, its transports and its event log.

The data on disk survives a kill: journals, SOW files, acknowledgements of queues. Other state (connections, downgraded
links, transports that an administrator disabled) is reset to the configuration at every start. Nothing here checks
another instance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from simulator.amps.admin.figures import Sample
from simulator.amps.journal import Entry, Journal
from simulator.amps.layout import InstanceLayout
from simulator.amps.link import Link
from simulator.amps.queue import Queue
from simulator.amps.storage import Keeping
from simulator.world.intervals import Numbers

Phase = Literal["down", "bootstrapping", "recovering", "running"]
Files = Literal["sow", "all"]
_LINES_KEPT = 400
_SAMPLES_KEPT = 12


@dataclass(slots=True)
class Record:
    """The values that one log entry wrote into a SOW, for all keys that no later entry has changed. The messages end
    before ``stop``. A message of unknown content with number n belongs to key n modulo ``keys``. Do not change a
    record, because keys and instances share it. The class is not frozen, because creating a frozen object takes four
    times as long, and nearly every arriving entry creates one."""

    publisher: str
    stop: int
    at: float
    keys: int = 1
    data: str = ""

    def number_of(self, key: str) -> int:
        """The message that wrote this key."""
        last = self.stop - 1
        return last if self.keys == 1 else last - (last - int(key)) % self.keys


@dataclass(slots=True)
class LogLine:
    """One line of the event log. ``number`` is the message number of AMPS (``00-0015``), or empty if it is unknown."""

    moment: float
    level: Literal["info", "warning", "error"]
    number: str
    text: str


@dataclass(slots=True)
class Fetching:
    """A bootstrap in progress. ``source`` is None until a source is found."""

    source: str | None = None
    try_at: float = 0.0
    records: int = 0  # copied records of the SOW
    position: int = 0  # in the source's log: copied up to here
    fraction: float = 0.0
    snapshot: int = -1  # the end of the source's log when its records were copied; -1: not copied
    warned: bool = False


@dataclass(slots=True)
class Instance:
    """The state of one instance. Moments are of world time."""

    name: str
    phase: Phase = "down"
    started_at: float = 0.0
    ready_at: float = 0.0
    journal: Journal = field(default_factory=lambda: Journal(5_000))
    sow: dict[str, dict[str, Record]] = field(default_factory=dict)
    sow_counts: dict[str, list[int]] = field(default_factory=dict)  # inserts, updates, deletes
    highest: dict[str, int] = field(default_factory=dict)
    persisted: int = 0
    persisted_of: dict[str, int] = field(default_factory=dict)
    transports: dict[str, bool] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    fetching: Fetching = field(default_factory=Fetching)
    interrupted: bool = False  # a bootstrap was started and not finished; kept on disk
    log: list[LogLine] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    sample_at: float = 0.0
    touched_at: float | None = None  # when an administrator last changed the instance
    checked_at: float = 0.0  # when its scheduled actions last ran
    silent_until: float = 0.0
    stale_until: float = 0.0
    starts: int = 0

    # The process

    def start(self, layout: InstanceLayout, now: float, *, keeps_fetched: bool = False) -> None:
        """Start the process. State that is not on disk is reset to the configuration. A lost SOW is rebuilt from the log
        (docs/sources/amps.md, 9.8).

        ``keeps_fetched``: an interrupted bootstrap continues with the data it already fetched.
        """
        if self.phase != "down":
            return
        self.starts += 1
        self.started_at = self.sample_at = self.checked_at = now
        self.samples.clear()
        self.transports = {one.name: one.enabled for one in layout.transports}
        links = {one.name: self.links.get(one.name, Link()) for one in layout.destinations}
        for link in links.values():
            link.downgraded, link.try_at = False, now
        self.links = links
        self.queues = {one.name: self.queues.get(one.name, Queue()) for one in layout.queues}
        for queue in self.queues.values():
            queue.proxied = False
        for topic in layout.topics:
            if topic.keys and topic.id not in self.sow:
                self._rebuild(topic.name, topic.id)
        if layout.bootstrap is not None and (self.journal.is_empty or self.interrupted):
            if self.interrupted and not keeps_fetched:
                self.forget_fetched(layout)
            self._begin_bootstrap(layout, now)
        else:
            self.recover(layout, now)

    def recover(self, layout: InstanceLayout, now: float) -> None:
        """Start the recovery: the instance reads the data on disk, then serves."""
        self.phase, self.ready_at = "recovering", now + layout.recovery

    def serve(self, now: float) -> None:
        """Finish the recovery and serve."""
        self.phase = "running"
        self.note(now, "info", "", "AMPS transaction log journal recovery completed")
        self.note(now, "info", "00-0015", "AMPS initialization completed")

    def kill(self, now: float) -> None:
        """The process dies without a message in the event log."""
        if self.phase == "down":
            return
        self.phase = "down"
        for link in self.links.values():
            link.stop(now, try_at=now)
        for queue in self.queues.values():
            queue.leases.clear()

    def lose(self, files: Files, layout: InstanceLayout) -> None:
        """A person deletes the SOW files, or everything, of an instance that is down."""
        self.sow.clear()
        self.sow_counts.clear()
        if files == "all":
            self.journal = Journal(layout.journal_messages)
            self.highest.clear()
            self.persisted, self.persisted_of = 0, {}
            self.queues.clear()
            self.interrupted = False
            for link in self.links.values():
                link.forget_log(0)

    def _begin_bootstrap(self, layout: InstanceLayout, now: float) -> None:
        self.phase, self.interrupted = "bootstrapping", True
        self.fetching = Fetching(try_at=now)
        self.sow = {one.id: {} for one in layout.topics if one.keys}
        self.note(now, "info", "1E", "AMPS bootstrap initialization started")

    def forget_fetched(self, layout: InstanceLayout) -> None:
        """Delete the data of an interrupted bootstrap."""
        self.lose("all", layout)
        self.queues = {one.name: Queue() for one in layout.queues}

    # Messages

    def take(self, entry: Entry, keeping: Keeping) -> None:
        """Write the new messages of ``entry``. The caller must not keep ``entry``. Messages with a number at or below
        their publisher's highest are discarded, from a client or from another instance (docs/sources/amps.md, 9.3)."""
        known = self.highest.get(entry.publisher, 0)
        if entry.stop - 1 <= known:
            return
        self.highest[entry.publisher] = entry.stop - 1
        fresh = entry.above(known)
        if keeping.logged:
            self.journal.append(fresh)
        else:
            self.persisted_of[entry.publisher] = entry.stop - 1
        self.to_sow(fresh, keeping)
        self.to_queues(fresh, keeping)

    def to_sow(self, entry: Entry, keeping: Keeping) -> None:
        """Let the entry change the SOW, if its topic has one."""
        if keeping.sow is not None:
            self._apply(entry, keeping.sow)

    def to_queues(self, entry: Entry, keeping: Keeping) -> None:
        """Put the messages into the queues over their topic."""
        for name, owner in keeping.queues:
            if name not in self.queues:
                self.queues[name] = Queue()
            if owner is None:
                owner = entry.path[0] if entry.path else self.name
            self.queues[name].arrive(entry.publisher, entry.first, entry.stop, owned=owner == self.name)

    def _apply(self, entry: Entry, topic_id: str) -> None:
        records = self.sow.setdefault(topic_id, {})
        counts = self.sow_counts.setdefault(topic_id, [0, 0, 0])
        touched, before = entry.touched(), len(records)
        if entry.kind == "sow_delete":
            for key in touched:
                records.pop(key, None)
            counts[2] += before - len(records)
            return
        keys = 1 if entry.key is not None else entry.keys
        records.update(dict.fromkeys(touched, Record(entry.publisher, entry.stop, entry.at, keys, entry.data)))
        inserted = len(records) - before
        counts[0] += inserted
        counts[1] += len(touched) - inserted

    def _rebuild(self, topic: str, topic_id: str) -> None:
        """Rebuild the SOW of a topic from the messages that are still in the log."""
        self.sow[topic_id] = {}
        for entry in self.journal.all():
            if entry.topic == topic:
                self._apply(entry, topic_id)

    def persist(self, end: int) -> None:
        """Mark the messages up to ``end`` as persisted: they are in the log and acknowledged by every sync
        destination."""
        if end <= self.persisted:
            return
        for entry in self.journal.since(self.persisted):
            if entry.position >= end:
                break
            last = entry.last_before(end)
            if last >= self.persisted_of.get(entry.publisher, 0):
                self.persisted_of[entry.publisher] = last
        self.persisted = end

    def held(self, publisher: str) -> Numbers:
        """Every message of a publisher in the log or the queues of this instance."""
        found = self.journal.numbers(publisher)
        for queue in self.queues.values():
            for run in queue.held.get(publisher, Numbers()):
                found.add(*run)
        return found

    # Its state and its event log

    @property
    def serves(self) -> bool:
        """Is the instance running, so that it serves clients and links?"""
        return self.phase == "running"

    def lets_in(self, doors: Iterable[str]) -> bool:
        """Is one of these transports enabled?"""
        return any(map(self.transports.get, doors))

    def note(self, now: float, level: Literal["info", "warning", "error"], number: str, text: str) -> None:
        """Write into the event log."""
        self.log.append(LogLine(now, level, number, text))
        del self.log[:-_LINES_KEPT]

    def keep_sample(self, sample: Sample) -> None:
        """Keep the newest statistics and drop the oldest."""
        self.samples.append(sample)
        del self.samples[:-_SAMPLES_KEPT]
