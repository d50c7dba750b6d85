"""Suspends the replication of a service by a separate recorded run, and reads its outcome in the journal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from orchestrator.errors import FailoverError, LeaseHeld
from orchestrator.family.watch import Follower
from orchestrator.journal.lease import claims, is_led, service_key
from orchestrator.model import events as ev
from orchestrator.operations.runs.claimed import is_paused
from orchestrator.operations.runs.plan import make_plan
from orchestrator.operations.runtime import Tools
from orchestrator.operations.watch.request import Listener, Suspending, SuspensionEnded, WatchFailed, WatchRequest
from orchestrator.reports.document import RunReport
from orchestrator.reports.report import build

# The pause before a failed suspension is retried, seconds.
_RETRY_AFTER_S = 60.0
_CHECK = "`failover status` shows whether replication is suspended"


class Suspender:
    """Suspends services of ``site`` once their queue is as full as the request says. ``exit_code``: of the last
    attempt."""

    def __init__(
        self,
        tools: Tools,
        request: WatchRequest,
        runbook: str,
        site: str,
        mate: str,
        *,
        lead: Callable[[ev.Plan], int],
        listener: Listener,
    ) -> None:
        self._tools, self._request, self._runbook, self._site, self._mate = tools, request, runbook, site, mate
        self._lead, self._listener = lead, listener
        self._tried_at: dict[str, float] = {}
        self._in_the_way: dict[str, str] = {}  # by service: the blocking run, as last reported
        self._current: tuple[ev.Plan, float] | None = None  # the present suspension, and its start
        self.exit_code = 0

    def is_due(self, service: str, seen: Follower, now: float) -> bool:
        """Is the queue full enough, not suspended yet, and was there no recent attempt?"""
        suspend_at, tried_at = self._request.suspend_at, self._tried_at.get(service)
        if suspend_at is None or seen.is_suspended is not False or seen.percent_full is None:
            return False
        is_due = tried_at is None or now - tried_at >= _RETRY_AFTER_S
        return is_due and seen.percent_full >= suspend_at

    def suspend(self, service: str, seen: Follower, now: float) -> bool:
        """Start and lead the run. An error is reported, and the suspension is retried later. A run that already has the
        service is reported once. Returns whether an operator paused the run, which ends the watch."""
        self._tried_at[service] = now
        reason = (
            f"the queue is {seen.percent_full or 0.0:.0f}% full, and --suspend-at is {self._request.suspend_at:g}%"
        )
        try:
            plan = self._plan(service, reason)
            in_the_way, before = held(self._tools, plan), self._in_the_way.get(service, "")
            self._in_the_way[service] = str(in_the_way or "")
            if in_the_way is not None:
                if str(in_the_way) == before:
                    return False
                raise in_the_way
            if self._led(plan, reason, now):
                return True
        except FailoverError as error:
            self.exit_code = error.exit_code
            self._listener(WatchFailed(error))
        self._listener(SuspensionEnded(self._tools.clock.now(), service, self._site, self.exit_code == 0))
        return False

    def interrupted(self) -> tuple[str, str] | None:
        """The outcome of the suspension in which the watch was stopped, and the next command; None: it was stopped in
        none."""
        if self._current is None:
            return None
        plan, since = self._current
        try:
            report, sentence, hint = stopped_in(self._tools, plan, since)
        except FailoverError as error:
            self.exit_code = error.exit_code
            return f"the watch was stopped in the suspension of {plan.services[0]}: {error}", error.hint
        self.exit_code = self.exit_code if report is None else report.exit_code
        return sentence, hint

    def _led(self, plan: ev.Plan, reason: str, now: float) -> bool:
        self._current = plan, now
        self._listener(Suspending(plan.services[0], reason))
        try:
            self.exit_code = self._lead(plan)
        except FailoverError:
            self._current = None
            raise
        self._current = None
        return is_paused(self._tools, plan)

    def _plan(self, service: str, reason: str) -> ev.Plan:
        # A question at the terminal would wait for an operator while the queue fills.
        policy = ev.Policy(on_gate={"step-failed": "revert"}, reasons={"step-failed": reason})
        request = self._request.plan(self._runbook, (service,), source=self._mate, policy=policy)
        return make_plan(self._tools, request).model_copy(update={"notes": (reason,)})


def held(tools: Tools, plan: ev.Plan) -> LeaseHeld | None:
    """The error if no run of ``plan``, for one service, can start because an unfinished run has the service; None: it
    can."""
    [service] = plan.services
    with closing(tools.journal()) as journal:
        run = claims(journal).get(service_key(plan, service))
        if run is None:
            return None
        if is_led(journal.row(run), tools.clock.now()):
            return LeaseHeld(
                f"{service} belongs to run {run}, which a process leads", hint=f"see `failover runs show {run}`"
            )
        is_own = build(journal.records(run)).runbook == plan.runbook.runbook
    whose = f"the suspension of {service}, run {run}," if is_own else f"{service} belongs to run {run}, which"
    return LeaseHeld(f"{whose} is unfinished, and no process leads it", hint=_ways_on(run))


def stopped_in(tools: Tools, plan: ev.Plan, since: float) -> tuple[RunReport | None, str, str]:
    """The state of the run of ``plan`` that an operator stopped: its report, a sentence, and the next command. The
    report is None if the run did not start at or after ``since``, seconds since the epoch."""
    [service] = plan.services
    report = _started(tools, plan, since)
    if report is None:
        return None, f"the watch was stopped before the suspension of {service} started; nothing was changed", _CHECK
    it = f"the watch was stopped in the suspension of {service}: run {report.run}"
    if report.outcome is None:
        return report, f"{it} is unfinished", f"{_ways_on(report.run)}\n{_CHECK}"
    return (
        report,
        f"{it} had ended with the outcome {report.outcome}",
        f"see `failover runs show {report.run}`\n{_CHECK}",
    )


def _ways_on(run: str) -> str:
    return f"resume the run: `failover resume {run}`; or abort it: `failover abort {run}`"


def _started(tools: Tools, plan: ev.Plan, since: float) -> RunReport | None:
    [service], runbook = plan.services, plan.runbook.runbook
    with closing(tools.journal()) as journal:
        found = (build(journal.records(row.run)) for row in journal.runs() if row.created_at >= since)
        return next((one for one in found if one.runbook == runbook and one.lanes[0].service == service), None)
