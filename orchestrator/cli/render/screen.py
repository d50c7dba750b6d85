"""What is seen while a run continues, where nothing is redrawn: lines for logs, one event a line for machines."""

from __future__ import annotations

import time
from typing import Protocol

from orchestrator.ages import seconds
from orchestrator.cli.render.terminal import say, show_json
from orchestrator.clock import iso
from orchestrator.core.drain_estimate import forecast
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.errors import OutputLost
from orchestrator.model import events as ev
from orchestrator.reports.waiting import waits_for
from orchestrator.reports.wording import both_active, left, outage, sentence

# More lanes than this are summed up instead of shown one by one.
LANES_SHOWN = 8
_LINE_EVERY = 1.0
# The longest pauses between readings in a runbook are 5 s and 10 s, so no wait is silent for longer than 10 s.
_REMINDED_EVERY = 5.0
# Seconds without progress of a drain from which on that is said: longer than the longest pause between its readings.
_NO_PROGRESS_S = 10.0


class Screen(Protocol):
    """An observer of the run that owns the terminal."""

    def __call__(self, record: ev.Record, run: Run) -> None:
        """Show what happened."""
        ...

    def quiet(self, yes: bool) -> None:
        """Leave the terminal alone while a person types."""
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


def stands(record: ev.Record, positions: Positions) -> dict[str, object]:
    """What the lines of a run's events say besides: who serves the service by then, and since when no site is known to;
    null for events of the run itself."""
    position = None if record.lane is None else positions.of(record.lane)
    since = None if position is None or position.nobody_since is None else iso(position.nobody_since)
    return {"serves": None if position is None else position.serves, "no_active_site_since": since}


class JsonScreen:
    """One event a line on stdout, until no one reads it any more. ``positions`` has taken each record before."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._lost = False

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._lost:
            return  # reported once: repeated at every event it would fill the record
        try:
            line = event_line(record, simulated=run.plan.simulated) | stands(record, self._positions)
            waits = {"waits_for": _waits_for(record, run)} if isinstance(record.event, ev.Observed) else {}
            show_json(line | waits)
        except OutputLost:
            self._lost = True
            raise

    def quiet(self, yes: bool) -> None:
        """Machines do not mind."""

    def close(self) -> None:
        """Nothing is held."""


class PlainScreen:
    """Lines with their time (UTC, as everywhere), for logs and for those who have no terminal. ``positions`` has taken
    each record before."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._last_drain: dict[str, float] = {}
        self._reminded: dict[str, float] = {}

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._positions.news is not None:
            self._say(record, run, both_active(run.plan))
        is_many = len(run.lanes) > LANES_SHOWN
        text = sentence(record.event, run.plan) if not is_many or matters(record.event) else None
        clock = outage_of(record, run, self._positions) if text is None or matters(record.event) else ""
        if text is None:
            drained = None if is_many else self._drain_line(record, run)
            text = "; ".join(filter(None, [drained, self._reminder(record, run)])) or None
        elif record.lane is not None and not is_many:
            self._reminded[record.lane] = record.at
        if text is not None:
            self._say(record, run, f"{step_of(record.event, run)}{text}{f'; {clock}' if clock else ''}")

    def _say(self, record: ev.Record, run: Run, text: str) -> None:
        marker = "SIMULATED " if run.plan.simulated else ""
        where = f"{record.lane}: " if record.lane else ""
        say(f"{time.strftime('%H:%M:%SZ', time.gmtime(record.at))} {marker}{where}{text}")

    def _drain_line(self, record: ev.Record, run: Run) -> str | None:
        if not isinstance(record.event, ev.Observed) or record.event.gauge is None or record.lane is None:
            return None
        last = self._last_drain.get(record.lane)
        if last is not None and record.at - last < _LINE_EVERY:
            return None
        self._last_drain[record.lane] = record.at
        return drain_text(run, record.lane, record.at) or None

    def _reminder(self, record: ev.Record, run: Run) -> str | None:
        """What the lane waits for, unless it had a line lately. With many lanes one line is for all of them."""
        who = record.lane if len(run.lanes) <= LANES_SHOWN else ""
        if not isinstance(record.event, ev.Observed) or who is None:
            return None
        if record.at - self._reminded.setdefault(who, record.at) < _REMINDED_EVERY:
            return None
        awaited = _waits_for(record, run)
        if awaited is None:
            return None
        self._reminded[who] = record.at
        others = sum(not lane.ended for lane in run.lanes.values()) - 1
        return f"waiting: {awaited}" + (f" ({others:,} more services are under way)" if not who and others else "")

    def quiet(self, yes: bool) -> None:
        """Lines may come between; nothing is redrawn."""

    def close(self) -> None:
        """Nothing is held."""


