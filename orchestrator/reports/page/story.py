"""The data model of a run's story. All of it is read from the record. HTML, Markdown and JSON are made from the story.

Moments are UTC texts. ``start`` and ``end`` of bars are seconds since the run was created. None means unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.reports.document import LaneReport, RunDocument

FORMAT = "failover run story 1"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


SpanKind = Literal[
    "done", "under way", "failed", "abandoned", "rolling back", "no active site", "both active", "decision", "not led"
]


class Span(_Strict):
    """A period of time: a step, an outage, a question that waits for its answer, or a pause.

    ``is_open``: the record does not show the end of the span, so ``end`` is the end of the record."""

    kind: SpanKind
    label: str
    start: float
    end: float
    is_open: bool = False


class Predicted(_Strict):
    """The time that earlier runs took, as known when this run was created: the middle nine tenths of ``n`` values, in
    seconds. ``rate`` is in messages a second. It is set if the seconds were computed from the queued messages."""

    n: int
    low: float
    middle: float
    high: float
    rate: float | None = None


class StepStory(_Strict):
    """A step of one service, with its predicted and its real time. ``seconds`` is None if the step has no end."""

    id: str
    title: str
    status: str
    seconds: float | None
    predicted: Predicted | None
    note: str


class CommandStory(_Strict):
    """An action: its intent, the commands that were sent to the device, and its outcome. ``effect`` is None if the record
    ends before the answer. ``evidence`` is the reading that resolved a doubtful answer."""

    at: str
    site: str
    step: str
    action: str
    arguments: Mapping[str, str]
    attempt: int
    is_rollback: bool
    device: str
    sent: tuple[str, ...]
    effect: str | None
    detail: str
    evidence: str


class ReadingStory(_Strict):
    """A report of a site. ``times`` is the number of consecutive reports with the same values. ``is_failure``: the site
    could not be read, and ``text`` is the reason."""

    at: str
    last_at: str
    site: str
    reading: str
    text: str
    times: int
    is_failure: bool


class Gauge(_Strict):
    """One value of the number that a wait follows. ``at`` is in seconds since the run was created."""

    at: float
    value: float


class Moment(_Strict):
    """One event. ``seq`` is the number of its record."""

    at: str
    seq: int
    text: str


class WordStory(_Strict):
    """A statement of a person or a policy: ``what`` was decided or done, and why. ``account`` is the account of the
    process that recorded the statement. ``key`` is the key of its signature. ``service`` is None for the whole run.
    ``waited`` is the time since the question, in seconds. ``counts`` is false if the statement has no effect here."""

    at: str
    service: str | None
    subject: str
    what: str
    by: str
    account: str
    reason: str
    at_risk: int | None = None
    waited: float | None = None
    key: str | None = None
    counts: bool = True


class ServiceStory(_Strict):
    """One service and its events. ``lane`` is its part of the report. JSON leaves ``lane`` out, because the report
    already contains it. ``worst`` is the sort key: 0 needs a person first. ``advice`` is the next action."""

    service: str
    lane: LaneReport = Field(exclude=True)
    worst: int
    advice: str
    spans: tuple[Span, ...]
    steps: tuple[StepStory, ...]
    commands: tuple[CommandStory, ...]
    readings: tuple[ReadingStory, ...]
    gauges: tuple[Gauge, ...]
    moments: tuple[Moment, ...]


class StepSummary(_Strict):
    """A step over all services. ``low``, ``middle`` and ``high`` are the shortest, the median and the longest time of the
    services that finished the step, in seconds. ``predicted`` is the widest range over the predictions of the services.
    ``longer`` and ``shorter`` are the numbers of services that took more or less time than predicted."""

    id: str
    title: str
    services: int
    low: float | None
    middle: float | None
    high: float | None
    predicted: Predicted | None
    shorter: int
    longer: int


class Head(_Strict):
    """The last record. If it equals the head that `failover runs verify` shows, no record is missing."""

    seq: int
    hash: str
    signed_by: str | None


class RunStory(_Strict):
    """A whole run. ``services`` starts with those that need a person. ``written_at`` and ``version`` describe this
    document."""

    format: str = FORMAT
    report: RunDocument
    summary: str
    direction: str
    unit: str
    outage_word: str
    services: tuple[ServiceStory, ...]
    words: tuple[WordStory, ...]
    steps: tuple[StepSummary, ...]
    moments: tuple[Moment, ...]
    head: Head
    started_with: str
    written_at: str
    version: str
