"""The smallest pairs of sites for each class of wrong answers: what either site holds, by service and endpoint.

Left gave up, right serves. A rule is judged with one of them; both engines are held to each other with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pipeline.rows import NEVER, Message, digest_of
from tests.spark.oracle import NOON

ODD = (
    "Börse",
    "取引",
    "__HIVE_DEFAULT_PARTITION__",
    "a/b",
    "a%20b",
    "x=y",
    "[a]{b}?*",
    "plain",
    "2026-11-20",
    "Ünï:#;",
)
Endpoints = dict[tuple[str, str], Sequence[Message]]
Pair = tuple[Endpoints, Endpoints]


def message(number: int, **changes: Any) -> Message:
    told = Message(
        f"rmid1:0d77c-b0b2e66aece-00000000-{number:08x}",
        NOON - 1000 + number,
        digest=digest_of(b"%d" % number),
        replicated="replicated",
        expires_at=NEVER,
    )
    return replace(told, **changes)


def odd_names() -> Pair:
    """Of each of these services right lacks two of thirty."""
    messages = [message(number) for number in range(30)]
    return {(name, "q"): messages for name in ODD}, {(name, "q"): messages[:-2] for name in ODD}


def dead_letters() -> Pair:
    """Right moved six to another endpoint, and lost one."""
    messages = [message(number, dmq_eligible=True) for number in range(60)]
    left: Endpoints = {("a", "orders"): messages, ("a", "#DEAD_MSG_QUEUE"): []}
    kept = [*messages[:20], *messages[26:40], *messages[41:]]
    return left, {("a", "orders"): kept, ("a", "#DEAD_MSG_QUEUE"): messages[20:26]}


def one_copy_elsewhere() -> Pair:
    """Two queues lack a message, of which one copy is in a third."""
    head, one = [message(0)], [message(1)]
    left: Endpoints = {("a", "x"): [*head, *one], ("a", "y"): [*head, *one], ("a", "z"): [message(7)]}
    return left, {("a", "x"): head, ("a", "y"): head, ("a", "z"): [message(7), *one]}


# When they expire, why the one that right lacks need not be lost, and what is said of the recovery point.
EXPIRIES: tuple[tuple[float | None, str, tuple[str, int, int]], ...] = (
    (NEVER, "none", ("proven", 1, 1)),
    (NOON + 9_000, "none", ("proven", 1, 1)),
    (NOON - 700, "expired", ("bounded", 0, 1)),
    (None, "none", ("bounded", 0, 1)),
)


def expiring(expires_at: float | None) -> Pair:
    """Twenty that all expire then, and right lacks one."""
    messages = [message(number, expires_at=expires_at) for number in range(20)]
    return {("a", "q"): messages}, {("a", "q"): [one for one in messages if one is not messages[9]]}


# The contents of the copies of one message at either site.
COPIES = (("ABB", "AAB"), ("ABC", "ACC"), ("ABCD", "ACBD"), ("ABC", "AC"))


def copies(left: str, right: str) -> Pair:
    """One message several times, each letter another content."""
    rest = [message(number) for number in range(10)]
    sides = [[message(100, digest=digest_of(one.encode())) for one in some] for some in (left, right)]
    return {("a", "q"): [*rest, *sides[0]]}, {("a", "q"): [*rest, *sides[1]]}


CLOCKS = (300.0, -300.0)


def other_clock(seconds: float) -> Pair:
    """Right's clock is so far ahead, and right has five more."""
    common = [message(number) for number in range(700, 900)]
    late = [message(number, spooled_at=NOON - 10 + seconds) for number in range(5)]
    right = [replace(one, spooled_at=one.spooled_at + seconds) for one in common]
    return {("a", "q"): common}, {("a", "q"): [*right, *late]}


def late_replication() -> Pair:
    """Right has each a little later than the one before."""
    common = [message(number) for number in range(700, 900)]
    right = [replace(one, spooled_at=one.spooled_at + n * 0.1) for n, one in enumerate(common)]
    return {("a", "q"): common}, {("a", "q"): right}


def overtaken(*, has_priorities: bool = True) -> Pair:
    """At right one message stands before all others; it has a higher priority, or none of them has any."""
    messages = [message(number, priority=4) for number in range(20)]
    urgent = replace(messages[12], priority=9)
    left, right = [*messages[:12], urgent, *messages[13:]], [urgent, *messages[:12], *messages[13:]]
    if not has_priorities:
        left, right = ([replace(one, priority=None) for one in side] for side in (left, right))
    return {("a", "q"): left}, {("a", "q"): right}


def absent_endpoint() -> Pair:
    """Right has no endpoint q at all."""
    messages = [message(number) for number in range(10)]
    return {("a", "q"): messages, ("a", "r"): messages}, {("a", "r"): messages}


EMPTIED = ("none", "left", "both")


def emptied(which: str, count: int = 20) -> Pair:
    """Both have the same, or left or both have nothing."""
    messages = [message(number) for number in range(count)]
    left, right = [] if which in ("left", "both") else messages, [] if which == "both" else messages
    return {("a", "q"): left}, {("a", "q"): right}


def with_gaps() -> Pair:
    """Every hundredth of nine hundred is at left alone."""
    left = [message(number) for number in range(900)]
    return {("a", "q"): left}, {("a", "q"): [one for number, one in enumerate(left) if number % 100]}


def without_contents() -> Pair:
    """Nobody read right's contents, and right lacks one; of the other endpoint's messages one is local to left."""
    left = [message(number) for number in range(300)]
    local = [message(0, replicated="not-replicated", digest=None), message(1, digest=None)]
    right = [message(number, digest=None) for number in range(300) if number != 7]
    return {("a", "q"): left, ("a", "r"): local}, {("a", "q"): right, ("a", "r"): local[1:]}


def _each() -> Mapping[str, Callable[[], Pair]]:
    plain = (dead_letters, one_copy_elsewhere, late_replication, overtaken, absent_endpoint, with_gaps)
    found: dict[str, Callable[[], Pair]] = {one.__name__: one for one in (*plain, without_contents)}
    found["overtaken without priorities"] = partial(overtaken, has_priorities=False)
    found |= {f"expiring {at}": partial(expiring, at) for at, _, _ in EXPIRIES}
    found |= {f"copies {left} {right}": partial(copies, left, right) for left, right in COPIES}
    found |= {f"emptied {which}": partial(emptied, which) for which in EMPTIED}
    found |= {f"clock {seconds}": partial(other_clock, seconds) for seconds in CLOCKS}
    return found


def every_pair() -> Pair:
    """All of them as services of one pair, each under a name of its own, besides the odd names."""
    sides: Pair = odd_names()
    for name, make in _each().items():
        for side, own in zip(sides, make(), strict=True):
            side.update({(name, endpoint): messages for (_, endpoint), messages in own.items()})
    return sides
