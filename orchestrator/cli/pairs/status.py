"""Reads every service of every pair from both sites at once, once or again and again, for ``failover status``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from rich.live import Live
from rich.text import Text

from orchestrator.cli.pairs.store_samples import Keeping
from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import presentable, show_document, show_json
from orchestrator.cli.runs.signals import until_stopped
from orchestrator.clock import iso
from orchestrator.core import pair_position as pairing
from orchestrator.core.pair_position import BOTH_ACTIVE, NONE_ACTIVE
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, Setting
from orchestrator.family.reachability import probe
from orchestrator.model.families import needed_family
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings_solace import QueueDepth, ReplicationStatus, Transactions, TransactionState
from orchestrator.operations import status_amps as survey_amps
from orchestrator.operations import status_facets as survey_facets
from orchestrator.operations.active_runs import OpenRuns, open_runs
from orchestrator.operations.families import AMPS, SOLACE, family_of, unknown_family
from orchestrator.operations.runtime import Tools
from orchestrator.reports.next_steps import named

_READINGS = ("replication", "replication_queue", "transactions")
_COLUMNS = ("service", "site", "role", "bridge", "queue", "prepared", "")
_NUMBERS = frozenset({"queue", "prepared", "clients", "behind", "owned", *survey_facets.NUMBERS})


@dataclass(frozen=True, slots=True)
class SiteSurvey:
    """What one site said of each service, by reading. ``unknown``: why nothing was asked of it, or empty."""

    site: str
    family: str
    answers: Mapping[str, Mapping[str, Reading | Failure]]
    unknown: str = ""

    def of(self, reading: str, service: str) -> Reading | Failure | None:
        """One answer."""
        return self.answers[reading].get(service)


Rows = Sequence[Mapping[str, object]]


def show_survey(
    tools: Tools, inventory: Inventory, only: str | None, *, as_json: bool, every_s: float | None = None
) -> int:
    """Print the state of the pairs; with ``every_s`` again and again, that many seconds apart, until it is stopped.

    Returns the exit code of the last look: 0, or 4 when something is wrong or unknown.
    """
    pairs = [pair for pair in inventory.pairs if only in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {only!r}", hint=f"the inventory has: {known}")
    looks = _looks(tools, inventory, pairs)
    simulated = tools.is_simulated(inventory)
    code = 4  # stopped before the first look
    with until_stopped(), _Paper(simulated, as_json=as_json, redraws=every_s is not None) as paper:
        for rows, remember in looks:
            code = 0 if rows and all(row["verdict"] == "ok" for row in rows) else 4
            held = open_runs(tools, inventory, pairs)
            paper.put([_led_on(row, held) for row in rows], held, tools.clock.now(), code)
            remember()  # it is shown first: a person waits for it
            if every_s is None:
                break
            tools.clock.sleep(every_s)
    return code


def _looks(tools: Tools, inventory: Inventory, pairs: Sequence[Pair]) -> Iterator[tuple[Rows, Callable[[], None]]]:
    """The state of the pairs, read anew each time, and what keeps it; sessions stay open in between."""
    sites = list(dict.fromkeys(name for pair in pairs for name in pair.sites))
    with ExitStack() as opened, ThreadPoolExecutor(len(sites)) as pool:
        setting = Setting(tools.clock, tools.secrets, read_only=True)
        adapters = {name: tools.registry.adapter_for(inventory.sites[name], setting) for name in sites}
        for adapter in adapters.values():
            opened.callback(adapter.close)
        services = {name: [s for p in pairs if name in p.sites for s in p.services] for name in sites}
        families = {name: family_of(tools, inventory.sites[name]) for name in sites}
        keeping = Keeping(tools, inventory, None, "check")
        while True:
            now = tools.clock.now()
            asked = {
                name: pool.submit(_read, inventory.sites[name], families[name], adapters[name], services[name])
                for name in sites
            }
            seen = {name: answer.result() for name, answer in asked.items()}
            rows = [row for pair in pairs for row in _rows(pair, [seen[name] for name in pair.sites])]
            yield rows, partial(_remember, keeping, seen, services, now)


def _remember(
    keeping: Keeping, seen: Mapping[str, SiteSurvey], services: Mapping[str, Sequence[str]], at: float
) -> None:
    for name, one in seen.items():
        keeping.remember(name, one.answers, services[name], at)


def _read(site: Site, family: str, adapter: Adapter, services: Sequence[str]) -> SiteSurvey:
    if not family:
        return SiteSurvey(site.name, "", {}, unknown_family(site))
    readings = {AMPS: survey_amps.READINGS, SOLACE: _READINGS}.get(family) or needed_family(family).surveyed
    return SiteSurvey(site.name, family, {reading: probe(adapter, reading, services) for reading in readings})


def _rows(pair: Pair, sites: Sequence[SiteSurvey]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    unknown = next((one.unknown for one in sites if one.unknown), "")
    for service in pair.services if unknown else ():
        nothing = {one.site: {"error": one.unknown or unknown} for one in sites}
        rows.append({"pair": pair.name, "service": service, "verdict": f"unknown: {unknown}", "sites": nothing})
    for service in () if unknown else pair.services:
        word, ends, hint = _judged(service, sites)
        rows.append({"pair": pair.name, "service": service, "verdict": word, "sites": ends, **hint})
    return rows


def _judged(service: str, sites: Sequence[SiteSurvey]) -> tuple[str, dict[str, dict[str, object]], Mapping[str, str]]:
    """The verdict on one service, the figures of both sites, and what to do."""
    family = sites[0].family
    if family == AMPS:
        ends = {one.site: survey_amps.end_of(one.answers, service) for one in sites}
        return survey_amps.verdict(list(ends.values())), ends, {}
    if family == SOLACE:
        ends = {one.site: end_of(one, service) for one in sites}
        word = verdict(list(ends.values()))
        return word, ends, _hint(word, service)
    kind = needed_family(family)
    first, second = (pairing.end_of(kind, one.site, one.answers, service) for one in sites)
    figures = {one.site: survey_facets.figures_of(one) for one in (first, second)}
    return pairing.position_of(kind, (first, second)).word, figures, {}


def _hint(verdict: str, service: str) -> dict[str, str]:
    """The command that repairs such a pair, if there is one."""
    if not verdict.startswith((BOTH_ACTIVE, NONE_ACTIVE)):
        return {}
    return {"hint": f"choose the site to be active: `failover repair {named('solace/', service)} --to SITE`"}


def _led_on(row: Mapping[str, object], held: OpenRuns) -> Mapping[str, object]:
    """The row with the run that left it so, in place of a command that would be refused beside that run."""
    ways = held.ways_on(str(row["service"])) if "hint" in row else ""
    return {**row, "hint": ways} if ways else row


def end_of(survey: SiteSurvey, service: str) -> dict[str, object]:
    """A service of appliances as one site shows it, by figure; None is unknown."""
    end: dict[str, object] = dict.fromkeys(
        ("role", "bridge", "queue_bound", "messages", "suspended", "prepared", "replicated")
    )
    replication = survey.of("replication", service)
    if isinstance(replication, ReplicationStatus):
        end |= {"role": replication.role, "bridge": replication.bridge, "queue_bound": replication.queue_bound}
        end["sync_eligible"] = replication.sync_eligible
        end["replicated"] = replication.enabled
    queue = survey.of("replication_queue", service)
    if isinstance(queue, QueueDepth):
        end["messages"] = queue.messages
        end["suspended"] = None if queue.rejects_on_discard is None else not queue.rejects_on_discard
    transactions = survey.of("transactions", service)
    if isinstance(transactions, Transactions):
        states = [item.state for item in transactions.items]
        end["prepared"] = None if None in states else states.count(TransactionState.PREPARED)
    failures = [answer.text for answer in (replication, queue, transactions) if isinstance(answer, Failure)]
    if failures:
        end["error"] = failures[0]
    return end


def verdict(ends: Sequence[Mapping[str, object]]) -> str:
    """``ok`` only when everything needed was read and fits, and no site that may serve has replication suspended."""
    word = _standing(ends)
    if not any(end["suspended"] is True and end["role"] != "standby" for end in ends):
        return word
    suspended = "replication is suspended"
    return suspended if word == "ok" else f"{word}; {suspended}"


def _standing(ends: Sequence[Mapping[str, object]]) -> str:
    errors = [str(end["error"]) for end in ends if "error" in end]
    if errors:
        return f"unknown: {errors[0]}"
    roles = sorted(str(end["role"]) for end in ends)
    if any(end["replicated"] is False for end in ends):
        return "not replicated"
    if roles == ["active", "active"]:
        return BOTH_ACTIVE
    if roles == ["standby", "standby"]:
        return NONE_ACTIVE
    if roles != ["active", "standby"]:
        return "unknown: a role was not told"
    active = next(end for end in ends if end["role"] == "active")
    standby = next(end for end in ends if end["role"] == "standby")
    if standby["bridge"] != "bound" or active["queue_bound"] is not True:
        return "bridge not bound"
    left = standby["messages"]  # the active site did not get them (docs/sources/solace-procedure.md, uncontrolled 1)
    return f"{counted(left, 'message')} left at the standby" if isinstance(left, int) and left else "ok"


class _Paper:
    """Where the table goes: redrawn in its place on a terminal, one after the other elsewhere, or JSON lines."""

    def __init__(self, simulated: bool, *, as_json: bool, redraws: bool) -> None:
        self._simulated, self._as_json, self._redraws = simulated, as_json, redraws
        self._live = Live(auto_refresh=False) if redraws and not as_json and sys.stdout.isatty() else None

    def __enter__(self) -> _Paper:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def put(self, rows: Rows, held: OpenRuns, at: float, code: int) -> None:
        """Show one look, taken at that time; ``code`` is the exit code if it is the last."""
        if self._as_json:
            look = {"simulated": self._simulated, "at": iso(at), "services": rows, "runs": held.document}
            show_json({**look, "exit_code": code})
            return
        lines = ["SIMULATED"] if self._simulated else []
        if self._redraws:
            lines.append(f"{iso(at)}, until Ctrl-C")
        hints = [f"{row['service']}: {row['verdict']}: {row['hint']}" for row in rows if "hint" in row]
        text = "\n".join([*lines, *_table(rows), *map(presentable, hints), *held.lines()])
        if self._live is None:
            show_document(text)
        else:
            self._live.update(Text(text), refresh=True)


def _table(rows: Rows) -> list[str]:
    """A table for each family that there is."""
    lines: list[str] = []
    for field, columns, cells in (
        ("role", _COLUMNS, _cells),
        ("transports", survey_amps.COLUMNS, survey_amps.cells),
        ("serves", survey_facets.COLUMNS, survey_facets.cells),
        (None, ("service", "site", ""), lambda end: []),
    ):
        those = [row for row in rows if _shown_by(row) == field]
        if those:
            lines += [*([""] if lines else []), *_drawn(those, columns, cells)]
    return lines


def _shown_by(row: Mapping[str, object]) -> str | None:
    """The figure that only its family has; None for a family that is not known."""
    ends = _ends(row).values()
    return next((field for field in ("role", "transports", "serves") if any(field in end for end in ends)), None)


def _ends(row: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    ends = row["sites"]
    assert isinstance(ends, dict)
    return ends


def _cells(end: Mapping[str, object]) -> list[str]:
    return [_word(end["role"]), _bridge(end), _word(end["messages"]), _word(end["prepared"])]


def _drawn(rows: Rows, columns: Sequence[str], cells: Callable[[Mapping[str, object]], list[str]]) -> list[str]:
    table = plain_table(*columns, numbers=_NUMBERS)
    for row in rows:
        for number, (site, end) in enumerate(_ends(row).items()):
            table.add_row(
                str(row["service"]) if number == 0 else "",
                site,
                *map(presentable, cells(end)),
                presentable(str(row["verdict"])) if number == 0 else "",
            )
    return list(lines_of(table))


def _word(value: object) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _bridge(end: Mapping[str, object]) -> str:
    """The flag that means something on this side."""
    if end["role"] == "active":
        bound = end["queue_bound"]
        return "unknown" if bound is None else "mate bound" if bound else "mate not bound"
    return _word(end["bridge"])
