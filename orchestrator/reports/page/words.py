"""The statements of people in a run, with their reasons: plans, decisions, approvals, aborts and take-overs of the run.
All are computed from the events of the run."""

from __future__ import annotations

from orchestrator.clock import iso
from orchestrator.model import events as ev
from orchestrator.reports.page.story import WordStory


class WordsStory:
    """Collects the records of a run, in order."""

    def __init__(self, plan: ev.Plan) -> None:
        self._plan = plan
        self.found: list[WordStory] = []
        self._asked: dict[tuple[str | None, str, str | None], tuple[int | None, float]] = {}
        self._aborts: set[tuple[str, str]] = set()

    def take(self, record: ev.Record) -> None:
        """Add one record."""
        event = record.event
        match event:
            case ev.GateOpened():
                self._asked[record.lane, event.gate, event.item] = event.at_risk, record.at
            case ev.GateDecided():
                self._decided(record, event)
            case ev.AbortAsked() if (event.by, event.reason) not in self._aborts:
                self._aborts.add((event.by, event.reason))  # the person asks once, and each service records it
                self._add(record, event, "the run", "abort", event.reason)
            case ev.ApprovalGiven():
                key = None if event.signed is None else event.signed.key
                self._add(record, event, "the plan", f"approved, on {event.host}", event.reason, key=key)
            case ev.ApprovalRefused():
                self._add(record, event, "the plan", f"does not count, on {event.host}", event.why, counts=False)
            case ev.RunCreated():
                self._add(record, event, "the run", f"planned {event.plan.runbook.runbook}", "")
            case ev.RunStarted() if event.epoch > 1:
                self._add(record, event, "the run", f"took over the run (epoch {event.epoch})", "")
            case ev.PolicyChanged():
                self._add(record, event, "the run", "changed the answers given in advance", event.policy.reason)

    def _decided(self, record: ev.Record, event: ev.GateDecided) -> None:
        at_risk, asked_at = self._asked.pop((record.lane, event.gate, event.item), (None, None))
        said = event.ruling
        subject = f"{event.gate} {event.item}" if event.item else event.gate
        self.found.append(
            WordStory(
                at=iso(record.at),
                service=record.lane,
                subject=subject,
                what=said.choice,
                by=said.by,
                account=said.account,
                reason=said.reason,
                at_risk=at_risk,
                waited=None if asked_at is None else round(record.at - asked_at, 3),
                key=None if said.signed is None else said.signed.key,
            )
        )

    def _add(
        self,
        record: ev.Record,
        event: ev.RunCreated
        | ev.RunStarted
        | ev.AbortAsked
        | ev.ApprovalGiven
        | ev.ApprovalRefused
        | ev.PolicyChanged,
        subject: str,
        what: str,
        reason: str,
        *,
        key: str | None = None,
        counts: bool = True,
    ) -> None:
        self.found.append(
            WordStory(
                at=iso(record.at),
                service=None,
                subject=subject,
                what=what,
                by=event.by,
                account=event.account,
                reason=reason,
                key=key,
                counts=counts,
            )
        )
