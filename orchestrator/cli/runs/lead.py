"""Leads a run from the command line: screen, questions, signals, and the result. All commands that move services use
it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from orchestrator.cli.live.prompt import TerminalPrompter
from orchestrator.cli.live.rows import OUTAGE_SLO_S
from orchestrator.cli.render.outcome import show_result
from orchestrator.cli.render.screen import JsonScreen, PlainScreen
from orchestrator.cli.render.terminal import can_redraw, is_attended, say, say_at_once
from orchestrator.cli.runs.signals import on_ctrl_z
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.errors import FailoverError, JournalCorrupt, JournalLost, LeaseLost, OutputLost
from orchestrator.journal.journal import Journal
from orchestrator.journal.unavailability import ALONE, WATCHED, Patience
from orchestrator.model import events as ev
from orchestrator.operations.runs.lead import Leadership, Request, begin_run, leading, take_run
from orchestrator.operations.runtime import Tools
from orchestrator.reports.abort import verdict_on_abort
from orchestrator.reports.report import build
from orchestrator.reports.wording import outage

if TYPE_CHECKING:
    from orchestrator.cli.live.asking import Asking
    from orchestrator.cli.live.screen import LiveScreen

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# If a process that leads a run were suspended, its services would stay in their present state, perhaps without an active
# site.
_NOT_SUSPENDED = (
    "Ctrl-Z does not suspend a run, because its services could stay without an active site. "
    "Ctrl-C stops the run at the next safe point."
)
_TOLD_WITHIN_S = 1.0  # a stopped terminal (Ctrl-S) must not delay the report
_SHOW_CURSOR = "\x1b[?25h"


def lead_new(tools: Tools, request: Request, *, as_json: bool, slo: float = OUTAGE_SLO_S) -> int:
    """Start the requested run and lead it. Returns the process exit code. Raises ``KeyUsed`` if its key has already
    started a run."""
    with closing(tools.journal()) as journal:
        return _lead(tools, journal, begin_run(tools, journal, request), as_json=as_json, slo=slo)


def lead_again(
    tools: Tools,
    journal: Journal,
    name: str,
    run: Run,
    *,
    as_json: bool,
    policy: ev.Policy | None = None,
    abort: ev.AbortAsked | None = None,
    slo: float = OUTAGE_SLO_S,
) -> int:
    """Resume run ``name``. ``run`` is the state from its record. With ``abort``, roll it back where possible, without
    any approval."""
    taken = take_run(tools, journal, name, run, to_abort=abort is not None)
    return _lead(tools, journal, taken, as_json=as_json, policy=policy, abort=abort, slo=slo)


def _lead(
    tools: Tools,
    journal: Journal,
    taken: Leadership,
    *,
    as_json: bool,
    policy: ev.Policy | None = None,
    abort: ev.AbortAsked | None = None,
    slo: float = OUTAGE_SLO_S,
) -> int:
    """Lead the run until its end, a pause, or an error, and deliver its hooks. Returns the process exit code."""
    front = _Front(tools, journal, taken, as_json=as_json, slo=slo)
    prompter: list[Observer] = [] if front.desk is None else [front.desk]
    observers: list[Observer] = [front.positions, *prompter, front.screen]
    with leading(tools, journal, taken, observers=observers, desk=front.desk, tell=say) as engine:
        with front.shown(), _pausing(engine, front), on_ctrl_z(lambda: say(_NOT_SUSPENDED)):
            engine.run(policy=policy, abort=abort)
        report = journal.insist(lambda: build(journal.records(taken.name)))
        verdict = None if abort is None else verdict_on_abort(report)
        try:
            show_result(tools, taken.held.run.plan, report, as_json=as_json, journal=journal, verdict=verdict)
        except OutputLost as error:
            # The outcome of the run is recorded, so a lost output does not change it.
            if not error.is_reader_gone:
                say(str(error))
        return report.exit_code if verdict is None else verdict.exit_code


class _Front:
    """The operator's view of a run that this process leads: a screen, and on a terminal a prompt."""

    def __init__(self, tools: Tools, journal: Journal, taken: Leadership, *, as_json: bool, slo: float) -> None:
        self._tools, self._taken, self._as_json, self._slo = tools, taken, as_json, slo
        self._run = taken.held.run
        self._telling: threading.Thread | None = None
        attended = is_attended() and not as_json
        self._positions = Positions(taken.plan)
        for record in journal.records(taken.name):
            self._positions.take(record)
        self.screen = self._make_screen()
        self.patience = journal.patience = Patience(tools.clock, WATCHED if attended else ALONE, self._say)
        caveat = journal.insist(journal.caveat)
        if caveat and not as_json:
            say(caveat)
        self.desk = (
            TerminalPrompter(tools.who(), self._asking(), self._run, tools.clock.now, outage=self._outage)
            if attended
            else None
        )

    def positions(self, record: ev.Record, run: Run) -> None:
        """Update the positions of the sites. This is the first observer, because the others show the positions."""
        del run
        self._positions.take(record)

    def _make_screen(self) -> JsonScreen | PlainScreen | LiveScreen:
        if self._as_json:
            return JsonScreen(self._positions)
        if not can_redraw():
            return PlainScreen(self._positions)
        from orchestrator.cli.live.screen import LiveScreen

        return LiveScreen(self._positions, self._tools.clock.now, slo=self._slo, takes_keys=True)

    def _asking(self) -> Asking:
        from orchestrator.cli.live.asking import LineAsking, PaneAsking
        from orchestrator.cli.live.screen import LiveScreen

        if isinstance(self.screen, LiveScreen) and self.screen.has_keys:
            return PaneAsking(self.screen)
        return LineAsking(self.screen.quiet)

    def _has_table(self) -> bool:
        """Is a table redrawn, with room for questions below it?"""
        return not isinstance(self.screen, JsonScreen | PlainScreen) and self.screen.has_keys

    def _outage(self, service: str) -> str:
        return outage(self._positions.of(service), self._run.plan, self._tools.clock.now())

    def _say(self, text: str) -> None:
        """Print a line between the screen's output. Any thread may call it."""
        self.screen.quiet(True)
        say(text)
        self.screen.quiet(False)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the screen while the block leads the run. If the block fails, print the services without exactly one
        serving site."""
        has_ended = False
        try:
            if self._taken.first is not None and self._as_json:
                with suppress(OutputLost):
                    self.screen(self._taken.first, self._run)
            yield
            has_ended = True
        except FailoverError as error:
            error.stands = self._stands()
            if not isinstance(error, (LeaseLost, JournalLost, JournalCorrupt)) and self._tools.keeps_records:
                self._leave_screen()
                name = self._taken.name
                say(f"run {name} stopped; resume it when the cause is fixed: failover resume {name}")
            raise
        finally:
            self._leave_screen()
            if not has_ended:
                for line in self._stands():
                    say(line)

    def release(self) -> None:
        """Restore the terminal, because this process may be killed next. A signal handler may call it."""
        if not isinstance(self.screen, JsonScreen | PlainScreen):
            self.screen.release()

    def tell_at_once(self, text: str) -> None:
        """Print a line from a signal handler. If a table is redrawn, a thread prints the line above it, because the
        handler may have interrupted a drawing. A line inside the table would be erased by the next drawing."""
        if self._has_table():
            self._telling = threading.Thread(target=say, args=(text,), name="tell", daemon=True)
            self._telling.start()
            return
        # The present line of a terminal may be a question, or end in ^C, so a new line starts first.
        say_at_once(f"{_SHOW_CURSOR}\n{text}" if sys.stderr.isatty() else text)

    def _leave_screen(self) -> None:
        """Stop asking and redrawing, and show the delayed lines."""
        if self._telling is not None:
            self._telling.join(_TOLD_WITHIN_S)
        if self.desk is not None:
            self.desk.close()
        self.screen.close()

    def _stands(self) -> tuple[str, ...]:
        """The services of a failed run that no site is known to serve, or that both sites serve."""
        clocks = ((service, self._outage(service)) for service in self._run.lanes)
        marker = "SIMULATED  " if self._run.plan.simulated else ""
        return tuple(
            f"{marker}{service}: {clock}, according to the last reading" for service, clock in clocks if clock
        )


@contextmanager
def _pausing(engine: Engine, front: _Front) -> Iterator[None]:
    """The first signal pauses the run at a safe point. Any second signal ends the process at once.

    SIGHUP (the terminal is closed) does not pause the run. A confirmed run continues by the rules for unattended runs.
    """

    def pause(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        for each in heard:
            signal.signal(each, signal.SIG_DFL)
        front.release()
        front.tell_at_once(
            f"{name}: stopping at the next safe point. Press Ctrl-C again to exit at once (the record stays intact)."
        )
        engine.pause(f"{name} from outside")
        front.patience.give_up()

    # An ignored signal stays ignored, because a shell starts background jobs with ignored signals.
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pause) for number in heard}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
