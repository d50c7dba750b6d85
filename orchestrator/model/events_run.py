"""Events of a whole run: its start and end, the process that leads it, its decisions, and the votes on its plan.

``events`` imports all of them, and has the events of single services.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from orchestrator.model.plan import ApprovalRule, Outcome, Plan, Policy, Signed


class Strict(BaseModel):
    """The base of events: immutable, and without fields that are not declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Acted(Strict):
    """The base of events that a person caused. ``by``: the name that the person gives. ``account`` and ``uid``: the owner
    of the process, from the operating system. Records of early versions have neither."""

    kind: str  # each event sets it; it comes first in the JSON
    by: str
    account: str = ""
    uid: int | None = None


class RunCreated(Acted):
    kind: Literal["run.created"] = "run.created"
    plan: Plan
    version: str


class RunStarted(Acted):
    """A process took the lease and leads the run from now on. Recorded at the first start and at every resume."""

    kind: Literal["run.started"] = "run.started"
    epoch: int
    attended: bool


class RunPaused(Strict):
    kind: Literal["run.paused"] = "run.paused"
    reason: str


class PolicyChanged(Acted):
    """The decisions in advance were changed. ``approval``: the new approval rule of the plan, if it changed too."""

    kind: Literal["policy.changed"] = "policy.changed"
    policy: Policy
    approval: ApprovalRule | None = None


class ObserverFailed(Strict):
    """An observer failed. The failure is recorded and shown, and never stops a fail-over."""

    kind: Literal["observer.failed"] = "observer.failed"
    observer: str
    text: str


class RunFinished(Strict):
    kind: Literal["run.finished"] = "run.finished"
    outcome: Outcome


class ApprovalSought(Strict):
    """The approval that is asked for: ``needed`` people must approve the plan with the digest ``plan`` before
    ``expires_at``, seconds since the epoch. ``policy``: other decisions for a run that was approved before. They apply
    once they are approved, and ``plan`` is the digest of the plan with these decisions."""

    needed: int
    plan: str
    expires_at: float
    policy: Policy | None = None


class ApprovalGiven(Acted):
    """A person approved the plan with the digest ``plan``. ``by``: the account. ``host``: the machine where the person
    approved. With ``signed``, ``by`` is the approver who owns the key, and ``account`` the owner of the process."""

    kind: Literal["approval.given"] = "approval.given"
    host: str
    plan: str
    reason: str = ""
    signed: Signed | None = None


class ApprovalRefused(Acted):
    """A person's vote on the plan, or a person's decision, does not count."""

    kind: Literal["approval.refused"] = "approval.refused"
    host: str
    why: str
