"""Two AMPS instances that are made up, and what a comparison must say of them, worked out in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.spark.dumps import Kept, Logged, journal_text, sow_text, write

Identity = tuple[str, int]


@dataclass(frozen=True)
class Message:
    """One message of a publisher; ``value`` None deletes its key."""

    client: str
    sequence: int
    topic: str
    key: int
    value: str | None
    at_s: float
    expiration: int = 0

    @property
    def identity(self) -> Identity:
        return self.client, self.sequence

    @property
    def data(self) -> bytes:
        content = {"id": self.key} if self.value is None else {"id": self.key, "value": self.value}
        return json.dumps(content, indent=1).encode()


@dataclass(frozen=True)
class Site:
    """One instance: what it processed, in order, and from which of these on its log still reaches.

    Its SOW was dumped ``unseen`` messages before its log ended. ``altered``: messages whose content is another one here;
    ``passed_over``: which of those processed its SOW does not show; ``expired``: records that are gone from it.
    """

    processed: tuple[Message, ...]
    retained_from: int = 0
    unseen: int = 0
    altered: frozenset[Identity] = frozenset()
    passed_over: frozenset[int] = frozenset()
    expired: frozenset[tuple[str, int]] = frozenset()

    @property
    def log(self) -> tuple[Message, ...]:
        return self.processed[self.retained_from :]

    def txid(self, index: int) -> int:
        return 1_700_000_000_000_000_000 + index

    def data(self, one: Message) -> bytes:
        return one.data.replace(b"v", b"w") if one.identity in self.altered else one.data

    def sow(self, topic: str) -> dict[int, tuple[int, Message]]:
        """Key to the index and message of its record."""
        records: dict[int, tuple[int, Message]] = {}
        for index, one in enumerate(self.processed[: len(self.processed) - self.unseen]):
            if one.topic == topic and index not in self.passed_over:
                records[one.key] = (index, one)
                if one.value is None:
                    del records[one.key]
        return {key: found for key, found in records.items() if (topic, key) not in self.expired}

    def last(self, topic: str, key: int) -> tuple[int, Message] | None:
        """The last that the log knows of a key."""
        known = enumerate(self.log, self.retained_from)
        found = [(index, one) for index, one in known if (one.topic, one.key) == (topic, key)]
        return found[-1] if found else None

    def sow_reaches(self, topics: Iterable[str]) -> int:
        """The index of the newest record in its SOW, of all topics."""
        return max((index for topic in topics for index, _ in self.sow(topic).values()), default=-1)

    def write(self, directory: Path, topics: Iterable[str], *, dumps: int = 2) -> str:
        """Its dumps as files. Returns the directory."""
        logged = [
            Logged(
                txid=self.txid(self.retained_from + n),
                client=one.client,
                sequence=one.sequence,
                data=self.data(one),
                topic=one.topic,
                type="publish" if one.value is not None else "sow_delete",
                at_s=one.at_s,
                expiration=one.expiration,
            )
            for n, one in enumerate(self.log)
        ]
        cut = len(logged) // dumps
        for number in range(dumps):
            part = logged[number * cut : (number + 1) * cut if number < dumps - 1 else None]
            write(directory / "journal" / f"{number}.txt", journal_text(part))
        for topic in topics:
            kept = [
                Kept(hash_of(topic, key), self.txid(index), self.data(one), expiration=one.expiration)
                for key, (index, one) in self.sow(topic).items()
            ]
            write(directory / "sow" / f"{topic}.json.txt", sow_text(kept))
        return str(directory)


def hash_of(topic: str, key: int) -> int:
    """A SowKey; the same at both instances."""
    return 5_617_746_317_001_000_000 + 1000 * int(topic[1:]) + key


def some_pair(seed: int, topics: Iterable[str]) -> tuple[Site, Site]:
    """Two sites after an asynchronous link was cut: other interleavings, lost middles, unreplicated tails, retention; and
    SOWs that lag behind their logs, lack an update, have let records expire or hold another content."""
    rng = random.Random(seed)
    names = list(topics)
    published: list[Message] = []
    counters: Counter[str] = Counter()
    for number in range(25 * len(names)):
        client = f"{rng.randrange(4) + 10**19}"
        counters[client] += 1
        value = None if rng.random() < 0.15 else f"v{number}"
        identity = (client, counters[client], rng.choice(names), rng.randrange(20), value)
        published.append(Message(*identity, at_s=float(number * 10), expiration=rng.choice([0, 0, 0, 60])))
    left = tuple(published)
    lost = {one.identity for one in published if rng.random() < 0.05}
    tails = {client: counters[client] - rng.randrange(4) for client in counters}
    arrived = [one for one in published if one.identity not in lost and one.sequence <= tails[one.client]]
    right = tuple(_interleaved(rng, arrived))
    return _disturbed(rng, left, names), _disturbed(rng, right, names)


def _disturbed(rng: random.Random, processed: tuple[Message, ...], topics: Iterable[str]) -> Site:
    count = len(processed)
    site = Site(
        processed,
        retained_from=rng.randrange(count // 2),
        unseen=rng.choice([0, 3]),
        altered=frozenset(one.identity for one in processed if rng.random() < 0.05),
        passed_over=frozenset(index for index in range(count) if rng.random() < 0.03),
    )
    mortal = [
        (topic, key)
        for topic in topics
        for key, (_, one) in site.sow(topic).items()
        if one.expiration and rng.random() < 0.2
    ]
    return replace(site, expired=frozenset(mortal))


def _interleaved(rng: random.Random, messages: list[Message]) -> list[Message]:
    """Each publisher's messages in their order, the publishers a little apart; times grow with the arrival."""
    by_client: dict[str, list[Message]] = {}
    for one in messages:
        by_client.setdefault(one.client, []).append(one)
    result: list[Message] = []
    while any(by_client.values()):
        heads = [queue for queue in by_client.values() if queue]
        heads.sort(key=lambda queue: queue[0].at_s + rng.random() * 400)
        result.append(heads[0].pop(0))
    return result


