"""Two logs that chance made: every number of the comparison is what plain Python makes of the same entries."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from pipeline.amps.instance import Instance
from pipeline.amps.journals import JournalsOutcome, compare_journals
from pipeline.amps.report import LoggedTopic, Remains
from pipeline.engines.duck import Duck
from tests.spark.dumps import NOON_MICROS, Logged, journal_text, write
from tests.spark.tables import tables_of

SKEW = 20.0
NOON = NOON_MICROS / 1e6
Identity = tuple[str, str, int]


@dataclass(frozen=True)
class Journal:
    """One instance's log in the order of its entries; with ``is_cut`` a dump of it has no end."""

    entries: tuple[Logged, ...]
    is_cut: bool

    @property
    def messages(self) -> list[Logged]:
        return [one for one in self.entries if one.type != "noop"]

    @property
    def copies(self) -> dict[Identity, list[Logged]]:
        found = defaultdict(list)
        for one in self.messages:
            found[one.topic, one.client, one.sequence].append(one)
        return dict(found)

    def write(self, folder: Path) -> Instance:
        """In two dumps."""
        half = len(self.entries) // 2
        for number, some in enumerate((self.entries[:half], self.entries[half:])):
            text = journal_text(some)
            write(folder / f"{number}.txt", text[: text.index(b"Total Entries")] if self.is_cut and number else text)
        return Instance.of_journals(str(folder))


def some_pair(seed: int) -> tuple[Journal, Journal]:
    """Many publishers on many topics; at each instance some of it is gone, old, doubled, altered, out of order."""
    chance = random.Random(seed)
    counters: Counter[str] = Counter()
    published = []
    for number in range(600):
        client = f"{10**19 + chance.randrange(24)}"
        counters[client] += 1
        topic = f"t{chance.randrange(12)}"
        published.append(Logged(0, client, counters[client], b"%d" % number, topic, at_s=number * 1.0))
    return _kept(chance, published, 1_000), _kept(chance, published, 70_000)


def _kept(chance: random.Random, published: Sequence[Logged], base: int) -> Journal:
    unlogged = {f"t{chance.randrange(12)}" for _ in range(2)}
    tails = {one.client: chance.choice([10**9, 10**9, 15, 0]) for one in published}
    begins = chance.choice([0, 0, 40, 80])
    kept = [
        one
        for one in published
        if one.at_s >= begins
        and chance.random() > 0.05
        and one.topic not in unlogged
        and one.sequence <= tails[one.client]
    ]
    for _ in range(12):
        at = chance.randrange(len(kept))
        alike = [n for n, one in enumerate(kept) if (one.topic, one.client) == (kept[at].topic, kept[at].client)]
        other = chance.choice(alike)
        kept[at], kept[other] = kept[other], kept[at]
    kept = [replace(one, data=b"other") if chance.random() < 0.02 else one for one in kept]
    kept = [one for one in kept for _ in range(2 if chance.random() < 0.02 else 1)]
    if chance.random() < 0.5:
        kept.insert(0, Logged(0, "9", 0, b"", type="noop", at_s=kept[0].at_s))
    delay = chance.choice([0.0, 0.7, 30.0])
    entries = [replace(one, txid=base + 2 * n, at_s=one.at_s + delay) for n, one in enumerate(kept)]
    return Journal(tuple(entries), chance.random() < 0.3)


def highest(journal: Journal) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in journal.messages:
        found[one.client] = max(one.sequence, found.get(one.client, -1))
    return found


def lowest(journal: Journal) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in journal.messages:
        found[one.client] = min(one.sequence, found.get(one.client, 1 << 62))
    return found


def why_absent(copies: Sequence[Logged], other: Journal) -> str:
    """Why the other log does not have it: not its topic, still on its way, older than the log, or left behind."""
    one = copies[0]
    reached = highest(other).get(one.client)
    if all(message.topic != one.topic for message in other.messages):
        return "unknown" if other.is_cut else "topic-absent"
    if reached is not None and one.sequence > reached:
        return "not-yet-replicated"
    if reached is None:
        at, begins = min(copy.at_s for copy in copies), min(entry.at_s for entry in other.entries)
        return "aged-out" if at + SKEW < begins else "undecided" if at - SKEW <= begins else "not-yet-replicated"
    if one.sequence < lowest(other)[one.client]:
        return "aged-out"
    return "unknown" if other.is_cut else "lost"


