"""What is seen on a terminal while a run goes on: finished steps as lines, and below them what is under way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from orchestrator.cli.render.screen import LANES_SHOWN, matters, outage_of, outage_of_all, step_of, wait_text
from orchestrator.cli.render.terminal import can_show, presentable
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.model.families import amount
from orchestrator.reports.wording import both_active, direction, outage, sentence

_BAR_WIDTH = 20
_NARROWEST = 40
_ALARM, _NOTE, _DONE = "bold yellow", "dim", "green"


class LiveScreen:
    """Lines for what happened, and a line per lane that is redrawn, with a bar while a queue drains, and a clock while no
    site is known to serve. ``positions`` has taken each record before; ``now``: seconds since the epoch."""

    def __init__(self, positions: Positions, now: Callable[[], float]) -> None:
        self._positions, self._now = positions, now
        self._run: Run | None = None
        self._console = Console(stderr=True, highlight=False)
        self._signs = {
            _ALARM: "!",
            _NOTE: "·" if can_show(sys.stderr, "·") else "-",
            _DONE: "✓" if can_show(sys.stderr, "✓") else "*",
        }
        one_line = Column(no_wrap=True, overflow="ellipsis" if can_show(sys.stderr, "…") else "crop")
        self._progress = Progress(
            TextColumn("  {task.description}", markup=False, table_column=one_line),
            _OnlyWhileDraining(),
            TextColumn("{task.fields[note]}", style=_NOTE, markup=False, table_column=one_line),
            _OutageClock(self._outage),
            console=self._console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, float] = {}
        self._full: dict[str, float] = {}
        self._lock = threading.Lock()
        self._moving: Live | None = None
        self._asking = False
        self._held: list[Text] = []  # lines that came while somebody was typing
        self._lost = False

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._lost:
            return  # said once: told again of every event, it would fill the record with itself
        try:
            self._show(record, run)
        except OSError:  # the terminal is gone
            self._lost = True
            raise

    def _show(self, record: ev.Record, run: Run) -> None:
        with self._lock:
            self._run = run
            if self._positions.news is not None:
                who = f"{record.lane}  " if len(run.lanes) > 1 else ""
                self._line(_ALARM, f"{who}{both_active(run.plan)}", style=_ALARM)
            if self._moving is None and not self._asking:
                self._moving = self._begun()
            if record.lane is not None and len(run.lanes) <= LANES_SHOWN:
                self._lane_event(record.lane, record, run)
            elif record.lane is not None:
                self._many(record, run)
            else:
                self._own_event(record, run)

    def quiet(self, yes: bool) -> None:
        """Leave the terminal alone while somebody types."""
        with self._lock, self._unless_lost():
            self._asking = yes
            if yes:
                self._stop()
            else:
                self._show_held()

    def close(self) -> None:
        """Show what is held back, and take the moving lines away."""
        with self._lock, self._unless_lost():
            self._stop()
            self._show_held()

    def _outage(self, service: str) -> str:
        """The clock of a task: of its service, or of all services that share one line."""
        if self._run is None:
            return ""
        if service:
            return outage(self._positions.of(service), self._run.plan, self._now())
        return outage_of_all(self._run, self._positions, self._now())

    @contextmanager
    def _unless_lost(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._lost = True

    def _begun(self) -> Live:
        """The lines that are redrawn, from now on. A new one each time: one that is started again takes away as many
        lines as it had when it was stopped, which by then are others."""
        moving = Live(
            get_renderable=self._progress.get_renderable, console=self._console, refresh_per_second=12, transient=True
        )
        moving.start()
        return moving

    def _stop(self) -> None:
        if self._moving is not None:
            self._moving.stop()
            self._moving = None

    def _show_held(self) -> None:
        held, self._held = self._held, []
        for line in held:
            self._console.print(line)

    def _own_event(self, record: ev.Record, run: Run) -> None:
        if isinstance(record.event, ev.RunStarted):
            marker = "SIMULATED  " if run.plan.simulated else ""
            way = direction(run.plan.runbook.runbook, run.plan.source, run.plan.target)
            self._put(Text(f"{marker}run {record.run}: {way}", style="bold"))
        if not isinstance(record.event, ev.RunFinished):  # the report that follows says it
            self._print(record, run, "")

    def _lane_event(self, service: str, record: ev.Record, run: Run) -> None:
        lane, event = run.lanes[service], record.event
        task = self._task(service)
        who = f"{service}  " if len(run.lanes) > 1 else ""
        match event:
            case ev.StepStarted():
                self._began[service] = record.at
                self._full.pop(service, None)  # another step counts something else
                text = presentable(f"{who}{_named(event, run)}")
                self._progress.update(task, description=text, note="", draining=False)
            case ev.Observed():
                self._progress.update(task, note=presentable(wait_text(run, service, record.at)))
                if event.gauge is not None and lane.gauge:  # without one the wait is over
                    self._gauge(service, task, run, event.gauge)
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
        took = record.at - self._began.get(service, record.at)
        note = f", {event.note}" if event.note else ""
        who = f"{service}  " if len(run.lanes) > 1 else ""
        self._line(_DONE, f"{who}{_named(event, run)}", f" ({took:.1f}s{note})")

    def _gauge(self, service: str, task: TaskID, run: Run, gauge: float) -> None:
        steps, index = run.plan.runbook.steps, run.lanes[service].step
        progress = steps[index].progress
        what = "draining" if progress is None or progress.reading == "replication_queue" else "waiting"
        what = steps[index].title if steps[index].changes else what  # it drained before, and is read once more
        who = f"{service}  " if len(run.lanes) > 1 else ""
        full = self._full.setdefault(service, gauge) or 1.0
        self._progress.update(
            task,
            description=f"{who}[{index + 1}/{len(steps)}] {what}",
            total=full,
            completed=max(0.0, full - gauge),
            draining=True,
        )

    def _many(self, record: ev.Record, run: Run) -> None:
        ended = sum(lane.ended for lane in run.lanes.values())
        queued = sum(lane.gauge[-1][1] for lane in run.lanes.values() if lane.gauge)
        self._progress.update(
            self._task(""),
            description=f"{ended} of {len(run.lanes)} services finished",
            total=len(run.lanes),
            completed=ended,
            note=f"{amount(round(queued), run.plan.runbook.family)} in their queues",
            draining=True,
        )
        if matters(record.event):
            self._print(record, run, record.lane or "")

    def _task(self, service: str) -> TaskID:
        if service not in self._tasks:
            self._tasks[service] = self._progress.add_task(
                service, total=None, note="", draining=False, service=service
            )
        return self._tasks[service]

    def _print(self, record: ev.Record, run: Run, service: str) -> None:
        text = sentence(record.event, run.plan)
        if text is None:
            return
        who = f"{service}  " if service and len(run.lanes) > 1 else ""
        if isinstance(record.event, ev.StepFailed | ev.StepSkipped):  # nothing above says which
            text = f"{_named(record.event, run)}: {text}"
        alarm = _is_alarm(record.event)
        clock = outage_of(record, run, self._positions) if alarm or isinstance(record.event, ev.RunPaused) else ""
        text = f"{text}; {clock}" if clock else text
        self._line(_ALARM if alarm else _NOTE, f"{who}{text}", style=_ALARM if alarm else "")

    def _line(self, kind: str, text: str, aside: str = "", style: str = "") -> None:
        body = Text.assemble((presentable(text), style), (presentable(aside), _NOTE))
        folded = Text("\n  ").join(body.wrap(self._console, max(_NARROWEST, self._console.width - 2)))
        self._put(Text.assemble((f"{self._signs[kind]} ", kind), folded))

    def _put(self, line: Text) -> None:
        if self._asking:
            self._held.append(line)
        else:
            self._console.print(line)


def _named(event: ev.StepStarted | ev.StepDone | ev.StepFailed | ev.StepSkipped, run: Run) -> str:
    """``[3/7] The replication queue drains``: the step that the event is of."""
    return f"{step_of(event, run)}{run.plan.runbook.steps[run.plan.runbook.index_of(event.step)].title}"


def _is_alarm(event: ev.Event) -> bool:
    bad_end = isinstance(event, ev.LaneEnded) and event.outcome is not ev.Outcome.DONE
    return bad_end or isinstance(
        event, ev.GuardBroke | ev.Stalled | ev.GateOpened | ev.Escalated | ev.RevertStarted | ev.StepFailed
    )


class _OutageClock(ProgressColumn):
    """For how long no site is known to serve, drawn anew each time: a clock that stands still would lie."""

    def __init__(self, outage: Callable[[str], str]) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._outage = outage

    def render(self, task: Task) -> Text:
        """Rich calls this for every redraw."""
        return Text(self._outage(task.fields["service"]), style=_ALARM)


class _OnlyWhileDraining(ProgressColumn):
    """A bar for lanes that wait for a queue, nothing for the others."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = BarColumn(bar_width=_BAR_WIDTH)

    def render(self, task: Task) -> Text:
        """Rich calls this for every redraw."""
        return self._bar.render(task) if task.fields.get("draining") else Text("")  # type: ignore[return-value]
