"""Watches a failed site. When the site answers, starts recorded runs that keep its clients away.

It reads through read-only sessions, and a ``GuardStrategy`` of the family judges the readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing

from orchestrator.clock import iso
from orchestrator.core.run import fold
from orchestrator.errors import DefinitionError, FailoverError, JournalError
from orchestrator.family.guard import GuardDecision, GuardSessions, GuardStrategy, GuardTarget
from orchestrator.family.offers import offering
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.operations.families import known_family, not_offered
from orchestrator.operations.guard.records import GuardRecords, Owner
from orchestrator.operations.guard.request import (
    Ending,
    GuardFailed,
    GuardReport,
    GuardRequest,
    GuardResult,
    GuardState,
    Lead,
    LeadAgain,
    Listener,
)
from orchestrator.operations.guard.sessions import ReadOnlySessions
from orchestrator.operations.runs.claimed import is_paused
from orchestrator.operations.runs.plan import make_plan
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import services_of

# The pause before an unfinished run is resumed, and between searches for a restore, seconds.
_RETRY_AFTER_S = 30.0
_REFUSED, _NEEDS_OPERATOR = 3, 6


def guard_of(
    tools: Tools, request: GuardRequest, stack: ExitStack, *, lead: Lead, again: LeadAgain, listener: Listener
) -> Guard:
    """The requested guard. ``stack`` closes its sessions. Raises ``DefinitionError``, also for a family that offers
    none."""
    inventory = tools.inventory(request.inventory)
    pair_name = request.pair or _pair_of(inventory, request.site)
    services, pair = services_of(inventory, request.plan("", request.services, pair_name))
    if request.site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(
            f"{request.site!r} is not a site of the pair {pair.name}", hint=f"--site {one} or {other}"
        )
    site = inventory.sites[request.site]
    family = known_family(tools, site)
    make = offering(family).guard()
    if make is None:
        raise not_offered(family, "guard", lambda one: one.guard() is not None)
    declared = tools.registry.declarations(site)
    target = GuardTarget(inventory, pair, tuple(services), site.name, pair.mate_of(site.name), declared)
    sessions = ReadOnlySessions(tools, target, stack)
    return Guard(tools, request, target, make(target, sessions), sessions, lead=lead, again=again, listener=listener)


def _pair_of(inventory: Inventory, site: str) -> str | None:
    """The only pair that has this site."""
    found = [pair.name for pair in inventory.pairs if site in pair.sites]
    if len(found) > 1:
        raise DefinitionError(f"{site} is in several pairs", hint=f"add --pair, one of: {', '.join(found)}")
    if not found:
        known = ", ".join(inventory.sites)
        raise DefinitionError(f"no pair has a site {site!r}", hint=f"the inventory has: {known}")
    return found[0]


class Guard:
    """One guard, from its start to its end: ``validate``, ``run``, and ``result`` at any time."""

    def __init__(
        self,
        tools: Tools,
        request: GuardRequest,
        target: GuardTarget,
        strategy: GuardStrategy,
        sessions: GuardSessions,
        *,
        lead: Lead,
        again: LeadAgain,
        listener: Listener,
    ) -> None:
        self._tools, self._request, self._target, self._strategy = tools, request, target, strategy
        self._sessions, self._lead, self._again, self._listener = sessions, lead, again, listener
        self._records = GuardRecords(tools, target, strategy.runbooks)
        self._since = tools.clock.now()
        self._reported: tuple[str, str] | None = None
        self._failed = ""
        self._tried_at: float | None = None
        self._searched_at = tools.clock.now()
        self._code = 0
        self._alarm = ""
        self._ending: tuple[Ending, str] = ("stopped", "stopped; the site is no longer guarded")

    def describe(self) -> str:
        """What the guard will do, in a sentence."""
        return self._strategy.describe()

    def validate(self) -> None:
        """Refuse to guard a site that serves, or a healthy one: raises ``NotStarted``. An unusable runbook is found
        now, and not when both sites serve: raises ``DefinitionError``."""
        services = self._target.services
        runbook = self._strategy.runbook(GuardDecision("act", "", services))
        make_plan(self._tools, self._request.plan(runbook, services, self._target.pair.name))
        now = self._strategy.assess()
        lost_at, restored = self._records.outage_since(), None
        if lost_at is not None:
            restored = self._records.restored_by(lost_at)
            # A recorded outage that was restored does not count: the present outage is not restored yet.
            self._since = self._since if restored else lost_at
        self._strategy.validate_guardable(now, failed=lost_at is not None, restored=restored)
        if self._strategy.warning():
            self._report("fence", self._strategy.warning())

    def run(self) -> None:
        """Read, act, wait, until the site is safe or a run of the guard is paused. An unavailable or damaged journal,
        or an inventory that is being edited, does not end it: the site would be left unguarded."""
        services = self._target.services
        names = ", ".join(services[:3]) + (f" and {len(services) - 3} more" if services[3:] else "")
        self._report("guarding", f"guarding {self._target.site} for {names}; Ctrl-C ends the guard")
        while True:
            code = self._code
            try:
                if self._round():
                    return
            except (JournalError, DefinitionError) as error:
                self._fail(error)
                self._tools.clock.sleep(self._request.interval_s)
                self._code = code
            else:
                self._tools.clock.sleep(self._request.interval_s)

    def result(self) -> GuardResult:
        """The result of the guard; before its end: the result if an operator stopped it now."""
        ending, text = self._ending
        return GuardResult(ending, text, self._code, self._alarm, self._strategy.is_degraded)

    def to_restore(self) -> Sequence[str]:
        """The services whose fail-over is recorded, if other services of the pair never failed over; empty: all."""
        lost = self._records.lost_services()
        return () if len(lost) == len(self._target.pair.services) else lost

    # One round

    def _round(self) -> bool:
        """Read once, and do what the readings require. Returns whether guarding is over."""
        now, site = self._strategy.assess(), self._target.site
        if now.kind == "safe":
            plan = self._plan(GuardDecision("safe", "it is safe", self._target.services))
            if (owners := self._own(plan)) and self._resume(owners, plan):
                return True
            if not self._own(plan) and self._is_over(now):
                return True
        if now.both_active and not self._alarm:
            self._alarm = f"BOTH SITES ACTIVE: read at {iso(self._tools.clock.now())}: {site}: {now.why}"
        self._report(now.kind, now.why)
        return now.kind == "act" and self._act(now)

    def _is_over(self, now: GuardDecision) -> bool:
        """Is guarding over? A state that is not permanent is guarded until the site is restored, which is checked at
        intervals."""
        if self._strategy.is_permanent:
            self._ending = "safe", f"{self._target.site}: {now.why}"
            self._code = _NEEDS_OPERATOR if self._strategy.is_degraded else 0
            return True
        if self._tools.clock.now() - self._searched_at < _RETRY_AFTER_S:
            return False
        self._searched_at = self._tools.clock.now()
        return self._is_restored()

    def _is_restored(self) -> bool:
        restored = self._records.restored_by(self._since)
        if restored:
            self._ending = "restored", f"{self._target.site} was restored by run {restored}"
            self._code = 0
        return restored is not None

    # Actions. Each returns whether guarding is over.

    def _act(self, now: GuardDecision) -> bool:
        """Start a new run that does it, or resume the run that was started."""
        if self._is_restored():
            return True
        plan = self._plan(now)
        plan = plan.model_copy(update={"read_before": (*self._records.last_standby(plan), *plan.read_before)})
        if owners := self._records.owners(plan):
            return self._resume(owners, plan)
        if not self._may_try():
            return False
        try:
            self._note(self._lead(plan))
        except FailoverError as error:
            self._fail(error)
            return False
        instead = self._strategy.refused(now) if self._code == _REFUSED else ""
        if instead:
            self._tried_at = None
            self._report("fence", instead)
        return is_paused(self._tools, plan)

    def _resume(self, owners: Sequence[Owner], plan: ev.Plan) -> bool:
        """Resume a run of a guard; wait for any other run."""
        busy = [one.run for one in owners if one.is_led or not one.is_own]
        if busy:
            self._report("locked", f"the guard waits for run {busy[0]}, which is unfinished")
            return False
        if not self._may_try():
            return False
        with closing(self._tools.journal()) as journal:
            try:
                run = fold(journal.records(owners[0].run))
                self._note(self._again(journal, owners[0].run, run))
            except FailoverError as error:
                self._fail(error)
                return False
        return is_paused(self._tools, plan)

    def _own(self, plan: ev.Plan) -> list[Owner]:
        """Unfinished runs of a guard with any of the services."""
        return [one for one in self._records.owners(plan) if one.is_own]

    def _may_try(self) -> bool:
        return self._tried_at is None or self._tools.clock.now() - self._tried_at >= _RETRY_AFTER_S

    def _note(self, code: int) -> None:
        self._code = code
        self._tried_at = self._tools.clock.now() if code else None

    def _plan(self, now: GuardDecision) -> ev.Plan:
        request = self._request.plan(self._strategy.runbook(now), now.services, self._target.pair.name)
        plan = make_plan(self._tools, request)
        read = tuple(one for one in self._sessions.read if one.service in plan.services)
        note = f"{self._target.site} came back: {now.why}"
        return plan.model_copy(update={"notes": (note,), "read_before": read})

    # Reporting

    def _report(self, state: GuardState, text: str) -> None:
        """Report a state once, until a different state follows."""
        if self._reported == (state, text):
            return
        self._reported, self._failed = (state, text), ""
        self._listener(GuardReport(self._tools.clock.now(), state, text))

    def _fail(self, error: FailoverError) -> None:
        """Report an error once. The next round retries."""
        self._code = error.exit_code
        if self._failed != str(error):
            self._listener(GuardFailed(error))
        self._failed = str(error)
