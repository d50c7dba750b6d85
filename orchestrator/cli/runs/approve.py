"""``failover approve``: shows the plan of a run that waits for approval, and records another person's answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import typer

from orchestrator.cli.render.terminal import agrees, is_attended, say, show, show_json
from orchestrator.core.run import Run
from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_open_run, find_run
from orchestrator.operations.runs.agreement import as_data, what_is_asked
from orchestrator.operations.runs.approval import Word, folded_with_creation, word_on
from orchestrator.operations.runs.intervene import leave_word, plan_asked_about, word_that_counts
from orchestrator.operations.runtime import Tools

_SAID: Mapping[Word, str] = {"approve": "approved", "deny": "denied", "break-glass": "break-glass"}


def show_run(tools: Tools, name: str | None, *, as_json: bool) -> int:
    """Show a run's plan as an approver sees it, and record nothing. Returns the exit code."""
    with closing(tools.journal()) as journal:
        run_name = find_run(journal, name)
        run, created = folded_with_creation(journal, run_name)
    if as_json:
        show_json({"result": as_data(tools, run_name, run, created)})
        return 0
    for line in what_is_asked(tools, run_name, run, created, whole=True):
        show(line)
    return 0


def approve_run(tools: Tools, name: str | None, word: Word, reason: str, *, yes: bool, as_json: bool) -> int:
    """Show the plan, and record this account's answer for the process that leads the run. Returns the exit code.

    Raises ``DefinitionError`` if the run waits for no approval, or if the answer would not count.
    """
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "approve")
        run, created = folded_with_creation(journal, run_name)
        request = word_that_counts(tools, run_name, run, word, reason)
        if word == "approve" and not yes:
            _confirm(tools, run_name, run, created, as_json=as_json)
        # The answer has the time of the confirmation, not the time when the plan was shown.
        digest = plan_asked_about(run)
        led = leave_word(tools, journal, run_name, word_on(tools, run_name, digest, word, reason))
    signed = ", signed" if request.signature and run.plan.approval is not None and run.plan.approval.signed else ""
    words = f"{_SAID[word]} by {request.by}{signed}"
    words += "" if led else f"; no process leads the run: failover resume {run_name}"
    if as_json:
        result = {"run": run_name, "simulated": run.plan.simulated, "plan": digest, "message": words}
        show_json({"result": {**result, "exit_code": 0}})
    else:
        show(f"{'SIMULATED  ' if run.plan.simulated else ''}run {run_name}: {words}")
    return 0


def _confirm(tools: Tools, name: str, run: Run, created: ev.RunCreated, *, as_json: bool) -> None:
    if not is_attended() or as_json:
        raise DefinitionError(
            "no terminal: cannot ask for confirmation", hint="add --yes to approve without being asked"
        )
    for line in what_is_asked(tools, name, run, created, whole=False):
        say(line)
    if not agrees("Do you approve this plan?"):
        say("not approved; nothing was recorded")
        raise typer.Exit(3)
