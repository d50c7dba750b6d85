"""The actions of a person on an unfinished run: answer it, abort it, resume it, approve it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.core.decide.approve import alone, asked_about
from orchestrator.core.run import Run, fold
from orchestrator.engine.signed_words import question_number
from orchestrator.errors import DefinitionError
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import CLOCKS_APART, LEASE_SECONDS, is_led, leader
from orchestrator.journal.signing import decision_statement
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest, ApprovalRequest, DecideRequest
from orchestrator.operations.find_run import find_open_run
from orchestrator.operations.runs.answers import Answers, Decision
from orchestrator.operations.runs.approval import HOW_TO_SIGN, Word, see_that_it_counts, signature_of, word_on
from orchestrator.operations.runs.given_options import answers_given
from orchestrator.operations.runtime import Tools
from orchestrator.reports.abort import AbortVerdict, has_answered, verdict_on_abort
from orchestrator.reports.document import RunReport
from orchestrator.reports.report import build

# How long the process that leads a run has to answer an abort, how long to roll back, and the pause between checks.
_ITEMS = 3  # at most so many are named in an error
_ANSWERED_WITHIN, _ROLLED_BACK_WITHIN, _CHECKED_EVERY = LEASE_SECONDS + CLOCKS_APART, 60.0, 0.5


@dataclass(frozen=True, slots=True)
class Noted:
    """A decision that was left for the process that leads the run, now or later."""

    name: str
    run: Run
    services: list[str]
    is_led: bool


class Answered(NamedTuple):
    """The result of an abort by the process that leads the run, and the same in words."""

    verdict: AbortVerdict
    words: str


def policy_of(tools: Tools, run: Run, answers: Answers) -> ev.Policy:
    """The policy for resuming ``run``: its own, with the ``answers`` given now. Raises ``DefinitionError``."""
    given, asked_again = answers_given(
        answers.given, answers.on_stall, run.plan.runbook, attended=answers.is_attended, who=tools.who()
    )
    # If decisions are given, an operator is asked about the other items. Without an operator, the run stops at them as
    # before.
    known = {gate: choice for gate, choice in run.plan.policy.on_gate.items() if gate not in asked_again}
    transactions = {**run.plan.policy.transactions, **given.transactions}
    return run.plan.policy.model_copy(update={"on_gate": {**known, **given.on_gate}, "transactions": transactions})


def ask_for_abort(tools: Tools, journal: Journal, name: str, asked: ev.AbortAsked) -> Answered | None:
    """Ask the process that leads the run to roll it back, and return the result. None: no process leads the run, or it
    ended without an answer. Then the caller may carry out the abort."""
    if not _is_led(tools, journal, name):
        return None
    journal.ask(name, AbortRequest(reason=asked.reason, **tools.who()._asdict()))
    report = _await_answer(tools, journal, name)
    row, now = journal.row(name), tools.clock.now()
    is_answered = all(has_answered(lane) for lane in report.lanes)
    if not is_answered and not is_led(row, now):
        return None
    waits = f"the abort was requested from {leader(row, now)}, which leads the run and has not answered yet"
    verdict = verdict_on_abort(report, "" if is_answered else waits)
    return Answered(verdict, verdict.text or f"aborted: {report.outcome}")


def _await_answer(tools: Tools, journal: Journal, name: str) -> RunReport:
    """The report of a run that another process leads, after its answer to an abort, or after the time limit."""
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


def note_decision(tools: Tools, journal: Journal, name: str | None, decision: Decision) -> Noted:
    """Leave an answer for the process that leads the run, now or later. Raises ``DefinitionError``."""
    run_name = find_open_run(journal, name, "decide")
    records = list(journal.records(run_name))
    run = fold(records)
    asked = _asked(run_name, run, decision)
    for request in [_signed(tools, run_name, run, records, decision, service) for service in asked]:
        journal.ask(run_name, request)
    return Noted(run_name, run, asked, _is_led(tools, journal, run_name))


def _signed(
    tools: Tools, name: str, run: Run, records: Sequence[ev.Record], decision: Decision, service: str
) -> DecideRequest:
    """The answer for one service as a request, signed if the run requires signed answers. Raises ``DefinitionError``
    for an answer that would not count."""
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
    assert gate is not None  # ``service`` is one of those that ask
    at, approvers = int(tools.clock.now()), tools.approvers()
    number = question_number(records, service, gate)
    signature = signature_of(tools, decision_statement(name, run.plan.digest, number, decision.choice, at), at)
    signer = approvers.account_of(signature.get("key", ""))
    why = alone(run.plan, run.approvals, decision.choice, signer)
    if why and approvers.policy is not None:
        raise DefinitionError(why, hint=f"another approver must run failover decide …; {HOW_TO_SIGN}")
    return request.model_copy(update=signature)


def _asked(name: str, run: Run, decision: Decision) -> list[str]:
    """The services whose lanes ask this. Raises ``DefinitionError`` for an unknown question or an invalid answer."""
    asked = []
    for lane in run.lanes.values():
        question = lane.open_gate(decision.gate, decision.item)
        if question is None or (decision.services and lane.service not in decision.services):
            continue
        if decision.choice not in question.choices:
            choices = ", ".join(question.choices)
            raise DefinitionError(
                f"{decision.choice!r} is not a valid answer to {decision.gate}", hint=f"one of: {choices}"
            )
        asked.append(lane.service)
    if not asked or set(decision.services) - set(asked):
        items = [gate.item for lane in run.lanes.values() for gate in lane.gates if gate.gate == decision.gate]
        if decision.item is None and (keys := [item for item in items if item is not None]):
            sentence = f"{decision.gate} asks about one transaction at a time; name the transaction with --item"
            raise DefinitionError(
                sentence, hint=f"--item {' or '.join(keys[:_ITEMS])}; see `failover runs show {name}`"
            )
        raise DefinitionError(f"this question is not open in run {name}", hint=f"see `failover runs show {name}`")
    return asked


def plan_asked_about(run: Run) -> str:
    """The digest of the plan that an approval is about."""
    sought = run.approvals.sought
    return run.plan.digest if sought is None else asked_about(run.plan, sought).digest


def word_that_counts(tools: Tools, name: str, run: Run, word: Word, reason: str) -> ApprovalRequest:
    """This account's answer to the plan of a run, not sent yet. Raises ``DefinitionError`` if it would not count."""
    request = word_on(tools, name, plan_asked_about(run), word, reason)
    see_that_it_counts(tools, name, run, request)
    return request


def leave_word(tools: Tools, journal: Journal, name: str, request: ApprovalRequest) -> bool:
    """Leave the request for the process that leads the run. Returns whether a process leads it now."""
    journal.ask(name, request)
    return _is_led(tools, journal, name)


def _is_led(tools: Tools, journal: Journal, name: str) -> bool:
    return is_led(journal.row(name), tools.clock.now())
