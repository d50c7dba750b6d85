"""The data model of a run's report. It is printed and never read back. ``report`` makes it from the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.model import events as ev
from orchestrator.model.readings import Role
from orchestrator.reports.approval import ApprovalReport, DecisionReport


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


StepStatus = Literal["done", "under way", "failed", "abandoned", "rolled back", "left out"]


class StepReport(_Strict):
    """One step of one lane. ``seconds`` is None while the step continues."""

    id: str
    title: str
    status: StepStatus
    seconds: float | None = None
    note: str = ""


class GapReport(_Strict):
    """No site was known to serve from ``since`` to ``until`` (UTC), for at most ``seconds``. ``had_begun``: no site
    served at the first reading of both. Then the gap started earlier, and lasted at least ``seconds``."""

    since: str
    until: str
    seconds: float
    had_begun: bool = False


class BothActiveReport(_Strict):
    """Both sites were read active, first at ``first`` and last at ``last``. ``until`` is the time when a site was next
    read as not active, or None. ``at_most_seconds`` is None if the start or the end is unknown."""

    first: str
    last: str
    until: str | None
    at_least_seconds: float
    at_most_seconds: float | None


class LeftBehind(_Strict):
    """The number of messages at ``site`` that its mate may lack: ``messages`` (in the unit of the family's backlog), read
    at ``read_at``. None means unknown. ``is_fresh``: the number was read for this run or in it. An older number may have
    changed."""

    site: str
    messages: int | None = None
    read_at: str | None = None
    is_fresh: bool = False

    @property
    def is_nothing(self) -> bool:
        """Is it known that nothing is left? An old 0 shows nothing."""
        return self.messages == 0 and self.is_fresh


AlarmKind = Literal["both-active", "interrupted", "not-aborted", "left-changed", "left-behind", "sync-refused"]


class Alarm(_Strict):
    """A known problem. Every report shows its alarms first. ``services`` are the services that the alarm concerns."""

    kind: AlarmKind
    services: tuple[str, ...]
    text: str


class LaneReport(_Strict):
    """One service.

    ``remedy``: what an operator does about the step that failed. Empty if no step failed, or if that is not known.
    ``outage_seconds``: the service had no active site for at most this time, the sum of ``gaps``. None if activity never
    moved, still moves, or was lost before the sites were first read.
    ``drained_messages``: the length of the replication queue when the wait started. None if no step waited for a queue.
    ``at_risk_messages``: the number of messages that an escalation put at risk.
    ``roles``: the last role that was read at each site. A site that was told to change and not read since is missing.
    ``lets_clients_in``: the same for AMPS.
    ``suspended``: for each site, the last report whether replication is suspended.
    ``refuses_synchronous``: for each site, the last report whether an active site refuses synchronous messages while its
    mate is away.
    ``no_active_site_since``: set while no site is known to serve. ``no_active_site_seconds`` is the time from then to the
    last record, or to now if the run was interrupted. Only a site that is not in ``roles`` may serve in this time: it was
    told to change, or is silent.
    ``undecided``: the gate at which the lane stopped because items have no decision.
    ``can_turn_back``: the lane is before its point of no return, and has not ended.
    ``not_aborted``: the reason why a requested abort was not done.
    ``left_as_is``: an operator ended the lane in its present state, so no resume continues it.
    ``left_changed``: for a rolled-back lane, the titles of steps whose changes may remain.
    """

    service: str
    status: str
    outcome: ev.Outcome | None
    reason: str
    remedy: str = ""
    steps: tuple[StepReport, ...]
    decisions: tuple[DecisionReport, ...]
    outage_seconds: float | None
    drained_messages: int | None
    at_risk_messages: int | None
    actions_sent: int
    roles: Mapping[str, Role] = Field(default_factory=dict)
    lets_clients_in: Mapping[str, bool] = Field(default_factory=dict)
    suspended: Mapping[str, bool] = Field(default_factory=dict)
    refuses_synchronous: Mapping[str, bool] = Field(default_factory=dict)
    no_active_site_since: str | None = None
    no_active_site_seconds: float | None = None
    gaps: tuple[GapReport, ...] = ()
    both_active: tuple[BothActiveReport, ...] = ()
    left_behind: LeftBehind | None = None
    undecided: str | None = None
    can_turn_back: bool = False
    not_aborted: str = ""
    left_as_is: bool = False
    left_changed: tuple[str, ...] = ()


class RunReport(_Strict):
    """A run. ``exit_code`` is the process exit code for the present state of the run. ``last_record_at`` is the time of
    its last known event. ``alarms`` are its known problems."""

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
    last_record_at: str
    ended_at: str | None
    seconds: float
    notes: tuple[str, ...]
    lanes: tuple[LaneReport, ...]
    resumable: bool
    approval: ApprovalReport | None
    alarms: tuple[Alarm, ...]


class OpenQuestion(_Strict):
    """A question that a lane waits for. Without ``service``, the whole run waits. ``answer`` is the command to answer.
    ``remedy``: what an operator does about the failed step that the question is about, or empty."""

    service: str | None
    gate: str
    item: str | None
    why: str
    remedy: str = ""
    choices: tuple[str, ...]
    answer: str


class RunDocument(RunReport):
    """The output of ``failover runs show --json``: the report, the open questions, and whether a process leads the run.

    A run that is not finished and no longer has a process has the status ``interrupted``, unless it was paused.
    ``last_led_by`` is the process that leads the run, or led it last. ``last_heard_at`` is the last sign of that process.
    """

    led: bool
    last_led_by: str
    last_heard_at: str
    questions: tuple[OpenQuestion, ...]
