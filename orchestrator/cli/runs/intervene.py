"""Resumes a run, aborts it, or answers its questions, and prints the outcome.

The modules that lead a run take as long to load as its record takes to read. So they are loaded after the first line is
printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from types import MappingProxyType
from typing import TYPE_CHECKING

from orchestrator.cli.pairs.connecting import say_connecting_for
from orchestrator.cli.render.terminal import say_unless, show, show_json
from orchestrator.core.run import Run, fold
from orchestrator.counting import named
from orchestrator.errors import DefinitionError
from orchestrator.journal.lease import is_led, leader
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_open_run
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from orchestrator.journal.journal import Journal
    from orchestrator.operations.runs.answers import Answers, Decision


def resume_run(tools: Tools, name: str | None, answers: Answers, *, slo: float, as_json: bool) -> int:
    """Resume a run under its own policy and the ``answers`` given now. Returns the process exit code."""
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "resume")
        run = fold(journal.records(run_name))
        say_connecting_for(run.plan, as_json=as_json)
        from orchestrator.cli.runs.lead import lead_again
        from orchestrator.operations.runs.intervene import policy_of

        policy = policy_of(tools, run, answers)
        return lead_again(tools, journal, run_name, run, as_json=as_json, policy=policy, slo=slo)


def abort_run(tools: Tools, name: str | None, reason: str, *, leave: bool, as_json: bool) -> int:
    """Roll a run back, or ask the process that leads it to do so, and print the outcome. Returns the process exit code.

    ``leave``: changes that cannot be rolled back stay permanently. This is only for a run that no process leads.
    """
    if leave and not reason:
        raise DefinitionError(
            "--leave needs a reason, because it ends a run permanently", hint="add --reason 'who decided it, and why'"
        )
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "abort")
        run = fold(journal.records(run_name))
        if not leave or not _is_led(tools, journal, run_name):
            _say_who_aborts(tools, journal, run_name, run, as_json=as_json)
        from orchestrator.cli.runs.lead import lead_again
        from orchestrator.operations.runs.intervene import ask_for_abort

        asked = ev.AbortAsked(reason=reason, leave=leave, **tools.who()._asdict())
        answered = None if leave else ask_for_abort(tools, journal, run_name, asked)
        if answered is None:
            run = fold(journal.records(run_name))
            return lead_again(tools, journal, run_name, run, as_json=as_json, abort=asked)
        more = answered.verdict.as_data() | {"message": answered.words}
        _tell(run_name, run, answered.words, list(run.lanes), as_json, more)
        return answered.verdict.exit_code


def decide_for(tools: Tools, name: str | None, decision: Decision, *, as_json: bool) -> int:
    """Record an answer for the process that leads the run, or will lead it next. Returns the exit code."""
    from orchestrator.operations.runs.intervene import note_decision

    with closing(tools.journal()) as journal:
        noted = note_decision(tools, journal, name, decision)
    words = f"{decision.choice} for {named(noted.services)}"
    told = f"sent to the process that leads the run: {words}"
    alone = f"recorded: {words}; no process leads the run: failover resume {noted.name}"
    _tell(noted.name, noted.run, told if noted.is_led else alone, noted.services, as_json)
    return 0


def _say_who_aborts(tools: Tools, journal: Journal, name: str, run: Run, *, as_json: bool) -> None:
    """Say which process aborts the run: the one that leads it, or this one, which connects to the devices."""
    if not _is_led(tools, journal, name):
        say_connecting_for(run.plan, as_json=as_json)
        return
    words = (
        f"run {name} is led by {leader(journal.row(name), tools.clock.now())}; asking that process to abort the run"
    )
    say_unless(as_json)(f"{'SIMULATED  ' if run.plan.simulated else ''}{words}")


def _is_led(tools: Tools, journal: Journal, name: str) -> bool:
    return is_led(journal.row(name), tools.clock.now())


def _tell(
    name: str,
    run: Run,
    words: str,
    services: list[str],
    as_json: bool,
    more: Mapping[str, object] = MappingProxyType({}),
) -> None:
    if as_json:
        said = {"run": name, "simulated": run.plan.simulated, "asked": services, "message": words, "exit_code": 0}
        show_json({"result": said | dict(more)})
    else:
        show(f"{'SIMULATED  ' if run.plan.simulated else ''}run {name}: {words}")
