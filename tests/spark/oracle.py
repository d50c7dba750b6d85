"""Compares two sides of one endpoint in plain Python, the slow and obvious way: what Spark's answers are held against."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from orchestrator.clock import VirtualClock
from pipeline.collect import Job, collect
from pipeline.manifest import ServiceSnapshot
from pipeline.report import EndpointReport
from pipeline.rows import NEVER, Census, Cursor, EndpointKey, Message, Replicated, digest_of, split_id

SERVICE = "Trading_VPN"
NOON = 1_800_000_000.0


@dataclass(frozen=True)
class Endpoint:
    """One endpoint at one site: its messages in order, and when they were read."""

    messages: tuple[Message, ...]
    taken_from: float = NOON
    taken_to: float = NOON + 1


@dataclass(frozen=True)
class Case:
    """One endpoint at both sites."""

    left: Endpoint
    right: Endpoint
    active: str | None = "right"
    failover_at: float | None = NOON - 500


@dataclass
class Expected:
    """What the comparison must say."""

    missing: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)
    missing_before: Counter[str] = field(default_factory=Counter)
    extra_before: Counter[str] = field(default_factory=Counter)
    missing_silent: int = 0
    extra_silent: int = 0
    duplicates_left: int = 0
    duplicates_right: int = 0
    duplicates_at_both: int = 0
    changed: int = 0
    unverified: int = 0
    order_breaks: int = 0

    @classmethod
    def told(cls, report: EndpointReport) -> Expected:
        """The same of a report."""
        return cls(
            missing=Counter(report.missing.by_why),
            extra=Counter(report.extra.by_why),
            missing_before=Counter(report.missing.before_failover),
            extra_before=Counter(report.extra.before_failover),
            missing_silent=report.missing.may_have_expired,
            extra_silent=report.extra.may_have_expired,
            duplicates_left=report.duplicates_left,
            duplicates_right=report.duplicates_right,
            duplicates_at_both=report.duplicates_at_both or 0,
            changed=report.changed,
            unverified=report.unverified,
            order_breaks=report.order_breaks,
        )


def compare(case: Case, *, skew: float, with_digests: bool = True, equal_duplicates: bool = False) -> Expected:
    """What is true of ``case``."""
    found = Expected()
    left, right = _by_id(case.left), _by_id(case.right)
    common = left.keys() & right.keys()
    firsts = [min((side[one][0][0] for one in common), default=None) for side in (left, right)]
    for one in left.keys() - right.keys():
        why = _why(left[one], case.left, case.right, firsts[0], case.active, "left", skew)
        _count(found.missing, found.missing_before, left[one], why, case, skew)
        found.missing_silent += _is_silent(left[one], why, case, skew)
    for one in right.keys() - left.keys():
        why = _why(right[one], case.right, case.left, firsts[1], case.active, "right", skew)
        _count(found.extra, found.extra_before, right[one], why, case, skew)
        found.extra_silent += _is_silent(right[one], why, case, skew)
    for one in left.keys() | right.keys():
        n_l, n_r = len(left.get(one, ())), len(right.get(one, ()))
        if not (n_l and n_r) and any(m.replicated == "not-replicated" for _, m in left.get(one) or right[one]):
            continue  # at one site by design, however often
        found.duplicates_left += max(n_l - max(n_r, 1), 0)
        found.duplicates_right += max(n_r - max(n_l, 1), 0)
        found.duplicates_at_both += max(min(n_l, n_r) - 1, 0) if equal_duplicates else 0
    for one in common:
        contents = [Counter(message.digest for _, message in side[one]) for side in (left, right)]
        blind = None in contents[0] or None in contents[1]
        is_as_often = contents[0].total() == contents[1].total()
        apart = contents[0] != contents[1] if is_as_often else contents[0].keys() != contents[1].keys()
        found.unverified += max(count[None] for count in contents)
        found.changed += not blind and apart
    streams: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for one in common:
        streams[split_id(one)[0]].append((left[one][0][0], right[one][0][0]))
    for places in streams.values():
        along = [place for _, place in sorted(places)]
        found.order_breaks += sum(one > other for one, other in pairwise(along))
    return found


def _by_id(endpoint: Endpoint) -> dict[str, list[tuple[int, Message]]]:
    found: dict[str, list[tuple[int, Message]]] = defaultdict(list)
    for place, message in enumerate(endpoint.messages):
        found[message.message_id].append((place, message))
    return dict(found)


def _why(
    copies: Sequence[tuple[int, Message]],
    own: Endpoint,
    other: Endpoint,
    first_common: int | None,
    active: str | None,
    side: str,
    skew: float,
) -> str:
    states = [message.replicated for _, message in copies]
    if "not-replicated" in states:
        return "local"
    if "pending-replication" in states and active == side:
        return "in-replication"
    if min(message.spooled_at for _, message in copies) + skew >= other.taken_from:
        return "after-snapshot"
    expires = [message.expires_at for _, message in copies if message.expires_at is not None]
    if expires and 0 < min(expires) <= other.taken_to + skew:
        return "expired"
    is_at_head = first_common is None or copies[0][0] < first_common
    if is_at_head and own.taken_from < other.taken_to:
        return "consumed-between"
    if is_at_head and active is not None and active != side:
        return "consumed-unpropagated"
    return "none"


def _is_silent(copies: Sequence[tuple[int, Message]], why: str, case: Case, skew: float) -> bool:
    """Of before the fail-over, explained by nothing, and nothing tells when it expires."""
    spooled = min(message.spooled_at for _, message in copies)
    is_before = case.failover_at is not None and spooled <= case.failover_at + skew
    return why == "none" and is_before and all(message.expires_at is None for _, message in copies)


def _count(
    into: Counter[str],
    before: Counter[str],
    copies: Sequence[tuple[int, Message]],
    why: str,
    case: Case,
    skew: float,
) -> None:
    if why == "local":
        return
    into[why] += 1
    spooled = min(message.spooled_at for _, message in copies)
    if case.failover_at is not None and spooled <= case.failover_at + skew:
        before[why] += 1


def some_case(seed: int, *, equal_duplicates: bool = False) -> Case:
    """A small endpoint whose two sides differ in ways that chance picks."""
    chance = random.Random(seed)
    ids = [f"{one[:5]}{seed:08x}{one[5:]}" for one in _some_ids(chance)]  # no message is in two endpoints
    messages = [_some_message(chance, one, number) for number, one in enumerate(ids)]
    messages = [replace(one, expires_at=chance.choice(_EXPIRIES)) for one in messages]
    both = chance.choice([0.0, 0.02, 0.2, 1.0])
    if equal_duplicates and messages:
        messages += [chance.choice(messages)]
    left, right = list(messages), list(messages)
    for side in (left, right):
        for _ in range(int(len(side) * both * chance.random())):
            chance.choice((_drop, _copy, _change, _move, _rotate))(chance, side)
    if not equal_duplicates:
        left, right = _without_equal_copies(left, right)
    read_l, read_r = chance.choice([(0, 0), (0, 50), (50, 0), (0, 0.5)])
    return Case(
        Endpoint(tuple(left), NOON + read_l, NOON + read_l + 1),
        Endpoint(tuple(right), NOON + read_r, NOON + read_r + 1),
    )


_EXPIRIES = (None, None, NEVER, NEVER, NEVER, NOON - 700, NOON + 9_000)


def _some_ids(chance: random.Random) -> list[str]:
    number = chance.choice([0, 1, 3, 12, 60])
    start = chance.choice([0, 1 << 33])
    spread = chance.choice([1, 1, 7])
    forms = (
        "rmid1:0d77c-b0b2e66aece-{high:08x}-{low:08x}",
        "rmid1:11111-22222222222-{high:08x}-{low:08x}",
        "ID:{low}-x",
    )
    form = chance.choice([forms[0], forms[0], forms[2], None])
    found = []
    for step in range(number):
        value = start + step * spread
        text = form or chance.choice(forms)
        found.append(text.format(high=value >> 32, low=value & 0xFFFFFFFF))
    return found


def _some_message(chance: random.Random, message_id: str, number: int) -> Message:
    standings: list[Replicated | None] = ["replicated"] * 6
    return Message(
        message_id=message_id,
        spooled_at=NOON - 1000 + number * 20.25,
        size=chance.choice([None, 0, 100]),
        digest=chance.choice([digest_of(message_id.encode())] * 9 + [None]),
        replicated=chance.choice([*standings, "not-replicated", "pending-replication", None]),
        redeliveries=chance.choice([None, 0, 2]),
    )


def _drop(chance: random.Random, side: list[Message]) -> None:
    if side:
        side.pop(chance.choice([0, 0, -1, chance.randrange(len(side))]))


def _copy(chance: random.Random, side: list[Message]) -> None:
    if side:
        one = chance.choice(side)
        if sum(other.message_id == one.message_id for other in side) == 1:
            side.insert(chance.randrange(side.index(one) + 1, len(side) + 1), one)


def _change(chance: random.Random, side: list[Message]) -> None:
    if side:
        one = chance.choice(side)
        other = replace(one, digest=digest_of(b"other"), redeliveries=1)
        side[:] = [other if message is one else message for message in side]


def _move(chance: random.Random, side: list[Message]) -> None:
    if side:
        side.insert(chance.randrange(len(side)), side.pop(chance.randrange(len(side))))


def _rotate(chance: random.Random, side: list[Message]) -> None:
    if side:
        cut = chance.randrange(len(side))
        side[:] = side[cut:] + side[:cut]


def _without_equal_copies(left: list[Message], right: list[Message]) -> tuple[list[Message], list[Message]]:
    """Ids that both sides hold more than once appear at the right only once: they are sought only on request."""
    copies_l, copies_r = (Counter(message.message_id for message in side) for side in (left, right))
    surplus = {one for one in copies_l if copies_l[one] > 1 and copies_r[one] > 1}
    seen: set[str] = set()
    kept = []
    for message in right:
        if message.message_id not in surplus or message.message_id not in seen:
            kept.append(message)
        seen.add(message.message_id)
    return left, kept


class _Held:
    """One side of many cases as a ``Source``."""

    def __init__(self, endpoints: dict[EndpointKey, Endpoint]) -> None:
        self._endpoints = endpoints
        self._asked: set[EndpointKey] = set()

    def endpoints(self) -> list[EndpointKey]:
        return list(self._endpoints)

    def census(self, key: EndpointKey) -> Census:
        one = self._endpoints[key]
        at = one.taken_to if key in self._asked else one.taken_from
        self._asked.add(key)
        return Census(at, len(one.messages))

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        yield from self._endpoints[key].messages[0 if after is None else after.position + 1 :]


def write(cases: Sequence[Case], directory: Path, *, failover_at: float | None = NOON - 500) -> tuple[str, str]:
    """Both exports, each case an endpoint ``q0``, ``q1``, …; left is the site ny, standby; right nj, active."""
    roles: Mapping[str, Literal["active", "standby"]] = {"ny": "standby", "nj": "active"}
    for site, role in roles.items():
        held = {
            EndpointKey(SERVICE, f"q{number}"): case.left if site == "ny" else case.right
            for number, case in enumerate(cases)
        }
        job = Job(site, [ServiceSnapshot(name=SERVICE, role=role)], failover_at=failover_at)
        collect(_Held(held), directory / site, job, VirtualClock(NOON))
    return str(directory / "ny"), str(directory / "nj")
