"""What the comparisons of AMPS instances found, as data: what the screen, the JSON and the file all show.

Needs neither Parquet nor Spark. Moments are seconds since the epoch; "left" and "right" are the two instances in the
order they were named.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.findings import Finding

# Why the other log does not have a message.
ABSENCES = {
    "lost": "the other instance has higher numbers of the same publisher, and will discard it as a duplicate",
    "not-yet-replicated": "higher than anything the other instance has of this publisher: may still arrive",
    "aged-out": "below every number of the publisher in the other instance's log: older than that log",
    "undecided": "about as old as the other instance's log, which has nothing of the publisher: may have been there",
    "topic-absent": "the other instance's log has nothing of the topic",
    "unknown": "a part of the other log could not be read",
}
# Why two instances, or an instance and its own log, have other records.
CAUSES = {
    "lost": "its message is not in the mate's log, which has higher numbers of the publisher: it will not arrive",
    "not-yet-replicated": "its message has not reached the mate's log yet",
    "other-order": "both logs have both messages, and they arrived in another order",
    "different-keys": "the two instances define the keys of the topic differently",
    "aged-out": "its message is no longer in the log: only a copy can restore it",
    "expired": "the message has an expiration, and each instance expires by itself",
    "dumped-later": "the dumps are of different moments",
    "changed": "the same message with other content",
    "not-applied": "the log has the message, and the SOW does not show it",
    "not-in-log": "its message should be in the log, and is not",
    "unknown": "what was read does not say",
}
# What a person need not check: the rest are findings.
HARMLESS = frozenset({"not-yet-replicated", "expired", "dumped-later"})


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Unread(_Strict):
    """Pieces of a dump that could not be read, and why the first of them; the table ``quarantine`` has each of them."""

    file: str
    reason: str
    pieces: int
    bytes: int


class LogReport(_Strict):
    """One instance's log. ``unread``: the dumps with most of what could not be read, ``unread_pieces``: how much that is
    in all dumps. ``other_types``: entries that are no messages, by type."""

    name: str
    files: int
    entries: int
    first_txid: int | None
    last_txid: int | None
    first_at: float | None
    last_at: float | None
    unread: tuple[Unread, ...] = ()
    unread_pieces: int = 0
    other_types: dict[str, int] = Field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Is there a log, and was all of it read?"""
        return self.files > 0 and not self.unread


class LoggedTopic(_Strict):
    """One topic in two logs. ``missing`` is what only left has, ``extra`` what only right has, by ``ABSENCES``.

    ``backwards_*``: how often a publisher's own numbers fall in that log; ``order_breaks``: how often right steps back
    along left's order of one publisher. ``duplicates_*``: entries of an identity beyond its first.
    """

    topic: str
    message_type: str
    left: int = 0
    right: int = 0
    missing: dict[str, int] = Field(default_factory=dict)
    extra: dict[str, int] = Field(default_factory=dict)
    changed: int = 0
    unverified: int = 0
    duplicates_left: int = 0
    duplicates_right: int = 0
    backwards_left: int = 0
    backwards_right: int = 0
    order_breaks: int = 0

    @property
    def differs(self) -> bool:
        """Is there anything to show?"""
        copies = self.duplicates_left + self.duplicates_right
        order = self.backwards_left + self.backwards_right + self.order_breaks
        return bool(self.missing or self.extra or self.changed or copies or order)


class Remains(_Strict):
    """What one publisher's messages left behind on one instance: they will never reach the other by replication."""

    side: Literal["left", "right"]
    client: str
    messages: int
    first_sequence: int
    last_sequence: int
    first_at: float | None
    last_at: float | None


class JournalsReport(_Strict):
    """Two logs compared. ``remains`` names the publishers with the most messages left behind."""

    format: Literal["failover.journals/1"] = "failover.journals/1"
    created_at: float
    engine: str = "spark"
    left: LogReport
    right: LogReport
    topics: tuple[LoggedTopic, ...]
    remains: tuple[Remains, ...] = ()
    findings: tuple[Finding, ...] = ()


class KeptTopic(_Strict):
    """One SOW topic of one instance, against what its own log makes of it.

    ``is_rebuilt`` false: the keys are not known, or not readable, so the log could not be turned into records.
    ``rebuilt`` counts the records that the log alone gives; ``differences`` by ``CAUSES``. ``keyless``: how many of the
    topic's ``messages``, records too, have none of the key's fields; ``fields``: what the first of them has.
    """

    topic: str
    message_type: str
    keys: tuple[str, ...] | None
    is_rebuilt: bool
    records: int
    rebuilt: int = 0
    same: int = 0
    unverified: int = 0
    differences: dict[str, int] = Field(default_factory=dict)
    messages: int = 0
    keyless: int = 0
    fields: str | None = None


class InstanceReport(_Strict):
    """One instance: its log, its SOW dumps; ``unread`` and ``unread_pieces`` of these, as of the log."""

    log: LogReport
    sow_files: int
    unread: tuple[Unread, ...] = ()
    unread_pieces: int = 0
    topics: tuple[KeptTopic, ...]


class PairedTopic(_Strict):
    """One SOW topic at both instances: records by whether they agree, and ``CAUSES`` of where they do not."""

    topic: str
    message_type: str
    same: int
    only_left: dict[str, int] = Field(default_factory=dict)
    only_right: dict[str, int] = Field(default_factory=dict)
    differing: dict[str, int] = Field(default_factory=dict)


class SowSample(_Strict):
    """One difference, to check. ``where``: left or right against its own log, or both against each other."""

    where: Literal["left", "right", "pair"]
    topic: str
    key: str
    cause: str


class SowReport(_Strict):
    """Two instances' SOW topics, each against its own log and both against each other."""

    format: Literal["failover.sow/1"] = "failover.sow/1"
    created_at: float
    engine: str = "spark"
    left: InstanceReport
    right: InstanceReport
    topics: tuple[PairedTopic, ...]
    samples: tuple[SowSample, ...] = ()
    findings: tuple[Finding, ...] = ()


def encoded(report: JournalsReport | SowReport) -> bytes:
    """As it is written to a file."""
    return (json.dumps(report.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()
