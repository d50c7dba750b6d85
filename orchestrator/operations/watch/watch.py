"""Watches the services of a pair, and suspends replication if that was requested.

It reads through read-only sessions. Every change is a recorded run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from orchestrator.core.pair_position import end_of
from orchestrator.errors import DefinitionError, NotStarted
from orchestrator.family.contract import Adapter
from orchestrator.family.offers import Offering, offering
from orchestrator.family.reachability import probe
from orchestrator.family.watch import Answers, Follower, WatchPart, WatchTarget
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.operations.families import known_family, not_offered
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import services_of
from orchestrator.operations.watch.facets import FacetWatch
from orchestrator.operations.watch.request import Keeper, Listener, TargetRead, WatchRequest, WatchResult
from orchestrator.operations.watch.suspension import Suspender

_WHICH = "see `failover status`; `failover repair` is for two standby or two active sites; or name a site: --site"


def watch_of(
    tools: Tools,
    inventory: Inventory,
    request: WatchRequest,
    *,
    keeper: Keeper,
    lead: Callable[[ev.Plan], int],
    listener: Listener,
) -> Watch | FacetWatch:
    """The requested watch. Raises ``DefinitionError``, also for an option that the family does not offer, and
    ``NotStarted`` if it is unknown which site is active."""
    services, pair = services_of(inventory, request.plan("", request.services, source=None, policy=ev.Policy()))
    family = offering(known_family(tools, inventory.sites[pair.sites[0]]))
    part = family.watch()
    if request.suspend_at is not None and (part is None or not part.suspends):
        raise _no_suspension(family.name, part)
    if part is None:
        if request.keeps_samples:
            raise not_offered(family.name, "--readings", lambda one: one.watch() is not None)
        if request.site is not None:
            raise DefinitionError(
                f"a watch of the family {family.name} always reads both sites", hint="leave --site out"
            )
        return FacetWatch(tools, inventory, pair, family, services, request.interval_s, listener)
    watched = Watched(tools, inventory, pair, family, part, tuple(services))
    sites = watched.sites(request.site)
    mate, runbook = pair.mate_of(sites[0]), f"{family.name}/{part.suspends}"
    suspender = Suspender(tools, request, runbook, sites[0], mate, lead=lead, listener=listener)
    return Watch(watched, request, sites, keeper, suspender, listener)


def _no_suspension(family: str, part: WatchPart | None) -> DefinitionError:
    if part is None or not part.no_suspension:
        return not_offered(
            family, "--suspend-at", lambda one: (own := one.watch()) is not None and bool(own.suspends)
        )
    hint = "leave --suspend-at out; `failover watch` shows how long there is room, and what to do"
    return DefinitionError(part.no_suspension, hint=hint)


@dataclass(frozen=True, slots=True)
class Watched:
    """The target of a watch."""

    tools: Tools
    inventory: Inventory
    pair: Pair
    family: Offering
    part: WatchPart
    services: tuple[str, ...]

    def sites(self, wanted: str | None) -> Sequence[str]:
        """The named site; else both; or, if only the active site is watched, the only site that serves."""
        if wanted is not None:
            if wanted not in self.pair.sites:
                one, other = self.pair.sites
                raise DefinitionError(
                    f"{wanted!r} is not a site of the pair {self.pair.name}", hint=f"--site {one} or {other}"
                )
            return (wanted,)
        if not self.part.active_by:
            return self.pair.sites
        with ThreadPoolExecutor(2) as pool:
            active = list(pool.map(self._serves_any, [self.inventory.sites[name] for name in self.pair.sites]))
        serving = [name for name, found in zip(self.pair.sites, active, strict=True) if found]
        if len(serving) == 1:
            return serving
        what = "both sites serve some of these services" if serving else "neither site reports that it is active"
        raise NotStarted(f"{what}: {', '.join(self.services)}", hint=_WHICH)

    def _serves_any(self, site: Site) -> bool:
        reading = self.part.active_by
        with reading_only(self.tools, site) as adapter:
            found = {reading: probe(adapter, reading, self.services)}
        return any(end_of(self.family, site.name, found, one, (reading,)).serves for one in self.services)


class Watch:
    """One watch, until an operator stops it or pauses one of its suspensions."""

    def __init__(
        self,
        watched: Watched,
        request: WatchRequest,
        sites: Sequence[str],
        keeper: Keeper,
        suspender: Suspender,
        listener: Listener,
    ) -> None:
        self._watched, self._request, self._sites, self._keeper = watched, request, sites, keeper
        self._suspender, self._listener, self._clock = suspender, listener, watched.tools.clock
        self._simulated = watched.tools.is_simulated(watched.inventory)
        self._followed: Mapping[tuple[str, str], Follower] = {
            (service, site): watched.part.follow(
                WatchTarget(service, site, watched.pair.mate_of(site), request.suspend_at)
            )
            for service in watched.services
            for site in sites
        }

    def run(self) -> None:
        """Read, report, suspend if requested, wait."""
        with ExitStack() as stack, ThreadPoolExecutor(len(self._sites)) as pool:
            adapters = {
                site: stack.enter_context(reading_only(self._watched.tools, self._watched.inventory.sites[site]))
                for site in self._sites
            }
            while not self._round(adapters, pool):
                self._clock.sleep(self._pause())

    def result(self) -> WatchResult:
        """The result of the watch."""
        interrupted = self._suspender.interrupted()
        known = {key: figures for key, one in self._followed.items() if (figures := one.figures()) is not None}
        is_one = bool(self._watched.part.active_by)
        by_site = {
            service: {site: figures for (name, site), figures in known.items() if name == service}
            for service, _ in known
        }
        services = {service: figures for (service, _), figures in known.items()} if is_one else by_site
        site = self._sites[0] if is_one else None
        return WatchResult(self._watched.part.ended, services, self._suspender.exit_code, site, interrupted)

    def _round(self, adapters: Mapping[str, Adapter], pool: ThreadPoolExecutor) -> bool:
        """Returns whether the watch is over."""
        now, services = self._clock.now(), self._watched.services
        seen = self._read(adapters, pool)
        for site, answers in seen.items():
            mate = self._watched.pair.mate_of(site)
            self._keeper.keep(site, answers, services, now, simulated=self._simulated, mate=mate)
        for (service, site), one in self._followed.items():
            row = one.take({name: found[service] for name, found in seen[site].items()}, now)
            if row is not None:
                self._listener(TargetRead(now, service, site, row))
        return any(
            self._suspender.is_due(service, one, now) and self._suspender.suspend(service, one, now)
            for (service, _), one in self._followed.items()
        )

    def _read(self, adapters: Mapping[str, Adapter], pool: ThreadPoolExecutor) -> Mapping[str, Answers]:
        read, services = self._watched.part.read, self._watched.services
        if len(adapters) == 1:  # without a thread, an interrupt ends the reading at once
            return {site: read(adapter, services) for site, adapter in adapters.items()}
        asked = {site: pool.submit(read, adapter, services) for site, adapter in adapters.items()}
        return {site: found.result() for site, found in asked.items()}

    def _pause(self) -> float:
        """Seconds until the next round. The pause is shorter if a queue will reach the mark before that."""
        mark, due = self._request.suspend_at, [self._request.interval_s]
        if mark is not None:
            due += [max(1.0, left) for one in self._followed.values() if (left := one.reaches_in_s(mark)) is not None]
        return min(due)
