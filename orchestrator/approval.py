"""Four eyes: how far people have come with agreeing to a plan, as an immutable value. A fold of a run's own events.

The question is a gate of the run, not of a lane: what is agreed to is the whole plan. Each approval is bound to the
digest of the plan it was given for, and an event that does not fit what was asked is not allowed, so that a forged or
a late one cannot count. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator import events as ev
from orchestrator.errors import IllegalTransition

APPROVAL_GATE = "approval"


@dataclass(frozen=True, slots=True)
class Approvals:
    """``gate``: the question, while it is open. ``given``: who has agreed to it. ``decided``: what came of it, for the
    plan with the digest ``plan``. ``changers``: accounts that changed the plan after it was asked for."""

    gate: ev.GateOpened | None = None
    given: tuple[ev.ApprovalGiven, ...] = ()
    decided: ev.GateDecided | None = None
    plan: str = ""
    changers: tuple[str, ...] = ()

    @property
    def sought(self) -> ev.ApprovalSought | None:
        """What is asked, while the question is open."""
        return None if self.gate is None else self.gate.approval

    @property
    def is_granted(self) -> bool:
        """May the run begin, as far as people are concerned?"""
        return self.decided is not None and self.decided.ruling.choice != "deny"

    @property
    def is_denied(self) -> bool:
        """Somebody said no, or too few said yes in time."""
        return self.decided is not None and self.decided.ruling.choice == "deny"


def fold_approvals(approvals: Approvals, event: ev.Event) -> Approvals:
    """The approvals after ``event``; unchanged by events that are about something else. Raises ``IllegalTransition``."""
    match event:
        case ev.GateOpened():
            if approvals.gate is not None or event.approval is None:
                raise IllegalTransition(f"{event.gate} is asked of a run, where nothing can be asked")
            return replace(approvals, gate=event, given=(), decided=None, plan=event.approval.plan)
        case ev.ApprovalGiven():
            _refuse_unless_asked(approvals, event.kind)
            if event.plan != approvals.plan or event.by in (one.by for one in approvals.given):
                raise IllegalTransition(f"an approval by {event.by} that does not fit the question")
            return replace(approvals, given=(*approvals.given, event))
        case ev.GateDecided():
            _refuse_unless_asked(approvals, event.kind)
            return replace(approvals, gate=None, decided=event)
        case ev.GateWithdrawn():
            return replace(approvals, gate=None, given=(), decided=None, plan="")
        case ev.PolicyChanged() if event.account:
            return replace(approvals, changers=(*approvals.changers, event.account))
        case _:
            return approvals


def _refuse_unless_asked(approvals: Approvals, kind: str) -> None:
    if approvals.gate is None:
        raise IllegalTransition(f"{kind}, and nothing is asked of the run")
