"""The report of a run, computed from its records, for people and machines.

Screen, JSON, report and exit code agree because all of them are made from this report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator.clock import iso
from orchestrator.core import run as state
from orchestrator.core.position import FRESH_S, PositionHistory, courses_of
from orchestrator.core.serving import is_suspended, refuses_writes
from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.families import family_called
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import is_backlog
from orchestrator.model.runbook import Progress, Side, Step
from orchestrator.reports.alarms import alarms_of
from orchestrator.reports.approval import ApprovalStory, DecisionReport, decision_of
from orchestrator.reports.document import BothActiveReport, GapReport, LeftBehind, StepReport, StepStatus
from orchestrator.reports.document import LaneReport as LaneReport
from orchestrator.reports.document import RunReport as RunReport

EXIT_CODES: Mapping[ev.Outcome, int] = {
    ev.Outcome.DONE: 0,
    ev.Outcome.REFUSED: 3,
    ev.Outcome.REVERTED: 5,
    ev.Outcome.NEEDS_OPERATOR: 6,
    ev.Outcome.STUCK: 7,
    ev.Outcome.ESCALATED: 9,
}
UNFINISHED_EXIT_CODE = 6


class _LaneStory:
    """Facts that the engine's state does not keep: the times of steps, the decisions, and the positions of the pair."""

    def __init__(self, plan: ev.Plan, service: str, positions: PositionHistory) -> None:
        self._plan = plan
        self.service = service
        self.positions = positions
        self.steps: dict[str, StepReport] = {}
        self.decisions: list[DecisionReport] = []
        self.actions = 0
        self.drained: int | None = None
        self.suspended: dict[str, bool] = {}
        self.refuses: dict[str, bool] = {}
        self.not_aborted = ""
        self._is_reverting = False
        self._changes: dict[int, str] = {}  # the steps of actions that may have had an effect
        self._began: dict[str, float] = {}
        self._waits_for: Progress | None = None
        self._asked: dict[tuple[str, str | None], tuple[int | None, float]] = {}  # messages at risk, and time

    def take(self, event: ev.Event, at: float) -> None:
        self.positions.take(event, at)
        self._account(event)
        match event:
            case ev.StepStarted():
                step = self._step(event.step)
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
                self._close(event.step, "rolled back", at, event.skipped)
            case ev.GateOpened():
                self._asked[(event.gate, event.item)] = event.at_risk, at
            case ev.GateDecided():
                self._decided(event, at)
            case ev.Observed():
                self._observed(event)

    def _step(self, name: str) -> Step:
        return self._plan.runbook.steps[self._plan.runbook.index_of(name)]

    def _account(self, event: ev.Event) -> None:
        """Keep the changes that are not rolled back, and the reason if a requested abort was not done."""
        match event:
            case ev.ActionIntended():
                self.actions += 1
                if not event.undo:
                    self._changes[event.intent] = event.step
            case ev.ActionEnded(effect=Effect.REJECTED | Effect.NOT_SENT) | ev.DoubtResolved(partly=False):
                self._changes.pop(event.intent, None)
            case ev.UndoDone() if not event.skipped or self._step(event.step).leaves_nothing:
                self._changes = {one: step for one, step in self._changes.items() if step != event.step}
            case ev.AbortDeclined() if not self._is_reverting:
                self.not_aborted = event.reason
            case ev.RevertStarted():
                self._is_reverting, self.not_aborted = True, ""
            case _:
                return

    @property
    def left_changed(self) -> tuple[str, ...]:
        """The titles of steps whose changes may not be rolled back. Empty if the lane was never reverting."""
        steps = dict.fromkeys(self._changes.values()) if self._is_reverting else ()
        return tuple(self.steps[step].title for step in steps)

    def _abandon(self, event: ev.Escalated | ev.RevertStarted | ev.LaneEnded, at: float) -> None:
        if isinstance(event, ev.Escalated):
            self._close(event.step, "abandoned", at, "escalated")
            return
        why = "the service was rolled back" if isinstance(event, ev.RevertStarted) else event.reason
        for step in [one.id for one in self.steps.values() if one.status == "under way"]:
            self._close(step, "abandoned", at, why)

    def _decided(self, event: ev.GateDecided, at: float) -> None:
        at_risk, asked_at = self._asked.get((event.gate, event.item), (None, None))
        seconds = None if asked_at is None else round(at - asked_at, 3)
        self.decisions.append(decision_of(event, at_risk=at_risk, seconds=seconds))

    def _observed(self, event: ev.Observed) -> None:
        follows = self._waits_for
        is_depth = follows is not None and is_backlog(follows.reading, follows.field, self._plan.runbook.family)
        if is_depth and event.gauge is not None and self.drained is None:
            self.drained = int(event.gauge)
        for seen in event.seen:
            suspended = is_suspended(seen)
            if suspended is not None:
                self.suspended[self._plan.site_name(seen.on)] = suspended
            refuses = refuses_writes(seen)
            if refuses is not None:
                self.refuses[self._plan.site_name(seen.on)] = refuses

    def _close(self, step: str, status: StepStatus, at: float, note: str) -> None:
        began = self._began.get(step, at)
        self.steps[step] = self.steps[step].model_copy(
            update={"status": status, "seconds": round(at - began, 3), "note": note}
        )


def build(records: Iterable[ev.Record]) -> RunReport:
    """The report of the run with these ``records``, which start with ``run.created``."""
    return run_and_report(records)[1]


