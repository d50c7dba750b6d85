"""What ``failover runs list``, ``show``, ``report`` and ``export`` print: folds of the journal, as text or JSON."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from orchestrator.cli.render.outcome import report_lines
from orchestrator.cli.render.screen import event_line, stands
from orchestrator.cli.render.terminal import say, show, show_json, show_stored
from orchestrator.clock import iso
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError, JournalCorrupt
from orchestrator.journal.errors import gone
from orchestrator.journal.journal import Journal, RunRow
from orchestrator.journal.lease import LEASE_SECONDS, is_led, leader
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_run
from orchestrator.operations.runtime import Tools
from orchestrator.reports.document import Alarm, LaneReport, OpenQuestion, RunDocument, RunReport
from orchestrator.reports.next_steps import named
from orchestrator.reports.report import build, run_and_report
from orchestrator.reports.wording import called, direction, sentence

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def print_list(tools: Tools, limit: int, *, as_json: bool) -> int:
    """One line a run. Returns 0, or 4 when the record of one cannot be read, or is gone before its end."""
    corrupt = 0
    with closing(tools.journal()) as journal:
        rows = journal.runs()
        for row in rows[:limit]:
            try:
                state, report = run_and_report(journal.records(row.run))
            except JournalCorrupt as error:
                corrupt += 1
                _print_corrupt(row.run, error, as_json=as_json)
                continue
            _print_row(_document(row, state, report, tools.clock.now()), as_json=as_json)
        for run, noted in journal.vanished().items():
            if not noted.is_over:
                corrupt += 1
                _print_corrupt(run, gone(run, noted), as_json=as_json)
    if not rows and not corrupt:
        say("no runs yet")
    return 4 if corrupt else 0


def _print_row(report: RunDocument, *, as_json: bool) -> None:
    if as_json:
        summary = report.model_dump(mode="json", exclude={"lanes", "questions"})
        show_json({**summary, "services": [lane.service for lane in report.lanes]})
        return
    names = ", ".join(lane.service for lane in report.lanes[:3])
    more = f" and {len(report.lanes) - 3} more" if len(report.lanes) > 3 else ""
    marker = "SIMULATED " if report.simulated else ""
    way = direction(report.runbook, report.source, report.target)
    gone = f" since {report.last_heard_at}" if report.status == "interrupted" else ""
    show(f"{report.run}  {report.outcome or report.status:<16} {marker}{report.runbook} {way}: {names}{more}{gone}")


def _print_corrupt(run: str, error: JournalCorrupt, *, as_json: bool) -> None:
    if as_json:
        show_json({"run": run, "status": "corrupt", "problem": str(error)})
    else:
        show(f"{run}  {'CORRUPT':<16} {error}")


def print_run(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """The report of one run."""
    with closing(tools.journal()) as journal:
        name = find_run(journal, name)
        state, report = run_and_report(journal.records(name))
        row = journal.row(name)
    now = tools.clock.now()
    document = _document(row, state, report, now)
    if as_json:
        show_json(document.model_dump(mode="json"))
        return
    by = f", led by {leader(row, now)}" if document.led else f", last led by {document.last_led_by}"
    show(f"run {name}, started {report.started_at} by {called(report)}{by}")
    for line in report_lines(document, is_led=document.led):
        show(line)
    for lane in report.lanes if len(report.lanes) == 1 else ():
        for step in lane.steps:
            took = "" if step.seconds is None else f" ({step.seconds:.2f}s)"
            show(f"    {step.status:<11} {step.title}{took}{': ' + step.note if step.note else ''}")
    for question in document.questions:
        show(f"  OPEN QUESTION for {question.service or 'the whole run'}: {question.why}")
        show(f"    {question.answer}")


def _document(row: RunRow, run: Run, report: RunReport, now: float) -> RunDocument:
    """The report with what the lease tells: a run that no process leads is not running, whatever its record ends with."""
    led = is_led(row, now)
    heard = max(run.last_at, row.expires_at - LEASE_SECONDS)
    host, questions = row.holder.split()[0], tuple(_questions(row.run, run))
    more: dict[str, object] = {"led": led, "last_led_by": host, "last_heard_at": iso(heard), "questions": questions}
    if not led and report.outcome is None and report.status != "paused":
        text = (
            f"INTERRUPTED since {iso(heard)}: no process leads the run; {host} led it last. What the sites do since then "
            "was not read"
        )
        gone = Alarm(kind="interrupted", services=tuple(lane.service for lane in report.lanes), text=text)
        lanes = tuple(_until_now(lane, now - run.last_at) for lane in report.lanes)
        more |= {"status": "interrupted", "alarms": (gone, *report.alarms), "lanes": lanes}
    return RunDocument.model_validate({**dict(report), **more})


def _until_now(lane: LaneReport, seconds: float) -> LaneReport:
    """The record ended, and an outage that it tells of did not, as far as anybody knows."""
    if lane.no_active_site_seconds is None:
        return lane
    return lane.model_copy(update={"no_active_site_seconds": round(lane.no_active_site_seconds + seconds, 3)})


def _questions(name: str, run: Run) -> Iterator[OpenQuestion]:
    asked = run.approvals.gate
    if asked is not None and run.status != "finished":
        yield OpenQuestion(
            service=None,
            gate=asked.gate,
            item=None,
            why=asked.why,
            choices=asked.choices,
            answer=f"failover approve {name} --reason '…'",
        )
    for lane in run.lanes.values():
        for gate in lane.gates:
            item = f" --item {gate.item}" if gate.item else ""
            it = named(run.plan.runbook.runbook, lane.service)
            answer = (
                f"failover decide {'|'.join(gate.choices)} --gate {gate.gate}{item} {it} --run {name} --reason '…'"
            )
            yield OpenQuestion(
                service=lane.service,
                gate=gate.gate,
                item=gate.item,
                why=gate.why,
                choices=gate.choices,
                answer=answer,
            )


def print_story(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """Every event of one run that means something to a person, and its outcome with its exit code; or every event as
    JSON, with ``text``, what a person is told of it (or null), and then the result."""
    with closing(tools.journal()) as journal:
        name = find_run(journal, name)
        records = list(journal.records(name))
    report = build(records)
    plan = _plan(records[0])
    positions = Positions(plan)
    if as_json:
        for record in records:
            positions.take(record)
            line = event_line(record, simulated=plan.simulated) | stands(record, positions)
            show_json(line | {"text": sentence(record.event, plan)})
        show_json({"result": report.model_dump(mode="json")})
        return
    way = direction(plan.runbook.runbook, plan.source, plan.target)
    show(f"{'SIMULATED  ' if plan.simulated else ''}run {name}: {way}")
    for alarm in report.alarms:
        show(alarm.text)
    for record in records:
        text = sentence(record.event, plan)
        if text is not None:
            clock = time.strftime("%H:%M:%S", time.gmtime(record.at)) + f".{int(record.at * 1000) % 1000:03d}Z"
            show(f"{clock} {record.seq:>5} {record.lane or '-'}: {text}")
    show(f"outcome: {report.outcome or report.status}, exit code {report.exit_code}")


def _plan(created: ev.Record) -> ev.Plan:
    assert isinstance(created.event, ev.RunCreated)  # the fold of the report has seen to it
    return created.event.plan


def export(tools: Tools, name: str | None, output: Path | None) -> None:
    """JSON Lines, one stored record each."""
    with closing(tools.journal()) as journal:
        name = find_run(journal, name)
        if output is None:
            for line in exported(journal, name):
                show_stored(line)
            return
        try:
            # For its owner only, as the journal is: plans, names and reasons are nobody else's business.
            with os.fdopen(os.open(output, _NEW, 0o600), "w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in exported(journal, name))
        except OSError as error:
            raise DefinitionError(f"{output} cannot be written: {error.strerror}") from error
    say(f"run {name} exported to {output}")


def export_parquet(tools: Tools, name: str | None, directory: Path, *, every: bool) -> None:
    """One Parquet file for each run: of the one that is named, or of all. What is there already is replaced."""
    from orchestrator.cli.exports.reconcile import parquet_installed

    with parquet_installed(), closing(tools.journal()) as journal:
        from pipeline.runs import write_runs

        names = [row.run for row in journal.runs()] if every else [find_run(journal, name)]
        count = write_runs(directory, ((run, exported(journal, run)) for run in names))
    say(f"{counted(count, 'record')} of {counted(len(names), 'run')} exported to {directory}")


def exported(journal: Journal, name: str) -> Iterator[dict[str, Any]]:
    """The stored records, each with its time in words, whether the run was a simulation, and its signature if any."""
    simulated = None
    signed = {one.seq: {"key": one.key, "value": one.value} for one in journal.signatures(name)}
    for line in journal.lines(name):
        if simulated is None:
            simulated = bool(json.loads(line["event"])["plan"]["simulated"])
        signature = {"signature": signed[line["seq"]]} if line["seq"] in signed else {}
        yield {**line, "time": iso(line["at"]), "simulated": simulated, **signature}
