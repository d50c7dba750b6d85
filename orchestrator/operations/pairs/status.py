"""Reads every service of every pair from both sites at the same time, repeatedly, and judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from orchestrator.core.pair_position import compared, end_of, position_of
from orchestrator.family.contract import Adapter
from orchestrator.family.offers import offering
from orchestrator.family.reachability import probe
from orchestrator.family.status import Answers, Figures, StatusPart
from orchestrator.model.families import needed_family
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.operations.active_runs import OpenRuns, open_runs
from orchestrator.operations.families import family_of, unknown_family
from orchestrator.operations.pairs.last_readings import remember
from orchestrator.operations.pairs.status_facets import part_of
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import pairs_of


@dataclass(frozen=True, slots=True)
class SiteSurvey:
    """The answers of one site for each service, by reading. ``unknown``: why the site was not read, or empty."""

    site: str
    family: str
    answers: Answers
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One service: its verdict, the figures of both sites, and the remedy, or empty. ``family``: empty if it is
    unknown."""

    family: str
    pair: str
    service: str
    verdict: str
    sites: Mapping[str, Figures]
    hint: str = ""

    def as_data(self) -> dict[str, object]:
        """For machines."""
        data: dict[str, object] = {
            "pair": self.pair,
            "service": self.service,
            "verdict": self.verdict,
            "sites": self.sites,
        }
        return data | ({"hint": self.hint} if self.hint else {})


@dataclass(frozen=True, slots=True)
class Look:
    """The pairs as they were read at one time. ``remember`` keeps the readings."""

    rows: Sequence[Row]
    held: OpenRuns
    remember: Callable[[], None]

    @property
    def exit_code(self) -> int:
        """0, or 4 when something is wrong or unknown."""
        return 0 if self.rows and all(row.verdict == "ok" for row in self.rows) else 4


def looks(tools: Tools, inventory: Inventory, only: str | None) -> Iterator[Look]:
    """The state of the pairs, or of one, read again for each item. Sessions stay open in between. Raises
    ``DefinitionError`` for an unknown pair."""
    return _looks(tools, inventory, pairs_of(inventory, only))


def _looks(tools: Tools, inventory: Inventory, pairs: Sequence[Pair]) -> Iterator[Look]:
    sites = list(dict.fromkeys(name for pair in pairs for name in pair.sites))
    with ExitStack() as opened, ThreadPoolExecutor(len(sites)) as pool:
        context = tools.to_read
        adapters = {name: tools.registry.adapter_for(inventory.sites[name], context) for name in sites}
        for adapter in adapters.values():
            opened.callback(adapter.close)
        services = {name: [s for p in pairs if name in p.sites for s in p.services] for name in sites}
        families = {name: family_of(tools, inventory.sites[name]) for name in sites}
        while True:
            now = tools.clock.now()
            asked = {
                name: pool.submit(_read, inventory.sites[name], families[name], adapters[name], services[name])
                for name in sites
            }
            seen = {name: answer.result() for name, answer in asked.items()}
            rows = [row for pair in pairs for row in _rows(pair, [seen[name] for name in pair.sites])]
            held = open_runs(tools, inventory, pairs)
            yield Look(
                [_led_on(row, held) for row in rows], held, partial(_remember, tools, inventory, seen, services, now)
            )


def _remember(
    tools: Tools,
    inventory: Inventory,
    seen: Mapping[str, SiteSurvey],
    services: Mapping[str, Sequence[str]],
    at: float,
) -> None:
    for name, one in seen.items():
        remember(tools, inventory.sites[name], one.answers, services[name], at)


def _read(site: Site, family: str, adapter: Adapter, services: Sequence[str]) -> SiteSurvey:
    if not family:
        return SiteSurvey(site.name, "", {}, unknown_family(site))
    readings = status_part(family).readings
    return SiteSurvey(site.name, family, {reading: probe(adapter, reading, services) for reading in readings})


def _rows(pair: Pair, sites: Sequence[SiteSurvey]) -> list[Row]:
    unknown = next((one.unknown for one in sites if one.unknown), "")
    if unknown:
        nothing = {one.site: {"error": one.unknown or unknown} for one in sites}
        return [Row("", pair.name, service, f"unknown: {unknown}", nothing) for service in pair.services]
    return [Row(sites[0].family, pair.name, service, *judged(service, sites)) for service in pair.services]


def judged(service: str, sites: Sequence[SiteSurvey]) -> tuple[str, dict[str, Figures], str]:
    """The verdict on one service, the figures of both sites, and the remedy."""
    kind = needed_family(sites[0].family)
    part = status_part(kind.name)
    first, second = (end_of(kind, one.site, one.answers, service, part.readings) for one in sites)
    ends = compared(kind, (first, second))
    position = position_of(kind, ends, service)
    figures = {one.site: part.figures(one.answers, service) for one in sites}
    for end in ends:
        if figures[end.site].get("backlog", 0) is None:
            figures[end.site] = {**figures[end.site], "backlog": end.backlog}
    hint = part.repair(service, figures) if position.is_wrong else ""
    return position.remarked(part.remark(position.word, figures)), figures, hint


def status_part(family: str) -> StatusPart:
    """The status table of this family: its own, or one of its facets."""
    kind = offering(family)
    return kind.status() or part_of(kind)


def _led_on(row: Row, held: OpenRuns) -> Row:
    """The row with a hint about the run that holds its service. Until that run ends, the command in the row's own hint
    would be refused."""
    ways = held.ways_on(row.service) if row.hint else ""
    return replace(row, hint=ways) if ways else row
