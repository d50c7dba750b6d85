"""Follows the replication queues of the acting site, and has replication suspended when that was asked for.

Reads through sessions that can only look; what changes something is a recorded run of ``solace/suspend``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.cli.pairs.store_samples import SampleStore
from orchestrator.cli.pairs.watch_amps import InstanceWatcher
from orchestrator.cli.pairs.watch_facets import FacetWatcher
from orchestrator.cli.render.terminal import say, say_error, show, show_json
from orchestrator.cli.runs.lead import lead_new
from orchestrator.cli.runs.signals import stop_with_its_run, until_stopped
from orchestrator.clock import iso
from orchestrator.core.fill_estimate import HIGH_SET
from orchestrator.errors import DefinitionError, FailoverError, NotStarted
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import probe
from orchestrator.model import events as ev
from orchestrator.model.families import needed_family
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from orchestrator.model.readings_solace import QueueDepth, ReplicationStatus
from orchestrator.operations.families import AMPS, SOLACE, known_family, see_offered
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runs.lead import Request
from orchestrator.operations.runs.plan import PlanRequest, make_plan, services_of
from orchestrator.operations.runtime import Tools
from orchestrator.operations.watch.queue import Happened, WatchedQueue
from orchestrator.operations.watch.suspension import RUNBOOK, held, stopped_in
from orchestrator.reports.outlook import Outlook, outlook

_SAID: Mapping[Happened, str] = {
    "high": "HIGH MARK: the queue is {percent:.0f}% full, the mark is at {mark:.0f}%",
    "clear": "the queue is below its high mark again",
    "full": "FULL: the queue has reached its quota",
    "room": "there is room in the queue again",
}


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What a person typed. ``suspend_at``: percent, None to suspend nothing. ``readings``: where to keep them."""

    services: tuple[str, ...]
    everything: bool
    pair: str | None
    site: str | None
    inventory: Path | None
    interval_s: float
    suspend_at: float | None
    readings: Path | None = None

    def plan(self, services: Sequence[str], *, source: str | None, policy: ev.Policy) -> PlanRequest:
        """The request for a run that suspends ``services``; ``source`` is the failed site."""
        everything = self.everything and not services
        return PlanRequest(RUNBOOK, self.inventory, services, everything, self.pair, source, policy)


def watch_queues(tools: Tools, request: WatchRequest, *, as_json: bool) -> int:
    """Follow the queues until somebody stops it. Returns the exit code: 0, or that of the last suspension's run."""
    inventory = tools.inventory(request.inventory)
    services, pair = services_of(inventory, request.plan(request.services, source=None, policy=ev.Policy()))
    watcher: _Watcher | InstanceWatcher | FacetWatcher
    family = known_family(tools, inventory.sites[pair.sites[0]])
    if family not in (AMPS, SOLACE):
        _see_only_watched(family, request)
        kind = needed_family(family)
        watcher = FacetWatcher(tools, inventory, pair, kind, services, request.interval_s, as_json=as_json)
    elif family == AMPS:
        watcher = _of_instances(tools, inventory, pair, services, request, as_json=as_json)
    else:
        acting = _acting(tools, inventory, pair, services, request.site)
        watcher = _Watcher(tools, inventory, pair, services, acting, request, as_json=as_json)
    with until_stopped():
        watcher.go_on()
    return watcher.end()


def _see_only_watched(family: str, request: WatchRequest) -> None:
    """Raise ``DefinitionError`` for an option that a family without a watch of its own does not have."""
    if request.suspend_at is not None:
        see_offered(family, "--suspend-at", (SOLACE,))
    if request.readings is not None:
        see_offered(family, "--readings")
    if request.site is not None:
        raise DefinitionError(f"both sites of the family {family} are watched", hint="leave --site out")


def _of_instances(
    tools: Tools, inventory: Inventory, pair: Pair, services: Sequence[str], request: WatchRequest, *, as_json: bool
) -> InstanceWatcher:
    if request.suspend_at is not None:
        raise DefinitionError(
            "AMPS has nothing to suspend: journals are kept until every destination has acknowledged them",
            hint="leave --suspend-at out; `failover watch` says how long there is room, and what helps",
        )
    sites = pair.sites if request.site is None else (_named(pair, request.site),)
    samples = SampleStore(tools, inventory, request.readings, "watch")
    return InstanceWatcher(tools, inventory, pair, services, sites, request.interval_s, samples, as_json=as_json)


