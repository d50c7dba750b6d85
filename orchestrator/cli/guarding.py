"""Watches a failed site, and has it fenced and demoted by recorded runs once it answers.

Looks through sessions that can only read; ``reports.standing`` judges what they say. What changes something is a run of
``solace/guard``, or of ``solace/guard-standby`` where the site's doors cannot, or must not, be shut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import typer

from orchestrator import events as ev
from orchestrator.cli.families import see_message_vpns
from orchestrator.cli.leading import lead_again, lead_new
from orchestrator.cli.planning import Wish as PlanWish
from orchestrator.cli.planning import make_plan, services_of
from orchestrator.cli.stopping import stop_with_its_run, until_stopped
from orchestrator.cli.terminal import is_attended, say, say_error, show, show_json
from orchestrator.cli.watching import reading_only
from orchestrator.cli.wiring import Tools
from orchestrator.clock import iso
from orchestrator.contract import Adapter
from orchestrator.errors import DefinitionError, FailoverError, NotStarted
from orchestrator.journal import Journal
from orchestrator.lease import claims, is_led, service_key
from orchestrator.probing import REACHABILITY, probe
from orchestrator.readings import Fence, Reachability, ReplicationStatus, Role
from orchestrator.reports.history import last_outage, restored_by
from orchestrator.reports.standing import Sight, Standing, standing
from orchestrator.site import Inventory, Pair
from orchestrator.state import fold

FENCING, STANDBY_ONLY = "solace/guard", "solace/guard-standby"
# How soon a run that stopped half-way is gone on with, seconds.
_AGAIN_AFTER = 30.0
_REFUSED, _NEEDS_OPERATOR = 3, 6


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person typed. ``services`` empty: every service of the pair."""

    site: str
    services: tuple[str, ...]
    pair: str | None
    inventory: Path | None
    interval_s: float
    yes: bool
    reason: str

    def plan(self, runbook: str, services: Sequence[str], pair: str | None) -> PlanWish:
        """The wish for a run on ``services`` of the guarded site; nobody is asked in the middle of it."""
        policy = ev.Policy(on_gate={"step-failed": "stop"}, reason=self.reason)
        return PlanWish(runbook, self.inventory, services, not services, pair, self.site, policy)


