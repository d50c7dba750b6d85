"""The output while a run continues, without a redrawn table: lines for logs, or one JSON event a line for machines."""

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

# If there are more lanes than this, they are summarized.
LANES_SHOWN = 8
_LINE_EVERY = 1.0
# The longest pauses between readings in a runbook are 5 s and 10 s, so no wait is silent for longer than 10 s.
_REMINDED_EVERY = 5.0
# A drain without progress for this many seconds is reported. It is longer than the longest pause between its readings.
_NO_PROGRESS_S = 10.0


class Screen(Protocol):
    """An observer of the run that owns the terminal."""

    def __call__(self, record: ev.Record, run: Run) -> None:
        """Show one event."""
        ...

    def quiet(self, yes: bool) -> None:
        """Write nothing while a person types."""
        ...

    def close(self) -> None:
        """Show the delayed lines, and remove the redrawn table."""
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
    """The additional fields of an event's JSON: the site that serves then, and the time since which no site is known to
    serve. Null for events of the run itself."""
    position = None if record.lane is None else positions.of(record.lane)
    since = None if position is None or position.nobody_since is None else iso(position.nobody_since)
    return {"serves": None if position is None else position.serves, "no_active_site_since": since}


class JsonScreen:
    """Prints one event a line on stdout, until the reader is gone. ``positions`` must take each record first."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions
        self._lost = False

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._lost:
            return  # reported once, because a report at every event would fill the record
        try:
            line = event_line(record, simulated=run.plan.simulated) | stands(record, self._positions)
            waits = {"waits_for": _waits_for(record, run)} if isinstance(record.event, ev.Observed) else {}
            show_json(line | waits)
        except OutputLost:
            self._lost = True
            raise

    def quiet(self, yes: bool) -> None:
        """Do nothing, because no person reads this output."""

    def close(self) -> None:
        """Nothing is held."""


class PlainScreen:
    """Prints lines with their time (UTC, as everywhere), for logs and for use without a terminal. ``positions`` must take
    each record first."""

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
        """What the lane waits for, unless a recent line already said so. With many lanes, one line is for all of them."""
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
        return f"waiting: {awaited}" + (f" ({others:,} more services are not finished)" if not who and others else "")

    def quiet(self, yes: bool) -> None:
        """Do nothing. Lines may come between, because nothing is redrawn."""

    def close(self) -> None:
        """Nothing is held."""


def _waits_for(record: ev.Record, run: Run) -> str | None:
    """What the lane of a reading waits for. None for other events, or if the lane no longer waits."""
    if record.lane is None or not isinstance(record.event, ev.Observed):
        return None
    return waits_for(run, record.lane, record.at) or None


def outage_of(record: ev.Record, run: Run, positions: Positions) -> str:
    """The present outage of the record's service, in words. If the run pauses, the longest outage of all services."""
    if record.lane is not None:
        return outage(positions.of(record.lane), run.plan, record.at)
    return outage_of_all(run, positions, record.at) if isinstance(record.event, ev.RunPaused) else ""


def outage_of_all(run: Run, positions: Positions, now: float) -> str:
    """The longest present outage of a run, and the number of services with an outage."""
    dark = [one for name in run.lanes if (one := positions.of(name)).nobody_since is not None]
    if not dark:
        return ""
    longest = outage(min(dark, key=lambda one: one.nobody_since or 0.0), run.plan, now)
    return longest if len(run.lanes) == 1 else f"{longest} ({len(dark):,} of {len(run.lanes):,} services)"


def matters(event: ev.Event) -> bool:
    """Does the event get a line even if there are many lanes?"""
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
    """``[3/7] `` for an event that starts or ends a step. Empty for other events."""
    if isinstance(event, ev.StepStarted | ev.StepDone | ev.StepFailed | ev.StepSkipped):
        return f"[{run.plan.runbook.index_of(event.step) + 1}/{len(run.plan.runbook.steps)}] "
    return ""


def drain_text(run: Run, service: str, now: float) -> str:
    """The progress of a drain, such as ``1,200 messages left, 1,150/s, about 1s to go``, or the reason why it stops.
    Empty after the wait."""
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
    """The number that a wait follows. If it is 0, the other conditions of the wait. Empty after the wait."""
    left_text = drain_text(run, service, now)
    gauge = run.lanes[service].gauge
    awaited = "" if left_text and gauge[-1][1] else waits_for(run, service, now)
    return "; ".join(filter(None, [left_text, awaited and f"waiting: {awaited}"]))


def _eta(seconds: float) -> str:
    if seconds < 1:
        return "less than 1s"
    return f"about {seconds:.0f}s" if seconds < 90 else f"about {seconds / 60:.0f}min"
