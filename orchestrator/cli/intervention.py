"""What a person can do about a run that is not at its end: go on with it, call it off, answer its questions."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator import events as ev
from orchestrator.cli.approving import HOW_TO_SIGN, signature_of
from orchestrator.cli.finding import find_open_run
from orchestrator.cli.leading import lead_again
from orchestrator.cli.planning import as_asked
from orchestrator.cli.terminal import show, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.decide.approve import alone
from orchestrator.errors import DefinitionError
from orchestrator.hearing import question_number
from orchestrator.journal import Journal
from orchestrator.lease import is_led, leader
from orchestrator.signing import decision_statement
from orchestrator.state import Run, fold


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
        row, now = journal.row(run_name), tools.clock.now()
        if not is_led(row, now):
            asked = ev.AbortAsked(reason=reason, **tools.who()._asdict())
            return lead_again(tools, journal, run_name, run, as_json=as_json, abort=asked)
        journal.ask(run_name, {"kind": "abort", "reason": reason, **said_by(tools)})
        words = (
            f"it is led by {leader(row, now)}, and was asked to call it off; should it be gone, its lease is over in "
            f"{row.expires_at - now:.0f}s: `failover abort {run_name}` then does it"
        )
        _tell(run_name, run, words, list(run.lanes), as_json)
        return 0
    finally:
        journal.close()


def decide_for(tools: Tools, name: str | None, decision: Decision, *, as_json: bool) -> int:
    """Leave an answer for the process that leads the run, or for the one that will. Returns the exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "decide")
        records = list(journal.records(run_name))
        run = fold(records)
        asked = _asked(run_name, run, decision)
        requests = [_signed(tools, run_name, run, records, decision, service) for service in asked]
        for request in requests:
            journal.ask(run_name, request)
        words = f"{decision.choice} for {', '.join(asked)}"
        if _is_led(tools, journal, run_name):
            _tell(run_name, run, f"its leader was told: {words}", asked, as_json)
        else:
            _tell(run_name, run, f"noted: {words}; nobody leads it: failover resume {run_name}", asked, as_json)
        return 0
    finally:
        journal.close()


def _signed(
    tools: Tools, name: str, run: Run, records: Sequence[ev.Record], decision: Decision, service: str
) -> dict[str, str]:
    """The answer for one service as a request; signed where the run takes signed words. Raises ``DefinitionError`` for
    one that would not count."""
    request = {"kind": "decide", "lane": service, "gate": decision.gate, "choice": decision.choice}
    item = {} if decision.item is None else {"item": decision.item}
    request |= {"reason": decision.reason, "host": socket.gethostname(), **said_by(tools), **item}
    if run.plan.approval is None or not run.plan.approval.signed:
        return request
    gate = run.lanes[service].open_gate(decision.gate, decision.item)
    assert gate is not None  # it is one of those that ask
    at, approvers = int(tools.clock.now()), tools.approvers()
    number = question_number(records, service, gate)
    signature = signature_of(tools, decision_statement(name, run.plan.digest, number, decision.choice, at), at)
    signer = approvers.account_of(signature.get("key", ""))
    why = alone(run.plan, run.approvals, decision.choice, signer)
    if why and approvers.policy is not None:
        raise DefinitionError(why, hint=f"from an account of theirs: failover decide …; {HOW_TO_SIGN}")
    return {**request, **signature}


def said_by(tools: Tools) -> dict[str, str]:
    """Who leaves a request, as the texts that a request consists of."""
    who = tools.who()
    return {"by": who.by, "account": who.account, "uid": str(who.uid)}


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
