"""What the report of a run consists of: printed, never read back. ``report`` makes it from the record."""

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
    """One step of one lane. ``seconds`` is None while it continues."""

    id: str
    title: str
    status: StepStatus
    seconds: float | None = None
    note: str = ""


class GapReport(_Strict):
    """No site was known to serve from ``since`` to ``until`` (UTC), ``seconds`` at most. ``had_begun``: it was so when
    both were first read, so it started earlier, and ``seconds`` are the least."""

    since: str
    until: str
    seconds: float
    had_begun: bool = False


class BothActiveReport(_Strict):
    """Both sites were read active, first at ``first`` and last at ``last``. ``until``: when one was next read not to be;
    None: it was not. ``at_most_seconds`` None: since when, or until when, is unknown."""

    first: str
    last: str
    until: str | None
    at_least_seconds: float
    at_most_seconds: float | None


class LeftBehind(_Strict):
    """What ``site`` holds that its mate may lack: ``messages`` (in the unit of the family's backlog) as read at
    ``read_at``; None: unknown. ``is_fresh``: it was read for this run or in it; an older number may be another one by
    now."""

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
    """What is known and bad: it stands first wherever the report is shown. ``services``: which of them it concerns."""

    kind: AlarmKind
    services: tuple[str, ...]
    text: str


class LaneReport(_Strict):
    """One service. ``outage_seconds``: at most this long it had no active site, the sum of ``gaps``; None when activity
    never moved, is still on its way, or was away when the sites were first read. ``drained_messages``: how many were in
    the replication queue when the wait started; None where no step waited for one.
    ``at_risk_messages``: how many an escalation put at risk. ``roles``: what each site was last read to be; one that was
    told to change and not read since is not in it. ``lets_clients_in``: the same of AMPS.
    ``suspended``: is replication suspended, by site, as each last reported. ``refuses_synchronous``: the same of
    an active site that takes no synchronous messages while its mate is away.
    ``no_active_site_since``: set while no site is known to serve; for ``no_active_site_seconds`` by the last record, or
    now if the run was interrupted. Only a site that is not in ``roles`` may: it was told to change, or is silent.
    ``undecided``: the gate whose items it stopped at because they have no decision. ``can_turn_back``: it is before its
    point of no return, and not at an end.
    ``not_aborted``: an abort was asked for and not done: why. ``left_as_is``: an operator ended it where it is, so that
    no resume continues it. ``left_changed``: titles of steps that may have changed
    something and were not rolled back, of a lane that went back.
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
    """A run. ``exit_code`` is the process exit code that belongs to what is known now; ``last_record_at``: the moment of
    the last thing that is known of it; ``alarms``: what is known and bad."""

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
    """A question that a lane waits on, or with no ``service`` the whole run. ``answer``: the command for it."""

    service: str | None
    gate: str
    item: str | None
    why: str
    choices: tuple[str, ...]
    answer: str


class RunDocument(RunReport):
    """What ``failover runs show --json`` prints: the report, what is asked, and whether a process leads it now.

    A run that is not finished and has no process any more has the status ``interrupted``, unless it was paused.
    ``last_led_by``: the process that led it last, or does; ``last_heard_at``: the last sign of it.
    """

    led: bool
    last_led_by: str
    last_heard_at: str
    questions: tuple[OpenQuestion, ...]
