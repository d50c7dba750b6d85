"""The state of the approval of a plan by other people, as an immutable value. A fold of a run's own events.

The question is a gate of the run, not of a lane, because people approve the whole plan. Each approval is bound to the
digest of its plan. An event that does not fit the question is not allowed, so a forged or late approval cannot count.
Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.errors import IllegalTransition
from orchestrator.model import events as ev

APPROVAL_GATE = "approval"


@dataclass(frozen=True, slots=True)
class Approvals:
    """``gate``: the question, while it is open. ``given``: the approvals so far. ``decided``: the outcome, for the plan
    with the digest ``plan``. ``changers``: accounts that changed the plan after the run was asked for. ``leaders``:
    accounts that have led the run. ``before``: the approval of the present decisions, while people are asked about other
    decisions."""

    gate: ev.GateOpened | None = None
    given: tuple[ev.ApprovalGiven, ...] = ()
    decided: ev.GateDecided | None = None
    plan: str = ""
    changers: tuple[str, ...] = ()
    leaders: tuple[str, ...] = ()
    before: Approvals | None = None

    @property
    def sought(self) -> ev.ApprovalSought | None:
        """The approval that is asked for, while the question is open."""
        return None if self.gate is None else self.gate.approval

    @property
    def is_granted(self) -> bool:
        """Is the plan approved, or was it started with ``break-glass``?"""
        return self.decided is not None and self.decided.ruling.choice != "deny"

    @property
    def is_denied(self) -> bool:
        """Has a person denied the plan, or have too few people approved it in time?"""
        return self.decided is not None and self.decided.ruling.choice == "deny"

    @property
    def is_glass_broken(self) -> bool:
        """Was the run started with ``break-glass``? Then its later decisions need no other approver either."""
        return self.decided is not None and self.decided.ruling.choice == "break-glass"

    def stake_of(self, requester: str, account: str) -> str:
        """Why ``account`` may not approve this run: an earlier act of this account for the run. Empty: the account
        may."""
        if account == requester:
            return "requested this run"
        if account in self.changers:
            return "changed the decisions of this run"
        return "has led this run" if account in self.leaders else ""


def fold_approvals(approvals: Approvals, event: ev.Event) -> Approvals:
    """The approvals after ``event``. Events on other subjects change nothing. Raises ``IllegalTransition``."""
    match event:
        case ev.GateOpened():
            if approvals.gate is not None or event.approval is None:
                raise IllegalTransition(
                    f"{event.gate}: a run can ask only for approval, and only one question at a time"
                )
            before = approvals if event.approval.policy is not None else None
            return replace(approvals, gate=event, given=(), decided=None, plan=event.approval.plan, before=before)
        case ev.ApprovalGiven():
            _refuse_unless_asked(approvals, event.kind)
            if event.plan != approvals.plan or event.by in (one.by for one in approvals.given):
                raise IllegalTransition(f"the approval by {event.by} does not fit the open question")
            return replace(approvals, given=(*approvals.given, event))
        case ev.GateDecided():
            _refuse_unless_asked(approvals, event.kind)
            if event.ruling.choice == "deny" and approvals.before is not None:
                return _as_before(approvals)
            return replace(approvals, gate=None, decided=event, before=None)
        case ev.GateWithdrawn():
            if approvals.before is not None:
                return _as_before(approvals)
            return replace(approvals, gate=None, given=(), decided=None, plan="")
        case ev.PolicyChanged():
            changers = (*approvals.changers, event.account) if event.account else approvals.changers
            # With other terms the earlier decision is no longer valid.
            decided = approvals.decided if event.approval is None else None
            return replace(approvals, changers=changers, decided=decided)
        case ev.RunStarted():
            leaders = (*approvals.leaders, event.account) if event.account else approvals.leaders
            # A run that is resumed after a denial asks again.
            return replace(approvals, leaders=leaders, decided=None if approvals.is_denied else approvals.decided)
        case _:
            return approvals


def _as_before(approvals: Approvals) -> Approvals:
    """The question about other decisions has ended without approval: the earlier approval applies again."""
    assert approvals.before is not None  # the callers check
    return replace(approvals.before, changers=approvals.changers, leaders=approvals.leaders)


def _refuse_unless_asked(approvals: Approvals, kind: str) -> None:
    if approvals.gate is None:
        raise IllegalTransition(f"{kind}: the run has no open question")
