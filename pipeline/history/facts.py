"""One exported run, or kept checks, as rows of facts. This module runs on Spark's workers, but does not need Spark.

A run's facts come from its report (``orchestrator.reports.report``), so they agree with its screen and its exit code. A
file that fails verification gives one row with the reason. It is counted, and never left out silently.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ValidationError

from orchestrator.errors import FailoverError
from orchestrator.journal.hash_chain import follow_exported, record_of
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.places import place_of
from orchestrator.model.readings import is_backlog
from orchestrator.reports.report import LaneReport, build

Where = tuple[str, str]  # a service, and a step of its lane
Kind = Literal["run", "lane", "step", "drain", "action", "failure", "check", "unread"]


class Fact(NamedTuple):
    """One row. ``at``: seconds since the epoch: the start of the run or of the drain, or the time of the check.
    ``file``: the file of the fact. ``place``: the devices of the pair of a run. The other fields depend on ``kind``:

    - run: ``seconds`` of the run, ``state`` its outcome, ``amount`` of records in ``file``.
    - lane: ``seconds`` without an active site (None: activity never moved), ``state`` its outcome.
    - step: ``name``, ``seconds`` without the waits for people's answers, ``state`` (done, failed, …),
      ``amount`` its number in the runbook, from 1.
    - drain: ``name`` of the step, ``amount`` of messages at the first reading of the replication queue, ``seconds`` from
      this reading to the end of the wait.
    - action: ``name``, ``site``, ``device``, ``amount`` attempts, ``state`` the effect of the last one.
    - failure: a reading that failed: ``name``, ``site``, ``amount`` of failures, ``state`` the kind of error.
    - check: ``name`` of the check, ``site`` or ``service``, ``state`` (ok, note, warning, error, unknown).
    - unread: ``state`` the reason why the file was not read.
    """

    kind: Kind
    at: float = 0.0
    simulated: bool | None = None
    run: str | None = None
    runbook: str | None = None
    service: str | None = None
    site: str | None = None
    device: str | None = None
    name: str | None = None
    state: str | None = None
    seconds: float | None = None
    amount: float | None = None
    file: str | None = None
    place: str | None = None


def facts_of_text(name: str, text: str) -> list[Fact]:
    """The facts in the text of one file: a run as JSON Lines, or one or more outputs of ``failover check --json``."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            lines += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError):
            return [unread(name, f"line {number} is not JSON")]
    return facts_of_lines(name, lines)


def facts_of_lines(name: str, lines: list[Any]) -> list[Fact]:
    """The facts in decoded lines: the stored records of a run, or documents of a check."""
    if not lines:
        return [unread(name, "it is empty")]
    try:
        if all("pairs" in line and "at" in line for line in lines):
            facts = [fact for line in lines for fact in _of_check(line)]
        else:
            facts = list(facts_of_run([record_of(run, link) for run, link in follow_exported(lines)]))
    except FailoverError as error:
        return [unread(name, str(error))]
    except ValidationError as error:
        return [unread(name, f"this file is neither an exported run nor a kept check ({error.errors()[0]['msg']})")]
    except (ValueError, KeyError, TypeError) as error:
        return [
            unread(name, f"this file is neither an exported run nor a kept check ({type(error).__name__}: {error})")
        ]
    return [fact._replace(file=name) for fact in facts]


def unread(name: str, why: str) -> Fact:
    """The fact that a file could not be used."""
    return Fact("unread", state=why[:300], file=name)


def facts_of_run(records: list[ev.Record]) -> Iterator[Fact]:
    """All facts of one run. ``records``: its records, starting with the first."""
    report = build(records)
    created = records[0].event
    assert isinstance(created, ev.RunCreated)  # `build` requires it
    plan, at = created.plan, records[0].at
    base = Fact("run", at, report.simulated, report.run, report.runbook, place=place_of(plan))
    state = str(report.outcome or report.status)
    yield base._replace(seconds=report.seconds, state=state, amount=float(len(records)))
    waited = _waited(records)
    for lane in report.lanes:
        yield from _of_lane(base, plan, lane, waited)
    yield from _drains(base, plan, records)
    yield from _actions(base, plan, records)
    yield from _failures(base, plan, records)


def _of_lane(base: Fact, plan: ev.Plan, lane: LaneReport, waited: Mapping[Where, float]) -> Iterator[Fact]:
    own = base._replace(service=lane.service)
    yield own._replace(kind="lane", seconds=lane.outage_seconds, state=str(lane.outcome or lane.status))
    for step in lane.steps:
        number = float(plan.runbook.index_of(step.id) + 1)
        seconds = None if step.seconds is None else round(step.seconds - waited.get((lane.service, step.id), 0.0), 3)
        yield own._replace(kind="step", name=step.id, seconds=seconds, state=step.status, amount=number)


