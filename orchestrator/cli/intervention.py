"""What a person can do about a run that is not at its end: go on with it, call it off, answer its questions."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator import events as ev
from orchestrator.cli.finding import find_open_run
from orchestrator.cli.leading import lead_again
from orchestrator.cli.planning import as_asked
from orchestrator.cli.terminal import show, show_json
from orchestrator.cli.wiring import Tools, user_name
from orchestrator.errors import DefinitionError
from orchestrator.journal import Journal
from orchestrator.lease import CLOCKS_APART, LEASE_SECONDS, is_led, leader
from orchestrator.state import Run, fold

# How often it is looked whether a request was taken, seconds.
_LOOK_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to a question. ``service`` None: for every lane that asks it."""

    gate: str
    choice: str
    reason: str
    item: str | None
    service: str | None


def resume_run(tools: Tools, name: str | None, given: ev.Policy, *, forget_xa_stop: bool, as_json: bool) -> int:
    """Go on with a run under its own policy and what is ``given`` now. Returns the process exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "go on with")
        run = fold(journal.records(run_name))
        given = as_asked(given, run.plan.runbook)
        on_gate = {**run.plan.policy.on_gate, **given.on_gate}
        if forget_xa_stop:
            on_gate.pop("xa", None)
        transactions = {**run.plan.policy.transactions, **given.transactions}
        policy = run.plan.policy.model_copy(update={"on_gate": on_gate, "transactions": transactions})
        return lead_again(tools, journal, run_name, run, as_json=as_json, policy=policy)
    finally:
        journal.close()


def abort_run(tools: Tools, name: str | None, reason: str, *, as_json: bool) -> int:
    """Call a run off, or ask the process that leads it to. Returns the process exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "call off")
        run = fold(journal.records(run_name))
        asked = ev.AbortAsked(by=user_name(), reason=reason)
        if _is_led(tools, journal, run_name):
            journal.ask(run_name, {"kind": "abort", "by": asked.by, "reason": reason})
            led_by = _await_answer(tools, journal, run_name)
            if led_by is not None:
                _tell(run_name, run, f"it is led by {led_by}", list(run.lanes), as_json)
                return 0
            # Its process is gone without an answer: the request is ours to carry out, unless there is nothing left to do.
            run = fold(journal.records(find_open_run(journal, run_name, "call off")))
        return lead_again(tools, journal, run_name, run, as_json=as_json, abort=asked)
    finally:
        journal.close()


def decide_for(tools: Tools, name: str | None, decision: Decision, *, as_json: bool) -> int:
    """Leave an answer for the process that leads the run, or for the one that will. Returns the exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "decide")
        run = fold(journal.records(run_name))
        asked = _asked(run_name, run, decision)
        for service in asked:
            request = {"kind": "decide", "lane": service, "gate": decision.gate, "choice": decision.choice}
            item = {} if decision.item is None else {"item": decision.item}
            journal.ask(run_name, {**request, "reason": decision.reason, "by": user_name(), **item})
        words = f"{decision.choice} for {', '.join(asked)}"
        if _is_led(tools, journal, run_name):
            _tell(run_name, run, f"its leader was told: {words}", asked, as_json)
        else:
            _tell(run_name, run, f"noted: {words}; nobody leads it: failover resume {run_name}", asked, as_json)
        return 0
    finally:
        journal.close()


def _asked(name: str, run: Run, decision: Decision) -> list[str]:
    """The services whose lanes ask this. Raises ``DefinitionError`` for a question or an answer that is none."""
    asked = []
    for lane in run.lanes.values():
        question = lane.open_gate(decision.gate, decision.item)
        if question is None or decision.service not in (None, lane.service):
            continue
        if decision.choice not in question.choices:
            choices = ", ".join(question.choices)
            raise DefinitionError(f"{decision.choice!r} is no answer to {decision.gate}", hint=f"one of: {choices}")
        asked.append(lane.service)
    if not asked:
        raise DefinitionError(f"no such question is open in run {name}", hint=f"see `failover runs show {name}`")
    return asked


def _await_answer(tools: Tools, journal: Journal, name: str) -> str | None:
    """Wait until the process that leads the run has taken the request, and say so; None when it leads it no more.

    It looks for requests every second. One that goes on renewing its lease, and takes none for longer than a lease lasts,
    is busy with something else, and takes it then.
    """
    until = tools.clock.now() + LEASE_SECONDS + CLOCKS_APART
    while True:
        row, now = journal.row(name), tools.clock.now()
        if not journal.requests(name):
            return f"{leader(row, now)}, which was asked to abort it, and does so"
        if not is_led(row, now):
            return None
        if now >= until:
            return f"{leader(row, now)}, which was asked to abort it, and has not answered yet"
        tools.clock.sleep(_LOOK_EVERY)


def _is_led(tools: Tools, journal: Journal, name: str) -> bool:
    return is_led(journal.row(name), tools.clock.now())


def _tell(name: str, run: Run, words: str, services: list[str], as_json: bool) -> None:
    if as_json:
        show_json(
            {
                "result": {
                    "run": name,
                    "simulated": run.plan.simulated,
                    "asked": services,
                    "message": words,
                    "exit_code": 0,
                }
            }
        )
    else:
        show(f"{'SIMULATED  ' if run.plan.simulated else ''}run {name}: {words}")
