"""Decisions on prepared transactions, from a file that a person or a transaction manager wrote.

docs/sources/solace-procedure.md, controlled 4: commit if all other branches of the distributed transaction are
committed, roll back if any is rolled back. In all other cases there is no decision. A family defines the key of a
transaction in its file, and the form of the names.

Must never guess: an unknown outcome, or a transaction that is not listed, gets no decision here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

TransactionChoice = Literal["commit", "rollback"]
BranchOutcome = Literal["committed", "rolled-back", "prepared", "unknown"]

_RULE = "Performing Controlled Fail-Overs, step 4"


def choice_by_branches(outcomes: Sequence[BranchOutcome]) -> TransactionChoice | None:
    """The choice by the rule of docs/sources/solace-procedure.md, controlled 4, from the outcomes of all other branches.
    None if the rule leaves the choice open."""
    if "rolled-back" in outcomes:
        return "rollback"
    if outcomes and all(outcome == "committed" for outcome in outcomes):
        return "commit"
    return None


class TransactionDecision(BaseModel):
    """One transaction: either the ``choice`` with its ``reason``, or the outcomes of its other ``branches``. A family
    adds the field that names the transaction."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"oneOf": [{"required": ["choice", "reason"]}, {"required": ["branches"]}]},
    )

    choice: TransactionChoice | None = None
    branches: tuple[BranchOutcome, ...] | None = None
    reason: str = Field(default="", max_length=1000)

    @model_validator(mode="after")
    def _exactly_one(self) -> TransactionDecision:
        if (self.choice is None) == (self.branches is None):
            raise ValueError("give exactly one of choice, branches")
        if self.choice is not None and not self.reason.strip():
            raise ValueError("a choice needs a reason, which is recorded with it")
        return self

    def decide(self) -> tuple[TransactionChoice, str] | None:
        """The choice, and the reason to record; None if the branches leave the choice open."""
        if self.choice is not None:
            return self.choice, self.reason.strip()
        outcomes = self.branches or ()
        choice = choice_by_branches(outcomes)
        if choice is None:
            return None
        why = "all other branches are committed" if choice == "commit" else "another branch is rolled back"
        note = f"; {self.reason.strip()}" if self.reason.strip() else ""
        return choice, f"{why}, so {choice} ({_RULE}); other branches: {', '.join(outcomes)}{note}"


class TransactionDecisions(BaseModel):
    """The decisions for one run. Transactions are compared as text, exactly as the device prints them.

    ``key``: the field of a decision that names its transaction. ``patterns``: by regular expression, the sentence that
    describes the form of a text. ``published``: the program ships the schema of this file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: ClassVar[str]
    patterns: ClassVar[Mapping[str, str]] = {}
    published: ClassVar[bool] = True

    decisions: tuple[TransactionDecision, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> TransactionDecisions:
        seen: set[str] = set()
        for entry in self.decisions:
            name = self._name(entry)
            if name in seen:
                raise ValueError(f"{name} is decided twice")
            seen.add(name)
        return self

    def _name(self, entry: TransactionDecision) -> str:
        return str(getattr(entry, self.key))

    @cached_property
    def _by_name(self) -> dict[str, TransactionDecision]:
        return {self._name(entry): entry for entry in self.decisions}

    def decided(self) -> dict[str, tuple[TransactionChoice, str]]:
        """Choice and reason for each transaction with a choice. Transactions without a choice are not included."""
        return {name: found for name, entry in self._by_name.items() if (found := entry.decide()) is not None}

    def decide(self, name: str) -> tuple[TransactionChoice, str] | None:
        """The choice for the transaction ``name``, and the reason to record. None if the transaction is not listed, or
        has no choice."""
        entry = self._by_name.get(name)
        return None if entry is None else entry.decide()
