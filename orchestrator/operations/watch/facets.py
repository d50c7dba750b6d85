"""Watches a pair of a family without its own watch: serving site, link and queue, from facets alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from orchestrator.core.pair_position import Answers, PairPosition, compared, end_of, position_of
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import probe
from orchestrator.model.families import Family
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.operations.pairs.last_readings import remember
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools
from orchestrator.operations.watch.request import Listener, PositionRead, WatchResult


class FacetWatch:
    """One watch of both sites, until an operator stops it."""

    def __init__(
        self,
        tools: Tools,
        inventory: Inventory,
        pair: Pair,
        family: Family,
        services: Sequence[str],
        interval_s: float,
        listener: Listener,
    ) -> None:
        self._tools, self._inventory, self._pair, self._family = tools, inventory, pair, family
        self._services, self._interval_s, self._listener = services, interval_s, listener
        self._last: dict[str, PairPosition] = {}

    def run(self) -> None:
        """Read, report, wait, until ``KeyboardInterrupt``."""
        sites = {name: self._inventory.sites[name] for name in self._pair.sites}
        with ExitStack() as stack, ThreadPoolExecutor(len(sites)) as pool:
            adapters = {name: stack.enter_context(reading_only(self._tools, site)) for name, site in sites.items()}
            while True:
                now = self._tools.clock.now()
                asked = {name: pool.submit(self._read, adapter) for name, adapter in adapters.items()}
                seen = {name: found.result() for name, found in asked.items()}
                for name, answers in seen.items():
                    remember(self._tools, sites[name], answers, self._services, now)
                for service in self._services:
                    self._one(service, [seen[name] for name in self._pair.sites], now)
                self._tools.clock.sleep(self._interval_s)

    def result(self) -> WatchResult:
        """The result of the watch."""
        return WatchResult("the watch is stopped", {service: one.word for service, one in self._last.items()})

    def _read(self, adapter: Adapter) -> Answers:
        return {name: probe(adapter, name, self._services) for name in self._family.surveyed}

    def _one(self, service: str, answers: Sequence[Answers], now: float) -> None:
        first, second = (
            end_of(self._family, name, found, service) for name, found in zip(self._pair.sites, answers, strict=True)
        )
        ends = compared(self._family, (first, second))
        position = position_of(self._family, ends, service)
        before, self._last[service] = self._last.get(service), position
        is_alarm = not (position.is_good or before == position)
        self._listener(PositionRead(now, service, position, ends, is_alarm))
