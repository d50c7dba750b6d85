"""Reads every service of every pair from both sites at once, for ``failover status``."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from orchestrator.cli.terminal import presentable, show_document, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.clock import iso
from orchestrator.contract import Failure, Setting
from orchestrator.errors import AdapterError, DefinitionError
from orchestrator.readings import QueueDepth, Reading, ReplicationStatus, Transactions
from orchestrator.site import Inventory, Pair, Site

_READINGS = ("replication", "replication_queue", "transactions")
# Without a terminal nothing has to fit on a line.
_UNLIMITED = 1_000


@dataclass(frozen=True, slots=True)
class SiteSurvey:
    """What one site said of each service, by reading."""

    site: str
    answers: Mapping[str, Mapping[str, Reading | Failure]]

    def of(self, reading: str, service: str) -> Reading | Failure | None:
        """One answer."""
        return self.answers[reading].get(service)


def show_survey(tools: Tools, inventory: Inventory, only: str | None, *, as_json: bool) -> int:
    """Print the state of the pairs. Returns the exit code: 0, or 4 when something is wrong or unknown."""
    pairs = [pair for pair in inventory.pairs if only in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {only!r}", hint=f"the inventory has: {known}")
    simulated = tools.is_simulated(inventory)
    surveyed = [(pair, _survey(tools, inventory, pair)) for pair in pairs]
    rows = [row for pair, sites in surveyed for row in _rows(pair, sites)]
    if as_json:
        show_json({"simulated": simulated, "at": iso(tools.clock.now()), "services": rows})
    else:
        _print(rows, simulated)
    return 0 if all(row["verdict"] == "ok" for row in rows) else 4


def _survey(tools: Tools, inventory: Inventory, pair: Pair) -> Sequence[SiteSurvey]:
    sites = [inventory.sites[name] for name in pair.sites]
    with ThreadPoolExecutor(len(sites)) as pool:
        return list(pool.map(lambda site: _read(tools, site, pair.services), sites))


def _read(tools: Tools, site: Site, services: Sequence[str]) -> SiteSurvey:
    adapter = tools.registry.adapter_for(site, Setting(tools.clock, tools.secrets, read_only=True))
    answers: dict[str, Mapping[str, Reading | Failure]] = {}
    try:
        for reading in _READINGS:
            try:
                answers[reading] = adapter.probe(reading, services)
            except AdapterError as error:
                answers[reading] = dict.fromkeys(services, Failure.of(error))
    finally:
        adapter.close()
    return SiteSurvey(site.name, answers)


def _rows(pair: Pair, sites: Sequence[SiteSurvey]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for service in pair.services:
        ends = {one.site: _end(one, service) for one in sites}
        verdict = _verdict(list(ends.values()))
        rows.append({"pair": pair.name, "service": service, "verdict": verdict, "sites": ends})
    return rows


def _end(survey: SiteSurvey, service: str) -> dict[str, object]:
    end: dict[str, object] = dict.fromkeys(("role", "bridge", "queue_bound", "messages", "prepared", "replicated"))
    replication = survey.of("replication", service)
    if isinstance(replication, ReplicationStatus):
        end |= {"role": replication.role, "bridge": replication.bridge, "queue_bound": replication.queue_bound}
        end["sync_eligible"] = replication.sync_eligible
        end["replicated"] = replication.enabled
    queue = survey.of("replication_queue", service)
    if isinstance(queue, QueueDepth):
        end["messages"] = queue.messages
    transactions = survey.of("transactions", service)
    if isinstance(transactions, Transactions):
        end["prepared"] = sum(item.state == "prepared" for item in transactions.items)
    failures = [answer.text for answer in (replication, queue, transactions) if isinstance(answer, Failure)]
    if failures:
        end["error"] = failures[0]
    return end


def _verdict(ends: Sequence[Mapping[str, object]]) -> str:
    """``ok`` only when everything needed was read and fits."""
    errors = [str(end["error"]) for end in ends if "error" in end]
    if errors:
        return f"unknown: {errors[0]}"
    roles = sorted(str(end["role"]) for end in ends)
    if any(end["replicated"] is False for end in ends):
        return "not replicated"
    if roles == ["active", "active"]:
        return "BOTH ACTIVE"
    if roles == ["standby", "standby"]:
        return "no active site"
    if roles != ["active", "standby"]:
        return "unknown: a role was not told"
    active = next(end for end in ends if end["role"] == "active")
    standby = next(end for end in ends if end["role"] == "standby")
    if standby["bridge"] == "bound" and active["queue_bound"] is True:
        return "ok"
    return "bridge not bound"


def _print(rows: Sequence[Mapping[str, object]], simulated: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("service", "site", "role", "bridge", "queue", "prepared", ""):
        table.add_column(column, justify="right" if column in ("queue", "prepared") else "left")
    for row in rows:
        ends = row["sites"]
        assert isinstance(ends, dict)
        for number, (site, end) in enumerate(ends.items()):
            table.add_row(
                str(row["service"]) if number == 0 else "",
                site,
                _word(end["role"]),
                _bridge(end),
                _word(end["messages"]),
                _word(end["prepared"]),
                presentable(str(row["verdict"])) if number == 0 else "",
            )
    paper = io.StringIO()
    Console(file=paper, highlight=False, markup=False, width=None if sys.stdout.isatty() else _UNLIMITED).print(table)
    if simulated:
        show_document("SIMULATED")
    show_document("\n".join(line.rstrip() for line in paper.getvalue().rstrip().splitlines()))


def _word(value: object) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _bridge(end: Mapping[str, object]) -> str:
    """The flag that means something on this side."""
    if end["role"] == "active":
        bound = end["queue_bound"]
        return "unknown" if bound is None else "mate bound" if bound else "mate not bound"
    return _word(end["bridge"])
