"""Approval of a plan: the approvals that it needs to start, and the requests with people's answers (``Word``)."""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.core.decide.approve import record_vote
from orchestrator.core.run import Run, fold
from orchestrator.counting import counted
from orchestrator.engine.approvers import POLICY_FILE, Approvers
from orchestrator.errors import DefinitionError, NotStarted
from orchestrator.journal.approval_policies import own_policy, policies_of
from orchestrator.journal.journal import Journal
from orchestrator.journal.signing import approval_statement
from orchestrator.model import events as ev
from orchestrator.model.approval_policy import strictest
from orchestrator.model.inventory import ApprovedCommand
from orchestrator.model.requests import ApprovalRequest
from orchestrator.model.runbook import parse_duration
from orchestrator.operations.runtime import Tools, checked_text

Word = Literal["approve", "deny", "break-glass"]
HOW_TO_SIGN = (
    "`failover runs keygen` makes a key; add its public half (`failover runs keygen --public`) to "
    f"{POLICY_FILE} on the machines that lead runs"
)


@dataclass(frozen=True, slots=True)
class Eyes:
    """The number of other people who must approve, as typed. ``command``: the name of the command in policies."""

    command: ApprovedCommand
    by: int | None = None
    within: str | None = None
    break_glass: str | None = None


def with_approval(tools: Tools, plan: ev.Plan, eyes: Eyes) -> ev.Plan:
    """The plan with the approvals that it needs to start. The strictest values from these sources hold: the policies of
    the inventory, of the services' earlier inventories and of this machine, and the typed options. A rehearsal needs no
    approval."""
    if tools.is_rehearsal:
        return plan
    typed = None if eyes.within is None else _within(eyes.within)
    approvers = tools.approvers()
    before = _had_before(tools, plan, eyes.command)
    own = [one for one in [own_policy(plan)] if one is not None and eyes.command in one.commands]
    rule = strictest(
        [*own, *before, *approvers.demands_on(plan)],
        requester=tools.account,
        signed=approvers.policy is not None,
        needed=eyes.by or 0,
        within=typed,
    )
    if rule is None:
        if typed is not None:
            raise DefinitionError("--approve-within: this run needs no approval", hint="add --approve-by N")
        return plan
    if eyes.break_glass is not None:
        _see_glass(rule, eyes.break_glass)
    dropped = [one for one in before if one not in own]
    notes = [_dropped(len(dropped), max(one.needed for one in dropped))] if dropped else []
    return plan.model_copy(update={"approval": rule, "notes": (*plan.notes, *notes)})


def _had_before(tools: Tools, plan: ev.Plan, command: ApprovedCommand) -> list[ev.ApprovalPolicy]:
    if not tools.has_journal:
        return []
    with closing(tools.journal()) as journal:
        return [one for one in policies_of(journal, plan) if command in one.commands]


def _dropped(count: int, needed: int) -> str:
    policies = "an approval policy" if count == 1 else f"{count} approval policies"
    people = counted(needed, "person has", "people have")
    return (
        f"these services had {policies} that this inventory does not have; {people} to agree, and after that the "
        "policies of this inventory apply"
    )


def terms_of(approvers: Approvers, plan: ev.Plan, requester: str) -> ev.ApprovalRule | None:
    """The approvals that this machine's policy requires for the stored ``plan`` of ``requester``; None if the plan
    already requires them.

    Raises ``NotStarted`` for a plan that requires signed approvals, on a machine that knows no approver.
    """
    rule = plan.approval
    if rule is not None and rule.signed and approvers.policy is None:
        raise NotStarted(
            f"this run needs signed approvals, but this machine has no approval policy in {POLICY_FILE}",
            hint="resume on a machine with that policy, or install the policy here; `failover abort` needs no approval",
        )
    demands = approvers.demands_on(plan)
    if not demands:
        return None
    wanted = strictest(
        demands,
        requester=requester if rule is None else rule.requester,
        signed=True,
        needed=0 if rule is None else rule.needed,
        within=None if rule is None else rule.within,
        break_glass=rule is None or rule.break_glass,
    )
    return None if wanted == rule else wanted


def _within(text: str) -> float:
    """The time limit for approvals in seconds, as typed. A policy may set a shorter one."""
    try:
        typed = parse_duration(text)
    except ValueError as error:
        raise DefinitionError(f"--approve-within: {error}") from error
    if typed <= 0:
        raise DefinitionError("--approve-within must be longer than 0 seconds")
    return typed


def _see_glass(rule: ev.ApprovalRule, reason: str) -> None:
    if not rule.break_glass:
        raise DefinitionError(
            "the approval policy does not allow --break-glass",
            hint="leave --break-glass out, and wait for the approval",
        )
    if not checked_text(reason, "--break-glass").strip():
        raise DefinitionError("--break-glass needs a reason, because the reason is recorded")


def word_on(tools: Tools, run: str, digest: str, word: Word, reason: str) -> ApprovalRequest:
    """The request with this account's answer to the plan with this digest, for the process that leads ``run``. It is
    signed if this account has a key."""
    at = int(tools.clock.now())
    signature = signature_of(tools, approval_statement(run, digest, word, at), at)
    return ApprovalRequest(
        choice=word,
        reason=reason,
        plan=digest,
        by=tools.approvers().account_of(signature.get("key", "")) or tools.account,
        account=tools.account,
        uid=tools.uid,
        host=socket.gethostname(),
        **signature,
    )


def signature_of(tools: Tools, statement: bytes, at: int) -> dict[str, Any]:
    """The fields of a request for its signature; empty if this account has no key."""
    signer = tools.signer()
    if signer is None:
        return {}
    key, signature = signer.sign_bytes(statement)
    return {"key": key, "signature": signature, "at": at}


def break_the_glass(tools: Tools, journal: Journal, run: str, plan: ev.Plan, reason: str) -> None:
    """Let ``run`` start without the approvals that it requires, if it requires any. ``plan``: its stored plan."""
    if plan.approval is not None:
        journal.ask(run, word_on(tools, run, plan.digest, "break-glass", reason))


def folded_with_creation(journal: Journal, name: str) -> tuple[Run, ev.RunCreated]:
    records = list(journal.records(name))
    created = records[0].event
    assert isinstance(created, ev.RunCreated)  # otherwise the fold would have refused it
    return fold(records), created


def see_that_it_counts(tools: Tools, name: str, run: Run, request: ApprovalRequest) -> None:
    """Tell the person who types at once whether the answer counts: the process that leads the run uses the same rules.
    Raises ``DefinitionError`` if it does not count."""
    approvers, rule = tools.approvers(), run.plan.approval
    signed = request.signed
    signer = ""
    if signed is not None:
        statement = approval_statement(name, request.plan, request.choice, signed.at)
        signer = approvers.signer_of(statement, signed)
    if rule is not None and rule.signed and approvers.policy is None and signed is not None:
        signer = request.by  # the process that leads the run knows the approvers; this machine does not
    events = record_vote(run.plan, run.approvals, request, tools.clock.now(), signer=signer)
    if not events:
        raise DefinitionError(f"run {name} does not wait for an approval", hint=f"see `failover runs show {name}`")
    if isinstance(events[0], ev.ApprovalRefused):
        hint = HOW_TO_SIGN if rule is not None and rule.signed and not signer else f"see `failover runs show {name}`"
        raise DefinitionError(events[0].why, hint=hint)
