"""Adds to a displayed plan how long earlier runs took, from the forecast that ``failover pipeline history`` keeps.

A range names the number of its runs. If too few runs are known, no range is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.counting import counted
from orchestrator.engine.dry_run import LanePreview, StepPreview
from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.model.places import place_of
from orchestrator.operations.runtime import Tools
from orchestrator.reports.forecast import FEWEST, NAME, Forecast, Range, read_forecast


def with_forecast(tools: Tools, plan: ev.Plan, lanes: Sequence[LanePreview]) -> list[LanePreview]:
    """``lanes`` with a note on each step that earlier runs contain. Raises ``DefinitionError`` for a bad forecast."""
    forecast = None if tools.is_rehearsal else read_forecast(tools.state / NAME)
    if forecast is None:
        return list(lanes)
    return [
        replace(lane, steps=tuple(_told(forecast, plan, lane.service, step) for step in lane.steps)) for lane in lanes
    ]


def with_predictions(tools: Tools, plan: ev.Plan) -> ev.Plan:
    """``plan`` with the predictions from earlier runs, for the report that compares them with the result. A forecast
    that cannot be read never prevents a run from starting."""
    try:
        forecast = None if tools.is_rehearsal else read_forecast(tools.state / NAME)
    except DefinitionError:
        return plan
    return plan if forecast is None else plan.model_copy(update={"predictions": tuple(_predicted(forecast, plan))})


def _predicted(forecast: Forecast, plan: ev.Plan) -> Iterator[ev.Prediction]:
    """The predictions for the steps of this runbook and its services, if enough is known."""
    steps = {step.id for step in plan.runbook.steps}
    services = {None, *plan.services}
    here = (place_of(plan), plan.simulated)
    for one in forecast.steps:
        is_ours = one.runbook == plan.runbook.runbook and one.step in steps and one.service in services
        if is_ours and (one.place, one.simulated) == here and one.seconds.n >= FEWEST:
            yield ev.Prediction(step=one.step, service=one.service, **one.seconds.model_dump())
    for drain in forecast.drains:
        if drain.service in services and (drain.place, drain.simulated) == here and drain.rate.n >= FEWEST:
            yield ev.Prediction(service=drain.service, **drain.rate.model_dump())


def _told(forecast: Forecast, plan: ev.Plan, service: str, step: StepPreview) -> StepPreview:
    note = _drain(forecast, plan, service, step) or _took(forecast, plan, service, step)
    return replace(step, notes=(*step.notes, note)) if note else step


def _drain(forecast: Forecast, plan: ev.Plan, service: str, step: StepPreview) -> str:
    """The time for the present queue at the earlier rates. The lowest rate gives the longest time."""
    rate = forecast.drain_rate(service, place=place_of(plan), simulated=plan.simulated)
    if not step.gauge or rate is None or rate.p05 <= 0:
        return ""
    times = Range(n=rate.n, p05=step.gauge / rate.p95, p50=step.gauge / rate.p50, p95=step.gauge / rate.p05)
    before = f"in {counted(rate.n, 'earlier wait')} (at {rate.p50:,.0f} messages a second)"
    return f"{_in_words(times)}, if the queue drains as {before}"


def _took(forecast: Forecast, plan: ev.Plan, service: str, step: StepPreview) -> str:
    place = place_of(plan)
    seconds = forecast.seconds(plan.runbook.runbook, step.id, service, place=place, simulated=plan.simulated)
    if seconds is None:
        return ""
    low, high = f"{seconds.p05:.1f}".removesuffix(".0"), f"{seconds.p95:.1f}".removesuffix(".0")
    return f"took {low if low == high else f'{low} to {high}'} s in {counted(seconds.n, 'earlier run')}"


def _in_words(times: Range) -> str:
    return f"about {times.p50:.1f}s ({times.p05:.1f}s to {times.p95:.1f}s)"
