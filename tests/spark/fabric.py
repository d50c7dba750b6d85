"""Two AMPS instances that are made up, and what a comparison must say of them, worked out in plain Python."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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

    @property
    def identity(self) -> Identity:
        return self.client, self.sequence

    @property
    def data(self) -> bytes:
        content = {"id": self.key} if self.value is None else {"id": self.key, "value": self.value}
        return json.dumps(content, indent=1).encode()


@dataclass(frozen=True)
class Site:
    """One instance: what it processed, in order, and from which of these on its log still reaches."""

    processed: tuple[Message, ...]
    retained_from: int = 0

    @property
    def log(self) -> tuple[Message, ...]:
        return self.processed[self.retained_from :]

    def txid(self, index: int) -> int:
        return 1_700_000_000_000_000_000 + index

    def sow(self, topic: str) -> dict[int, tuple[int, Message]]:
        """Key to the index and message of its record."""
        records: dict[int, tuple[int, Message]] = {}
        for index, one in enumerate(self.processed):
            if one.topic == topic:
                records[one.key] = (index, one)
                if one.value is None:
                    del records[one.key]
        return records

    def write(self, directory: Path, topics: Iterable[str], *, dumps: int = 2) -> str:
        """Its dumps as files. Returns the directory."""
        logged = [
            Logged(
                txid=self.txid(self.retained_from + n),
                client=one.client,
                sequence=one.sequence,
                data=one.data,
                topic=one.topic,
                type="publish" if one.value is not None else "sow_delete",
                at_s=one.at_s,
            )
            for n, one in enumerate(self.log)
        ]
        cut = len(logged) // dumps
        for number in range(dumps):
            part = logged[number * cut : (number + 1) * cut if number < dumps - 1 else None]
            write(directory / "journal" / f"{number}.txt", journal_text(part))
        for topic in topics:
            kept = [
                Kept(hash_of(topic, key), self.txid(index), one.data) for key, (index, one) in self.sow(topic).items()
            ]
            write(directory / "sow" / f"{topic}.json.txt", sow_text(kept))
        return str(directory)


def hash_of(topic: str, key: int) -> int:
    """A SowKey; the same at both instances."""
    return 5_617_746_317_001_000_000 + 1000 * int(topic[1:]) + key


def some_pair(seed: int, topics: Iterable[str]) -> tuple[Site, Site]:
    """Two sites after an asynchronous link was cut: other interleavings, lost middles, unreplicated tails, retention."""
    rng = random.Random(seed)
    names = list(topics)
    published: list[Message] = []
    counters: Counter[str] = Counter()
    for number in range(25 * len(names)):
        client = f"{rng.randrange(4) + 10**19}"
        counters[client] += 1
        value = None if rng.random() < 0.15 else f"v{number}"
        published.append(
            Message(client, counters[client], rng.choice(names), rng.randrange(20), value, at_s=float(number * 10))
        )
    left = tuple(published)
    lost = {one.identity for one in published if rng.random() < 0.05}
    tails = {client: counters[client] - rng.randrange(4) for client in counters}
    arrived = [one for one in published if one.identity not in lost and one.sequence <= tails[one.client]]
    right = tuple(_interleaved(rng, arrived))
    return Site(left, rng.randrange(len(left) // 2)), Site(right, rng.randrange(len(right) // 2))


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


def expected_pair(left: Site, right: Site, topic: str, skew_s: float) -> ExpectedPair:
    """Work it out, key by key."""
    sows = left.sow(topic), right.sow(topic)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("only_left", "only_right", "differing")}
    same = 0
    for key in {*sows[0], *sows[1]}:
        one, other = sows[0].get(key), sows[1].get(key)
        if one and other and one[1].data == other[1].data:
            same += 1
            continue
        which = "differing" if one and other else "only_left" if one else "only_right"
        counts[which][_cause(left, right, topic, key, skew_s)] += 1
    return ExpectedPair(same, **counts)


def _cause(left: Site, right: Site, topic: str, key: int, skew_s: float) -> str:
    behind = [_behind(site, topic, key) for site in (left, right)]
    astray = [
        _astray(message, mate, skew_s) if message else None
        for message, mate in ((behind[0][0], right), (behind[1][0], left))
    ]
    for word in ("lost", "not-yet-replicated"):
        if word in astray:
            return word
    if "aged-out" in astray or behind[0][1] or behind[1][1]:
        return "aged-out"
    if behind[0][0] and behind[1][0]:
        return "other-order"
    return "unknown"


def _behind(site: Site, topic: str, key: int) -> tuple[Message | None, bool]:
    """The message behind the state of a key as far as the log has it; and whether a record has outlived its own."""
    record = site.sow(topic).get(key)
    if record is not None:
        is_gone = record[0] < site.retained_from
        return (None if is_gone else record[1]), is_gone
    ends = [one for one in site.log if one.topic == topic and one.key == key]
    return (ends[-1] if ends else None), False


def _astray(message: Message, mate: Site, skew_s: float) -> str | None:
    if any(one.identity == message.identity for one in mate.log):
        return None
    highest = max((one.sequence for one in mate.log if one.client == message.client), default=None)
    if highest is not None and message.sequence > highest:
        return "not-yet-replicated"
    if mate.log and message.at_s + skew_s < min(one.at_s for one in mate.log):
        return "aged-out"
    return "not-yet-replicated" if highest is None else "lost"