def _waited(records: Iterable[ev.Record]) -> Mapping[Where, float]:
    """The seconds that each step waited for people: from each question to its answer. Overlapping waits count once. A
    withdrawn question does not count."""
    asked: dict[tuple[str, str, str | None], tuple[str, float]] = {}
    answered: dict[Where, list[tuple[float, float]]] = {}
    for record in records:
        lane, event = record.lane, record.event
        match event:
            case ev.GateOpened() if lane is not None:
                asked.setdefault((lane, event.gate, event.item), (event.step, record.at))
            case ev.GateDecided() | ev.GateWithdrawn() if lane is not None:
                step, at = asked.pop((lane, event.gate, event.item), ("", record.at))
                if isinstance(event, ev.GateDecided):
                    answered.setdefault((lane, step), []).append((at, record.at))
    return {where: _covered(spans) for where, spans in answered.items()}


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """The seconds that ``spans`` cover, with overlaps counted once."""
    covered, end = 0.0, float("-inf")
    for begin, until in sorted(spans):
        covered += max(0.0, until - max(begin, end))
        end = max(end, until)
    return covered


def _drains(base: Fact, plan: ev.Plan, records: Iterable[ev.Record]) -> Iterator[Fact]:
    """Each wait for a replication queue that had messages. After a resume the measurement restarts, because there are no
    readings of the time before."""
    waiting = {step.id: step.progress for step in plan.runbook.steps if step.progress is not None}
    followed = {name for name, one in waiting.items() if is_backlog(one.reading, one.field, plan.runbook.family)}
    waits: dict[str | None, str] = {}
    begun: dict[str | None, Fact] = {}
    for record in records:
        lane, event = record.lane, record.event
        match event:
            case ev.StepStarted():
                waits[lane] = event.step
                begun.pop(lane, None)
            case ev.LaneResumed():
                begun.pop(lane, None)
            case ev.Observed() if event.gauge and waits.get(lane) in followed and lane not in begun:
                drain = base._replace(kind="drain", at=record.at, service=lane, name=waits[lane])
                begun[lane] = drain._replace(amount=event.gauge)
            case ev.StepDone() if lane in begun and waits[lane] == event.step:
                drain = begun.pop(lane)
                yield drain._replace(seconds=round(record.at - drain.at, 3))


def _actions(base: Fact, plan: ev.Plan, records: Iterable[ev.Record]) -> Iterator[Fact]:
    """One fact for each intended action, for any number of attempts."""
    tried: dict[tuple[Any, ...], Fact] = {}
    intents: dict[tuple[str | None, int], tuple[Any, ...]] = {}
    for record in records:
        event = record.event
        if isinstance(event, ev.ActionIntended):
            what = (record.lane, event.step, event.on, event.action, event.item, event.undo)
            intents[record.lane, event.intent] = what
            before = tried.get(what)
            amount = 1.0 if before is None else (before.amount or 0.0) + 1.0
            tried[what] = base._replace(
                kind="action",
                service=record.lane,
                site=plan.site_name(event.on),
                name=event.action,
                amount=amount,
                state=str(Effect.DOUBTFUL),  # until the outcome is known
            )
        elif isinstance(event, ev.ActionEnded) and (record.lane, event.intent) in intents:
            what = intents[record.lane, event.intent]
            tried[what] = tried[what]._replace(state=str(event.effect), device=event.device or None)
    yield from tried.values()


def _failures(base: Fact, plan: ev.Plan, records: Iterable[ev.Record]) -> Iterator[Fact]:
    counted: Counter[tuple[str | None, str, str, str]] = Counter()
    for record in records:
        if isinstance(record.event, ev.Observed):
            for seen in record.event.seen:
                if seen.failure is not None:
                    counted[record.lane, plan.site_name(seen.on), seen.reading, seen.failure.kind] += 1
    for (lane, site, reading, error), times in counted.items():
        yield base._replace(kind="failure", service=lane, site=site, name=reading, state=error, amount=float(times))


class _Service(BaseModel):
    service: str
    checks: dict[str, str]


class _Pair(BaseModel):
    sites: dict[str, dict[str, str]]
    services: tuple[_Service, ...]


class _Check(BaseModel):
    """The used fields of one ``failover check --json``."""

    at: AwareDatetime
    simulated: bool
    pairs: tuple[_Pair, ...]


def _of_check(document: object) -> Iterator[Fact]:
    """The states in one ``failover check --json``. Raises ``ValidationError``."""
    check = _Check.model_validate(document)
    base = Fact("check", check.at.timestamp(), check.simulated)
    for pair in check.pairs:
        for site, checks in pair.sites.items():
            for name, state in checks.items():
                yield base._replace(site=site, name=name, state=state)
        for one in pair.services:
            for name, state in one.checks.items():
                yield base._replace(service=one.service, name=name, state=state)
