"""The bars of one service: its steps, its rollback, its questions, and the times when no site served. All bars are
computed from the events of the service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from orchestrator.model import events as ev
from orchestrator.reports.document import LaneReport
from orchestrator.reports.page.story import Span, SpanKind


class SpansStory:
    """Collects the events of one service. ``at`` is in seconds since the run was created."""

    def __init__(self, plan: ev.Plan) -> None:
        self._titles = {step.id: step.title for step in plan.runbook.steps}
        self._closed: list[Span] = []
        self._step: tuple[str, float] | None = None
        self._last = ""  # the step at which the lane stopped
        self._back: float | None = None
        self._asked: dict[tuple[str, str | None], tuple[str, float]] = {}
        self.ended_at: float | None = None

    def take(self, event: ev.Event, at: float) -> None:
        """Add one event."""
        match event:
            case ev.StepStarted():
                self._close("done", at)
                self._step = event.step, at
            case ev.StepRetried():
                self._step = event.step, at
            case ev.StepDone():
                self._close("done", at)
            case ev.StepSkipped():
                self._step = None
            case ev.StepFailed():
                self._close("failed", at)
            case ev.Escalated(stays=False):
                self._close("abandoned", at)
            case ev.RevertStarted():
                self._close("abandoned", at)
                self._back = at
            case ev.LaneEnded():
                self._stop(at)
            case ev.LaneResumed():
                self._resume(at)
            case ev.GateOpened():
                self._asked[event.gate, event.item] = event.why, at
            case ev.GateDecided() | ev.GateWithdrawn():
                self._answered(event, at)

    def spans(self, end: float) -> list[Span]:
        """All spans up to ``end``. A span that is still open ends there."""
        found = list(self._closed)
        if self._step is not None:
            step, start = self._step
            found.append(self._span("under way", self._titles[step], start, end, is_open=True))
        if self._back is not None:
            found.append(self._span("rolling back", "rolling back", self._back, end, is_open=True))
        for why, start in self._asked.values():
            found.append(self._span("decision", why, start, end, is_open=True))
        return found

    def _close(self, kind: SpanKind, at: float) -> None:
        if self._step is not None:
            step, start = self._step
            self._closed.append(self._span(kind, self._titles[step], start, at))
            self._step = None

    def _stop(self, at: float) -> None:
        self._last = "" if self._step is None else self._step[0]
        self._close("abandoned", at)
        if self._back is not None:
            self._closed.append(self._span("rolling back", "rolling back", self._back, at))
            self._back = None
        self.ended_at = at

    def _resume(self, at: float) -> None:
        """A stopped lane continues in the step at which it stopped."""
        if self.ended_at is not None and self._last:
            self._step = self._last, at
        self.ended_at = None

    def _answered(self, event: ev.GateDecided | ev.GateWithdrawn, at: float) -> None:
        asked = self._asked.pop((event.gate, event.item), None)
        if asked is not None:
            self._closed.append(self._span("decision", asked[0], asked[1], at))

    @staticmethod
    def _span(kind: SpanKind, label: str, start: float, end: float, *, is_open: bool = False) -> Span:
        return Span(kind=kind, label=label, start=round(start, 3), end=round(max(start, end), 3), is_open=is_open)


def outages(lane: LaneReport, began: float, end: float, word: str) -> Iterator[Span]:
    """The spans in which no site was known to serve, and those in which both sites were read active. ``began`` is in
    seconds since the epoch."""
    for gap in lane.gaps:
        bound = "at least" if gap.had_begun else "at most"
        label = f"{word} for {bound} {gap.seconds:.2f} s"
        yield _between("no active site", label, _since(gap.since, began), _since(gap.until, began))
    if lane.no_active_site_since is not None:
        label = f"{word} since {lane.no_active_site_since}, still open at the last record"
        yield _between("no active site", label, _since(lane.no_active_site_since, began), end, is_open=True)
    for both in lane.both_active:
        label = f"both sites were read active for at least {both.at_least_seconds:.2f} s"
        last = both.until or both.last
        yield _between("both active", label, _since(both.first, began), _since(last, began), is_open=not both.until)


def _between(kind: SpanKind, label: str, start: float, end: float, *, is_open: bool = False) -> Span:
    # A gap may have started before the run was created.
    first = max(0.0, start)
    return Span(kind=kind, label=label, start=round(first, 3), end=round(max(first, end), 3), is_open=is_open)


def _since(moment: str, began: float) -> float:
    return datetime.fromisoformat(moment).timestamp() - began
