"""The plan of a run, with the decisions that were made before it started. The whole plan is stored with the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Inventory
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import AnyReading
from orchestrator.model.runbook import Answer, Choice, Duration, Runbook, Side, Step


class Outcome(StrEnum):
    """How a lane ends (docs/explanation/lifecycle.md). The outcome of a run is the worst outcome of its lanes."""

    DONE = "done"
    REVERTED = "reverted"
    ESCALATED = "escalated"
    REFUSED = "refused"
    NEEDS_OPERATOR = "needs-operator"
    STUCK = "stuck"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Signed(_Strict):
    """The signature of a person under a vote or a decision. ``key``: the name of the key. ``signature``: Base64. ``at``:
    when the person signed, by the clock of that person, whole seconds since the epoch. ``signing`` defines the signed
    text."""

    key: str
    signature: str
    at: int


class Ruling(_Strict):
    """A decision and its reason. ``by``: the name of a person, or ``policy``. ``account`` and ``uid``: the owner of the
    process that sent the decision, from the operating system. ``file``: SHA-256 of the file with the decision."""

    choice: Answer
    reason: str
    by: str
    account: str = ""
    uid: int | None = None
    file: str = ""
    signed: Signed | None = None


class Who(NamedTuple):
    """The person who acts. ``by``: the name that the person gives. ``account`` and ``uid``: the owner of the process,
    from the operating system."""

    by: str
    account: str = ""
    uid: int | None = None


class Policy(_Strict):
    """The decisions in advance. ``on_gate``: gate name to choice. ``reasons``: gate name to the reason, if a person gave
    one. ``reason``: the reason for all other gates, in records of versions without ``reasons``. ``transactions``: XID to
    its ruling. ``timeout``: seconds from the start of the run after which every service that can still be rolled back is
    rolled back; None: no limit."""

    on_gate: Mapping[str, Choice] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict)
    reason: str = ""
    transactions: Mapping[str, Ruling] = Field(default_factory=dict)
    fail_fast: bool = False
    timeout: Duration | None = None

    def why(self, gate: str) -> str:
        """The reason for the answer in advance to this gate; empty if nobody gave a reason."""
        return self.reasons.get(gate, self.reason)


class Outage(_Strict):
    """The fail-over that a fail-back undoes. ``at``: its time, seconds since the epoch. ``run``: its run, if recorded.

    ``suspended``: replication was suspended since then, so messages did not enter the queue; None if unknown.
    ``spool_lost``: the failed site came back without its message spool. ``skew``: the allowed difference between clocks,
    seconds.
    """

    at: float
    run: str | None = None
    suspended: bool | None = None
    spool_lost: bool = False
    skew: float = 30.0


class Waves(_Strict):
    """How many lanes start together. ``canary`` starts first, alone. After ``max_failed`` failures no lane starts."""

    size: int = Field(ge=1)
    canary: str | None = None
    max_failed: int = Field(default=1, ge=1)


class ApprovalRule(_Strict):
    """The approval that a plan needs: ``needed`` other people must approve it within the time, or nothing starts.

    ``within``: seconds from the question. ``requester``: the account that asked for the run. ``break_glass``: any person
    may start the run without approval, with a name and a reason. ``signed``: only votes count that an approver of the
    machine's policy has signed, and grave decisions after the approval need another approver too. Without ``signed``, the
    approval is a second check but no proof.
    """

    needed: int = Field(ge=1)
    within: float = Field(gt=0)
    requester: str
    break_glass: bool = True
    signed: bool = False


class Seen(_Strict):
    """One reading of one side: a value or a failure. ``asked_at``: when it was asked for, seconds since the epoch."""

    on: Side
    reading: str
    asked_at: float
    value: AnyReading | None = None
    failure: Failure | None = None


class ReadBefore(_Strict):
    """A reading of one service that was taken before the run was created: by a guard that waited for the site, or to
    count the backlog at a failed site. The reading may be old: ``seen.asked_at`` tells its age."""

    service: str
    seen: Seen


class Prediction(_Strict):
    """A prediction from ``n`` earlier runs: percentiles 5, 50 and 95. The unit is seconds for the duration of ``step``.
    Without a step, it is messages per second that leave the queue. ``service`` None: all services together."""

    step: str | None = None
    service: str | None = None
    n: int = Field(ge=1)
    p05: float
    p50: float
    p95: float


class Plan(_Strict):
    """The plan of a run. The whole plan is stored with the run, so ``resume`` needs nothing else. ``families``: the
    families of its sites that a file declares, as the file was then. ``predictions``: the expected durations before the
    start."""

    runbook: Runbook
    inventory: Inventory
    pair: str
    source: str
    target: str
    services: tuple[str, ...] = Field(min_length=1)
    policy: Policy = Policy()
    simulated: bool = False
    outage: Outage | None = None
    waves: Waves | None = None
    approval: ApprovalRule | None = None
    notes: tuple[str, ...] = ()
    read_before: tuple[ReadBefore, ...] = ()
    families: tuple[FamilyFile, ...] = ()
    predictions: tuple[Prediction, ...] = ()

    @property
    def digest(self) -> str:
        """The digest that approvals are bound to: SHA-256 over the whole plan as JSON, keys sorted, without defaults."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def delay_of(self, step: Step) -> float:
        """For how many seconds others may handle the items of ``step`` first. If the step has a ``delay``, a
        ``transaction_wait`` of the pair replaces it."""
        wait = next((pair.transaction_wait for pair in self.inventory.pairs if pair.name == self.pair), None)
        return step.delay if wait is None or not step.delay else wait

    def site_name(self, side: Side) -> str:
        """The name of a side in the inventory."""
        return self.source if side == "source" else self.target
