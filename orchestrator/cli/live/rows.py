"""The values of the live view for each service: step, queue, rate, outage, state. This module draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from orchestrator.ages import seconds
from orchestrator.core.drain_estimate import forecast
from orchestrator.core.lane import Lane
from orchestrator.core.position import Position, Positions
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.model.readings import is_backlog

# Default: an outage of this many seconds or more is red.
OUTAGE_SLO_S = 30.0

# The ranks: services that need an operator, then services in trouble, running, not started, and done.
ASKS, STOPPED, TROUBLE, LATE, ROLLING_BACK, RUNS, ENDED, WAITS, DONE = range(9)
# A drain without progress for this many seconds is in trouble. It is longer than the longest pause between readings.
_NO_PROGRESS_S = 10.0
_READ_TWICE = 2
_ENDS: Mapping[ev.Outcome, int] = {
    ev.Outcome.STUCK: STOPPED,
    ev.Outcome.NEEDS_OPERATOR: STOPPED,
    ev.Outcome.REFUSED: ENDED,
    ev.Outcome.REVERTED: ENDED,
    ev.Outcome.ESCALATED: ENDED,
    ev.Outcome.DONE: DONE,
}
_GOES: Mapping[str, str] = {"reverting": "rolling back", "escalating": "escalated, continues"}


@dataclass(frozen=True, slots=True)
class Row:
    """One service. ``step`` counts from 1, and 0 means not started. ``done`` is the finished part of a drain, or None
    without a drain. ``outage`` is in seconds without an active site, or None while a site serves. ``rank``: a lower
    rank needs an operator sooner."""

    service: str
    rank: int
    step: int
    title: str
    state: str
    done: float | None = None
    queue: float | None = None
    rate: float | None = None
    eta: float | None = None
    outage: float | None = None
    both_active: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """All services in one line."""

    services: int
    done: int
    running: int
    asking: int
    troubled: int
    ended: int  # ended without done: reverted, refused, escalated
    queue: float | None
    rate: float | None
    over_slo: int


def row_of(run: Run, service: str, position: Position, full: float | None, now: float, slo: float) -> Row:
    """The row of one service. ``full`` is the queue at the start of its drain. ``now`` is in seconds since the epoch."""
    lane, steps = run.lanes[service], run.plan.runbook.steps
    is_under_way = not lane.ended and lane.step < len(steps)
    seen = forecast(lane.gauge) if is_under_way else None
    outage = None if position.nobody_since is None else max(0.0, now - position.nobody_since)
    rank, state = _state(run, lane, now)
    if rank == RUNS and outage is not None and outage >= slo:
        rank = LATE
    if position.both_since is not None:
        rank, state = min(rank, STOPPED), "BOTH ACTIVE"
    return Row(
        service=service,
        rank=rank,
        step=0 if lane.status == "ready" else min(lane.step + 1, len(steps)),
        title=steps[lane.step].title if is_under_way else "",
        state=state,
        done=None if seen is None or not full else min(1.0, max(0.0, 1.0 - seen.depth / full)),
        queue=None if seen is None else seen.depth,
        rate=None if seen is None else seen.rate,
        eta=None if seen is None or lane.guard_broke_at is not None else seen.eta,
        outage=outage,
        both_active=position.both_since is not None,
    )


def _state(run: Run, lane: Lane, now: float) -> tuple[int, str]:
    if lane.outcome is not None:
        return _ENDS[lane.outcome], str(lane.outcome)
    if lane.gates:
        more = f" (+{len(lane.gates) - 1})" if len(lane.gates) > 1 else ""
        return ASKS, f"ASKS {lane.gates[0].gate}{more}"
    if lane.guard_broke_at is not None:
        return TROUBLE, _interrupted(run, lane, now)
    if lane.stalled:
        return TROUBLE, "STALLED"
    if lane.status in _GOES:
        return ROLLING_BACK, _GOES[lane.status]
    if lane.status == "ready":
        return WAITS, "waiting"
    if lane.is_waiting:
        return RUNS, "waits for others"
    if not _drains(run, lane):
        return RUNS, "running"
    return _without_progress(run, lane, now) or (RUNS, "draining")


def _drains(run: Run, lane: Lane) -> bool:
    """Does the lane wait for a backlog that is not empty?"""
    if lane.step >= len(run.plan.runbook.steps) or not lane.gauge or not lane.gauge[-1][1]:
        return False
    progress = run.plan.runbook.steps[lane.step].progress
    return progress is None or is_backlog(progress.reading, progress.field, run.plan.runbook.family)


def _interrupted(run: Run, lane: Lane, now: float) -> str:
    """The state of an interrupted lane: the time since its guard broke, and the time until an operator is asked."""
    since = lane.guard_broke_at if lane.waiting_since is None else lane.waiting_since
    assert since is not None  # the lane's guard is broken
    step = run.plan.runbook.steps[lane.step] if lane.step < len(run.plan.runbook.steps) else None
    rule = None if step is None else step.when_guard_breaks
    left = 0.0 if rule is None else rule.grace - (now - since)
    return _asks_first(left, f"INTERRUPTED {seconds(now - since)}")


def _without_progress(run: Run, lane: Lane, now: float) -> tuple[int, str] | None:
    """The state of a drain whose number has not fallen for ``_NO_PROGRESS_S``. None while the number falls, or if it was
    not read twice."""
    still = now - lane.moved_at
    rule = run.plan.runbook.steps[lane.step].when_stalled
    if rule is None or len(lane.gauge) < _READ_TWICE or still < _NO_PROGRESS_S:
        return None
    return TROUBLE, _asks_first(rule.after - still, f"no progress for {seconds(still)}")


def _asks_first(left: float, what: str) -> str:
    """The state with the time until the question at its start, because a narrow terminal cuts the end."""
    return f"asks in {seconds(left)}, {what}" if left >= 1 else what


def rows_of(run: Run, positions: Positions, full: Mapping[str, float], now: float, slo: float) -> list[Row]:
    """A row for each service, in the order of the plan."""
    return [row_of(run, name, positions.of(name), full.get(name), now, slo) for name in run.lanes]


def totals_of(rows: Iterable[Row], slo: float) -> Totals:
    """The sum of the rows."""
    every = list(rows)
    queues = [row.queue for row in every if row.queue is not None]
    rates = [row.rate for row in every if row.rate is not None]
    return Totals(
        services=len(every),
        done=sum(row.rank == DONE for row in every),
        running=sum(row.rank in (LATE, RUNS, ROLLING_BACK) for row in every),
        asking=sum(row.rank == ASKS for row in every),
        troubled=sum(row.rank in (STOPPED, TROUBLE) for row in every),
        ended=sum(row.rank == ENDED for row in every),
        queue=sum(queues) if queues else None,
        rate=sum(rates) if rates else None,
        over_slo=sum(row.outage is not None and row.outage >= slo for row in every),
    )


Key = Callable[[Row], tuple[float, ...]]
# The orders of rows. The first row needs an operator most.
ORDERS: Mapping[str, Key] = {
    "attention": lambda row: (row.rank, -(row.outage or 0.0), -(row.queue or 0.0)),
    "outage": lambda row: (-(row.outage or -1.0), row.rank),
    "queue": lambda row: (-(row.queue or -1.0), row.rank),
    "step": lambda row: (-row.step, row.rank),
    "plan": lambda row: (0.0,),
}


def chosen(rows: Iterable[Row], order: str, wanted: str) -> list[Row]:
    """The rows whose service, state or step contains ``wanted``, sorted."""
    word, kept = wanted.lower(), list(rows)
    if word:
        kept = [row for row in kept if word in f"{row.service} {row.state} {row.title}".lower()]
    return sorted(kept, key=ORDERS[order])
