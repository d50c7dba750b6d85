"""Resume a run, abort it, answer its questions: what is printed of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from types import MappingProxyType

from orchestrator.cli.render.terminal import show, show_json
from orchestrator.cli.runs.lead import lead_again
from orchestrator.core.run import Run, fold
from orchestrator.counting import named
from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_open_run
from orchestrator.operations.runs.intervene import Answers, Decision, ask_for_abort, note_decision, policy_of
from orchestrator.operations.runtime import Tools


def resume_run(tools: Tools, name: str | None, answers: Answers, *, slo: float, as_json: bool) -> int:
    """Resume a run under its own policy and the ``answers`` given now. Returns the process exit code."""
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "resume")
        run = fold(journal.records(run_name))
        policy = policy_of(tools, run, answers)
        return lead_again(tools, journal, run_name, run, as_json=as_json, policy=policy, slo=slo)


def abort_run(tools: Tools, name: str | None, reason: str, *, leave: bool, as_json: bool) -> int:
    """Roll a run back, or ask the process that leads it to, and say what came of it. Returns the process exit code.

    ``leave``: what cannot be rolled back is left as it is, for good. That is for a run that no process leads.
    """
    if leave and not reason:
        raise DefinitionError(
            "--leave gives a run up, and needs a reason", hint="add --reason 'who decided it, and why'"
        )
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "abort")
        run = fold(journal.records(run_name))
        asked = ev.AbortAsked(reason=reason, leave=leave, **tools.who()._asdict())
        answered = None if leave else ask_for_abort(tools, journal, run_name, asked)
        if answered is None:
            run = fold(journal.records(run_name))
            return lead_again(tools, journal, run_name, run, as_json=as_json, abort=asked)
        more = answered.verdict.as_data() | {"message": answered.words}
        _tell(run_name, run, answered.words, list(run.lanes), as_json, more)
        return answered.verdict.exit_code


def decide_for(tools: Tools, name: str | None, decision: Decision, *, as_json: bool) -> int:
    """Leave an answer for the process that leads the run, or for the one that will. Returns the exit code."""
    with closing(tools.journal()) as journal:
        noted = note_decision(tools, journal, name, decision)
    words = f"{decision.choice} for {named(noted.services)}"
    told = f"passed on to the process that leads it: {words}"
    alone = f"noted: {words}; no process leads it: failover resume {noted.name}"
    _tell(noted.name, noted.run, told if noted.is_led else alone, noted.services, as_json)
    return 0


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
