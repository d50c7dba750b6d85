"""Reads both sites of a pair at the same time, and compares their messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.operations.exports.reuse import ended, readings_left
from orchestrator.operations.exports.snapshot import SnapshotRequest, collect_site
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.collect import Progress
    from pipeline.engines.settings import Settings
    from pipeline.report import Report

Observe = Callable[["Progress"], None]
# Makes an observer for each site, for the time of the reading.
Observers = Callable[[Sequence[str]], AbstractContextManager[Mapping[str, Observe]]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare: ``services`` of ``pair``, or all if none is named. The exports are filed under ``run``."""

    pair: Pair
    services: Sequence[str]
    run: str | None


def compared(
    tools: Tools,
    inventory: Inventory,
    wanted: Comparison,
    folder: Path,
    settings: Settings,
    observers: Observers,
    say: Callable[[str], None],
) -> Report:
    """Read both sites into ``folder`` and compare them. Afterwards ``folder/evidence`` has the report.

    Raises ``FailoverError``. The same call resumes a reading that stopped, if the reading started recently.
    """
    from pipeline.ask import Ask
    from pipeline.commands import run_reconcile
    from pipeline.results import check_free

    pair, services = wanted.pair, _services_of(wanted.pair, wanted.services)
    evidence = str(folder / "evidence")
    check_free(evidence)
    asked = [SnapshotRequest(site, services, wanted.run) for site in pair.sites]
    to_read = readings_left(tools, inventory, asked, folder, say)
    if to_read:
        with observers(pair.sites) as told, ThreadPoolExecutor(len(to_read)) as pool:
            readings = [
                pool.submit(collect_site, tools, inventory, one, folder / one.site, told[one.site]) for one in to_read
            ]
            for reading in readings:
                reading.result()
    left, right = (str(folder / site) for site in pair.sites)
    report = run_reconcile(left, right, Ask(run=None), settings, evidence, tools.clock, say)
    ended(folder)
    return report


def _services_of(pair: Pair, named: Sequence[str]) -> tuple[str, ...]:
    """The services to compare: the named ones, or all of the pair. Raises ``DefinitionError``."""
    for service in named:
        if service not in pair.services:
            raise DefinitionError(
                f"{service} is not a service of pair {pair.name}",
                hint=f"the pair has: {', '.join(sorted(pair.services))}",
            )
    return tuple(named or pair.services)


def pair_of(inventory: Inventory, name: str | None) -> Pair:
    """The pair with this name, or the only one. Raises ``DefinitionError``."""
    names = ", ".join(pair.name for pair in inventory.pairs)
    if name is None:
        if len(inventory.pairs) != 1:
            raise DefinitionError(
                "which pair?", hint=f"name the pair with --pair; the inventory has: {names or 'none'}"
            )
        return inventory.pairs[0]
    found = next((pair for pair in inventory.pairs if pair.name == name), None)
    if found is None:
        raise DefinitionError(f"no pair is called {name!r}", hint=f"the inventory has: {names or 'none'}")
    return found