@dataclass
class ExpectedPair:
    """What must be said of one topic."""

    same: int
    only_left: Mapping[str, int]
    only_right: Mapping[str, int]
    differing: Mapping[str, int]


def expected_pair(left: Site, right: Site, topic: str, topics: Iterable[str], skew_s: float) -> ExpectedPair:
    """Work it out, key by key."""
    sows = left.sow(topic), right.sow(topic)
    reach = left.sow_reaches(topics), right.sow_reaches(topics)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("only_left", "only_right", "differing")}
    same = 0
    for key in {*sows[0], *sows[1]}:
        one, other = sows[0].get(key), sows[1].get(key)
        if one and other and left.data(one[1]) == right.data(other[1]):
            same += 1
            continue
        which = "differing" if one and other else "only_left" if one else "only_right"
        ends = [_End(site, topic, key, newest) for site, newest in zip((left, right), reach, strict=True)]
        counts[which][_cause(ends, skew_s)] += 1
    return ExpectedPair(same, **counts)


def expected_own(site: Site, topic: str, topics: Iterable[str]) -> Counter[str]:
    """Why the SOW of one instance is not what its own log makes of it."""
    reach = site.sow_reaches(topics)
    found: Counter[str] = Counter()
    for key in range(20):
        record, last = site.sow(topic).get(key), site.last(topic, key)
        if last is not None and (record is None or record[0] < last[0]):
            is_deleted = last[1].value is None
            if record is not None or not is_deleted:
                is_later, is_mortal = last[0] > reach, record is None and bool(last[1].expiration)
                found["dumped-later" if is_later else "expired" if is_mortal else "not-applied"] += 1
        elif record is not None and record[0] < site.retained_from:
            found["aged-out"] += 1
    return found


@dataclass(frozen=True)
class _End:
    """One key at one site. ``newest``: the index of the newest record in this site's SOW."""

    site: Site
    topic: str
    key: int
    newest: int

    @property
    def record(self) -> tuple[int, Message] | None:
        return self.site.sow(self.topic).get(self.key)

    @property
    def last(self) -> tuple[int, Message] | None:
        return self.site.last(self.topic, self.key)

    @property
    def has_outlived(self) -> bool:
        """Is its record older than the log?"""
        return self.record is not None and self.record[0] < self.site.retained_from

    @property
    def behind(self) -> Message | None:
        """The message that its state is from, as far as the log has it: of its record, or the deletion that ended it."""
        if self.record is not None:
            return None if self.has_outlived else self.record[1]
        return self.last[1] if self.last and self.last[1].value is None else None

    @property
    def is_dumped_earlier(self) -> bool:
        """Does the log know something of the key that came after the dump of the SOW?"""
        if self.last is None or self.last[0] <= self.newest:
            return False
        return self.record is None or self.last[0] > self.record[0]


def _cause(ends: list[_End], skew_s: float) -> str:
    one, other = ends
    behind = [end.behind for end in ends]
    if one.record and other.record and behind[0] and behind[1] and behind[0].identity == behind[1].identity:
        return "changed"
    astray = [
        _astray(message, mate.site, skew_s) if message else None
        for message, mate in ((behind[0], other), (behind[1], one))
    ]
    for word in ("lost", "not-yet-replicated"):
        if word in astray:
            return word
    if any(end.is_dumped_earlier for end in ends):
        return "dumped-later"
    if "aged-out" in astray or any(end.has_outlived for end in ends):
        return "aged-out"
    for own, mate in ((one, other), (other, one)):
        if own.record is None and mate.record is not None and mate.record[1].expiration:
            return "expired"
    if any(end.record is None and end.last is not None and end.last[1].value is not None for end in ends):
        return "not-applied"
    return "other-order" if all(behind) else "unknown"


def _astray(message: Message, mate: Site, skew_s: float) -> str | None:
    if any(one.identity == message.identity for one in mate.log):
        return None
    numbers = [one.sequence for one in mate.log if one.client == message.client]
    if numbers:
        if message.sequence > max(numbers):
            return "not-yet-replicated"
        return "aged-out" if message.sequence < min(numbers) else "lost"
    begins = min((one.at_s for one in mate.log), default=None)
    if begins is None or message.at_s - skew_s > begins:
        return "not-yet-replicated"
    return "aged-out" if message.at_s + skew_s < begins else "unknown"
