"""Judges the result of a reconciliation for each service: is failing back safe, and what did the fail-over lose.

Pure. docs/sources/solace-procedure.md, fail-back: the risk of loss and duplication is
gone, assuming replication was never disabled, once all replicated messages published before the fail-over have been
consumed at the newly active site. There are two tests: the endpoints on both sites have the same messages; or the oldest
message of every endpoint was published after the fail-over. Here the first test compares the messages, not their number.
The second test checks both sites, because the restored site would deliver its older messages again.

The second test does not apply to AMPS, because a log and a SOW keep consumed messages. If these differ, the verdict is
"not safe", or "unknown" if time or the age of the logs explains all differences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.clock import iso
from orchestrator.counting import counted
from pipeline.report import NO_WHY, Clocks, EndpointReport, Rpo, SideName, Verdict
from pipeline.rows import KEPT, SOW

_NAMED_MAX = 3
# The reason when one site's log has no messages of a topic.
_ABSENT = "topic-absent"
# Replication takes time: a difference up to this value (seconds) does not show a wrong clock.
_DELAY_S = 1.0
# Uncertain explanations of a message. With them, the number of lost messages has bounds.
_PERHAPS = {
    "consumed-between": "messages were at the head of their endpoint and may have been consumed at the active site",
    "consumed-unpropagated": "messages were at the head of their endpoint and may have been consumed at the active site",
    "aged-out": "messages are older than the active site's log and may have been in it",
    "undecided": "messages are about as old as the active site's log and may have been in it",
    "expired": "messages had expired and may have been discarded at the active site",
}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The known facts of a service besides its messages. ``was_interrupted``: did replication ever stop queueing?
    ``clocks``: the time between the sites' spooling of the same messages."""

    active: SideName | None
    failover_at: float | None
    was_interrupted: bool | None
    clock_skew_s: float
    clocks: Clocks | None = None

    @property
    def is_clock_off(self) -> bool:
        """Do the messages show that the sites' clocks differ more than was assumed? A queue that replicates late makes
        some messages later, never all of them."""
        return self.clocks is not None and abs(self.clocks.at_least_s) > max(self.clock_skew_s, _DELAY_S)


def judge(endpoints: Sequence[EndpointReport], known: Circumstances) -> tuple[Verdict, tuple[str, ...]]:
    """The fail-back verdict, and its reasons in words."""
    partial = [one for one in endpoints if not is_read(one)]
    apart = [one for one in endpoints if not one.has_same_messages]
    unread = (_unread(partial),) if partial else ()
    unresolved = [one for one in endpoints if one.unresolved]
    if unresolved:
        why = f"the fingerprints of {_named(unresolved)} differ, but the messages that differ were not found"
        return "unknown", (why, *unread)
    if not apart:
        return ("unknown", unread) if partial else ("safe", ("both sites hold the same messages in every endpoint",))
    kept = [one for one in apart if one.kind in KEPT]
    if kept:
        verdict, why = _judge_kept(kept)
        return verdict, (why, *unread)
    if known.was_interrupted:
        why = f"{_named(apart)} differ, and replication stopped queueing at some time, so message ages prove nothing"
        return "not-safe", (*unread, why)
    if known.failover_at is None:
        why = (
            f"{_named(apart)} differ, and the time of the fail-over is unknown, so the age of messages proves nothing"
        )
        return "unknown", (*unread, why)
    if known.is_clock_off:
        return "unknown", (*unread, f"{clocks_apart(known)}, so the age of messages proves nothing")
    threshold = known.failover_at + known.clock_skew_s
    old = [one for one in apart if _oldest(one) <= threshold]
    if old:
        return "not-safe", (*(_why_not(one, known) for one in old[:_NAMED_MAX]), *_more(old), *unread)
    if partial:
        return "unknown", unread
    reasons = [
        f"in every endpoint that differs, the oldest message was spooled after the fail-over at {iso(threshold)}"
    ]
    if known.was_interrupted is None:
        reasons.append("assumed: replication was never disabled or suspended")
    return "safe", tuple(reasons)


def clocks_apart(known: Circumstances) -> str:
    """A sentence about the difference of the clocks."""
    assert known.clocks is not None  # called only if the clocks are off
    later = "later" if known.clocks.at_least_s > 0 else "earlier"
    seconds = f"{abs(known.clocks.at_least_s):,.1f} s"
    return f"the right site spooled all common messages at least {seconds} {later} than the left site"


def _judge_kept(apart: Sequence[EndpointReport]) -> tuple[Verdict, str]:
    """The verdict on logs and SOW topics that differ. Only the log of a SOW can show a loss in the SOW."""
    worse = [one for one in apart if one.kind != SOW and _is_worse(one)]
    if worse:
        return (
            "not-safe",
            f"{_named(worse)} differ, and neither time nor the age of the logs explains the differences",
        )
    absent = [one for one in apart if _ABSENT in one.missing.by_why or _ABSENT in one.extra.by_why]
    if absent:
        return "unknown", f"the log of one site has no message of {_named(absent)}; check that the site logs this"
    return (
        "unknown",
        f"{_named(apart)} differ, perhaps only because of time or the age of the logs; "
        "dump both sites again at a calm time",
    )


