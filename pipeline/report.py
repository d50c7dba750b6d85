"""The result of a reconciliation as data. The screen, the JSON and the evidence file all show this data.

This module needs neither Parquet nor Spark, so a report can be read as evidence without them. Units: seconds since the
epoch for times, messages for counts. "Left" and "right" are the two exports in the order they were named. *Missing*
messages are only at left, *extra* messages only at right.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import DefinitionError
from orchestrator.model.findings import Finding
from pipeline.moments import Moment
from pipeline.rows import SOW, EndpointKey, Kind

FORMAT: Literal["failover.reconcile/1"] = "failover.reconcile/1"
SideName = Literal["left", "right"]
Verdict = Literal["safe", "not-safe", "unknown"]

NO_WHY = "none"
# There is also the class `local`: a message that is not replicated, so it is at one site by design.
CLASSES = ("missing", "extra", "duplicate", "changed")

# Reasons why a message that only one site has is not necessarily lost.
WHYS = {
    "in-replication": "each message was queued for the mate when this site was read",
    "moved": "the other site holds each message in another endpoint of the service",
    "dead-lettered": "the other site moved each message to another endpoint, perhaps to the dead message queue",
    "expired": "each message had expired when the other site was read",
    "after-snapshot": "each message was spooled after the other site was read",
    "aged-out": "the other site's log has only higher numbers of the publisher, so it may have had each message",
    "undecided": "each message is as old as the other site's log, which has nothing of the publisher but may have had it",
    "topic-absent": "the other site's log has no message of the topic; check that the other site logs the topic",
    "not-dumped": "the other site's SOW of this topic was not dumped",
    "consumed-between": "each message was at the head of its endpoint and may be consumed; the other site was read later",
    "consumed-unpropagated": "the active site may have consumed each message and not reported that yet",
}


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Holding(_Strict):
    """The messages of an endpoint at one site. ``oldest_at`` counts replicated messages only."""

    messages: int = 0
    local: int = 0
    bytes: int = 0
    oldest_at: float | None = None
    newest_at: float | None = None
    is_whole: bool | None = None


class Uncommon(_Strict):
    """Messages that only one site has, by the reason why they are not necessarily lost: a key of ``WHYS``, or ``none``.

    ``before_failover``: those of them that were spooled until the fail-over; empty when its time is not known.
    ``may_have_expired``: the number of unexplained messages from before the fail-over that may have expired, because
    their expiry time is unknown.
    """

    by_why: dict[str, int] = Field(default_factory=dict)
    before_failover: dict[str, int] = Field(default_factory=dict)
    may_have_expired: int = 0

    @property
    def messages(self) -> int:
        """The number of all these messages."""
        return sum(self.by_why.values())

    @property
    def unexplained(self) -> int:
        """The number of messages that nothing explains."""
        return self.by_why.get(NO_WHY, 0)


class EndpointReport(_Strict):
    """The comparison of one endpoint at both sides.

    ``duplicates_*``: surplus copies of this side over the other. ``duplicates_at_both``: copies that both have; None
    when they were not searched for. ``changed``: the same id with other content. ``unverified``: copies whose content
    could not be read at one side at least. ``order_breaks``: how often right steps back along left's order.
    ``order_by_priority``: further steps back, at a message of another priority. ``unresolved``: runs of numbers whose
    fingerprints differ, although no message in them differs.
    """

    service: str
    name: str
    kind: Kind
    left: Holding
    right: Holding
    missing: Uncommon = Uncommon()
    extra: Uncommon = Uncommon()
    duplicates_left: int = 0
    duplicates_right: int = 0
    duplicates_at_both: int | None = None
    changed: int = 0
    unverified: int = 0
    order_breaks: int = 0
    order_by_priority: int = 0
    unresolved: int = 0

    @property
    def key(self) -> EndpointKey:
        """The key of the endpoint."""
        return EndpointKey(self.service, self.name, self.kind)

    @property
    def label(self) -> str:
        """The name to show. A topic's log and its SOW have the same name, so the SOW is marked."""
        return f"{self.name} SOW" if self.kind == SOW else self.name

    @property
    def has_same_messages(self) -> bool:
        """Do both sites have the same replicated messages, with the same number of copies?"""
        surplus = self.duplicates_left + self.duplicates_right
        return not (self.missing.messages or self.extra.messages or surplus or self.changed or self.unresolved)

    @property
    def differs(self) -> bool:
        """Do the sites differ in this endpoint?"""
        return not self.has_same_messages or self.order_breaks > 0 or bool(self.duplicates_at_both)