class _Watcher:
    """One watch, from its beginning to Ctrl-C."""

    def __init__(
        self,
        tools: Tools,
        inventory: Inventory,
        pair: Pair,
        services: Sequence[str],
        acting: str,
        request: WatchRequest,
        *,
        as_json: bool,
    ) -> None:
        self._tools, self._pair, self._services, self._acting, self._request = tools, pair, services, acting, request
        self._site = inventory.sites[acting]
        self._mate = pair.mate_of(acting)
        self._simulated = tools.is_simulated(inventory)
        self._as_json = as_json
        self._samples = SampleStore(tools, inventory, request.readings, "watch")
        self._followed = {service: WatchedQueue() for service in services}
        self._under_way: tuple[ev.Plan, float] | None = None  # a suspension, and when it was begun
        self._code = 0

    def go_on(self) -> None:
        """Read, say, suspend if asked to, wait; for ever."""
        with reading_only(self._tools, self._site) as adapter:
            while True:
                self._round(adapter)
                self._tools.clock.sleep(self._pause())

    def end(self) -> int:
        """Say how it ended; the exit code."""
        if self._under_way is not None:
            self._say_stopped(*self._under_way)
        if self._as_json:
            last = {name: one.figures() for name, one in self._followed.items()}
            body = {"simulated": self._simulated, "site": self._acting, "services": last, "exit_code": self._code}
            show_json({"result": body})
        else:
            self._say("stopped; nobody watches the queue any more")
        return self._code

    def _pause(self) -> float:
        """Until the next look: sooner when a queue will be as full as it is waited for before that."""
        mark = self._request.suspend_at
        due = [self._request.interval_s]
        if mark is not None:
            due += [max(1.0, left) for one in self._followed.values() if (left := one.reaches_in_s(mark)) is not None]
        return min(due)

    def _round(self, adapter: Adapter) -> None:
        now = self._tools.clock.now()
        queues = probe(adapter, "replication_queue", self._services)
        statuses = probe(adapter, "replication", self._services)
        answers = {"replication_queue": queues, "replication": statuses}
        self._samples.keep(self._acting, answers, self._services, now, simulated=self._simulated, mate=self._mate)
        for service in self._services:
            queue = queues[service]
            if isinstance(queue, QueueDepth):
                self._one(service, queue, statuses[service], now)
            elif isinstance(queue, Failure):
                self._unread(service, queue)
        for service, one in self._followed.items():
            if one.wants_suspension(self._request.suspend_at, now):
                self._suspend(service, one, now)

    def _one(self, service: str, queue: QueueDepth, status: Reading | Failure, now: float) -> None:
        one = self._followed[service]
        happened = one.take(queue, now)
        known = status if isinstance(status, ReplicationStatus) else None
        told = outlook(service, queue, known, one.seen, suspends_at=self._request.suspend_at)
        if known is not None and known.role is Role.STANDBY:
            told = replace(told, advice=self._elsewhere(service))
        if self._as_json:
            show_json({**self._head(service, now), **one.figures(), **_told(told, happened)})
            return
        self._show(service, told.sentence)
        for event in happened:
            self._show(
                service,
                _SAID[event].format(percent=one.seen.percent or 0.0, mark=HIGH_SET),
                alarm=event in ("high", "full"),
            )
        if told.advice and told.advice != one.advised:
            self._show(service, f"what to do: {told.advice}", alarm=True)
        one.advised = told.advice

    def _elsewhere(self, service: str) -> str:
        """What to do about a queue of a site that gave up its activity."""
        return (
            f"{self._acting} stands by, so nothing more is published into this queue; once {self._mate} serves, follow "
            f"its queue: `failover watch --vpn {service} --site {self._mate}`"
        )

    def _unread(self, service: str, failure: Failure) -> None:
        if self._as_json:
            show_json({**self._head(service, self._tools.clock.now()), "state": "unknown", "error": failure.text})
        else:
            self._show(service, f"UNKNOWN: {failure.text}", alarm=True)

    def _suspend(self, service: str, one: WatchedQueue, now: float) -> None:
        """Have replication suspended by a run of its own; what keeps it from that is said, and tried again later.

        A run that has the service is in the way until somebody ends it, and is said once.
        """
        one.tried_at = now
        reason = f"the queue is {one.seen.percent:.0f}% full, --suspend-at {self._request.suspend_at:g}%"
        try:
            plan = self._plan(service, reason)
            in_the_way, before = held(self._tools, plan), one.in_the_way
            one.in_the_way = str(in_the_way or "")
            if in_the_way is not None:
                if one.in_the_way == before:
                    return
                raise in_the_way
            self._lead(plan, reason, now)
        except FailoverError as error:
            self._code = error.exit_code
            say_error(str(error), hint=error.hint)
        event: Happened = "suspended" if self._code == 0 else "not-suspended"
        if self._as_json:
            show_json({**self._head(service, self._tools.clock.now()), "happened": [event]})

    def _lead(self, plan: ev.Plan, reason: str, now: float) -> None:
        """Begin the run and lead it. Ctrl-C in its course leaves it under way."""
        self._under_way = plan, now
        self._say(f"{plan.services[0]}: {reason}: replication is being suspended")
        try:
            self._code = lead_new(self._tools, Request(plan), as_json=self._as_json)
        except FailoverError:
            self._under_way = None
            raise
        self._under_way = None
        stop_with_its_run(self._tools, plan)

    def _say_stopped(self, plan: ev.Plan, since: float) -> None:
        try:
            report, sentence, hint = stopped_in(self._tools, plan, since)
        except FailoverError as error:
            self._code = error.exit_code
            say_error(f"stopped in the suspension of {plan.services[0]}: {error}", hint=error.hint)
            return
        self._code = self._code if report is None else report.exit_code
        say_error(sentence, hint=hint)

    def _plan(self, service: str, reason: str) -> ev.Plan:
        # A question at the terminal would wait for a person while the queue fills.
        policy = ev.Policy(on_gate={"step-failed": "revert"}, reasons={"step-failed": reason})
        return make_plan(self._tools, self._request.plan((service,), source=self._mate, policy=policy)).model_copy(
            update={"notes": (reason,)}
        )

    def _head(self, service: str, now: float) -> dict[str, object]:
        return {"at": iso(now), "simulated": self._simulated, "service": service, "site": self._acting}

    def _show(self, service: str, text: str, *, alarm: bool = False) -> None:
        marker = "SIMULATED  " if self._simulated else ""
        show(
            f"{iso(self._tools.clock.now())[11:19]}Z {marker}{service} at {self._acting}: {'! ' if alarm else ''}{text}"
        )

    def _say(self, text: str) -> None:
        say(f"{'SIMULATED  ' if self._simulated else ''}{text}")


