"""Decisions on prepared transactions, as a person or a transaction manager's export wrote them down.

docs/sources/solace-procedure.md, controlled 4: commit if all other branches of the distributed transaction are
committed, roll back if any is rolled back. Whatever that rule leaves open stays open. A family says what its file calls
a transaction, and which names there are.

Must never guess: an outcome that is not known, or a transaction that is not listed, has no decision here.
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
    """The rule of docs/sources/solace-procedure.md, controlled 4, on the outcomes of all other branches; None when it
    leaves the choice open."""
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


class TransactionDecisions(BaseModel):
    """The decisions for one run. Transactions are compared as text, exactly as the device prints them.

    ``key``: the field of a decision that names its transaction. ``patterns``: what a text of the file must look like, by
    its pattern, in a sentence. ``published``: its schema comes with the program.
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
        """Choice and reason for each transaction that has them; those left open are not in it."""
        return {name: found for name, entry in self._by_name.items() if (found := entry.decide()) is not None}

    def decide(self, name: str) -> tuple[TransactionChoice, str] | None:
        """The choice for the transaction ``name`` and the reason to record; None when it is not listed, or left open."""
        entry = self._by_name.get(name)
        return None if entry is None else entry.decide()
