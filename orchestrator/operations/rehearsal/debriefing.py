"""The result of a rehearsal, from its record and from the simulated world's own account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from orchestrator.clock import Clock
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.model.inventory import Site
from orchestrator.operations.runtime import Tools
from orchestrator.reports.approval import DecisionReport
from orchestrator.reports.report import build
from simulator.world.account_figures import accounts


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A question that became unnecessary, ``seconds`` after it was asked, so the run withdrew it."""

    service: str | None
    gate: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Debriefing:
    """``decided``: each decision, with its service. ``withdrawn``: the questions that did not have to be answered.
    ``figures``: messages lost, stranded, duplicated, out of order, and how often both sites served, by the world's own
    account. ``decided`` is None if the rehearsed command led no run: nothing was decided or withdrawn."""

    decided: Sequence[tuple[str, DecisionReport]] | None
    withdrawn: Sequence[Withdrawn]
    figures: Mapping[str, int]


def newest_run(tools: Tools) -> str | None:
    """The name of the newest recorded run."""
    with closing(tools.journal()) as journal:
        return _newest(journal)


def debriefing(tools: Tools, source: Site, services: Sequence[str], *, before: str | None) -> Debriefing:
    """The debriefing on the run of the rehearsed command. ``before``: the newest run before the command."""
    with closing(tools.journal()) as journal:
        run = _newest(journal)
        records = [] if run is None or run == before else list(journal.records(run))
    decided = [(lane.service, one) for lane in build(records).lanes for one in lane.decisions] if records else None
    return Debriefing(decided, list(_withdrawn(records)), _figures(source, tools.clock, services))


def _newest(journal: Journal) -> str | None:
    rows = journal.runs()
    return rows[0].run if rows else None


def _figures(source: Site, clock: Clock, services: Sequence[str]) -> Mapping[str, int]:
    account = accounts(source, clock, services)
    return {key: sum(one[key] for one in account.values()) for key in next(iter(account.values()))}


def _withdrawn(records: Sequence[ev.Record]) -> Iterator[Withdrawn]:
    asked: dict[tuple[str | None, str, str | None], float] = {}
    for record in records:
        match record.event:
            case ev.GateOpened(gate=gate, item=item):
                asked[(record.lane, gate, item)] = record.at
            case ev.GateWithdrawn(gate=gate, item=item) if (record.lane, gate, item) in asked:
                seconds = record.at - asked.pop((record.lane, gate, item))
                yield Withdrawn(record.lane, gate, seconds)
            case _:
                continue
