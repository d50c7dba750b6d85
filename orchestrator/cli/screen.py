"""What is seen while a run goes on: lines and a progress bar for people, one event a line for machines."""

from __future__ import annotations

import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from orchestrator import events as ev
from orchestrator.cli.terminal import say, show_json
from orchestrator.clock import iso
from orchestrator.drain import forecast
from orchestrator.reports.words import sentence
from orchestrator.state import Lane, Run

# More lanes than this are summed up instead of shown one by one.
LANES_SHOWN = 8
_LINE_EVERY = 1.0


def event_line(record: ev.Record) -> dict[str, object]:
    """The JSON of one event, as ``--json`` and ``runs export`` print it."""
    return {
        "run": record.run,
        "seq": record.seq,
        "at": iso(record.at),
        "lane": record.lane,
        "event": record.event.model_dump(mode="json", exclude_defaults=False),
    }


class JsonScreen:
    """One event a line on stdout."""

    def __call__(self, record: ev.Record, run: Run) -> None:
        show_json(event_line(record))

    def quiet(self, yes: bool) -> None:
        """Machines do not mind."""

    def close(self) -> None:
        """Nothing is held."""


class PlainScreen:
    """Lines with their time, for logs and for terminals that cannot redraw."""

    def __init__(self) -> None:
        self._last_drain: dict[str, float] = {}

    def __call__(self, record: ev.Record, run: Run) -> None:
        if len(run.lanes) > LANES_SHOWN and not _matters(record.event):
            return
        text = sentence(record.event, run.plan) or self._drain_line(record, run)
        if text is None:
            return
        marker = "SIMULATED " if run.plan.simulated else ""
        where = f"{record.lane}: " if record.lane else ""
        say(f"{time.strftime('%H:%M:%S', time.localtime(record.at))} {marker}{where}{_step(record, run)}{text}")

    def _drain_line(self, record: ev.Record, run: Run) -> str | None:
        if not isinstance(record.event, ev.Observed) or record.event.gauge is None or record.lane is None:
            return None
        last = self._last_drain.get(record.lane)
        if last is not None and record.at - last < _LINE_EVERY:
            return None
        self._last_drain[record.lane] = record.at
        return drain_text(run.lanes[record.lane])

    def quiet(self, yes: bool) -> None:
        """Lines may come between; nothing is redrawn."""

    def close(self) -> None:
        """Nothing is held."""


def _matters(event: ev.Event) -> bool:
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
        | ev.Escalated
        | ev.RevertStarted
        | ev.ObserverFailed
        | ev.StepFailed,
    ) or (isinstance(event, ev.LaneEnded) and event.outcome is not ev.Outcome.DONE)


def _step(record: ev.Record, run: Run) -> str:
    steps = run.plan.runbook.steps
    if isinstance(record.event, ev.StepStarted | ev.StepDone | ev.StepFailed):
        return f"[{run.plan.runbook.index_of(record.event.step) + 1}/{len(steps)}] "
    return ""


def drain_text(lane: Lane) -> str:
    """``1,200 messages left, 1,150/s, about 1s to go``."""
    seen = forecast(lane.gauge)
    if seen is None:
        return "nothing read yet"
    if seen.depth == 0:
        return "0 messages left"
    if seen.rate is None or seen.eta is None:
        return f"{seen.depth:,.0f} messages left, rate not known yet" if not lane.stalled else _stalled(seen.depth)
    return f"{seen.depth:,.0f} messages left, {seen.rate:,.0f}/s, about {_eta(seen.eta)} to go"


def _stalled(depth: float) -> str:
    return f"{depth:,.0f} messages left, STALLED"