def absent(own: Journal, other: Journal) -> dict[Identity, str]:
    return {key: why_absent(some, other) for key, some in own.copies.items() if key not in other.copies}


def falls(series: Iterable[tuple[str, str, int, int]]) -> Counter[str]:
    """By topic: how often, along each publisher's series (topic, client, along, value), the value falls."""
    by_publisher = defaultdict(list)
    for topic, client, along, value in series:
        by_publisher[topic, client].append((along, value))
    found: Counter[str] = Counter()
    for (topic, _), places in by_publisher.items():
        found[topic] += sum(before[1] > after[1] for before, after in pairwise(sorted(places)))
    return found


def topics(left: Journal, right: Journal) -> list[LoggedTopic]:
    """What is true of each topic."""
    absences = absent(left, right), absent(right, left)
    own = [falls((one.topic, one.client, one.txid, one.sequence) for one in j.messages) for j in (left, right)]
    common = left.copies.keys() & right.copies.keys()
    places = [
        (key[0], key[1], min(one.txid for one in left.copies[key]), min(one.txid for one in right.copies[key]))
        for key in common
    ]
    across = falls((topic, client, first, second) for topic, client, first, second in places)
    found = []
    for name in sorted({one.topic for side in (left, right) for one in side.messages}):
        whys = [Counter(why for key, why in side.items() if key[0] == name) for side in absences]
        copies = [sum(len(some) - 1 for key, some in side.copies.items() if key[0] == name) for side in (left, right)]
        changed = sum(
            {one.data for one in left.copies[key]} != {one.data for one in right.copies[key]}
            for key in common
            if key[0] == name
        )
        found.append(
            LoggedTopic(
                topic=name,
                message_type="json",
                left=sum(one.topic == name for one in left.messages),
                right=sum(one.topic == name for one in right.messages),
                missing=dict(whys[0]),
                extra=dict(whys[1]),
                changed=changed,
                unverified=0,
                duplicates_left=copies[0],
                duplicates_right=copies[1],
                backwards_left=own[0][name],
                backwards_right=own[1][name],
                order_breaks=across[name],
            )
        )
    return found


def remains(left: Journal, right: Journal) -> list[Remains]:
    """By side and publisher: what is lost, from which number and moment to which."""
    found = []
    sides: list[tuple[Literal["left", "right"], Journal, Journal]] = [("left", left, right), ("right", right, left)]
    for side, own, other in sides:
        behind = defaultdict(list)
        for key, why in absent(own, other).items():
            if why == "lost":
                behind[key[1]].append(own.copies[key][0])
        for client, some in behind.items():
            moments, numbers = [one.at_s for one in some], [one.sequence for one in some]
            found.append(
                Remains(
                    side=side,
                    client=client,
                    messages=len(some),
                    first_sequence=min(numbers),
                    last_sequence=max(numbers),
                    first_at=NOON + min(moments),
                    last_at=NOON + max(moments),
                )
            )
    return found


@settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(seed=st.integers(0, 2**32))
def test_as_the_oracle_says(duck: Duck, tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Law: whatever was lost, held up, doubled, altered or reordered, every number is the oracle's, and the table of
    differences names exactly those messages."""
    pair = some_pair(seed)
    left, right = (one.write(tmp_path_factory.mktemp("logs")) for one in pair)
    outcome = compare_journals(duck, left, right, SKEW, VirtualClock())
    check(outcome, pair, tmp_path_factory.mktemp("written"), seed)
    outcome.close()


def check(outcome: JournalsOutcome, pair: tuple[Journal, Journal], folder: Path, seed: int) -> None:
    """Report and table are what the oracle makes of ``pair``."""
    report = outcome.report
    assert list(report.topics) == topics(*pair), seed
    order = lambda one: (one.side, one.client)  # noqa: E731 - the shortest way to say it
    assert sorted(report.remains, key=order) == sorted(remains(*pair), key=order), seed
    written = tables_of(outcome, folder)["differences"]
    rows = {(row["topic"], row["client"], row["sequence"]): row for row in written}
    for number, name in enumerate(("missing", "extra")):
        named = {key: row["why"] for key, row in rows.items() if row["class"] == name}
        assert named == absent(pair[number], pair[1 - number]), seed
    doubled = {key for side in pair for key, some in side.copies.items() if len(some) > 1}
    assert {key for key, row in rows.items() if row["class"] == "duplicate"} <= doubled <= rows.keys(), seed
