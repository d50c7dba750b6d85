"""The story of a run, as documents tell it: everything is read from the record. HTML, Markdown and JSON are made of it.

Moments are UTC texts; ``start`` and ``end`` are seconds since the run was made, for bars. None is unknown.
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
    """A stretch of time: a step, an outage, a question that waits for its answer, or a pause.

    ``is_open``: the record does not have its end, so ``end`` is that of the record."""

    kind: SpanKind
    label: str
    start: float
    end: float
    is_open: bool = False


class Predicted(_Strict):
    """What earlier runs took, as known when this one was made: the middle nine tenths, in seconds, of ``n`` of them.
    ``rate``: messages a second, where the seconds follow from what was queued."""

    n: int
    low: float
    middle: float
    high: float
    rate: float | None = None


class StepStory(_Strict):
    """A step of one service, with what was predicted for it beside what it took. ``seconds`` None: it has no end."""

    id: str
    title: str
    status: str
    seconds: float | None
    predicted: Predicted | None
    note: str


class CommandStory(_Strict):
    """An action: what was intended, what the device was sent, and its outcome. ``effect`` None: the record ends
    before its answer. ``evidence``: what a reading showed where the answer was in doubt."""

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
    """What a site reported. ``times``: so often, one after the other, with the same values. ``is_failure``: it could not
    be read, and ``text`` says why."""

    at: str
    last_at: str
    site: str
    reading: str
    text: str
    times: int
    is_failure: bool


class Gauge(_Strict):
    """A point of the number that a wait follows: seconds since the run was made."""

    at: float
    value: float


class Moment(_Strict):
    """One thing that happened. ``seq``: its record."""

    at: str
    seq: int
    text: str


class WordStory(_Strict):
    """What a person said, or a policy: ``what`` they decided or did, and why. ``account``: whose process said so;
    ``key``: whose signature it has. ``service`` None: it is about the whole run. ``waited``: seconds from the question.
    ``counts`` false: the word of a person whose word has no effect here."""

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
    """One service, and what happened in it. ``lane``: its part of the report, which JSON has once. ``worst`` sorts: 0 is
    what needs a person first. ``advice``: what to do next."""

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
    """A step over all services. ``low``, ``middle``, ``high``: the shortest, the median and the longest of those that
    ended, in seconds. ``predicted``: of one service, or of all together where they differ the widest; ``longer`` and
    ``shorter``: how many services took more or less than was predicted for them."""

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
    """The last record: what proves that none is missing, compared with `failover runs verify`."""

    seq: int
    hash: str
    signed_by: str | None


class RunStory(_Strict):
    """A whole run. ``services``: those that need a person first. ``written_at`` and ``version``: of this document."""

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
