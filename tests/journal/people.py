"""People with keys of their own, and a machine's policy that knows some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.core.run import fold
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.signed_words import question_number
from orchestrator.journal.journal import Journal
from orchestrator.journal.signing import Signer, approval_statement, decision_statement, generate, public_half
from orchestrator.model import events as ev
from orchestrator.model.approval_policy import Approver, MachinePolicy
from orchestrator.model.requests import request_of
from tests.core.leading import RUN


@dataclass
class People:
    """Each has a key; the policy lists ``approvers``. What they say is left in the inbox of ``journal``, as any account
    that can write the journal may do with any words."""

    journal: Journal
    folder: Path
    approvers: tuple[str, ...] = ("bob", "carol")
    _signers: dict[str, Signer] = field(default_factory=dict)

    def signer(self, name: str) -> Signer:
        """The key of this person, made when it is first asked for."""
        if name not in self._signers:
            path = self.folder / f"{name}.key"
            generate(path)
            self._signers[name] = Signer(path)
        return self._signers[name]

    def policy(self, **more: Any) -> MachinePolicy:
        """The machine's, with the public halves of its approvers."""
        listed = [{"account": name, "key": public_half(self.signer(name).public())} for name in self.approvers]
        return MachinePolicy.model_validate({"approvers": [Approver(**one) for one in listed], **more})

    def known(self, **more: Any) -> Approvers:
        """As the process that leads the run knows them."""
        return Approvers(self.policy(**more))

    def word(
        self,
        by: str,
        choice: str = "approve",
        *,
        key_of: str | None = None,
        run: str = RUN,
        plan: str | None = None,
        at: int,
        signed_choice: str | None = None,
    ) -> dict[str, str]:
        """What ``by`` says about the plan that is asked about, signed; every part of what is signed can be another."""
        digest = self.asked() if plan is None else plan
        statement = approval_statement(run, digest, signed_choice or choice, at)
        key, signature = self.signer(key_of or by).sign_bytes(statement)
        who = {"by": by, "account": by, "uid": "1000", "host": "bastion-2", "reason": "looked at it"}
        signed = {"key": key, "signature": signature, "at": str(at)}
        return {"kind": "approval", "choice": choice, "plan": self.asked(), **who, **signed}

    def asked(self) -> str:
        """The digest of the plan that is asked about now."""
        run = fold(self.journal.records(RUN))
        return run.plan.digest if run.approvals.sought is None else run.approvals.sought.plan

    def decision(
        self, by: str, choice: str, gate: str, *, at: int, number: int | None = None, lane: str = "Trading"
    ) -> dict[str, str]:
        """What ``by`` answers to an open question of a lane, signed."""
        records = list(self.journal.records(RUN))
        run = fold(records)
        asked = run.lanes[lane].open_gate(gate)
        assert asked is not None
        number = question_number(records, lane, asked) if number is None else number
        key, signature = self.signer(by).sign_bytes(decision_statement(RUN, run.plan.digest, number, choice, at))
        who = {"by": by, "account": by, "uid": "1000", "host": "bastion-2", "reason": "the log says so"}
        signed = {"key": key, "signature": signature, "at": str(at)}
        return {"kind": "decide", "lane": lane, "gate": gate, "choice": choice, **who, **signed}

    def leave(self, *requests: dict[str, str]) -> None:
        """Put these into the inbox."""
        for request in requests:
            self.journal.ask(RUN, request_of(request))


def signed_rule(needed: int = 1, **more: Any) -> ev.ApprovalRule:
    """Ann asks; words of approvers count."""
    return ev.ApprovalRule(needed=needed, within=more.pop("within", 60.0), requester="ann", signed=True, **more)
