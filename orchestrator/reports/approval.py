"""The approvals and decisions in the report of a run. They are computed separately from the events."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from orchestrator.clock import iso
from orchestrator.model import events as ev


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DecisionReport(_Strict):
    """A decision: its gate (and item), choice, person, reason, and the number of messages at risk then, if known.

    ``seconds`` is the time from the question to the answer. None for a decision made before the question. ``account`` is
    the account of the deciding process. ``file`` is the SHA-256 of the file with the decision. ``key`` is the key of its
    signature.
    """

    gate: str
    item: str | None
    choice: str
    by: str
    reason: str
    at_risk: int | None = None
    seconds: float | None = None
    account: str = ""
    file: str = ""
    key: str | None = None


class SaidReport(_Strict):
    """One person's answer about the plan: ``by`` on ``host`` at ``at`` (UTC). ``reason`` is the person's reason, or the
    reason why the answer does not count. ``key`` is the key of its signature."""

    by: str
    host: str
    at: str
    reason: str
    account: str = ""
    key: str | None = None


class ApprovalReport(_Strict):
    """The approval of a plan by other people. ``plan`` is the digest of the plan. ``needed`` is the number of other
    people who had to agree before ``expires_at``. ``is_waiting``: answers are missing. ``decision`` is the outcome."""

    needed: int
    requester: str
    signed: bool = False
    plan: str | None = None
    expires_at: str | None = None
    is_waiting: bool = False
    given: tuple[SaidReport, ...] = ()
    refused: tuple[SaidReport, ...] = ()
    decision: DecisionReport | None = None


_TERMS = {"needed", "requester", "signed"}


class ApprovalStory:
    """Collects the answers of people about the plan. Its report is None if the plan needs no approval."""

    def __init__(self, plan: ev.Plan) -> None:
        rule = plan.approval
        self.report = None if rule is None else ApprovalReport(**rule.model_dump(include=_TERMS))
        self._asked_at = 0.0

    def take(self, event: ev.Event, at: float) -> None:
        if isinstance(event, ev.PolicyChanged) and event.approval is not None:
            terms = event.approval.model_dump(include=_TERMS)
            self.report = ApprovalReport(**terms) if self.report is None else self.report.model_copy(update=terms)
        elif self.report is not None:
            self.report = self.report.model_copy(update=self._changes(self.report, event, at))

    def _changes(self, report: ApprovalReport, event: ev.Event, at: float) -> dict[str, object]:
        match event:
            case ev.GateOpened() if event.approval is not None:
                self._asked_at = at
                until, digest = iso(event.approval.expires_at), event.approval.plan
                return {"plan": digest, "expires_at": until, "is_waiting": True, "given": (), "decision": None}
            case ev.ApprovalGiven():
                return {"given": (*report.given, _said(event, at, event.reason))}
            case ev.ApprovalRefused():
                return {"refused": (*report.refused, _said(event, at, event.why))}
            case ev.GateDecided():
                return {"is_waiting": False, "decision": decision_of(event, seconds=round(at - self._asked_at, 3))}
            case ev.GateWithdrawn() | ev.RunFinished():
                return {"is_waiting": False}
            case _:
                return {}


def _said(event: ev.ApprovalGiven | ev.ApprovalRefused, at: float, reason: str) -> SaidReport:
    key = _key(event.signed) if isinstance(event, ev.ApprovalGiven) else None
    return SaidReport(by=event.by, account=event.account, host=event.host, at=iso(at), reason=reason, key=key)


def decision_of(event: ev.GateDecided, *, seconds: float | None, at_risk: int | None = None) -> DecisionReport:
    """The report of a decision."""
    said = event.ruling
    return DecisionReport(
        gate=event.gate,
        item=event.item,
        choice=said.choice,
        by=said.by,
        reason=said.reason,
        at_risk=at_risk,
        seconds=seconds,
        account=said.account,
        file=said.file,
        key=_key(said.signed),
    )


def _key(signed: ev.Signed | None) -> str | None:
    return None if signed is None else signed.key
