"""Follows a pair of a family that has no watch of its own: who serves, the link, what is queued, by facets alone."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from orchestrator.cli.render.terminal import say, show, show_json
from orchestrator.clock import iso
from orchestrator.core.pair_position import Answers, PairPosition, end_of, position_of
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import probe
from orchestrator.model.families import Family
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.operations.last_readings import remember
from orchestrator.operations.read_only_sessions import reading_only
from orchestrator.operations.runtime import Tools
from orchestrator.operations.status_facets import figures_of, row_words


class FacetWatcher:
    """One watch, from its start to Ctrl-C. A line is shown when the verdict changes, and at each round for JSON."""

    def __init__(
        self,
        tools: Tools,
        inventory: Inventory,
        pair: Pair,
        family: Family,
        services: Sequence[str],
        interval_s: float,
        *,
        as_json: bool,
    ) -> None:
        self._tools, self._inventory, self._pair, self._family = tools, inventory, pair, family
        self._services, self._interval_s, self._as_json = services, interval_s, as_json
        self._simulated = tools.is_simulated(inventory)
        self._last: dict[str, PairPosition] = {}

    def go_on(self) -> None:
        """Read, show, wait; for ever."""
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

    def end(self) -> int:
        """Say how it ended; the exit code."""
        if self._as_json:
            verdicts = {service: one.word for service, one in self._last.items()}
            show_json({"result": {"simulated": self._simulated, "services": verdicts, "exit_code": 0}})
        else:
            say(f"{'SIMULATED  ' if self._simulated else ''}the watch is stopped")
        return 0

    def _read(self, adapter: Adapter) -> Answers:
        return {name: probe(adapter, name, self._services) for name in self._family.surveyed}

    def _one(self, service: str, answers: Sequence[Answers], now: float) -> None:
        first, second = (
            end_of(self._family, name, found, service) for name, found in zip(self._pair.sites, answers, strict=True)
        )
        position = position_of(self._family, (first, second))
        before, self._last[service] = self._last.get(service), position
        if self._as_json:
            ends = {one.site: figures_of(one) for one in (first, second)}
            head = {"at": iso(now), "simulated": self._simulated, "service": service}
            show_json({**head, "verdict": position.word, "sites": ends})
            return
        marker = "SIMULATED  " if self._simulated else ""
        alarm = "" if position.is_good or before == position else "! "
        ends_in_words = "; ".join(row_words(one) for one in (first, second))
        show(f"{iso(now)[11:19]}Z {marker}{service}: {alarm}{position.word}: {ends_in_words}")