def _told(told: Outlook, happened: Iterable[Happened]) -> dict[str, object]:
    return {"state": told.state, "happened": list(happened), "advice": told.advice}


# Sites

_WHICH = "see `failover status`; two standby or two active sites of a service: `failover repair`; or name it: --site"


def _acting(tools: Tools, inventory: Inventory, pair: Pair, services: Sequence[str], wanted: str | None) -> str:
    """The site that serves: the named one, or the only one that says of all ``services`` that it is active."""
    if wanted is not None:
        return _named(pair, wanted)
    with ThreadPoolExecutor(2) as pool:
        active = list(pool.map(lambda name: _active_at(tools, inventory.sites[name], services), pair.sites))
    serving = [name for name, found in zip(pair.sites, active, strict=True) if found]
    if len(serving) == 1:
        return serving[0]
    what = "both sites serve some of them" if serving else "neither site says that it is active"
    raise NotStarted(f"{what}: {', '.join(services)}", hint=_WHICH)


def _named(pair: Pair, site: str) -> str:
    if site not in pair.sites:
        one, other = pair.sites
        raise DefinitionError(f"{site!r} is not a site of the pair {pair.name}", hint=f"--site {one} or {other}")
    return site


def _active_at(tools: Tools, site: Site, services: Sequence[str]) -> list[str]:
    with reading_only(tools, site) as adapter:
        found = probe(adapter, "replication", services)
    return [name for name, one in found.items() if isinstance(one, ReplicationStatus) and one.role is Role.ACTIVE]
