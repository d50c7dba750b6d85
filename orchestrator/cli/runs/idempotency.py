"""``--idempotency-key``: a repeated request gets the first run's result, and never starts a second run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from orchestrator.cli.render.outcome import show_result
from orchestrator.cli.render.terminal import say
from orchestrator.journal.lease import is_led
from orchestrator.journal.outbox import Outbox
from orchestrator.operations.runs.idempotency import await_end, first_run
from orchestrator.operations.runtime import Tools
from orchestrator.reports.report import build


def first_result(tools: Tools, asked: Mapping[str, str], key: str, *, wait: bool, as_json: bool) -> int | None:
    """Print the result of the run that ``key`` has started, and return its exit code. None if there is no such run yet.

    With ``wait``, wait first until no process leads the run any more. Raises ``DefinitionError`` if the key was used
    before with another request than ``asked``.
    """
    with closing(tools.journal()) as journal:
        name = first_run(journal, asked, key)
        if name is None:
            return None
        say(f"run {name} was started with this key, so no other run is started")
        row = journal.row(name)
        if wait and is_led(row, tools.clock.now()):
            say(f"{row.holder.split()[0]} leads the run; waiting for the end of the run")
            await_end(tools, journal, name)
        report = build(journal.records(name))
        led = is_led(journal.row(name), tools.clock.now())
        show_result(tools, Outbox(journal).plan(name), report, as_json=as_json, journal=journal, is_led=led)
        return report.exit_code
