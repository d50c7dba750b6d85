"""Makes the story of a run from its records in one pass. The story contains the report that all other outputs use."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.clock import iso
from orchestrator.model import events as ev
from orchestrator.model.families import words_of
from orchestrator.reports.document import LaneReport, RunDocument
from orchestrator.reports.next_steps import advice
from orchestrator.reports.page.predictions import Predictions, summaries
from orchestrator.reports.page.readings import ReadingsStory
from orchestrator.reports.page.spans import SpansStory, outages
from orchestrator.reports.page.story import (
    CommandStory,
    Gauge,
    Head,
    Moment,
    RunStory,
    ServiceStory,
    Span,
)
from orchestrator.reports.page.words import WordsStory
from orchestrator.reports.wording import direction, sentence
from orchestrator.version import VERSION

_WORST: tuple[ev.Outcome | None, ...] = (
    ev.Outcome.STUCK,
    ev.Outcome.NEEDS_OPERATOR,
    None,
    ev.Outcome.ESCALATED,
    ev.Outcome.REVERTED,
    ev.Outcome.REFUSED,
    ev.Outcome.DONE,
)


class _Service:
    """Collects the events of one service."""

    def __init__(self, plan: ev.Plan, began: float) -> None:
        self._plan = plan
        self._began = began
        self.spans = SpansStory(plan)
        self.readings = ReadingsStory(plan)
        self.commands: dict[int, CommandStory] = {}
        self.gauges: list[Gauge] = []
        self.moments: list[Moment] = []

    def take(self, record: ev.Record) -> None:
        event, since = record.event, record.at - self._began
        self.spans.take(event, since)
        match event:
            case ev.Observed():
                self.readings.take(event)
                if event.gauge is not None:
                    self.gauges.append(Gauge(at=round(since, 3), value=event.gauge))
            case ev.ActionIntended():
                self.commands[event.intent] = self._command(event, record.at)
            case ev.ActionEnded():
                more = {"device": event.device, "sent": event.sent, "effect": event.effect, "detail": event.detail}
                self.commands[event.intent] = self.commands[event.intent].model_copy(update=more)
            case ev.DoubtResolved():
                more = {"evidence": event.evidence}
                self.commands[event.intent] = self.commands[event.intent].model_copy(update=more)
        said = sentence(event, self._plan)
        if said is not None:
            self.moments.append(Moment(at=iso(record.at), seq=record.seq, text=said))

    def _command(self, event: ev.ActionIntended, at: float) -> CommandStory:
        return CommandStory(
            at=iso(at),
            site=self._plan.site_name(event.on),
            step=event.step,
            action=event.action,
            arguments=event.args,
            attempt=event.attempt,
            is_rollback=event.undo,
            device="",
            sent=(),
            effect=None,
            detail="",
            evidence="",
        )


def story_of(records: Sequence[ev.Record], report: RunDocument, head: Head, *, now: float) -> RunStory:
    """The story of a run from its whole record. ``report`` is made from the same records. ``now`` is the time of
    writing."""
    first = records[0]
    assert isinstance(first.event, ev.RunCreated)  # else there would be no report
    plan = first.event.plan
    words = WordsStory(plan)
    services = {service: _Service(plan, first.at) for service in plan.services}
    moments: list[Moment] = []
    for record in records:
        words.take(record)
        if record.lane is not None:
            services[record.lane].take(record)
            continue
        said = sentence(record.event, plan)
        if said is not None:
            moments.append(Moment(at=iso(record.at), seq=record.seq, text=said))
    idle = _not_led(records, first.at)
    bad = {service for alarm in report.alarms for service in alarm.services}
    predictions = Predictions(plan)
    end = records[-1].at - first.at
    told = [
        _service_story(services[lane.service], lane, report, (idle, predictions, bad), (first.at, end), plan)
        for lane in report.lanes
    ]
    told.sort(key=lambda one: one.worst)
    return RunStory(
        report=report,
        summary=plan.runbook.summary,
        direction=direction(plan.runbook.runbook, plan.source, plan.target),
        unit=words_of(plan.runbook.family).backlog,
        outage_word=words_of(plan.runbook.family).outage,
        services=tuple(told),
        words=tuple(words.found),
        steps=summaries(plan, told),
        moments=tuple(moments),
        head=head,
        started_with=first.event.version,
        written_at=iso(now),
        version=VERSION,
    )


def _service_story(
    service: _Service,
    lane: LaneReport,
    report: RunDocument,
    known: tuple[Sequence[Span], Predictions, set[str]],
    bounds: tuple[float, float],
    plan: ev.Plan,
) -> ServiceStory:
    idle, predictions, bad = known
    began, end = bounds
    last = end if service.spans.ended_at is None else service.spans.ended_at
    word = words_of(plan.runbook.family).outage
    spans = [
        *service.spans.spans(end),
        *(span for span in idle if span.start < last),
        *outages(lane, began, end, word),
    ]
    return ServiceStory(
        service=lane.service,
        lane=lane,
        worst=0 if lane.service in bad else 1 + _WORST.index(lane.outcome),
        advice=advice(report, lane, is_led=report.led),
        spans=tuple(spans),
        steps=predictions.steps_of(lane),
        commands=tuple(service.commands.values()),
        readings=service.readings.found,
        gauges=tuple(service.gauges),
        moments=tuple(service.moments),
    )


def _not_led(records: Sequence[ev.Record], began: float) -> list[Span]:
    """The times when no process led the run, each from a pause to the next resume."""
    found: list[Span] = []
    since: tuple[float, str] | None = None
    for record in records:
        at = record.at - began
        if isinstance(record.event, ev.RunPaused):
            since = at, record.event.reason
        elif isinstance(record.event, ev.RunStarted) and since is not None:
            found.append(Span(kind="not led", label=since[1], start=round(since[0], 3), end=round(at, 3)))
            since = None
    if since is not None:
        end = round(records[-1].at - began, 3)
        found.append(Span(kind="not led", label=since[1], start=round(since[0], 3), end=end, is_open=True))
    return found
