"""Decisions on prepared XA transactions, as a person or a transaction manager's export wrote them down.

docs/sources/solace-procedure.md, controlled 4: commit if all other branches of the distributed transaction are
committed, roll back if any is rolled back. Whatever that rule leaves open stays open.

Must never guess: an outcome that is not known, or a transaction that is not listed, has no decision here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

# docs/sources/solace.md, 1.8: <formatId hex>-<gtrid hex>-<bqual hex>, at most 266 characters.
XID = r"^[0-9A-Fa-f]{1,8}-[0-9A-Fa-f]*-[0-9A-Fa-f]*$"

Xid = Annotated[str, StringConstraints(pattern=XID, max_length=266)]
XaChoice = Literal["commit", "rollback"]
BranchOutcome = Literal["committed", "rolled-back", "prepared", "unknown"]

_RULE = "Performing Controlled Fail-Overs, step 4"


def choice_by_branches(outcomes: Sequence[BranchOutcome]) -> XaChoice | None:
    """The rule of docs/sources/solace-procedure.md, controlled 4, on the outcomes of all other branches; None when it
    leaves the choice open."""
    if "rolled-back" in outcomes:
        return "rollback"
    if outcomes and all(outcome == "committed" for outcome in outcomes):
        return "commit"
    return None


class XaDecision(BaseModel):
    """One transaction: either the ``choice`` with its ``reason``, or the outcomes of its other ``branches``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    xid: Xid
    choice: XaChoice | None = None
    branches: tuple[BranchOutcome, ...] | None = None
    reason: str = Field(default="", max_length=1000)

    @model_validator(mode="after")
    def _exactly_one(self) -> XaDecision:
        if (self.choice is None) == (self.branches is None):
            raise ValueError("give exactly one of choice, branches")
        if self.choice is not None and not self.reason.strip():
            raise ValueError("a choice needs a reason, which is recorded with it")
        return self

    def decide(self) -> tuple[XaChoice, str] | None:
        """The choice and the reason to record; None when the branches leave it open."""
        if self.choice is not None:
            return self.choice, self.reason.strip()
        outcomes = self.branches or ()
        choice = choice_by_branches(outcomes)
        if choice is None:
            return None
        why = "all other branches are committed" if choice == "commit" else "another branch is rolled back"
        note = f"; {self.reason.strip()}" if self.reason.strip() else ""
        return choice, f"{why}, so {choice} ({_RULE}); other branches: {', '.join(outcomes)}{note}"


class XaDecisions(BaseModel):
    """The decisions for one run. XIDs are compared as text, exactly as the device prints them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decisions: tuple[XaDecision, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> XaDecisions:
        seen: set[str] = set()
        for entry in self.decisions:
            if entry.xid in seen:
                raise ValueError(f"{entry.xid} is decided twice")
            seen.add(entry.xid)
        return self

    @cached_property
    def _by_xid(self) -> dict[str, XaDecision]:
        return {entry.xid: entry for entry in self.decisions}

    def decided(self) -> dict[str, tuple[XaChoice, str]]:
        """Choice and reason for each XID that has them; those left open are not in it."""
        return {entry.xid: found for entry in self.decisions if (found := entry.decide()) is not None}

    def decide(self, xid: str) -> tuple[XaChoice, str] | None:
        """The choice for ``xid`` and the reason to record; None when it is not listed, or left open."""
        entry = self._by_xid.get(xid)
        return None if entry is None else entry.decide()
