"""Watches a failed site, and has its clients kept away by recorded runs once it answers.

Looks through sessions that can only read, and judges what they say by a ``targets.GuardStrategy``. Each family
has its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import typer

from orchestrator.cli.render.terminal import agrees, is_attended, say, say_error, show, show_json
from orchestrator.cli.runs.lead import lead_again, lead_new
from orchestrator.cli.runs.signals import stop_with_its_run, until_stopped
from orchestrator.clock import iso
from orchestrator.core.run import fold
from orchestrator.errors import DefinitionError, FailoverError, JournalCorrupt, JournalError
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, is_led, service_key
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.operations.families import AMPS, known_family, see_offered
from orchestrator.operations.guard.targets import GuardStrategy, GuardTarget
from orchestrator.operations.guard.targets_amps import InstanceGuard
from orchestrator.operations.guard.targets_appliances import ApplianceGuard
from orchestrator.operations.runs.lead import Request
from orchestrator.operations.runs.plan import PlanRequest, make_plan, services_of
from orchestrator.operations.runs.plan_recovery import was_standby
from orchestrator.operations.runtime import Tools
from orchestrator.reports.guard_decision import GuardDecision
from orchestrator.reports.history import History

# How soon a run that stopped half-way is gone on with, seconds.
_AGAIN_AFTER = 30.0
_REFUSED, _NEEDS_OPERATOR = 3, 6


@dataclass(frozen=True, slots=True)
class GuardRequest:
    """What a person typed. ``services`` empty: every service of the pair."""

    site: str
    services: tuple[str, ...]
    pair: str | None
    inventory: Path | None
    interval_s: float
    yes: bool
    reason: str

    def plan(self, runbook: str, services: Sequence[str], pair: str | None) -> PlanRequest:
        """The request for a run on ``services`` of the guarded site; nobody is asked in the middle of it."""
        policy = ev.Policy(on_gate={"step-failed": "stop"}, reasons={"step-failed": self.reason})
        return PlanRequest(runbook, self.inventory, services, not services, pair, self.site, policy)


def guard_site(tools: Tools, request: GuardRequest, *, as_json: bool) -> int:
    """Guard until the site is safe, or somebody stops it. Returns the exit code."""
    inventory = tools.inventory(request.inventory)
    pair_name = request.pair or _pair_of(inventory, request.site)
    services, pair = services_of(inventory, request.plan("", request.services, pair_name))
    if request.site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(
            f"{request.site!r} is not a site of the pair {pair.name}", hint=f"--site {one} or {other}"
        )
    mate = next(name for name in pair.sites if name != request.site)
    target = GuardTarget(inventory, pair, tuple(services), request.site, mate)
    family = known_family(tools, inventory.sites[request.site])
    see_offered(family, "guard")
    kind = InstanceGuard if family == AMPS else ApplianceGuard
    with ExitStack() as stack:
        guard = _Guard(tools, target, kind(tools, target, stack), request, as_json=as_json)
        with until_stopped():
            guard.begin()
            guard.go_on()
    return guard.end()


def _pair_of(inventory: Inventory, site: str) -> str | None:
    """The only pair that has this site; None when the name decides nothing."""
    found = [pair.name for pair in inventory.pairs if site in pair.sites]
    if len(found) > 1:
        raise DefinitionError(f"{site} is in several pairs", hint=f"add --pair, one of: {', '.join(found)}")
    if not found:
        known = ", ".join(inventory.sites)
        raise DefinitionError(f"no pair has a site {site!r}", hint=f"the inventory has: {known}")
    return found[0]


class _Guard:
    """One guard, from its beginning to its end."""

    def __init__(
        self, tools: Tools, target: GuardTarget, strategy: GuardStrategy, request: GuardRequest, *, as_json: bool
    ) -> None:
        self._tools, self._request, self._as_json = tools, request, as_json
        self._pair, self._services, self._site, self._mate = target.pair, target.services, target.site, target.mate
        self._sites = [target.inventory.sites[name] for name in (target.site, target.mate)]
        self._simulated = tools.is_simulated(target.inventory)
        self._strategy = strategy
        self._since = tools.clock.now()
        self._said: tuple[str, str] | None = None
        self._failed = ""
        self._tried_at: float | None = None
        self._searched_at = tools.clock.now()
        self._code = 0
        self._alarm = ""
        self._is_restored = False
        self._ending = "stopped; nobody guards the site any more"

    # The beginning

    def begin(self) -> None:
        """See that there is something to guard, and ask once. Raises ``NotStarted``, ``DefinitionError``."""
        self._validate_guardable(self._strategy.assess())
        if self._strategy.warning():
            self._tell("fence", self._strategy.warning())
        if not self._request.yes:
            self._confirm()
        names = ", ".join(self._services[:3]) + (f" and {len(self._services) - 3} more" if self._services[3:] else "")
        self._tell("guarding", f"guarding {self._site} for {names}; Ctrl-C ends it")

    def _validate_guardable(self, now: GuardDecision) -> None:
        """Refuse to guard a site that serves, or one that is well: nothing may be taken from these."""
        with closing(self._tools.journal()) as journal:
            history = self._history(journal)
            outages = [history.last_outage(service, self._mate) for service in self._services]
            known = [outage.at for outage in outages if outage is not None]
            restored = None
            if known:
                self._since, begun = min(known), self._since
                restored = self._restored(journal)
                # An outage that is over does not count: what restores the present one is yet to come.
                self._since = begun if restored else self._since
        self._strategy.validate_guardable(now, failed=bool(known), restored=restored)

    def _confirm(self) -> None:
        if not is_attended() or self._as_json:
            raise DefinitionError("nobody is there to be asked", hint="add --yes to start without asking")
        marker = "SIMULATED  " if self._simulated else ""
        say(f"{marker}{self._strategy.describe()}")
        if not agrees(f"{marker}Guard {self._site} now?"):
            say("not started; nothing was changed")
            raise typer.Exit(_REFUSED)

    # The watch

    def go_on(self) -> None:
        """Look, act, wait, until the site is safe. Neither a journal that is away, or does not prove itself, nor an
        inventory that is being edited ends it: that would leave the site to itself."""
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

    def _round(self) -> bool:
        """One look, and what it asks for. Whether guarding is over."""
        now = self._strategy.assess()
        if now.kind == "safe" and self._is_settled() and self._is_over(now):
            return True
        if now.both_active and not self._alarm:
            self._alarm = f"BOTH SITES ACTIVE: read at {iso(self._tools.clock.now())}: {self._site}: {now.why}"
        self._tell(now.kind, now.why)
        return now.kind == "act" and self._act(now)

    # Acting

    def _act(self, now: GuardDecision) -> bool:
        """Have it done, or go on with what was begun. Whether guarding is over."""
        with closing(self._tools.journal()) as journal:
            if self._see_restored(journal):
                return True
            plan = self._plan(now)
            with suppress(JournalCorrupt):  # the bound of a time, for people to know
                read = (*was_standby(self._history(journal), plan), *plan.read_before)
                plan = plan.model_copy(update={"read_before": read})
            owners = self._owners(journal, plan)
        if owners:
            self._go_on_with(owners, plan)
            return False
        if not self._may_try():
            return False
        try:
            self._note(lead_new(self._tools, Request(plan), as_json=self._as_json))
        except FailoverError as error:
            self._fail(error)
            return False
        instead = self._strategy.refused(now) if self._code == _REFUSED else ""
        if instead:
            self._tried_at = None
            self._tell("fence", instead)
        stop_with_its_run(self._tools, plan)
        return False

    def _is_over(self, now: GuardDecision) -> bool:
        """Is nothing left to guard? What does not last is guarded until it is restored, which is looked for at times."""
        if self._strategy.is_permanent:
            self._ending = f"{self._site}: {now.why}"
            self._code = _NEEDS_OPERATOR if self._strategy.is_degraded else 0
            return True
        if self._tools.clock.now() - self._searched_at < _AGAIN_AFTER:
            return False
        self._searched_at = self._tools.clock.now()
        with closing(self._tools.journal()) as journal:
            return self._see_restored(journal)

    def _see_restored(self, journal: Journal) -> bool:
        restored = self._restored(journal)
        if restored:
            self._ending, self._code = f"{self._site} was restored by run {restored}", 0
        self._is_restored = restored is not None
        return self._is_restored

    def _is_settled(self) -> bool:
        """Is no run of a guard left half-way? One that is, is gone on with: it holds the services."""
        plan = self._plan(GuardDecision("safe", "it is safe", tuple(self._services)))
        with closing(self._tools.journal()) as journal:
            own = [run for run in self._owners(journal, plan) if _is_ours(journal, run)]
        if own:
            self._go_on_with(own, plan)
        with closing(self._tools.journal()) as journal:
            return not any(_is_ours(journal, run) for run in self._owners(journal, plan))

    def _go_on_with(self, owners: Sequence[str], plan: ev.Plan) -> None:
        """Go on with a run of a guard; wait for anybody else's."""
        with closing(self._tools.journal()) as journal:
            foreign = [run for run in owners if not _is_ours(journal, run) or self._is_led(journal, run)]
            if foreign:
                self._tell("locked", f"run {foreign[0]} is not at its end: it is waited for")
                return
            if not self._may_try():
                return
            try:
                run = fold(journal.records(owners[0]))
                self._note(lead_again(self._tools, journal, owners[0], run, as_json=self._as_json))
            except FailoverError as error:
                self._fail(error)
                return
        stop_with_its_run(self._tools, plan)

    def _may_try(self) -> bool:
        return self._tried_at is None or self._tools.clock.now() - self._tried_at >= _AGAIN_AFTER

    def _note(self, code: int) -> None:
        self._code = code
        self._tried_at = self._tools.clock.now() if code else None

    def _plan(self, now: GuardDecision) -> ev.Plan:
        request = self._request.plan(self._strategy.runbook(now), now.services, self._pair.name)
        plan = make_plan(self._tools, request)
        read = tuple(one for one in self._strategy.read if one.service in plan.services)
        note = f"{self._site} came back: {now.why}"
        return plan.model_copy(update={"notes": (note,), "read_before": read})

    def _owners(self, journal: Journal, plan: ev.Plan) -> list[str]:
        """The unfinished runs that these services belong to."""
        claimed = claims(journal)
        return list(dict.fromkeys(run for s in plan.services if (run := claimed.get(service_key(plan, s)))))

    def _is_led(self, journal: Journal, run: str) -> bool:
        return is_led(journal.row(run), self._tools.clock.now())

    def _history(self, journal: Journal) -> History:
        return History(journal, self._sites)

    def _restored(self, journal: Journal) -> str | None:
        history = self._history(journal)
        found = [history.restored_by(service, self._site, self._since) for service in self._services]
        return found[0] if found and None not in found else None

    # Telling

    def _tell(self, state: str, text: str) -> None:
        """Say it once, until something else is to be said."""
        if self._said == (state, text):
            return
        self._said, self._failed = (state, text), ""
        now = iso(self._tools.clock.now())
        if self._as_json:
            show_json({"at": now, "simulated": self._simulated, "site": self._site, "state": state, "message": text})
        else:
            show(f"{now[11:19]}Z {'SIMULATED  ' if self._simulated else ''}{self._site}: {text}")

    def _fail(self, error: FailoverError) -> None:
        """Something is in the way: said once, and tried again with the next look."""
        self._code = error.exit_code
        if self._failed != str(error):
            say_error(str(error), hint=error.hint)
        self._failed = str(error)

    def end(self) -> int:
        """Say how it ended, and what comes next; the exit code."""
        if self._as_json:
            body = {"simulated": self._simulated, "site": self._site, "message": self._ending}
            body["alarms"] = [self._alarm] if self._alarm else []
            show_json({"result": {**body, "exit_code": self._code}})
            return self._code
        for text in (self._alarm, self._ending):
            if text:
                show(f"{'SIMULATED  ' if self._simulated else ''}{text}")
        for line in self._next():
            show(line)
        return self._code

    def _next(self) -> Iterator[str]:
        if self._strategy.is_degraded:
            yield "  what to do: keep its clients away by another means, then `failover restore`"
        elif self._code:
            yield "  what to do: `failover runs show` says where it stands; `failover guard` goes on with it"
        elif not self._ending.startswith("stopped") and not self._is_restored:
            yield f"  what to do: when it can serve again, `failover restore {self._to_restore()} --site {self._site}`"

    def _to_restore(self) -> str:
        """The services whose fail-over is recorded, where others of the pair never failed over; else all."""
        with closing(self._tools.journal()) as journal:
            history = self._history(journal)
            lost = [service for service in self._services if history.last_outage(service, self._mate)]
        if not lost or len(lost) == len(self._pair.services):
            return "--all"
        return " ".join(f"--service {shlex.quote(name)}" for name in lost)


def _is_ours(journal: Journal, run: str) -> bool:
    """Is it the run of a guard?"""
    return fold(journal.records(run)).plan.runbook.runbook in ApplianceGuard.runbooks | InstanceGuard.runbooks
