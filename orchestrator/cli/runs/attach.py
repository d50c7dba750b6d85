"""``failover attach``: the live view of a run that another process leads."""

from __future__ import annotations

from contextlib import ExitStack, closing

from orchestrator.cli.render.records import print_run, question_lines
from orchestrator.cli.render.screen import JsonScreen, PlainScreen
from orchestrator.cli.render.terminal import can_redraw, say, show_json
from orchestrator.cli.runs.signals import on_ctrl_z
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_run
from orchestrator.operations.runs.follow import follow
from orchestrator.operations.runs.run_document import open_questions
from orchestrator.operations.runtime import Tools
from orchestrator.reports.report import build

_QUESTIONS = 3


def attach_run(tools: Tools, name: str | None, *, slo: float, as_json: bool) -> int:
    """Follow the run until it ends, or Ctrl-C. Returns the exit code of the run, or 0 if the run continues."""
    with closing(tools.journal()) as journal:
        run_name = find_run(journal, name)
        try:
            _follow(tools, journal, run_name, slo, as_json=as_json)
        except KeyboardInterrupt:
            say(f"detached; the run continues; to follow it again: failover attach {run_name}")
            return 0
        report = build(journal.records(run_name))
    if as_json:
        show_json({"result": report.model_dump(mode="json")})
    else:
        print_run(tools, run_name, as_json=False)
    return report.exit_code


def _follow(tools: Tools, journal: Journal, name: str, slo: float, *, as_json: bool) -> None:
    view: _View | None = None
    try:
        for record, run, is_new in follow(tools, journal, name):
            view = view or _View(tools, run, slo, as_json=as_json)
            view.take(record, run, is_new=is_new)
    finally:
        if view is not None:
            view.close()


class _View:
    """The view of the run: a table on a terminal, otherwise lines. With ``--json`` it shows every event."""

    def __init__(self, tools: Tools, run: Run, slo: float, *, as_json: bool) -> None:
        self._positions = Positions(run.plan)
        self._live = None
        self._suspending = ExitStack()  # a process that only follows may be suspended
        if as_json:
            self._screen: JsonScreen | PlainScreen | None = JsonScreen(self._positions)
        elif not can_redraw():
            self._screen = PlainScreen(self._positions)
        else:
            from orchestrator.cli.live.screen import LiveScreen

            self._screen = None
            self._live = LiveScreen(self._positions, tools.clock.now, slo=slo, takes_keys=True)
            self._suspending.enter_context(on_ctrl_z(self._live.suspend))

    def take(self, record: ev.Record, run: Run, *, is_new: bool) -> None:
        """Show one record. On a terminal, old records only update the table."""
        self._positions.take(record)
        if self._live is not None:
            self._live.is_muted = not is_new
            self._live(record, run)
            if isinstance(record.event, ev.GateOpened | ev.GateDecided | ev.GateWithdrawn | ev.LaneEnded):
                self._live.pane.show(question_lines(record.run, list(open_questions(record.run, run)), _QUESTIONS))
        elif self._screen is not None and (is_new or isinstance(self._screen, JsonScreen)):
            self._screen(record, run)

    def close(self) -> None:
        """Remove the redrawn table."""
        self._suspending.close()
        if self._live is not None:
            self._live.close()
        elif self._screen is not None:
            self._screen.close()
