"""What a run is going to do, and what was decided before it started: stored whole with the run."""

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
    """How a lane ends (docs/explanation/lifecycle.md), and, as the worst of its lanes, a run."""

    DONE = "done"
    REVERTED = "reverted"
    ESCALATED = "escalated"
    REFUSED = "refused"
    NEEDS_OPERATOR = "needs-operator"
    STUCK = "stuck"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Signed(_Strict):
    """A person's word, signed by a key of theirs: ``key`` names it, ``signature`` is in Base64, ``at`` is when it
    was reported by their clock, whole seconds since the epoch. What is signed is in ``signing``."""

    key: str
    signature: str
    at: int


class Ruling(_Strict):
    """A decision and why it was made. ``by`` is what a person is called, or ``policy``; ``account`` and ``uid`` whose
    process said so, as the system knows it. ``file``: SHA-256 of the file that the decision came from."""

    choice: Answer
    reason: str
    by: str
    account: str = ""
    uid: int | None = None
    file: str = ""
    signed: Signed | None = None


class Who(NamedTuple):
    """Who acts: ``by`` as they want to be called, and whose process it is, as the system knows it."""

    by: str
    account: str = ""
    uid: int | None = None


class Policy(_Strict):
    """What was decided in advance. ``on_gate``: gate name to choice; ``reasons``: gate name to why, where a person said;
    ``reason``: why, of all the others: records from before there were ``reasons`` have it. ``transactions``: XID to its
    ruling. ``timeout``: seconds from the start of the run after which every service that still can is rolled back;
    None: no limit."""

    on_gate: Mapping[str, Choice] = Field(default_factory=dict)
    reasons: Mapping[str, str] = Field(default_factory=dict)
    reason: str = ""
    transactions: Mapping[str, Ruling] = Field(default_factory=dict)
    fail_fast: bool = False
    timeout: Duration | None = None

    def why(self, gate: str) -> str:
        """Why this question was answered in advance as it was; empty where no one said."""
        return self.reasons.get(gate, self.reason)


class Outage(_Strict):
    """The fail-over that a fail-back undoes. ``at``: when, seconds since the epoch. ``run``: its record, if any.

    ``suspended``: replication was suspended since, so that messages were kept out of the queue; None when not known.
    ``spool_lost``: the failed site came back without its message spool. ``skew`` seconds are allowed between clocks.
    """

    at: float
    run: str | None = None
    suspended: bool | None = None
    spool_lost: bool = False
    skew: float = 30.0


class Waves(_Strict):
    """How many lanes start together. ``canary`` goes alone first; after ``max_failed`` failures, nothing starts."""

    size: int = Field(ge=1)
    canary: str | None = None
    max_failed: int = Field(default=1, ge=1)


class ApprovalRule(_Strict):
    """Four eyes: ``needed`` other people agree to the plan ``within`` seconds of its being asked, or nothing starts.

    ``requester`` is the account that asked for the run. ``break_glass``: anybody may start without, by name and reason.
    ``signed``: only words count that an approver of the machine's policy has signed; and decisions that are made after
    the approval take another approver, too. Without it this is a second check, and proves nothing.
    """

    needed: int = Field(ge=1)
    within: float = Field(gt=0)
    requester: str
    break_glass: bool = True
    signed: bool = False


class Seen(_Strict):
    """One reading of one side: a value or a failure. ``asked_at`` is when it was asked, seconds since the epoch."""

    on: Side
    reading: str
    asked_at: float
    value: AnyReading | None = None
    failure: Failure | None = None


class ReadBefore(_Strict):
    """A reading of one service that was taken before the run was made: by a guard that waited for the site, or to count
    what a failed site still holds. It may be old; ``seen.asked_at`` says how old."""

    service: str
    seen: Seen


class Prediction(_Strict):
    """What earlier runs let expect: percentiles 5, 50 and 95 of ``n`` of them. Seconds that ``step`` takes, or with no
    step messages a second that leave the queue. ``service`` None: of all services together."""

    step: str | None = None
    service: str | None = None
    n: int = Field(ge=1)
    p05: float
    p50: float
    p95: float


class Plan(_Strict):
    """What a run is going to do: stored whole with the run, so that ``resume`` needs nothing else. ``families``: those of
    its sites that a file declares, as the file was. ``predictions``: what was expected of it before it started."""

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
        """What an approval is bound to: SHA-256 over the whole plan as JSON, keys sorted, defaults left out."""
        plain = self.model_dump(mode="json", exclude_defaults=True)
        return sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def delay_of(self, step: Step) -> float:
        """For how many seconds ``step`` leaves its items to others first: ``transaction_wait`` of the pair, if set, in
        place of the ``delay`` of a step that has one."""
        wait = next((pair.transaction_wait for pair in self.inventory.pairs if pair.name == self.pair), None)
        return step.delay if wait is None or not step.delay else wait

    def site_name(self, side: Side) -> str:
        """The inventory's name of a side."""
        return self.source if side == "source" else self.target