def _waits_for(record: ev.Record, run: Run) -> str | None:
    """What the lane of a reading waits for; None for other events, and when it no longer waits."""
    if record.lane is None or not isinstance(record.event, ev.Observed):
        return None
    return waits_for(run, record.lane, record.at) or None


def outage_of(record: ev.Record, run: Run, positions: Positions) -> str:
    """The clock of an outage that continues: of the record's service, or at a stop of the run of all of them."""
    if record.lane is not None:
        return outage(positions.of(record.lane), run.plan, record.at)
    return outage_of_all(run, positions, record.at) if isinstance(record.event, ev.RunPaused) else ""


def outage_of_all(run: Run, positions: Positions, now: float) -> str:
    """The clock of a run that stops, or has many services: the longest outage, and of how many services it is one."""
    dark = [one for name in run.lanes if (one := positions.of(name)).nobody_since is not None]
    if not dark:
        return ""
    longest = outage(min(dark, key=lambda one: one.nobody_since or 0.0), run.plan, now)
    return longest if len(run.lanes) == 1 else f"{longest} ({len(dark):,} of {len(run.lanes):,} services)"


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
    """``[3/7] `` for an event that starts or ends a step, nothing for others."""
    if isinstance(event, ev.StepStarted | ev.StepDone | ev.StepFailed | ev.StepSkipped):
        return f"[{run.plan.runbook.index_of(event.step) + 1}/{len(run.plan.runbook.steps)}] "
    return ""


def drain_text(run: Run, service: str, now: float) -> str:
    """``1,200 messages left, 1,150/s, about 1s to go``; or what keeps them from leaving. Empty once the wait is over."""
    lane = run.lanes[service]
    seen = forecast(lane.gauge)
    if seen is None:
        return ""
    rest = left(run.plan.runbook.steps[lane.step].progress, seen.depth, run.plan.runbook.family)
    if lane.guard_broke_at is not None:
        since = lane.guard_broke_at if lane.waiting_since is None else lane.waiting_since
        return f"{rest}, INTERRUPTED for {seconds(now - since)}"
    if seen.depth == 0:
        return rest
    if lane.stalled:
        return f"{rest}, STALLED"
    if seen.rate is None or seen.eta is None:
        still = now - lane.moved_at
        no_progress = len(lane.gauge) > 1 and still >= _NO_PROGRESS_S
        return f"{rest}, no progress for {seconds(still)}" if no_progress else f"{rest}, rate not known yet"
    return f"{rest}, {seen.rate:,.0f}/s, {_eta(seen.eta)} to go"


def wait_text(run: Run, service: str, now: float) -> str:
    """The depth that a wait follows; once that is 0, what else it waits for. Empty when the wait is over."""
    left_text = drain_text(run, service, now)
    gauge = run.lanes[service].gauge
    awaited = "" if left_text and gauge[-1][1] else waits_for(run, service, now)
    return "; ".join(filter(None, [left_text, awaited and f"waiting: {awaited}"]))


def _eta(seconds: float) -> str:
    if seconds < 1:
        return "less than 1s"
    return f"about {seconds:.0f}s" if seconds < 90 else f"about {seconds / 60:.0f}min"
