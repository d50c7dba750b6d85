"""The report of a run: a fold of its records into what people and machines want to know afterwards.

Screen, JSON, report and exit code agree because all of them are made from this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator import events as ev
from orchestrator import state
from orchestrator.clock import iso
from orchestrator.contract import Effect
from orchestrator.lifecycle import RESUMABLE_ENDS
from orchestrator.readings import Role
from orchestrator.readings_amps import Transports
from orchestrator.reports.approval import ApprovalReport as ApprovalReport
from orchestrator.reports.approval import ApprovalStory, decision_of
from orchestrator.reports.approval import DecisionReport as DecisionReport
from orchestrator.runbook import Progress
from orchestrator.standing import is_suspended, lets_clients_in, role_in

EXIT_CODES: Mapping[ev.Outcome, int] = {
    ev.Outcome.DONE: 0,
    ev.Outcome.REFUSED: 3,
    ev.Outcome.REVERTED: 5,
    ev.Outcome.NEEDS_OPERATOR: 6,
    ev.Outcome.STUCK: 7,
    ev.Outcome.ESCALATED: 9,
}
UNFINISHED_EXIT_CODE = 6


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


StepStatus = Literal["done", "under way", "failed", "abandoned", "taken back", "left out"]


class StepReport(_Strict):
    """One step of one lane. ``seconds`` is None while it goes on."""

    id: str
    title: str
    status: StepStatus
    seconds: float | None = None
    note: str = ""


class LaneReport(_Strict):
    """One service. ``outage_seconds``: at most this long it had no active site; None when activity never moved or is
    still on its way. ``drained_messages``: how many were in the replication queue when the wait began;
    None where no step waited for one.
    ``at_risk_messages``: how many an escalation put at risk. ``roles``: what each site was last seen or told to be.
    ``lets_clients_in``: AMPS: what each site was last seen to do; one that was not seen to do either is not in it.
    ``suspended``: is replication suspended, by site, as each was last seen to tell.
    ``no_active_site_since``: set while, as far as is known, nobody serves; only a site that is not in ``roles`` may,
    since it was told to change and nobody knows yet what came of it. ``undecided``: the gate whose items it stopped at
    because nobody decided on them. ``can_turn_back``: it is before its point of no return, and not at an
    end.
    """

    service: str
    status: str
    outcome: ev.Outcome | None
    reason: str
    steps: tuple[StepReport, ...]
    decisions: tuple[DecisionReport, ...]
    outage_seconds: float | None
    drained_messages: int | None
    at_risk_messages: int | None
    actions_sent: int
    roles: Mapping[str, Role] = Field(default_factory=dict)
    lets_clients_in: Mapping[str, bool] = Field(default_factory=dict)
    suspended: Mapping[str, bool] = Field(default_factory=dict)
    no_active_site_since: str | None = None
    undecided: str | None = None
    can_turn_back: bool = False


class RunReport(_Strict):
    """A run. ``exit_code`` is the process exit code that belongs to what is known now."""

    run: str
    runbook: str
    source: str
    target: str
    simulated: bool
    by: str
    account: str
    uid: int | None
    status: str
    outcome: ev.Outcome | None
    exit_code: int
    started_at: str
    ended_at: str | None
    seconds: float
    notes: tuple[str, ...]
    lanes: tuple[LaneReport, ...]
    resumable: bool
    approval: ApprovalReport | None


class OpenQuestion(_Strict):
    """A question that a lane waits on, or with no ``service`` the whole run. ``answer``: the command for it."""

    service: str | None
    gate: str
    item: str | None
    why: str
    choices: tuple[str, ...]
    answer: str


class RunDocument(RunReport):
    """What ``failover runs show --json`` prints: the report, what is asked, and whether a process leads it now."""

    led: bool
    questions: tuple[OpenQuestion, ...]


class _LaneStory:
    """What the fold of the engine forgets: how long steps took, and which decisions were made."""

    def __init__(self, plan: ev.Plan, service: str) -> None:
        self._plan = plan
        self.service = service
        self.steps: dict[str, StepReport] = {}
        self.decisions: list[DecisionReport] = []
        self.actions = 0
        self.drained: int | None = None
        self.roles: dict[str, Role] = {}
        self.lets_clients_in: dict[str, bool] = {}
        self.suspended: dict[str, bool] = {}
        self.outage: float | None = None
        self._began: dict[str, float] = {}
        self._waits_for: Progress | None = None
        self._asked: dict[tuple[str, str | None], tuple[int | None, float]] = {}  # how many at risk, and when
        self._wanted: dict[int, tuple[str, Role]] = {}
        # Sites that were told to change, until it is known what came of it; and what they were.
        self._in_doubt: dict[str, Role | None] = {}
        self._promoted: set[str] = set()  # sites that were told to take over
        self._dark_since: float | None = None

    @property
    def dark_since(self) -> float | None:
        """Since when, as far as is known, no site is active. A site in doubt is not known to be."""
        nobody = len(self.roles | self._in_doubt) == 2 and Role.ACTIVE not in self.roles.values()
        return self._dark_since if nobody else None

    def take(self, event: ev.Event, at: float) -> None:
        match event:
            case ev.StepStarted():
                step = self._plan.runbook.steps[self._plan.runbook.index_of(event.step)]
                self._began[event.step], self._waits_for = at, step.progress
                self.steps[event.step] = StepReport(id=event.step, title=step.title, status="under way")
            case ev.StepDone():
                self._close(event.step, "done", at, event.note)
            case ev.StepFailed():
                self._close(event.step, "failed", at, event.why)
            case ev.Escalated() | ev.RevertStarted() | ev.LaneEnded(outcome=ev.Outcome.REFUSED):
                self._abandon(event, at)
            case ev.StepSkipped():
                self._close(event.step, "left out", at, event.why)
            case ev.UndoDone():
                self._close(event.step, "taken back", at, event.skipped)
            case ev.GateOpened():
                self._asked[(event.gate, event.item)] = event.at_risk, at
            case ev.GateDecided():
                self._decided(event, at)
            case ev.Observed():
                self._observed(event, at)
            case ev.ActionIntended():
                self._intended(event, at)
            case ev.ActionEnded() if event.intent in self._wanted:
                self._ended(event, at)

    def _abandon(self, event: ev.Escalated | ev.RevertStarted | ev.LaneEnded, at: float) -> None:
        if isinstance(event, ev.Escalated):
            self._close(event.step, "abandoned", at, "escalated")
            return
        why = "it turned back" if isinstance(event, ev.RevertStarted) else event.reason
        for step in [one.id for one in self.steps.values() if one.status == "under way"]:
            self._close(step, "abandoned", at, why)

    def _decided(self, event: ev.GateDecided, at: float) -> None:
        at_risk, asked_at = self._asked.get((event.gate, event.item), (None, None))
        seconds = None if asked_at is None else round(at - asked_at, 3)
        self.decisions.append(decision_of(event, at_risk=at_risk, seconds=seconds))

    def _observed(self, event: ev.Observed, at: float) -> None:
        is_depth = self._waits_for is not None and self._waits_for.is_of_messages_queued
        if is_depth and event.gauge is not None and self.drained is None:
            self.drained = int(event.gauge)
        for seen in event.seen:
            site, role, is_open = self._plan.site_name(seen.on), role_in(seen), lets_clients_in(seen)
            if role is not None:
                self._has_role(site, role, at)
            if isinstance(seen.value, Transports):
                self.lets_clients_in.pop(site, None)  # it may not tell any more
            if is_open is not None:
                self.lets_clients_in[site] = is_open
            suspended = is_suspended(seen)
            if suspended is not None:
                self.suspended[site] = suspended

    def _close(self, step: str, status: StepStatus, at: float, note: str) -> None:
        began = self._began.get(step, at)
        self.steps[step] = self.steps[step].model_copy(
            update={"status": status, "seconds": round(at - began, 3), "note": note}
        )

    def _intended(self, event: ev.ActionIntended, at: float) -> None:
        self.actions += 1
        if "role" not in event.args:
            return
        site, role = self._plan.site_name(event.on), Role(event.args["role"])
        self._wanted[event.intent] = (site, role)
        self._in_doubt[site] = self.roles.pop(site, None)
        if role is Role.ACTIVE:
            self._promoted.add(site)
        elif self._dark_since is None:
            self._dark_since = at

    def _has_role(self, site: str, role: Role, at: float) -> None:
        """A site took a role, or was seen to have it: that may be all there is to know after a lost answer."""
        self.roles[site] = role
        self._in_doubt.pop(site, None)
        if role is Role.ACTIVE and site in self._promoted and self._dark_since is not None:
            self.outage, self._dark_since = round(at - self._dark_since, 3), None

    def _ended(self, event: ev.ActionEnded, at: float) -> None:
        site, role = self._wanted[event.intent]
        before = self._in_doubt.get(site)
        if event.effect is Effect.ACCEPTED:
            self._has_role(site, role, at)
        elif event.effect is not Effect.DOUBTFUL and before is not None:  # it did not obey, so it is what it was
            self.roles[site] = before
            del self._in_doubt[site]


def build(records: Iterable[ev.Record]) -> RunReport:
    """The report of the run whose ``records`` these are, from ``run.created`` on."""
    return run_and_report(records)[1]


def run_and_report(records: Iterable[ev.Record]) -> tuple[state.Run, RunReport]:
    """The state that ``records`` lead to, and the report of them: for whoever wants both of one and the same moment."""
    stream = iter(records)
    first = next(stream)
    run = state.begin(first)
    assert isinstance(first.event, ev.RunCreated)
    plan = run.plan
    stories = {service: _LaneStory(plan, service) for service in plan.services}
    approval = ApprovalStory(plan)
    for record in stream:
        run.fold(record)
        if record.lane is not None:
            stories[record.lane].take(record.event, record.at)
        else:
            approval.take(record.event, record.at)
    ended = run.last_at if run.status in ("finished", "paused") else None
    report = RunReport(
        run=first.run,
        runbook=plan.runbook.runbook,
        source=plan.source,
        target=plan.target,
        simulated=plan.simulated,
        by=first.event.by,
        account=first.event.account,
        uid=first.event.uid,
        status=run.status,
        outcome=run.outcome,
        exit_code=UNFINISHED_EXIT_CODE if run.outcome is None else EXIT_CODES[run.outcome],
        started_at=iso(first.at),
        ended_at=None if ended is None else iso(ended),
        seconds=round(run.last_at - first.at, 3),
        notes=plan.notes,
        lanes=tuple(_lane_report(plan, run.lanes[service], stories[service]) for service in plan.services),
        approval=approval.report,
        resumable=run.outcome is None or any(lane.status in RESUMABLE_ENDS for lane in run.lanes.values()),
    )
    return run, report


def _lane_report(plan: ev.Plan, lane: state.Lane, story: _LaneStory) -> LaneReport:
    on_the_way = lane.came_from if lane.status == "needs-operator" else lane.status
    return LaneReport(
        service=lane.service,
        status=lane.status,
        outcome=lane.outcome,
        reason=lane.reason or lane.failure,
        steps=tuple(story.steps.values()),
        decisions=tuple(story.decisions),
        outage_seconds=story.outage,
        drained_messages=story.drained,
        at_risk_messages=lane.escalated_at_risk,
        actions_sent=story.actions,
        roles=story.roles,
        lets_clients_in=story.lets_clients_in,
        suspended=story.suspended,
        no_active_site_since=None if story.dark_since is None else iso(story.dark_since),
        undecided=_undecided(plan, lane),
        can_turn_back=on_the_way in ("ready", "running"),
    )


def _undecided(plan: ev.Plan, lane: state.Lane) -> str | None:
    if lane.outcome is not ev.Outcome.NEEDS_OPERATOR or lane.failure or lane.step >= len(plan.runbook.steps):
        return None
    rule = plan.runbook.steps[lane.step].decide
    return None if rule is None else rule.gate
