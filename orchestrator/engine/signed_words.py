"""The votes and decisions of people on a run. This module checks the signatures, and the pure core judges by the signers.

A vote or a decision reaches the process that leads a run through the journal. Everybody who may ask for a run can write
the journal. So a vote without the signature of an approver of this machine's policy proves nothing. If the plan requires
signatures, such a vote does not count, and the record says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchestrator.core.approvals import APPROVAL_GATE, Approvals
from orchestrator.core.decide import apply_ruling
from orchestrator.core.decide.approve import alone, propose, record_vote, request_approval, why_denied
from orchestrator.core.run import Lane
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.turn import Draft
from orchestrator.journal.signing import approval_statement, decision_statement, is_signable
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest, ApprovalRequest, DecideRequest

# The statuses of a lane that is neither reverting nor ended.
_FORWARD = frozenset({"ready", "running", "committed", "escalating"})


class Hearing:
    """Handles the votes and decisions on ``run``, which ``who`` leads. ``records`` reads the record of the run.
    ``terms``: the approval rule that this machine's policy requires, if it differs from the rule in the plan."""

    def __init__(
        self,
        run: str,
        who: ev.Who,
        approvers: Approvers,
        records: Callable[[], Iterable[ev.Record]],
        *,
        terms: ev.ApprovalRule | None = None,
    ) -> None:
        self._run, self._who, self._approvers = run, who, approvers
        self._records, self._terms = records, terms

    # --- when a process starts to lead ----------------------------------------------------------------------------

    def agree(self, draft: Draft, policy: ev.Policy | None) -> None:
        """Start with the decisions of ``policy``, and with the terms of this machine. If people approved the earlier
        decisions by signature, they are asked about the new ones, and nothing changes before they agree. The approvals in
        the record are verified."""
        plan, terms = draft.run.plan, self._terms
        policy = policy or plan.policy
        why = "" if terms is not None else self.unproven(plan, draft.approvals)
        if why:
            draft.add_own(ev.GateWithdrawn(gate=APPROVAL_GATE, why=why))
        if terms is not None or (policy != plan.policy and not _takes_others(plan, draft.approvals)):
            self._change(draft, policy, terms)
        elif policy != plan.policy:
            if draft.approvals.gate is not None:
                draft.add_own(
                    ev.GateWithdrawn(
                        gate=APPROVAL_GATE, why="the decisions were changed, so a new question replaces this one"
                    )
                )
            assert plan.approval is not None  # ``_takes_others`` is true
            draft.add_own(propose(plan, plan.approval, policy, draft.at))

    def unproven(self, plan: ev.Plan, approvals: Approvals) -> str:
        """Why the approval in the record does not allow this run to continue, or empty."""
        rule, granted = plan.approval, approvals.before or approvals
        if rule is None or not rule.signed or not granted.is_granted or granted.is_glass_broken:
            return ""
        if granted.plan != plan.digest:
            return "the plan differs from the approved plan"
        agreed = {one.by for one in granted.given if one.plan == granted.plan and self._has_agreed(one)}
        proven = len(agreed - {rule.requester})
        if proven >= rule.needed:
            return ""
        return f"{proven} of {rule.needed} approvals in the record are signed by approvers of this machine's policy"

    def _has_agreed(self, given: ev.ApprovalGiven) -> bool:
        return self._approvers.has_agreed(self._run, given)

    def _change(self, draft: Draft, policy: ev.Policy, terms: ev.ApprovalRule | None = None) -> None:
        """Give the plan these decisions and these terms."""
        draft.add_own(ev.PolicyChanged(policy=policy, approval=terms, **self._who._asdict()))
        changed = {"policy": policy, "approval": terms or draft.run.plan.approval}
        draft.run.plan = draft.run.plan.model_copy(update=changed)

    # --- words about the plan -------------------------------------------------------------------------------------

    def about_plan(self, draft: Draft, request: ApprovalRequest) -> None:
        """Take in a person's vote on the plan."""
        signed, about = request.signed, (request.plan, request.choice)
        signer = ""
        if signed is not None and is_signable(*about):
            signer = self._approvers.signer_of(approval_statement(self._run, *about, signed.at), signed)
        self._add(draft, record_vote(draft.run.plan, draft.approvals, request, draft.at, signer=signer))

    def request_approval(self, draft: Draft) -> None:
        """Ask people about the plan, and record the outcome."""
        while events := request_approval(draft.run.plan, draft.approvals, draft.at):
            self._add(draft, events)

    def _add(self, draft: Draft, events: Iterable[ev.Event]) -> None:
        """Add ``events`` to the draft. Once people agreed to other decisions, apply these decisions too."""
        for event in events:
            sought = draft.approvals.sought
            draft.add_own(event)
            is_agreed = isinstance(event, ev.GateDecided) and event.ruling.choice != "deny"
            if is_agreed and sought is not None and sought.policy is not None:
                self._change(draft, sought.policy)

    def holds(self, draft: Draft, lane: Lane) -> bool:
        """Must the lane wait until people have agreed? A lane that has started must wait only if the plan requires
        signatures. A lane that is aborted or reverting never waits."""
        rule = draft.run.plan.approval
        if rule is None or draft.approvals.is_granted or lane.abort is not None:
            return False
        return lane.status == "ready" or (rule.signed and lane.status in _FORWARD)

    def refuse(self, draft: Draft) -> str:
        """Refuse all lanes of a denied plan if none has started; returns empty. If a lane has started, returns why the
        run has to stop at the next safe point."""
        why = why_denied(draft.approvals)
        lanes = [draft.lane(service) for service in draft.run.lanes]
        if any(lane.status != "ready" and not lane.ended for lane in lanes):
            return why
        for lane in lanes:
            if not lane.ended:
                draft.add(lane.service, ev.LaneEnded(outcome=ev.Outcome.REFUSED, reason=why))
        return ""

    # --- answers to questions of a lane ---------------------------------------------------------------------------

    def requested(self, draft: Draft, lane: Lane, request: AbortRequest | DecideRequest) -> tuple[ev.Event, ...]:
        """The events of a request from the inbox to a lane. None if the request no longer fits the lane."""
        if isinstance(request, AbortRequest):
            return (ev.AbortAsked(reason=request.reason, **request.who._asdict()),)
        gate = lane.open_gate(request.gate, request.item)
        if gate is None or request.choice not in gate.choices:
            return ()
        said = {"choice": request.choice, "reason": request.reason, **request.who._asdict()}
        ruling, signed, signer = ev.Ruling.model_validate(said), request.signed, ""
        if signed is not None:
            number = question_number(self._records(), lane.service, gate)
            statement = decision_statement(self._run, draft.run.plan.digest, number, ruling.choice, signed.at)
            signer = self._approvers.signer_of(statement, signed)
        if signer:
            ruling = ruling.model_copy(update={"by": signer, "signed": signed})
        return self._followed(draft, lane, gate, ruling, signer=signer, host=request.host)

    def answer(self, draft: Draft, lane: Lane, gate: ev.GateOpened, ruling: ev.Ruling) -> tuple[ev.Event, ...]:
        """The events of an answer that was typed, without a signature, at the terminal of the process that leads the
        run."""
        return self._followed(draft, lane, gate, ruling)

    def _followed(
        self, draft: Draft, lane: Lane, gate: ev.GateOpened, ruling: ev.Ruling, *, signer: str = "", host: str = ""
    ) -> tuple[ev.Event, ...]:
        why = alone(draft.run.plan, draft.approvals, ruling.choice, signer)
        if not why:
            return apply_ruling(draft.run.plan, lane, gate, ruling)
        draft.add_own(ev.ApprovalRefused(by=ruling.by, account=ruling.account, uid=ruling.uid, host=host, why=why))
        return ()


def question_number(records: Iterable[ev.Record], service: str, gate: ev.GateOpened) -> int:
    """The number of the record with which ``gate`` was opened last; 0 if there is none."""
    key = (gate.gate, gate.item)
    opened = (one for one in records if one.lane == service and isinstance(one.event, ev.GateOpened))
    return max((one.seq for one in opened if _key(one.event) == key), default=0)


def _key(event: ev.Event) -> tuple[str, str | None]:
    assert isinstance(event, ev.GateOpened)  # the caller checks
    return event.gate, event.item


def _takes_others(plan: ev.Plan, approvals: Approvals) -> bool:
    """Have people approved the decisions of the plan by signature, so that other decisions need a new approval?"""
    is_agreed = approvals.before is not None or (approvals.is_granted and not approvals.is_glass_broken)
    return plan.approval is not None and plan.approval.signed and is_agreed
