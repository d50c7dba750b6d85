"""What a person can do about a run that is not finished: resume it, abort it, answer its questions."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from orchestrator.cli.render.terminal import show, show_json
from orchestrator.cli.runs.lead import lead_again
from orchestrator.core.decide.approve import alone
from orchestrator.core.run import Run, fold
from orchestrator.engine.signed_words import question_number
from orchestrator.errors import DefinitionError
from orchestrator.family.moves import Given
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import CLOCKS_APART, LEASE_SECONDS, is_led, leader
from orchestrator.journal.signing import decision_statement
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest, DecideRequest
from orchestrator.operations.find_run import find_open_run
from orchestrator.operations.runs.approval import HOW_TO_SIGN, signature_of
from orchestrator.operations.runs.given_options import answers_given
from orchestrator.operations.runtime import Tools
from orchestrator.reports.abort import has_answered, verdict_on_abort
from orchestrator.reports.document import RunReport
from orchestrator.reports.report import build

# How long the process that leads a run has to answer an abort, how long to roll back, and how often it is checked.
_ANSWERED_WITHIN, _ROLLED_BACK_WITHIN, _CHECKED_EVERY = LEASE_SECONDS + CLOCKS_APART, 60.0, 0.5


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to a question. ``service`` None: for every lane that asks it."""

    gate: str
    choice: str
    reason: str
    item: str | None
    service: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """What was typed with ``resume``: the options of families, by flag, and ``--on-stall``."""

    given: Given
    on_stall: str | None
    is_attended: bool


def resume_run(tools: Tools, name: str | None, answers: Answers, *, as_json: bool) -> int:
    """Resume a run under its own policy and the ``answers`` given now. Returns the process exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "resume")
        run = fold(journal.records(run_name))
        attended, who = answers.is_attended, tools.who()
        given, asked_again = answers_given(
            answers.given, answers.on_stall, run.plan.runbook, attended=attended, who=who
        )
        # With decisions at hand an operator is asked about the others; with no operator the run stops at them as before.
        known = {gate: choice for gate, choice in run.plan.policy.on_gate.items() if gate not in asked_again}
        on_gate = {**known, **given.on_gate}
        transactions = {**run.plan.policy.transactions, **given.transactions}
        policy = run.plan.policy.model_copy(update={"on_gate": on_gate, "transactions": transactions})
        return lead_again(tools, journal, run_name, run, as_json=as_json, policy=policy)
    finally:
        journal.close()


def abort_run(tools: Tools, name: str | None, reason: str, *, as_json: bool) -> int:
    """Roll a run back, or ask the process that leads it to, and say what came of it. Returns the process exit code."""
    journal = tools.journal()
    try:
        run_name = find_open_run(journal, name, "abort")
        run = fold(journal.records(run_name))
        asked = ev.AbortAsked(reason=reason, **tools.who()._asdict())
        if _is_led(tools, journal, run_name):
            journal.ask(run_name, AbortRequest(reason=reason, **tools.who()._asdict()))
            report = _await_answer(tools, journal, run_name)
            row, now = journal.row(run_name), tools.clock.now()
            is_answered = all(has_answered(lane) for lane in report.lanes)
            if is_answered or is_led(row, now):
                waits = f"it was asked of {leader(row, now)}, which leads the run and has not answered yet"
                verdict = verdict_on_abort(report, "" if is_answered else waits)
                words = verdict.text or f"aborted: {report.outcome}"
                _tell(run_name, run, words, list(run.lanes), as_json, verdict.as_data() | {"message": words})
                return verdict.exit_code
            # Its process is gone without an answer: the request is ours to carry out.
            run = fold(journal.records(run_name))
        return lead_again(tools, journal, run_name, run, as_json=as_json, abort=asked)
    finally:
        journal.close()


def _await_answer(tools: Tools, journal: Journal, name: str) -> RunReport:
    """The report of a run that another process leads, once that has answered an abort, or did not in time."""
    since = tools.clock.now()
    seq, report = journal.row(name).seq, build(journal.records(name))
    while _is_led(tools, journal, name) and not all(has_answered(lane) for lane in report.lanes):
        is_under_way = any(lane.status == "reverting" for lane in report.lanes)
        if tools.clock.now() - since > (_ROLLED_BACK_WITHIN if is_under_way else _ANSWERED_WITHIN):
            break
        tools.clock.sleep(_CHECKED_EVERY)
        if journal.row(name).seq != seq:
            seq, report = journal.row(name).seq, build(journal.records(name))
    return build(journal.records(name))


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
            _tell(run_name, run, f"the process that leads it was told: {words}", asked, as_json)
        else:
            _tell(run_name, run, f"noted: {words}; no process leads it: failover resume {run_name}", asked, as_json)
        return 0
    finally:
        journal.close()


def _signed(
    tools: Tools, name: str, run: Run, records: Sequence[ev.Record], decision: Decision, service: str
) -> DecideRequest:
    """The answer for one service as a request; signed where the run takes signed words. Raises ``DefinitionError`` for
    one that would not count."""
    request = DecideRequest(
        lane=service,
        gate=decision.gate,
        choice=decision.choice,
        item=decision.item,
        reason=decision.reason,
        host=socket.gethostname(),
        **tools.who()._asdict(),
    )
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
    return request.model_copy(update=signature)


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
