"""The terminal output while a run continues: lines for events, and below them a table that is redrawn."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from orchestrator.cli.live.frame import ALARM, GOOD, NOTE, PLAIN, Frame, Signs
from orchestrator.cli.live.keyboard import Keyboard
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.rows import OUTAGE_SLO_S
from orchestrator.cli.live.view import View, remembered
from orchestrator.cli.render.screen import LANES_SHOWN, matters, outage_of, step_of
from orchestrator.cli.render.terminal import can_show, is_attended, presentable, say_through
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.reports.wording import both_active, direction, sentence

_NARROWEST = 40
# With many services, repeated words are a new line only after this time without them.
_AGAIN_AFTER_S = 10.0
# The drawings a second, by number of services. Many services take longer to draw, and are read as a whole.
_PER_SECOND = ((100, 4.0), (500, 2.0))


class LiveScreen:
    """Lines for events, and a redrawn table of all services, with a clock while no site is known to serve.

    ``positions`` must take each record first. ``now`` is in seconds since the epoch. An outage of ``slo`` seconds or more
    is red. ``takes_keys``: an operator can filter, sort and answer.
    """

    def __init__(
        self,
        positions: Positions,
        now: Callable[[], float],
        *,
        slo: float = OUTAGE_SLO_S,
        takes_keys: bool = False,
    ) -> None:
        self._positions, self._now = positions, now
        self._run: Run | None = None
        self._console = Console(stderr=True, highlight=False, emoji=False)
        self._signs = Signs() if can_show(sys.stderr, "…━·▸✓") else PLAIN
        self._marks = {ALARM: "!", NOTE: "·" if self._signs is not PLAIN else "-", GOOD: self._signs.tick}
        self.pane = Pane()
        self._view = View(positions, slo, self._signs, self.pane)
        self._began: dict[str, float] = {}
        self._told_at: dict[str, float] = {}  # the time when a service last used these words
        self._said: set[tuple[str, str | None, str]] = set()
        self._lock = threading.Lock()
        self._moving: Live | None = None
        self._quiet = self._lost = False
        self.is_muted = False  # earlier events only update the table, without lines
        self._held: list[Text] = []  # lines that came while the screen was quiet
        self._keyboard = Keyboard(self._press) if takes_keys and is_attended() else None
        self._view.has_keys = self._keyboard is not None and self._keyboard.start()
        if not self._view.has_keys:
            self._keyboard = None
        if self._console.is_terminal:
            say_through(self.say)

    @property
    def has_keys(self) -> bool:
        """Can the pane show a question?"""
        return self._keyboard is not None

    def __call__(self, record: ev.Record, run: Run) -> None:
        if self._lost:
            return  # reported once, because a report at every event would fill the record
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
                self._line(ALARM, f"{who}{both_active(run.plan)}", style=ALARM)
            if not self._view.title:
                self._view.title = _title(record, run)
            if self._moving is None and not (self._quiet or self.is_muted):
                self._moving = self._started()
            if record.lane is None:
                self._own_event(record, run)
            else:
                self._lane_event(record.lane, record, run)

    def quiet(self, yes: bool) -> None:
        """Write nothing while another part of the program writes to the terminal."""
        with self._lock, self._unless_lost():
            self._quiet = yes
            if yes:
                self._stop()
                return
            self._show_held()
            if self._run is not None and self._moving is None:
                self._moving = self._started()

    def close(self) -> None:
        """Show the delayed lines, remove the table, and restore the terminal."""
        self.release()
        say_through(None)
        with self._lock, self._unless_lost():
            self._stop()
            self._show_held()
            self._run = None

    def release(self) -> None:
        """Stop reading keys and restore the terminal. A signal handler may call it."""
        if self._keyboard is not None:
            self._keyboard.stop()

    def suspend(self) -> None:
        """Ctrl-Z: restore the terminal and stop this process. Draw again when the process continues. A signal handler
        must not call it, because the handler may have interrupted the writing of a line."""
        self.quiet(True)
        if self._keyboard is not None:
            self._keyboard.give_back()
        # A signal to the process may reach another thread first. This thread would then take the terminal again too soon.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        if self._keyboard is not None:
            self._keyboard.take()
        self.quiet(False)

    def say(self, text: str) -> None:
        """Print a line that stays. Any thread may call it."""
        with self._lock, self._unless_lost():
            self._put(Text(presentable(text)))

    def forget_typed(self) -> None:
        """Discard the text typed before a question was shown."""
        if self._keyboard is not None:
            self._keyboard.forget_typed()

    def redraw(self) -> None:
        """Draw at once, because an operator types."""
        moving = self._moving
        if moving is not None:
            with self._unless_lost():
                moving.refresh()

    def _press(self, key: str) -> None:
        if key == "lost" or (self.pane.has_keys and key != "tab"):
            self.pane.press(key)
        elif key == "tab":
            self.pane.has_keys = self.pane.takes_keys and not self.pane.has_keys
        else:
            self._view.press(key)
        self.redraw()

    @contextmanager
    def _unless_lost(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._lost = True

    def _started(self) -> Live:
        """Start a new table. A restarted table would erase as many lines as it had when it was stopped, but other lines
        are there by then."""
        assert self._run is not None
        moving = Live(
            get_renderable=self._picture,
            console=self._console,
            refresh_per_second=per_second(len(self._run.lanes)),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        moving.start()
        return moving

    def _picture(self) -> Frame:
        """The present frame. It takes no lock, because it is called while a line is printed."""
        run = self._run
        if run is None:
            return Frame()
        width, height = self._console.size
        return self._view.picture(run, self._now(), width, max(6, height - 1))

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
            self._put(Text(presentable(self._view.title), style="bold"))
        if not isinstance(record.event, ev.RunFinished):  # the report that follows has the outcome
            self._print(record, run, "")

    def _lane_event(self, service: str, record: ev.Record, run: Run) -> None:
        event, is_few = record.event, len(run.lanes) <= LANES_SHOWN
        text = sentence(event, run.plan)
        if text is not None:
            self._view.told[service] = remembered(self._view.told, service, f"{step_of(event, run)}{text}")
        match event:
            case ev.StepStarted():
                self._began[service] = record.at
                self._view.full.pop(service, None)  # another step counts other things
            case ev.Observed():
                if event.gauge is not None and run.lanes[service].gauge:  # without a gauge the wait is over
                    self._view.full.setdefault(service, event.gauge)
            case ev.StepDone():
                if is_few:
                    self._finish_step(service, record, run, event)
            case ev.GateOpened():
                if self._is_new(event.gate, event.item, event.why.replace(service, "")):
                    self._print(record, run, service)
            case ev.GateDecided():
                ruling = event.ruling
                if is_few or self._is_new(event.gate, event.item, f"{ruling.choice} {ruling.by} {ruling.reason}"):
                    self._print(record, run, service)
            case _:
                if is_few or (matters(event) and text is not None and self._is_news(text, service, record.at)):
                    self._print(record, run, service)

    def _is_news(self, text: str, service: str, at: float) -> bool:
        """Are these words new? If many services report the same words, only the first is a line. The table has all."""
        words = text.replace(service, "")
        last, self._told_at[words] = self._told_at.get(words, -_AGAIN_AFTER_S), at
        return at - last >= _AGAIN_AFTER_S

    def _is_new(self, gate: str, item: str | None, why: str) -> bool:
        """Is this question new? If many services ask the same question, only the first is a line."""
        key = (gate, item, why)
        is_new = key not in self._said
        self._said.add(key)
        return is_new

    def _finish_step(self, service: str, record: ev.Record, run: Run, event: ev.StepDone) -> None:
        took = record.at - self._began.get(service, record.at)
        note = f", {event.note}" if event.note else ""
        who = f"{service}  " if len(run.lanes) > 1 else ""
        self._line(GOOD, f"{who}{_named(event, run)}", f" ({took:.1f}s{note})")

    def _print(self, record: ev.Record, run: Run, service: str) -> None:
        text = sentence(record.event, run.plan)
        if text is None:
            return
        who = f"{service}  " if service and len(run.lanes) > 1 else ""
        if isinstance(record.event, ev.StepFailed | ev.StepSkipped):  # no earlier line names the step
            text = f"{_named(record.event, run)}: {text}"
        alarm = _is_alarm(record.event)
        clock = outage_of(record, run, self._positions) if alarm or isinstance(record.event, ev.RunPaused) else ""
        text = f"{text}; {clock}" if clock else text
        self._line(ALARM if alarm else NOTE, f"{who}{text}", style=ALARM if alarm else "")

    def _line(self, kind: str, text: str, aside: str = "", style: str = "") -> None:
        body = Text.assemble((presentable(text), style), (presentable(aside), NOTE))
        folded = Text("\n  ").join(body.wrap(self._console, max(_NARROWEST, self._console.width - 2)))
        self._put(Text.assemble((f"{self._marks[kind]} ", kind), folded))

    def _put(self, line: Text) -> None:
        if self.is_muted:
            return
        if self._quiet:
            self._held.append(line)
        else:
            self._console.print(line)


def per_second(services: int) -> float:
    """The drawings a second of a table with this number of services."""
    return next((rate for most, rate in _PER_SECOND if services <= most), 1.0)


def _title(record: ev.Record, run: Run) -> str:
    marker = "SIMULATED  " if run.plan.simulated else ""
    return f"{marker}run {record.run}: {direction(run.plan.runbook.runbook, run.plan.source, run.plan.target)}"


def _named(event: ev.StepStarted | ev.StepDone | ev.StepFailed | ev.StepSkipped, run: Run) -> str:
    """The step of the event, such as ``[3/7] Drain the replication queue``."""
    return f"{step_of(event, run)}{run.plan.runbook.steps[run.plan.runbook.index_of(event.step)].title}"


def _is_alarm(event: ev.Event) -> bool:
    bad_end = isinstance(event, ev.LaneEnded) and event.outcome is not ev.Outcome.DONE
    return bad_end or isinstance(
        event, ev.GuardBroke | ev.Stalled | ev.GateOpened | ev.Escalated | ev.RevertStarted | ev.StepFailed
    )
