"""What ``failover runs …`` prints: folds of the journal, as text or JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from orchestrator import events as ev
from orchestrator.cli.leading import find_run
from orchestrator.cli.outcome import report_lines
from orchestrator.cli.terminal import say, show, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, JournalCorrupt
from orchestrator.journal import Journal, check_exported
from orchestrator.lease import is_led
from orchestrator.reports.report import build
from orchestrator.reports.words import sentence
from orchestrator.state import fold


def print_list(tools: Tools, limit: int, *, as_json: bool) -> None:
    """One line a run."""
    journal = tools.journal()
    now = tools.clock.now()
    for row in journal.runs()[:limit]:
        report = build(journal.records(row.run))
        led = is_led(row, now)
        state = str(report.outcome or ("running" if led else f"{report.status}, led by nobody"))
        if as_json:
            summary = report.model_dump(mode="json", exclude={"lanes"})
            show_json({**summary, "services": [lane.service for lane in report.lanes], "led": led})
            continue
        names = ", ".join(lane.service for lane in report.lanes[:3])
        more = f" and {len(report.lanes) - 3} more" if len(report.lanes) > 3 else ""
        marker = "SIMULATED " if report.simulated else ""
        show(f"{row.run}  {state:<16} {marker}{report.runbook} {report.source} to {report.target}: {names}{more}")
    if not journal.runs():
        say("no runs yet")


def print_run(tools: Tools, name: str | None, *, as_json: bool) -> None:
    """The report of one run."""
    journal = tools.journal()
    run = find_run(journal, name) if name else _newest(journal)
    report = build(journal.records(run))
    row = journal.row(run)
    led = is_led(row, tools.clock.now())
    if as_json:
        show_json({**report.model_dump(mode="json"), "led": led})
        return
    show(
        f"run {run}, started {report.started_at} by {report.by}"
        + (f", led by {row.holder.split()[0]}" if led else "")
    )
    for line in report_lines(report):
        show(line)
    for lane in report.lanes if len(report.lanes) == 1 else ():
        for step in lane.steps:
            took = "" if step.seconds is None else f" ({step.seconds:.2f}s)"
            show(f"    {step.status:<11} {step.title}{took}{': ' + step.note if step.note else ''}")
    for lane_state in fold(journal.records(run)).lanes.values():
        for gate in lane_state.gates:
            item = f" --item {gate.item}" if gate.item else ""
            show(f"  OPEN QUESTION for {lane_state.service}: {gate.why}")
            choices = "|".join(gate.choices)
            show(f"    failover decide {choices} --gate {gate.gate}{item} --run {run} --reason '…'")


def _newest(journal: Journal) -> str:
    return find_run(journal, "last")


def print_story(tools: Tools, name: str | None) -> None:
    """Every event of one run that means something to a person."""
    journal = tools.journal()
    run = find_run(journal, name) if name else _newest(journal)
    records = list(journal.records(run))
    created = records[0].event
    assert isinstance(created, ev.RunCreated)
    if created.plan.simulated:
        show("SIMULATED")
    for record in records:
        text = sentence(record.event, created.plan)
        if text is not None:
            clock = time.strftime("%H:%M:%S", time.gmtime(record.at)) + f".{int(record.at * 1000) % 1000:03d}Z"
            show(f"{clock} {record.seq:>5} {record.lane or '-'}: {text}")


def export(tools: Tools, name: str | None, output: Path | None) -> None:
    """JSON Lines, one stored record each."""
    journal = tools.journal()
    run = find_run(journal, name) if name else _newest(journal)
    lines = (json.dumps({**line, "time": iso(line["at"])}, ensure_ascii=False) for line in journal.lines(run))
    if output is None:
        for line in lines:
            show(line)
        return
    with output.open("x" if not output.exists() else "w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
    say(f"run {run} exported to {output}")


def verify(tools: Tools, name: str | None, *, as_json: bool) -> int:
    """Check chains. Returns 0, or 4 when one does not prove itself."""
    bad = 0
    for what, check in _to_verify(tools, name):
        try:
            count, sentence_ = check, ""
            records = sum(1 for _ in count)
        except JournalCorrupt as error:
            bad, records, sentence_ = bad + 1, 0, str(error)
        if as_json:
            show_json({"verified": what, "ok": not sentence_, "records": records, "problem": sentence_})
        else:
            show(f"{what}: {sentence_ or f'{records} records, unbroken'}")
    return 4 if bad else 0


def _to_verify(tools: Tools, name: str | None) -> Iterator[tuple[str, Iterator[object]]]:
    if name is not None and Path(name).is_file():
        yield name, _from_file(Path(name))
        return
    journal = tools.journal()
    for run in [find_run(journal, name)] if name else [row.run for row in journal.runs()]:
        yield f"run {run}", journal.records(run)


def _from_file(path: Path) -> Iterator[object]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from check_exported(json.loads(line) for line in file)
    except (ValueError, KeyError, TypeError) as error:
        raise DefinitionError(f"{path} is not an exported run: {error}") from error
