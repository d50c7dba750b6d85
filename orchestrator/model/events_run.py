"""Events of a whole run: who leads it, under which decisions, and what people said about its plan.

They are part of ``events``, which names all of them; what happens to one service is there.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from orchestrator.model.plan import ApprovalRule, Outcome, Plan, Policy, Signed


class Strict(BaseModel):
    """Nothing but what is declared, and nothing changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Acted(Strict):
    """A person did it: ``by`` is what they want to be called, ``account`` and ``uid`` whose process it was, as the system
    knows it; records of before these were recorded do not report."""

    kind: str  # of each event, and first in its JSON
    by: str
    account: str = ""
    uid: int | None = None


class RunCreated(Acted):
    kind: Literal["run.created"] = "run.created"
    plan: Plan
    version: str


class RunStarted(Acted):
    """A process took the lease and acts from now on; the first time, and at every resume."""

    kind: Literal["run.started"] = "run.started"
    epoch: int
    attended: bool


class RunPaused(Strict):
    kind: Literal["run.paused"] = "run.paused"
    reason: str


class PolicyChanged(Acted):
    """``approval``: what the plan takes from now on for people to agree to it, where that changed too."""

    kind: Literal["policy.changed"] = "policy.changed"
    policy: Policy
    approval: ApprovalRule | None = None


class ObserverFailed(Strict):
    """Something that only watches failed. It is recorded, shown, and never stops a fail-over."""

    kind: Literal["observer.failed"] = "observer.failed"
    observer: str
    text: str


class RunFinished(Strict):
    kind: Literal["run.finished"] = "run.finished"
    outcome: Outcome


class ApprovalSought(Strict):
    """What people are asked to agree to: the plan with the digest ``plan``, ``needed`` of them before ``expires_at``,
    seconds since the epoch. ``policy``: other decisions for a run that has started, which hold once they are agreed to;
    the digest is that of the plan with them."""

    needed: int
    plan: str
    expires_at: float
    policy: Policy | None = None


class ApprovalGiven(Acted):
    """A person agreed to the plan with the digest ``plan``. ``by`` is the account, ``host`` where it was reported. With
    ``signed``, ``by`` is the approver whose key it is, and ``account`` whose process it was."""

    kind: Literal["approval.given"] = "approval.given"
    host: str
    plan: str
    reason: str = ""
    signed: Signed | None = None


class ApprovalRefused(Acted):
    """A person's word about the plan, or their decision, does not count."""

    kind: Literal["approval.refused"] = "approval.refused"
    host: str
    why: str