def run_and_report(records: Iterable[ev.Record]) -> tuple[state.Run, RunReport]:
    """The state and the report of the run with these ``records``, both of the same moment."""
    stream = iter(records)
    first = next(stream)
    run = state.begin(first)
    assert isinstance(first.event, ev.RunCreated)
    plan = run.plan
    stories = {service: _LaneStory(plan, service, positions) for service, positions in courses_of(plan).items()}
    approval = ApprovalStory(plan)
    for record in stream:
        run.fold(record)
        if record.lane is not None:
            stories[record.lane].take(record.event, record.at)
        else:
            approval.take(record.event, record.at)
    ended = run.last_at if run.status in ("finished", "paused") else None
    lanes = tuple(_lane_report(run, first.at, stories[service]) for service in plan.services)
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
        last_record_at=iso(run.last_at),
        ended_at=None if ended is None else iso(ended),
        seconds=round(run.last_at - first.at, 3),
        notes=plan.notes,
        lanes=lanes,
        approval=approval.report,
        resumable=run.outcome is None or not all(lane.settled for lane in run.lanes.values()),
        alarms=tuple(alarms_of(plan, lanes)),
    )
    return run, report


def _lane_report(run: state.Run, began: float, story: _LaneStory) -> LaneReport:
    lane, plan, positions = run.lanes[story.service], run.plan, story.positions
    on_the_way = lane.came_from if lane.status == "needs-operator" else lane.status
    since = positions.position.nobody_since
    return LaneReport(
        service=lane.service,
        status=lane.status,
        outcome=lane.outcome,
        reason=lane.reason or lane.failure,
        remedy=lane.undo_remedy if lane.status in ("reverting", "stuck") else lane.remedy,
        steps=tuple(story.steps.values()),
        decisions=tuple(story.decisions),
        outage_seconds=_outage(positions),
        drained_messages=story.drained,
        at_risk_messages=lane.escalated_at_risk,
        actions_sent=story.actions,
        roles={plan.site_name(side): role for side in _SIDES if (role := positions.role(side)) is not None},
        lets_clients_in={
            plan.site_name(side): is_open
            for side in _SIDES
            if (is_open := positions.lets_clients_in(side)) is not None
        },
        suspended=story.suspended,
        refuses_synchronous=story.refuses,
        no_active_site_since=None if since is None else iso(since),
        no_active_site_seconds=None if since is None else round(max(0.0, run.last_at - since), 3),
        gaps=tuple(
            GapReport(
                since=iso(one.since), until=iso(one.until), seconds=round(one.seconds, 3), had_begun=one.had_begun
            )
            for one in positions.gaps
        ),
        both_active=tuple(_both_active(positions)),
        left_behind=None if lane.outcome is ev.Outcome.REFUSED else _left_behind(plan, positions, began),
        undecided=_undecided(plan, lane),
        can_turn_back=on_the_way in ("ready", "running") and not lane.given_up,
        not_aborted=story.not_aborted,
        left_as_is=lane.given_up,
        left_changed=story.left_changed,
    )


_SIDES: tuple[Side, Side] = ("source", "target")


def _outage(positions: PositionHistory) -> float | None:
    """The outage in seconds. None if there was no gap, if the outage continues, or if its start is unknown."""
    is_known = (
        positions.gaps
        and positions.position.nobody_since is None
        and not any(one.had_begun for one in positions.gaps)
    )
    return round(sum(one.seconds for one in positions.gaps), 3) if is_known else None


def _both_active(positions: PositionHistory) -> Iterable[BothActiveReport]:
    for one in positions.both:
        at_most = one.at_most_s
        yield BothActiveReport(
            first=iso(one.first),
            last=iso(one.last),
            until=None if one.until is None else iso(one.until),
            at_least_seconds=round(one.at_least_s, 3),
            at_most_seconds=None if at_most is None else round(at_most, 3),
        )


# The side that failed, now or earlier, by the kind of the runbook. In a repair, the side that becomes standby.
_FAILED: Mapping[str, Side] = {
    "uncontrolled": "source",
    "restore": "source",
    "failback": "target",
    "repair": "source",
}


def _left_behind(plan: ev.Plan, positions: PositionHistory, began: float) -> LeftBehind | None:
    """The messages of a failed site that its mate may lack. In a fail-back, the number from before the site serves again
    counts, because later messages are new. In any other move, the number still queued at the source counts, if it was
    read and is not 0."""
    kind = plan.runbook.runbook.partition("/")[2].partition("-")[0]
    side = _FAILED.get(kind)
    if kind == "uncontrolled" and positions.found is None:
        return None  # the target was not told to take over
    family = family_called(plan.runbook.family)
    if family is not None and not family.offers(Facet.BACKLOG) and kind != "uncontrolled":
        return (
            None  # the family reports no queue for the mate, and these runs end only when both sites have caught up
        )
    queued = (positions.found or positions.queued) if kind == "failback" else positions.queued
    found = queued.get(side or "source")
    if side is None:
        before = None if positions.found is None else positions.found.get("source")
        if positions.found is None or found is None or found == before or not found.messages:
            return None
    site = plan.site_name(side or "source")
    if found is None or found.messages is None:
        return LeftBehind(site=site)
    # A lost site may have accepted more messages before it was lost.
    since = began if kind == "uncontrolled" else began - FRESH_S
    return LeftBehind(site=site, messages=found.messages, read_at=iso(found.at), is_fresh=found.at >= since)


def _undecided(plan: ev.Plan, lane: state.Lane) -> str | None:
    if lane.outcome is not ev.Outcome.NEEDS_OPERATOR or lane.failure or lane.step >= len(plan.runbook.steps):
        return None
    rule = plan.runbook.steps[lane.step].decide
    return None if rule is None else rule.gate
