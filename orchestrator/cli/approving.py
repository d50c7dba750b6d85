"""``failover approve``: somebody else's word about the plan of a run that waits for it."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

import typer

from orchestrator import events as ev
from orchestrator.cli.finding import find_open_run
from orchestrator.cli.terminal import agrees, is_attended, say, show, show_json
from orchestrator.cli.wiring import Tools, checked_text
from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.decide.approve import hear
from orchestrator.errors import DefinitionError
from orchestrator.journal import Journal
from orchestrator.lease import is_led
from orchestrator.runbook import parse_duration
from orchestrator.site import ApprovedCommand
from orchestrator.state import Run, fold

Word = Literal["approve", "deny", "break-glass"]
DEFAULT_WITHIN = 3600.0
_SAID: Mapping[Word, str] = {"approve": "approved", "deny": "denied", "break-glass": "glass broken"}


@dataclass(frozen=True, slots=True)
class Eyes:
    """How many others have to agree, as it was typed; ``command`` is what the inventory's policy calls the command."""

    command: ApprovedCommand
    by: int | None = None
    within: str | None = None
    break_glass: str | None = None


def with_approval(tools: Tools, plan: ev.Plan, eyes: Eyes) -> ev.Plan:
    """The plan with what it takes to begin: the inventory's policy, or more, never less. A rehearsal needs nobody."""
    pair = next(pair for pair in plan.inventory.pairs if pair.name == plan.pair)
    policy = pair.approval if pair.approval is not None and eyes.command in pair.approval.commands else None
    needed = max(eyes.by or 0, policy.needed if policy else 0)
    if not needed and eyes.within is not None:
        raise DefinitionError("--approve-within: nobody has to approve this run", hint="add --approve-by N")
    if tools.is_rehearsal or not needed:
        return plan
    longest = policy.within if policy else None
    rule = ev.ApprovalRule(
        needed=needed,
        within=_within(eyes.within, longest),
        break_glass=policy is None or policy.break_glass,
        requester=tools.account,
    )
    if eyes.break_glass is not None:
        _see_glass(rule, eyes.break_glass)
    return plan.model_copy(update={"approval": rule})


def _within(text: str | None, longest: float | None) -> float:
    """Seconds that people have: as typed, but no longer than the policy says; else its time, or an hour."""
    if text is None:
        return DEFAULT_WITHIN if longest is None else longest
    try:
        typed = parse_duration(text)
    except ValueError as error:
        raise DefinitionError(f"--approve-within: {error}") from error
    if typed <= 0:
        raise DefinitionError("--approve-within: nobody can approve in no time")
    return typed if longest is None else min(typed, longest)


def _see_glass(rule: ev.ApprovalRule, reason: str) -> None:
    if not rule.break_glass:
        raise DefinitionError(
            "the inventory does not allow to break the glass", hint="leave --break-glass out, and wait"
        )
    if not checked_text(reason, "--break-glass").strip():
        raise DefinitionError("--break-glass is recorded with its reason; please give one")


def word_on(tools: Tools, plan: ev.Plan, word: Word, reason: str) -> dict[str, str]:
    """The request that tells the process that leads a run of ``plan`` what this account says about it."""
    return {
        "kind": "approval",
        "choice": word,
        "by": tools.account,
        "host": socket.gethostname(),
        "reason": reason,
        "plan": plan.digest,
    }


def break_the_glass(tools: Tools, journal: Journal, run: str, plan: ev.Plan, reason: str) -> None:
    """Let ``run``, whose stored plan this is, begin without the approvals that it asks for, if it asks for any."""
    if plan.approval is not None:
        journal.ask(run, word_on(tools, plan, "break-glass", reason))


def approve_run(tools: Tools, name: str | None, word: Word, reason: str, *, yes: bool, as_json: bool) -> int:
    """Show what is asked, and leave this account's word for the process that leads the run. Returns the exit code.

    Raises ``DefinitionError`` when nothing is asked, or when the word would not count.
    """
    with closing(tools.journal()) as journal:
        run_name = find_open_run(journal, name, "approve")
        run = fold(journal.records(run_name))
        request = word_on(tools, run.plan, word, reason)
        _see_that_it_counts(tools, run_name, run, request)
        if word == "approve" and not yes:
            _confirm(run_name, run, as_json=as_json)
        journal.ask(run_name, request)
        led = is_led(journal.row(run_name), tools.clock.now())
    words = f"{_SAID[word]} by {tools.account}" + ("" if led else f"; nobody leads it: failover resume {run_name}")
    if as_json:
        result = {"run": run_name, "simulated": run.plan.simulated, "plan": run.plan.digest, "message": words}
        show_json({"result": {**result, "exit_code": 0}})
    else:
        show(f"{'SIMULATED  ' if run.plan.simulated else ''}run {run_name}: {words}")
    return 0


def _see_that_it_counts(tools: Tools, name: str, run: Run, request: Mapping[str, str]) -> None:
    """The process that leads the run judges by the same rules; who types is told at once."""
    events = hear(run.plan, run.approvals, request, tools.clock.now())
    if not events:
        raise DefinitionError(f"run {name} waits for no approval", hint=f"see `failover runs show {name}`")
    if isinstance(events[0], ev.ApprovalRefused):
        raise DefinitionError(events[0].why, hint=f"see `failover runs show {name}`")


def _confirm(name: str, run: Run, *, as_json: bool) -> None:
    if not is_attended() or as_json:
        raise DefinitionError("nobody is there to be asked", hint="add --yes to approve without being asked")
    for line in what_is_asked(name, run):
        say(line)
    if not agrees("Do you approve this plan?"):
        say("not approved; nothing was recorded")
        raise typer.Exit(3)


def what_is_asked(name: str, run: Run) -> Iterator[str]:
    """The plan for who is to agree to it."""
    plan, sought = run.plan, run.approvals.sought
    assert plan.approval is not None and sought is not None  # or nothing would be asked
    marker = "SIMULATED  " if plan.simulated else ""
    yield f"{marker}run {name}: {plan.runbook.runbook}, asked for by {plan.approval.requester}"
    yield f"  {plan.runbook.summary}"
    yield f"  {plan.source} to {plan.target}: {', '.join(plan.services)}"
    for number, step in enumerate(plan.runbook.steps, 1):
        yield f"  {number}. {step.title}{'  (point of no return)' if step.point_of_no_return else ''}"
    for gate, choice in plan.policy.on_gate.items():
        why = plan.policy.why(gate)
        yield f"  decided beforehand on {gate}: {choice}" + (f" ({why})" if why else "")
    for xid, ruling in plan.policy.transactions.items():
        yield f"  decided beforehand on transaction {xid}: {ruling.choice}, by {ruling.by} ({ruling.reason})"
    for note in plan.notes:
        yield f"  {note}"
    yield f"  plan {sought.plan}"
    yield f"  {len(run.approvals.given)} of {counted(sought.needed, 'approval')} so far; until {iso(sought.expires_at)}"
