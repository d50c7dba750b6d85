"""The output of ``failover runs list``, ``show``, ``report`` and ``export``: made from the journal, as text or JSON."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from orchestrator.cli.render.outcome import report_lines
from orchestrator.cli.render.screen import event_line, stands
from orchestrator.cli.render.terminal import say, show, show_json, show_stored
from orchestrator.core.position import Positions
from orchestrator.counting import counted, named
from orchestrator.errors import DefinitionError
from orchestrator.journal.lease import leader
from orchestrator.model import events as ev
from orchestrator.operations.find_run import find_run
from orchestrator.operations.runs.run_document import asked_once, document_of, exported
from orchestrator.operations.runtime import Tools
from orchestrator.reports.document import OpenQuestion
from orchestrator.reports.report import build, run_and_report
from orchestrator.reports.wording import called, direction, sentence

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def print_run(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """Print the report of one run."""
    with closing(tools.journal()) as journal:
        name = find_run(journal, name)
        state, report = run_and_report(journal.records(name))
        row = journal.row(name)
    now = tools.clock.now()
    document = document_of(row, state, report, now)
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
    for line in question_lines(name, document.questions):
        show(line)


def question_lines(name: str, questions: Sequence[OpenQuestion], most: int | None = None) -> list[str]:
    """The open questions of the run, each with the command that answers it. At most ``most`` questions."""
    asked, lines = asked_once(name, questions), []
    for one in asked[:most]:
        lines += [f"  OPEN QUESTION for {named(one.services) if one.services else 'the whole run'}: {one.why}"]
        lines += [f"    what to do: {one.remedy}"] if one.remedy else []
        lines += [f"    {one.answer}"]
    left = 0 if most is None else len(asked) - most
    return [*lines, f"  and {counted(left, 'more question')}"] if left > 0 else lines


def print_story(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """Print every event of one run that matters to a person, and the outcome with its exit code. As JSON, print every
    event with ``text`` (its sentence, or null), and then the result."""
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
    assert isinstance(created.event, ev.RunCreated)  # the report was built, so this is the first record
    return created.event.plan


def export(tools: Tools, name: str | None, output: Path | None) -> None:
    """Write JSON Lines, one stored record on each line."""
    with closing(tools.journal()) as journal:
        name = find_run(journal, name)
        if output is None:
            for line in exported(journal, name):
                show_stored(line)
            return
        try:
            # Only its owner may read it, like the journal, because it has plans, names and reasons.
            with os.fdopen(os.open(output, _NEW, 0o600), "w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in exported(journal, name))
        except OSError as error:
            raise DefinitionError(f"{output} cannot be written: {error.strerror}") from error
    say(f"run {name} exported to {output}")


def export_parquet(tools: Tools, name: str | None, directory: Path, *, every: bool) -> None:
    """Write one Parquet file for each run: the named run, or all runs. Existing files are replaced."""
    from orchestrator.cli.exports.reconcile import parquet_installed

    with parquet_installed(), closing(tools.journal()) as journal:
        from pipeline.runs import write_runs

        names = [row.run for row in journal.runs()] if every else [find_run(journal, name)]
        count = write_runs(directory, ((run, exported(journal, run)) for run in names))
    say(f"{counted(count, 'record')} of {counted(len(names), 'run')} exported to {directory}")
