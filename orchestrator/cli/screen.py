"""What is seen while a run goes on, where nothing is redrawn: lines for logs, one event a line for machines."""

from __future__ import annotations

import time
from typing import Protocol

from orchestrator import events as ev
from orchestrator.cli.terminal import say, show_json
from orchestrator.clock import iso
from orchestrator.drain import forecast
from orchestrator.errors import OutputLost
from orchestrator.reports.words import left, sentence
from orchestrator.state import Run

# More lanes than this are summed up instead of shown one by one.
LANES_SHOWN = 8
_LINE_EVERY = 1.0


class Screen(Protocol):
    """An observer of the run that owns the terminal."""

    def __call__(self, record: ev.Record, run: Run) -> None:
        """Show what happened."""
        ...

    def quiet(self, yes: bool) -> None:
        """Leave the terminal alone while somebody types."""
        ...

    def close(self) -> None:
        """Show what is held back, and take away what moves."""
        ...


def event_line(record: ev.Record, *, simulated: bool) -> dict[str, object]:
    """The JSON of one event, as ``--json`` prints it."""
    return {
        "run": record.run,
        "seq": record.seq,
        "at": iso(record.at),
        "simulated": simulated,
        "lane": record.lane,
        "event": record.event.model_dump(mode="json", exclude_defaults=False),
    }


class JsonScreen:
    """One event a line on stdout, until nobody reads it any more."""

    def __init__(self) -> None:
        self._lost = False

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._lost:
            return  # said once: told again of every event, it would fill the record with itself
        try:
            show_json(event_line(record, simulated=run.plan.simulated))
        except OutputLost:
            self._lost = True
            raise

    def quiet(self, yes: bool) -> None:
        """Machines do not mind."""

    def close(self) -> None:
        """Nothing is held."""


class PlainScreen:
    """Lines with their time (UTC, as everywhere), for logs and for those who have no terminal."""

    def __init__(self) -> None:
        self._last_drain: dict[str, float] = {}

    def __call__(self, record: ev.Record, run: Run) -> None:
        if len(run.lanes) > LANES_SHOWN and not matters(record.event):
            return
        text = sentence(record.event, run.plan) or self._drain_line(record, run)
        if text is None:
            return
        marker = "SIMULATED " if run.plan.simulated else ""
        where = f"{record.lane}: " if record.lane else ""
        clock = time.strftime("%H:%M:%SZ", time.gmtime(record.at))
        say(f"{clock} {marker}{where}{step_of(record.event, run)}{text}")

    def _drain_line(self, record: ev.Record, run: Run) -> str | None:
        if not isinstance(record.event, ev.Observed) or record.event.gauge is None or record.lane is None:
            return None
        last = self._last_drain.get(record.lane)
        if last is not None and record.at - last < _LINE_EVERY:
            return None
        self._last_drain[record.lane] = record.at
        return drain_text(run, record.lane, record.at) or None

    def quiet(self, yes: bool) -> None:
        """Lines may come between; nothing is redrawn."""

    def close(self) -> None:
        """Nothing is held."""


def matters(event: ev.Event) -> bool:
    """Is it worth a line when there are many lanes?"""
    return isinstance(
        event,
        ev.RunStarted
        | ev.RunPaused
        | ev.RunFinished
        | ev.GuardBroke
        | ev.Stalled
        | ev.GateOpened
        | ev.GateDecided
        | ev.GateWithdrawn
        | ev.ApprovalGiven
        | ev.ApprovalRefused
        | ev.Escalated
        | ev.RevertStarted
        | ev.ObserverFailed
        | ev.StepFailed,
    ) or (isinstance(event, ev.LaneEnded) and event.outcome is not ev.Outcome.DONE)


def step_of(event: ev.Event, run: Run) -> str:
    """``[3/7] `` for an event that begins or ends a step, nothing for others."""
    if isinstance(event, ev.StepStarted | ev.StepDone | ev.StepFailed | ev.StepSkipped):
        return f"[{run.plan.runbook.index_of(event.step) + 1}/{len(run.plan.runbook.steps)}] "
    return ""


def drain_text(run: Run, service: str, now: float) -> str:
    """``1,200 messages left, 1,150/s, about 1s to go``; or what keeps them from leaving. Empty once the wait is over."""
    lane = run.lanes[service]
    seen = forecast(lane.gauge)
    if seen is None:
        return ""
    rest = left(run.plan.runbook.steps[lane.step].progress, seen.depth)
    if lane.guard_broke_at is not None:
        since = lane.guard_broke_at if lane.waiting_since is None else lane.waiting_since
        return f"{rest}, INTERRUPTED for {now - since:.0f}s"
    if seen.depth == 0:
        return rest
    if lane.stalled:
        return f"{rest}, STALLED"
    if seen.rate is None or seen.eta is None:
        return f"{rest}, rate not known yet"
    return f"{rest}, {seen.rate:,.0f}/s, {_eta(seen.eta)} to go"


def _eta(seconds: float) -> str:
    if seconds < 1:
        return "less than 1s"
    return f"about {seconds:.0f}s" if seconds < 90 else f"about {seconds / 60:.0f}min"