class Rpo(_Strict):
    """How many messages the fail-over lost: between ``low`` and ``high``. ``how``: how certain these limits are.

    ``proven``: both are equal, and follow from the exports. ``bounded``: the number lies between them. ``unknown``: the
    exports do not contain the number, and ``high`` is None.
    """

    how: Literal["proven", "bounded", "unknown"]
    low: int = 0
    high: int | None = None
    reasons: tuple[str, ...] = ()


class Interval(_Strict):
    """The differences among the messages spooled between ``start`` and ``end``."""

    service: str
    start: float
    end: float
    missing: int = 0
    extra: int = 0
    duplicates: int = 0
    changed: int = 0


class Clocks(_Strict):
    """How many seconds later the right site spooled the common messages: least, middle and greatest. The middle is the
    weighted median of the endpoints' means.

    Either the clocks of the two sites differ by this time, or replication took this time.
    """

    least_s: float
    middle_s: float
    greatest_s: float

    @property
    def at_least_s(self) -> float:
        """Every message is later by at least this time (negative: earlier). 0 when some are later and some earlier."""
        return max(self.least_s, 0.0) or min(self.greatest_s, 0.0)


class ServiceReport(_Strict):
    """One service: is failing back safe (docs/sources/solace-procedure.md, fail-back), and what was lost. ``clocks``
    None: the sites have no common messages."""

    name: str
    active: SideName | None
    failover_at: Moment | None
    verdict: Verdict
    reasons: tuple[str, ...]
    rpo: Rpo
    endpoints: tuple[EndpointReport, ...]
    clocks: Clocks | None = None


class SideReport(_Strict):
    """One export: its site, times and number of messages. ``manifest`` is the SHA-256 of its manifest."""

    site: str
    manifest: str
    taken_from: Moment
    taken_to: Moment
    messages: int


class Work(_Strict):
    """How the result was found: the plan, and the probability that a difference was overlooked."""

    plan: Literal["fingerprints", "drill", "everything"]
    buckets: int
    buckets_drilled: int
    rows: int
    rows_drilled: int
    overlooked_at_most: float
    engine: str = "spark"


class Sample(_Strict):
    """One difference, as an example to check. ``elsewhere``: the endpoint in which the other site has the message."""

    kind: str
    service: str
    endpoint: str
    message_id: str
    spooled_at: float | None = None
    why: str | None = None
    elsewhere: str | None = None


class Report(_Strict):
    """The whole report. ``checksum`` covers all other fields. It detects accidental changes, but not forgery."""

    format: Literal["failover.reconcile/1"] = FORMAT
    simulated: bool = False
    run: str | None = None
    created_at: Moment
    clock_skew_s: float
    left: SideReport
    right: SideReport
    work: Work
    services: tuple[ServiceReport, ...]
    intervals: tuple[Interval, ...] = ()
    samples: tuple[Sample, ...] = ()
    findings: tuple[Finding, ...] = ()
    checksum: str = ""

    @property
    def endpoints(self) -> tuple[EndpointReport, ...]:
        """The endpoints of all services."""
        return tuple(endpoint for service in self.services for endpoint in service.endpoints)

    def sealed(self) -> Report:
        """The same report with its checksum."""
        return self.model_copy(update={"checksum": self._sum()})

    def encoded(self) -> bytes:
        """The content of the report file."""
        return (json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n").encode()

    def is_intact(self) -> bool:
        """Is the report unchanged since it was written?"""
        return self.checksum == self._sum()

    def _sum(self) -> str:
        content = self.model_dump(mode="json", exclude={"checksum"})
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def decode_report(data: bytes, file: str) -> Report:
    """The report in ``data``. Raises ``DefinitionError``: not a report, another version, or altered."""
    try:
        report = Report.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise DefinitionError(
            f"this file is not a report of a reconciliation: {where}: {first['msg']}", file=file
        ) from error
    if not report.is_intact():
        raise DefinitionError("the report was altered after it was written", file=file, hint="reconcile again")
    return report
