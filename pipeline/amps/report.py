"""The results of the comparisons of AMPS instances as data. The screen, the JSON and the file all show this data.

Needs neither Parquet nor Spark. Times are seconds since the epoch. "Left" and "right" are the two instances in the
order they were named.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.findings import Finding

# Reasons why the other log does not have a message.
ABSENCES = {
    "lost": "the other instance has higher numbers of the same publisher, so it discards each message as a duplicate",
    "not-yet-replicated": "the other instance has only lower numbers of the publisher, so each message may still arrive",
    "aged-out": "the other log has only higher numbers of the publisher, so each message is older than that log",
    "undecided": "each message is as old as the other log, which has nothing of the publisher but may have had it",
    "topic-absent": "the other instance's log has no message of the topic",
    "unknown": "a part of the other log could not be read",
}
# Reasons why two instances, or an instance and its own log, have different records.
CAUSES = {
    "lost": "the mate's log has higher numbers of the publisher but not this message, so the message will not arrive",
    "not-yet-replicated": "the message has not reached the mate's log yet",
    "other-order": "both logs have both messages, but in a different order",
    "different-keys": "the two instances define the keys of the topic differently",
    "aged-out": "the message is no longer in the log, so only a copy can restore the record",
    "expired": "the message has an expiration time, and each instance deletes it separately",
    "dumped-later": "the dumps were taken at different times",
    "changed": "the two messages have the same identity but different content",
    "not-applied": "the log has the message, but the SOW does not show it",
    "not-in-log": "the message should be in the log but is not",
    "unknown": "the dumps do not show the cause",
}
# Causes that an operator need not check. All others are findings.
HARMLESS = frozenset({"not-yet-replicated", "expired", "dumped-later"})


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Unread(_Strict):
    """The unreadable pieces of a dump. ``reason``: of the first piece. The table ``quarantine`` has all pieces."""

    file: str
    reason: str
    pieces: int
    bytes: int


class LogReport(_Strict):
    """One instance's log. ``unread``: the dumps with the most unreadable pieces. ``unread_pieces``: the number of such
    pieces in all dumps. ``other_types``: entries that are not messages, by type."""

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
        """Is there a log, and was it read completely?"""
        return self.files > 0 and not self.unread


class LoggedTopic(_Strict):
    """One topic in two logs. ``missing``: messages only at left, ``extra``: messages only at right, by ``ABSENCES``.

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
        """Do the two logs differ in this topic?"""
        copies = self.duplicates_left + self.duplicates_right
        order = self.backwards_left + self.backwards_right + self.order_breaks
        return bool(self.missing or self.extra or self.changed or copies or order)


class Remains(_Strict):
    """Messages of one publisher that exist on one instance only. Replication will never send them to the other one."""

    side: Literal["left", "right"]
    client: str
    messages: int
    first_sequence: int
    last_sequence: int
    first_at: float | None
    last_at: float | None


class JournalsReport(_Strict):
    """The comparison of two logs. ``remains``: the publishers with the most messages on one instance only."""

    format: Literal["failover.journals/1"] = "failover.journals/1"
    created_at: float
    engine: str = "spark"
    left: LogReport
    right: LogReport
    topics: tuple[LoggedTopic, ...]
    remains: tuple[Remains, ...] = ()
    findings: tuple[Finding, ...] = ()


class KeptTopic(_Strict):
    """One SOW topic of one instance, compared with the records that its own log gives.

    ``is_rebuilt`` false: the keys are unknown or not readable, so the log could not be turned into records.
    ``rebuilt``: the number of records from the log alone. ``differences``: by ``CAUSES``. ``keyless``: how many of the
    topic's ``messages`` (including records) have none of the key's fields. ``fields``: the fields of the first of them.
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
    """One instance: its log and SOW dumps. ``unread`` and ``unread_pieces``: of the SOW dumps, as in ``LogReport``."""

    log: LogReport
    sow_files: int
    unread: tuple[Unread, ...] = ()
    unread_pieces: int = 0
    topics: tuple[KeptTopic, ...]


class PairedTopic(_Strict):
    """One SOW topic at both instances: the number of equal records, and the numbers of different ones by ``CAUSES``."""

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
    """The content of the report file."""
    return (json.dumps(report.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()