def _is_worse(endpoint: EndpointReport) -> bool:
    unexplained = endpoint.missing.unexplained + endpoint.extra.unexplained
    return bool(unexplained or endpoint.changed or endpoint.duplicates_left or endpoint.duplicates_right)


def is_read(endpoint: EndpointReport) -> bool:
    """Is it shown that the endpoint was read completely? A broker's endpoint must report its depth to show it. A dump
    reports no depth, but its unreadable pieces are known."""
    wholes = (endpoint.left.is_whole, endpoint.right.is_whole)
    return False not in wholes and (endpoint.kind in KEPT or None not in wholes)


def _oldest(endpoint: EndpointReport) -> float:
    moments = [one.oldest_at for one in (endpoint.left, endpoint.right) if one.oldest_at is not None]
    return min(moments, default=float("inf"))


def _why_not(endpoint: EndpointReport, known: Circumstances) -> str:
    """What would happen to this endpoint's messages from before the fail-over."""
    parts = [f"the oldest message of {endpoint.kind} {endpoint.name} is from {iso(_oldest(endpoint))}"]
    if known.active is not None:
        only_active, only_restored = endpoint.extra, endpoint.missing
        if known.active == "left":
            only_active, only_restored = only_restored, only_active
        if only_active.messages:
            parts.append(f"{only_active.messages:,} messages are at the active site only and would be lost")
        if only_restored.messages:
            parts.append(
                f"{only_restored.messages:,} messages are at the restored site only and would be delivered there"
            )
    return ", ".join(parts)


def _unread(endpoints: Sequence[EndpointReport]) -> str:
    if any(False in (one.left.is_whole, one.right.is_whole) for one in endpoints):
        return f"{_named(endpoints)} were not read in full at both sites"
    return f"{_named(endpoints)} did not report how many messages they hold, so messages may be unread"


def _named(endpoints: Sequence[EndpointReport]) -> str:
    names = ", ".join(one.label for one in endpoints[:_NAMED_MAX])
    more = len(endpoints) - _NAMED_MAX
    return f"{names} and {more:,} more" if more > 0 else names


def _more(endpoints: Sequence[EndpointReport]) -> tuple[str, ...]:
    more = len(endpoints) - _NAMED_MAX
    return (f"and {counted(more, 'more endpoint')}",) if more > 0 else ()


def recovery_point(endpoints: Sequence[EndpointReport], known: Circumstances) -> Rpo:
    """How many messages the fail-over lost: unexplained messages that only the site that gave up has.

    Only messages spooled until the fail-over count. The number is bounded, never guessed, if messages may have been
    consumed, expired or aged out of the log at the active site. A message that the active site holds in another endpoint
    is not lost. If the site that gave up has no message of that time, the number is unknown. SOW records are not counted,
    because the messages that made them are in the log.
    """
    endpoints = [one for one in endpoints if one.kind != SOW]
    if known.active is None:
        return Rpo(how="unknown", reasons=("the active site is unknown",))
    if known.failover_at is None:
        return Rpo(how="unknown", reasons=("the time of the fail-over is unknown",))
    only_there = [one.extra if known.active == "left" else one.missing for one in endpoints]
    low = sum(one.before_failover.get(NO_WHY, 0) for one in only_there)
    partial = [one for one in endpoints if not is_read(one)]
    if partial:
        sure = low - sum(one.may_have_expired for one in only_there)
        return Rpo(how="unknown", low=sure, reasons=(_unread(partial),))
    absent = sum(one.before_failover.get(_ABSENT, 0) for one in only_there)
    if absent:
        why = (
            f"{absent:,} messages are of a topic that the active site's log does not have; "
            "check that the active site logs the topic"
        )
        return Rpo(how="unknown", low=low, reasons=(why,))
    gave_up = [one.right if known.active == "left" else one.left for one in endpoints]
    threshold = known.failover_at + known.clock_skew_s
    if not any(one.oldest_at is not None and one.oldest_at <= threshold for one in gave_up):
        # docs/sources/solace-procedure.md, fail-back: a message spool that could not be recovered is empty. It looks
        # like a spool whose messages were consumed.
        why = (
            "the restored site holds no message from before the fail-over: "
            "all were consumed, or its message spool was lost"
        )
        return Rpo(how="unknown", reasons=(why,))
    if known.is_clock_off:
        why = f"{clocks_apart(known)}, so it is unknown which messages are from before the fail-over"
        return Rpo(how="unknown", reasons=(why,))
    perhaps: Counter[str] = Counter()
    for why, text in _PERHAPS.items():
        perhaps[text] += sum(one.before_failover.get(why, 0) for one in only_there)
    silent = sum(one.may_have_expired for one in only_there)
    perhaps["messages may have expired at the active site, because their expiration time was not reported"] += silent
    reasons = tuple(f"{number:,} {text}" for text, number in perhaps.items() if number)
    if not reasons:
        return Rpo(how="proven", low=low, high=low, reasons=("every message of both sites was compared",))
    return Rpo(how="bounded", low=low - silent, high=low - silent + perhaps.total(), reasons=reasons)