def guard_site(tools: Tools, wish: Wish, *, as_json: bool) -> int:
    """Guard until the site is safe, or somebody stops it. Returns the exit code."""
    inventory = tools.inventory(wish.inventory)
    pair_name = wish.pair or _pair_of(inventory, wish.site)
    services, pair = services_of(inventory, wish.plan(FENCING, wish.services, pair_name))
    see_message_vpns(tools, inventory.sites[pair.sites[0]], "guard")
    if wish.site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(f"{wish.site!r} is not a site of the pair {pair.name}", hint=f"--site {one} or {other}")
    guard = _Guard(tools, inventory, pair, services, wish, as_json=as_json)
    with until_stopped(), ExitStack() as stack:
        guard.connect(stack)
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
        self, tools: Tools, inventory: Inventory, pair: Pair, services: Sequence[str], wish: Wish, *, as_json: bool
    ) -> None:
        self._tools, self._inventory, self._pair, self._services = tools, inventory, pair, services
        self._wish, self._as_json = wish, as_json
        self._site, self._mate = wish.site, next(name for name in pair.sites if name != wish.site)
        self._simulated = tools.is_simulated(inventory)
        declared = tools.registry.declarations(inventory.sites[wish.site])
        self._can_fence = "set_backbone" in declared.actions and "fence" in declared.readings
        self._since = tools.clock.now()
        self._said: tuple[str, str] | None = None
        self._fence_refused = False
        self._tried_at: float | None = None
        self._code = 0
        self._ending = "stopped; nobody guards the site any more"
        self._here: Adapter | None = None
        self._there: Adapter | None = None

    def connect(self, stack: ExitStack) -> None:
        """The sessions to look through; no device is spoken to yet."""
        self._here = stack.enter_context(reading_only(self._tools, self._inventory.sites[self._site]))
        self._there = stack.enter_context(reading_only(self._tools, self._inventory.sites[self._mate]))

    # The beginning

    def begin(self) -> None:
        """See that there is something to guard, and ask once. Raises ``NotStarted``, ``DefinitionError``."""
        seen = self._look()
        self._see_lost(standing(seen), seen)
        if not self._can_fence:
            self._tell("fence", f"the adapter of {self._site} cannot shut its doors: it will be made standby only")
        if not self._wish.yes:
            self._confirm()
        names = ", ".join(self._services[:3]) + (f" and {len(self._services) - 3} more" if self._services[3:] else "")
        self._tell("guarding", f"guarding {self._site} for {names}; Ctrl-C ends it")

    def _see_lost(self, now: Standing, seen: Sight) -> None:
        """Refuse to guard a site that serves, or one that is a healthy standby: nothing may be taken from these."""
        with closing(self._tools.journal()) as journal:
            outages = [last_outage(journal, service, self._mate) for service in self._services]
            known = [outage.at for outage in outages if outage is not None]
            restored = None
            if known:
                self._since, begun = min(known), self._since
                restored = self._restored(journal)
                # An outage that is over does not count: what restores the present one is yet to come.
                self._since = begun if restored else self._since
        if now.kind == "leave":
            raise NotStarted(
                f"{self._site} answers, and {self._mate} does not say that it is active: guarding {self._site} could "
                "end the service",
                hint="look with `failover status`; guard a site that has failed, not one that serves",
            )
        is_standby = all(one.role is Role.STANDBY for one in seen.here.values())
        if is_standby and now.kind == "act" and (restored or not known):
            why = f"it was restored by run {restored}" if restored else "no record says that it failed"
            raise NotStarted(
                f"{self._site} is standby and connected, and {why}: guarding it would cut off a healthy standby",
                hint="nothing needs to be guarded; if it did fail, make it standby and fence it by `failover restore`",
            )

    def _confirm(self) -> None:
        if not is_attended() or self._as_json:
            raise DefinitionError("nobody is there to be asked", hint="add --yes to start without asking")
        fence = "shut its doors on every node and make it" if self._can_fence else "make it"
        marker = "SIMULATED  " if self._simulated else ""
        when = f"The moment {self._site} answers while {self._mate} is active"
        say(f"{marker}{when}, this will {fence} standby, without asking again, and record it.")
        try:
            agreed = typer.confirm(f"{marker}Guard {self._site} now?", default=False, err=True)
        except (typer.Abort, KeyboardInterrupt):
            agreed = False
            say("")
        if not agreed:
            say("not started; nothing was changed")
            raise typer.Exit(_REFUSED)

    # The watch

    def go_on(self) -> None:
        """Look, act, wait, until the site is safe."""
        while True:
            now = standing(self._look())
            if now.kind == "safe" and self._is_settled():
                self._ending = f"{self._site}: {now.why}"
                self._code = _NEEDS_OPERATOR if self._fence_refused else 0
                return
            self._tell(now.kind, now.why)
            if now.kind == "act" and self._act(now):
                return
            self._tools.clock.sleep(self._wish.interval_s)

    def _look(self) -> Sight:
        assert self._here is not None
        assert self._there is not None
        told = probe(self._here, REACHABILITY, self._all_here)
        here = {name: one for name, one in told.items() if isinstance(one, Reachability)}
        if not any(one.answers for one in here.values()):
            return Sight({name: here[name] for name in self._services}, {})
        mate = probe(self._there, "replication", self._pair.services)
        roles = {name: one.role if isinstance(one, ReplicationStatus) else None for name, one in mate.items()}
        doors = probe(self._here, "fence", self._all_here[:1])[self._all_here[0]] if self._can_fence else None
        return Sight(
            here={name: here[name] for name in self._services},
            there={name: roles[name] for name in self._services},
            fence=doors if isinstance(doors, Fence) else None,
            others=[
                name
                for name, one in here.items()
                if roles.get(name) is not Role.ACTIVE and one.role is not Role.STANDBY
            ],
            can_fence=self._can_fence and not self._fence_refused,
        )

    @property
    def _all_here(self) -> list[str]:
        """Every service at the guarded site: its doors are theirs too."""
        mine = [pair for pair in self._inventory.pairs if self._site in pair.sites]
        return list(dict.fromkeys((*self._services, *(name for pair in mine for name in pair.services))))

    # Acting

    def _act(self, now: Standing) -> bool:
        """Have it done, or go on with what was begun. Whether guarding is over."""
        with closing(self._tools.journal()) as journal:
            restored = self._restored(journal)
            if restored:
                self._ending = f"{self._site} was restored by run {restored}"
                return True
            plan = self._plan(now)
            owners = self._owners(journal, plan)
        if owners:
            self._go_on_with(owners, plan)
            return False
        if not self._may_try():
            return False
        try:
            self._note(lead_new(self._tools, plan, as_json=self._as_json))
        except FailoverError as error:
            self._fail(error)
            return False
        if self._code == _REFUSED and now.fence:
            self._fence_refused, self._tried_at = True, None
            self._tell("fence", f"{self._site} could not be fenced; its role is what is left to change")
        stop_with_its_run(self._tools, plan)
        return False

    def _is_settled(self) -> bool:
        """Is no run of a guard left half-way? One that is, is gone on with: it holds the services."""
        plan = self._plan(Standing("safe", "it is safe", tuple(self._services)))
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

    def _plan(self, now: Standing) -> ev.Plan:
        wish = self._wish.plan(FENCING if now.fence else STANDBY_ONLY, now.services, self._pair.name)
        note = f"{self._site} came back: {now.why}"
        return make_plan(self._tools, wish).model_copy(update={"notes": (note,)})

    def _owners(self, journal: Journal, plan: ev.Plan) -> list[str]:
        """The unfinished runs that these services belong to."""
        claimed = claims(journal)
        return list(dict.fromkeys(run for s in plan.services if (run := claimed.get(service_key(plan, s)))))

    def _is_led(self, journal: Journal, run: str) -> bool:
        return is_led(journal.row(run), self._tools.clock.now())

    def _restored(self, journal: Journal) -> str | None:
        found = [restored_by(journal, service, self._site, self._since) for service in self._services]
        return found[0] if found and None not in found else None

    # Telling

    def _tell(self, state: str, text: str) -> None:
        """Say it once, until something else is to be said."""
        if self._said == (state, text):
            return
        self._said = (state, text)
        now = iso(self._tools.clock.now())
        if self._as_json:
            show_json({"at": now, "simulated": self._simulated, "site": self._site, "state": state, "message": text})
        else:
            show(f"{now[11:19]}Z {'SIMULATED  ' if self._simulated else ''}{self._site}: {text}")

    def _fail(self, error: FailoverError) -> None:
        """Something is in the way: said once, and tried again with the next look."""
        self._code = error.exit_code
        if self._said != ("failed", str(error)):
            say_error(str(error), hint=error.hint)
        self._said = ("failed", str(error))

    def end(self) -> int:
        """Say how it ended, and what comes next; the exit code."""
        if self._as_json:
            body = {"simulated": self._simulated, "site": self._site, "message": self._ending}
            show_json({"result": {**body, "exit_code": self._code}})
            return self._code
        show(f"{'SIMULATED  ' if self._simulated else ''}{self._ending}")
        for line in self._next():
            show(line)
        return self._code

    def _next(self) -> Iterator[str]:
        if self._fence_refused:
            yield "  what to do: keep its clients away by another means, then `failover restore`"
        elif self._code:
            yield "  what to do: `failover runs show` says where it stands; `failover guard` goes on with it"
        elif not self._ending.startswith("stopped"):
            yield f"  what to do: when it can serve again, `failover restore --all --site {self._site}`"


def _is_ours(journal: Journal, run: str) -> bool:
    """Is it the run of a guard?"""
    return fold(journal.records(run)).plan.runbook.runbook in (FENCING, STANDBY_ONLY)
