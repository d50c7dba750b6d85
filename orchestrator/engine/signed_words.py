"""Whose words count for a run: signatures are checked here, and the pure core judges by whom they are.

A word reaches the process that leads a run through the journal, which everybody can write who may ask for a run. What is
not signed by an approver of this machine's policy is therefore only what a person wrote; where the plan takes signed
words it does not count, and the record says so.
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

# A lane that is not on its way back, and not at an end.
_FORWARD = frozenset({"ready", "running", "committed", "escalating"})


class Hearing:
    """Hears words for ``run``, which ``who`` leads. ``records`` reads its record. ``terms``: what this machine's policy
    asks of the run, where that is not what its plan has."""

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
        """Other decisions, and other terms than the plan has: where people have agreed to the former ones by their
        signature they are asked, and until then nothing changes. What the record says they agreed to is checked."""
        plan, terms = draft.run.plan, self._terms
        policy = policy or plan.policy
        why = "" if terms is not None else self.unproven(plan, draft.approvals)
        if why:
            draft.add_own(ev.GateWithdrawn(gate=APPROVAL_GATE, why=why))
        if terms is not None or (policy != plan.policy and not _takes_others(plan, draft.approvals)):
            self._change(draft, policy, terms)
        elif policy != plan.policy:
            if draft.approvals.gate is not None:
                draft.add_own(ev.GateWithdrawn(gate=APPROVAL_GATE, why="other decisions are asked about"))
            assert plan.approval is not None  # or no one would have to agree
            draft.add_own(propose(plan, plan.approval, policy, draft.at))

    def unproven(self, plan: ev.Plan, approvals: Approvals) -> str:
        """Why what the record says that people agreed to does not let this run continue, or empty."""
        rule, granted = plan.approval, approvals.before or approvals
        if rule is None or not rule.signed or not granted.is_granted or granted.is_glass_broken:
            return ""
        if granted.plan != plan.digest:
            return "the plan is not the one that was agreed to"
        agreed = {one.by for one in granted.given if one.plan == granted.plan and self._has_agreed(one)}
        proven = len(agreed - {rule.requester})
        if proven >= rule.needed:
            return ""
        return f"{proven} of {rule.needed} approvals in the record are signed by approvers of this machine's policy"

    def _has_agreed(self, given: ev.ApprovalGiven) -> bool:
        return self._approvers.has_agreed(self._run, given)

    def _change(self, draft: Draft, policy: ev.Policy, terms: ev.ApprovalRule | None = None) -> None:
        """From now on the plan has these decisions, and these terms."""
        draft.add_own(ev.PolicyChanged(policy=policy, approval=terms, **self._who._asdict()))
        changed = {"policy": policy, "approval": terms or draft.run.plan.approval}
        draft.run.plan = draft.run.plan.model_copy(update=changed)

    # --- words about the plan -------------------------------------------------------------------------------------

    def about_plan(self, draft: Draft, request: ApprovalRequest) -> None:
        """What follows from a person's word about the plan."""
        signed, about = request.signed, (request.plan, request.choice)
        signer = ""
        if signed is not None and is_signable(*about):
            signer = self._approvers.signer_of(approval_statement(self._run, *about, signed.at), signed)
        self._add(draft, record_vote(draft.run.plan, draft.approvals, request, draft.at, signer=signer))

    def request_approval(self, draft: Draft) -> None:
        """Ask people about the plan, and take in its outcome."""
        while events := request_approval(draft.run.plan, draft.approvals, draft.at):
            self._add(draft, events)

    def _add(self, draft: Draft, events: Iterable[ev.Event]) -> None:
        """These, and, once people agreed to other decisions, those."""
        for event in events:
            sought = draft.approvals.sought
            draft.add_own(event)
            is_agreed = isinstance(event, ev.GateDecided) and event.ruling.choice != "deny"
            if is_agreed and sought is not None and sought.policy is not None:
                self._change(draft, sought.policy)

    def holds(self, draft: Draft, lane: Lane) -> bool:
        """Must the lane wait until people have agreed? One that has started must only where their signatures are
        asked for; one that is aborted, or on its way back, never."""
        rule = draft.run.plan.approval
        if rule is None or draft.approvals.is_granted or lane.abort is not None:
            return False
        return lane.status == "ready" or (rule.signed and lane.status in _FORWARD)

    def refuse(self, draft: Draft) -> str:
        """A plan that was denied starts nothing. Where something has started, why it has to stop at the next safe
        point."""
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
        """The events of a request from the inbox to a lane; none for one that no longer fits."""
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
        """The same for what was typed at the terminal of who leads the run, which no one has signed."""
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
    assert isinstance(event, ev.GateOpened)  # by who asks
    return event.gate, event.item


def _takes_others(plan: ev.Plan, approvals: Approvals) -> bool:
    """Have people agreed to the decisions of the plan by their signature, so that others take them again?"""
    is_agreed = approvals.before is not None or (approvals.is_granted and not approvals.is_glass_broken)
    return plan.approval is not None and plan.approval.signed and is_agreed