def _eta(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds < 90 else f"{seconds / 60:.0f}min"


class LiveScreen:
    """Finished steps as lines, and below them a line per lane that is redrawn, with a bar while a queue drains."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("  {task.description}"),
            _OnlyWhileDraining(),
            TextColumn("{task.fields[note]}", style="dim"),
            console=self._console,
            refresh_per_second=12,
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, float] = {}
        self._full: dict[str, float] = {}
        self._lock = threading.Lock()
        self._running = False
        self._asking = False
        self._held: list[Text] = []  # lines that came while somebody was typing

    def __call__(self, record: ev.Record, run: Run) -> None:
        with self._lock:
            if not self._running and not self._asking:
                self._progress.start()
                self._running = True
            if record.lane is not None and len(run.lanes) <= LANES_SHOWN:
                self._lane_event(record.lane, record, run)
            elif record.lane is not None:
                self._many(record, run)
            else:
                self._own_event(record, run)

    def _own_event(self, record: ev.Record, run: Run) -> None:
        if isinstance(record.event, ev.RunStarted):
            marker = "[bold]SIMULATED[/bold]  " if run.plan.simulated else ""
            self._line(f"{marker}run {record.run}: {run.plan.source} to {run.plan.target}")
        self._print(record, run, "")

    def quiet(self, yes: bool) -> None:
        """Leave the terminal alone while somebody types."""
        with self._lock:
            self._asking = yes
            if yes and self._running:
                self._progress.stop()
                self._running = False
            if not yes:
                for line in self._held:
                    self._console.print(line, soft_wrap=True)
                self._held.clear()

    def close(self) -> None:
        """Take the moving lines away."""
        if self._running:
            self._progress.stop()
            self._running = False

    def _lane_event(self, service: str, record: ev.Record, run: Run) -> None:
        lane, event = run.lanes[service], record.event
        task = self._task(service)
        match event:
            case ev.StepStarted():
                self._began[service] = record.at
                title = run.plan.runbook.steps[run.plan.runbook.index_of(event.step)].title
                self._progress.update(task, description=f"{_step(record, run)}{title} …", note="", draining=False)
            case ev.Observed():
                self._gauge(service, task, lane, event)
            case ev.StepDone():
                self._finish_step(service, record, run, event)
            case ev.LaneEnded():
                self._progress.update(task, visible=False)
                self._print(record, run, service)
            case ev.GateOpened():
                pass  # the desk puts the question
            case _:
                self._print(record, run, service)

    def _finish_step(self, service: str, record: ev.Record, run: Run, event: ev.StepDone) -> None:
        title = run.plan.runbook.steps[run.plan.runbook.index_of(event.step)].title
        took = record.at - self._began.get(service, record.at)
        note = f", {event.note}" if event.note else ""
        who = f"{service}  " if len(run.lanes) > 1 else ""
        self._line(f"[green]✓[/green] {who}{_step(record, run)}{title} [dim]({took:.1f}s{note})[/dim]")

    def _gauge(self, service: str, task: TaskID, lane: Lane, event: ev.Observed) -> None:
        if event.gauge is None:
            return
        full = self._full.setdefault(service, event.gauge) or 1.0
        done = max(0.0, full - event.gauge)
        self._progress.update(task, total=full, completed=done, note=drain_text(lane), draining=True)

    def _many(self, record: ev.Record, run: Run) -> None:
        ended = sum(lane.ended for lane in run.lanes.values())
        queued = sum(lane.gauge[-1][1] for lane in run.lanes.values() if lane.gauge)
        task = self._task("")
        self._progress.update(
            task,
            description=f"{ended} of {len(run.lanes)} services at their end",
            total=len(run.lanes),
            completed=ended,
            note=f"{queued:,.0f} messages in their queues",
            draining=True,
        )
        if _matters(record.event):
            self._print(record, run, record.lane or "")

    def _task(self, service: str) -> TaskID:
        if service not in self._tasks:
            self._tasks[service] = self._progress.add_task(service, total=None, note="", draining=False)
        return self._tasks[service]

    def _print(self, record: ev.Record, run: Run, service: str) -> None:
        text = sentence(record.event, run.plan)
        if text is None:
            return
        sign = "!" if _is_alarm(record.event) else "·"
        style = "bold yellow" if sign == "!" else "dim"
        who = f"{service}  " if service and len(run.lanes) > 1 else ""
        self._line(f"[{style}]{sign}[/{style}] ", Text(f"{who}{text}", style=style if sign == "!" else ""))

    def _line(self, markup: str, rest: Text | None = None) -> None:
        line = Text.from_markup(markup)
        line = line if rest is None else line.append_text(rest)
        if self._asking:
            self._held.append(line)
        else:
            self._console.print(line, soft_wrap=True)


def _is_alarm(event: ev.Event) -> bool:
    bad_end = isinstance(event, ev.LaneEnded) and event.outcome is not ev.Outcome.DONE
    return bad_end or isinstance(
        event, ev.GuardBroke | ev.Stalled | ev.GateOpened | ev.Escalated | ev.RevertStarted | ev.StepFailed
    )


class _OnlyWhileDraining(ProgressColumn):
    """A bar for lanes that wait for a queue, nothing for the others."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = BarColumn(bar_width=30)

    def render(self, task: Task) -> Text:
        """Rich calls this for every redraw."""
        return self._bar.render(task) if task.fields.get("draining") else Text("")  # type: ignore[return-value]
