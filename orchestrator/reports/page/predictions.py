"""Predictions from earlier runs, compared with the times of this run. Only predictions that were recorded when the run
was created count, because a later range would include the outcome of this run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from orchestrator.model import events as ev
from orchestrator.model.readings import is_backlog
from orchestrator.model.runbook import Step
from orchestrator.reports.document import LaneReport
from orchestrator.reports.page.story import Predicted, ServiceStory, StepStory, StepSummary


class Predictions:
    """The predictions of a plan."""

    def __init__(self, plan: ev.Plan) -> None:
        self._known = {(one.step, one.service): one for one in plan.predictions}
        self._family = plan.runbook.family
        self._steps = {step.id: step for step in plan.runbook.steps}

    def steps_of(self, lane: LaneReport) -> tuple[StepStory, ...]:
        """The steps of a service, each with its prediction."""
        return tuple(
            StepStory(
                id=step.id,
                title=step.title,
                status=step.status,
                seconds=step.seconds,
                predicted=self._of(self._steps[step.id], lane),
                note=step.note,
            )
            for step in lane.steps
        )

    def _of(self, step: Step, lane: LaneReport) -> Predicted | None:
        follows = step.progress
        queued = lane.drained_messages
        if queued and step.until and follows is not None and is_backlog(follows.reading, follows.field, self._family):
            rate = self._find(None, lane.service)
            if rate is not None and rate.p05 > 0:
                return Predicted(
                    n=rate.n,
                    low=round(queued / rate.p95, 3),
                    middle=round(queued / rate.p50, 3),
                    high=round(queued / rate.p05, 3),
                    rate=rate.p50,
                )
        found = self._find(step.id, lane.service)
        return None if found is None else Predicted(n=found.n, low=found.p05, middle=found.p50, high=found.p95)

    def _find(self, step: str | None, service: str) -> ev.Prediction | None:
        return self._known.get((step, service)) or self._known.get((step, None))


def summaries(plan: ev.Plan, services: Sequence[ServiceStory]) -> tuple[StepSummary, ...]:
    """A summary over all services for each step that at least one service reached, in the order of the runbook."""
    by_step: dict[str, list[StepStory]] = {}
    for service in services:
        for step in service.steps:
            by_step.setdefault(step.id, []).append(step)
    return tuple(_summary(by_step[step.id]) for step in plan.runbook.steps if step.id in by_step)


def _summary(steps: Sequence[StepStory]) -> StepSummary:
    took = [step.seconds for step in steps if step.status == "done" and step.seconds is not None]
    compared = [step for step in steps if step.status == "done" and step.predicted is not None]
    return StepSummary(
        id=steps[0].id,
        title=steps[0].title,
        services=len(steps),
        low=min(took, default=None),
        middle=round(median(took), 3) if took else None,
        high=max(took, default=None),
        predicted=_widest([step.predicted for step in steps if step.predicted is not None]),
        shorter=sum(_is_off(step) < 0 for step in compared),
        longer=sum(_is_off(step) > 0 for step in compared),
    )


def _widest(predicted: Iterable[Predicted]) -> Predicted | None:
    found = list(predicted)
    if not found:
        return None
    rates = [one.rate for one in found if one.rate is not None]
    return Predicted(
        n=min(one.n for one in found),
        low=min(one.low for one in found),
        middle=round(median(one.middle for one in found), 3),
        high=max(one.high for one in found),
        rate=round(median(rates), 3) if rates else None,
    )


def _is_off(step: StepStory) -> int:
    """1 if the step took longer than its predicted range, -1 if it took less, 0 otherwise."""
    expected, took = step.predicted, step.seconds
    if expected is None or took is None:
        return 0
    return (took > expected.high) - (took < expected.low)
