"""A run in its present state, from its record and its lease: the document of the run, its stored records, and its
story."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.characters import typed
from orchestrator.clock import iso
from orchestrator.core.run import Run
from orchestrator.journal.hash_chain import parse_line
from orchestrator.journal.journal import Journal, RunRow
from orchestrator.journal.lease import LEASE_SECONDS, is_led
from orchestrator.operations.find_run import find_run
from orchestrator.operations.runtime import Tools
from orchestrator.reports.document import Alarm, LaneReport, OpenQuestion, RunDocument, RunReport
from orchestrator.reports.remedies import at_question
from orchestrator.reports.report import run_and_report

if TYPE_CHECKING:
    from orchestrator.reports.page.story import RunStory


@dataclass(frozen=True, slots=True)
class StoryWithRecords:
    """The story of a run, and the records that it was made of, as ``failover runs export`` writes them."""

    story: RunStory
    lines: list[dict[str, Any]]


def read_story(tools: Tools, name: str | None) -> StoryWithRecords:
    """The run, read once. Raises ``NoSuchRun``, ``JournalCorrupt``."""
    from orchestrator.reports.page.build import story_of
    from orchestrator.reports.page.story import Head

    with closing(tools.journal()) as journal:
        run = find_run(journal, name)
        lines = list(exported(journal, run))
        row = journal.row(run)
    records = [parse_line(line) for line in lines]
    state, report = run_and_report(records)
    now = tools.clock.now()
    last = lines[-1]
    signature = last.get("signature")
    head = Head(seq=last["seq"], hash=last["hash"], signed_by=None if signature is None else signature["key"])
    return StoryWithRecords(story_of(records, document_of(row, state, report, now), head, now=now), lines)


def document_of(row: RunRow, run: Run, report: RunReport, now: float) -> RunDocument:
    """The report with the state of the lease: a run that no process leads is not running, whatever its last record
    is."""
    led = is_led(row, now)
    heard = max(run.last_at, row.expires_at - LEASE_SECONDS)
    host, questions = row.holder.split()[0], tuple(open_questions(row.run, run))
    more: dict[str, object] = {"led": led, "last_led_by": host, "last_heard_at": iso(heard), "questions": questions}
    if not led and report.outcome is None and report.status != "paused":
        text = (
            f"INTERRUPTED since {iso(heard)}: no process leads the run; {host} was the last leader. The sites were not "
            "read since then"
        )
        gone = Alarm(kind="interrupted", services=tuple(lane.service for lane in report.lanes), text=text)
        lanes = tuple(_until_now(lane, now - run.last_at) for lane in report.lanes)
        more |= {"status": "interrupted", "alarms": (gone, *report.alarms), "lanes": lanes}
    return RunDocument.model_validate({**dict(report), **more})


def _until_now(lane: LaneReport, seconds: float) -> LaneReport:
    """Extend an open outage to the present: the record has ended, but the outage, as far as is known, has not."""
    if lane.no_active_site_seconds is None:
        return lane
    return lane.model_copy(update={"no_active_site_seconds": round(lane.no_active_site_seconds + seconds, 3)})


def open_questions(name: str, run: Run) -> Iterator[OpenQuestion]:
    """The present questions of a run, each with the command that answers it."""
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
            yield OpenQuestion(
                service=lane.service,
                gate=gate.gate,
                item=gate.item,
                why=gate.why,
                remedy=at_question(gate.remedy),
                choices=gate.choices,
                answer=_decide(name, gate.choices, [lane.service], gate.gate, gate.item),
            )


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """The same question of one or more services. Empty ``services``: it is about the whole run."""

    services: tuple[str, ...]
    why: str
    answer: str
    remedy: str


def asked_once(name: str, questions: Sequence[OpenQuestion]) -> list[AskedOnce]:
    """Questions with the same text as one question, with the command that answers it for all of its services."""
    found: dict[tuple[object, ...], list[OpenQuestion]] = {}
    for one in questions:
        words = one.why.replace(one.service or "", "")
        found.setdefault((one.gate, one.item, one.choices, words), []).append(one)
    return [_as_one(name, same, questions) for same in found.values()]


def _as_one(name: str, same: Sequence[OpenQuestion], questions: Sequence[OpenQuestion]) -> AskedOnce:
    first, services = same[0], tuple(one.service for one in same if one.service is not None)
    if len(same) == 1:
        return AskedOnce(services, first.why, first.answer, first.remedy)
    # Without service names, the answer applies to all lanes that ask at this gate, also with a different text.
    is_whole_gate = len(same) == sum((one.gate, one.item) == (first.gate, first.item) for one in questions)
    names = () if is_whole_gate else services
    answer = _decide(name, first.choices, names, first.gate, first.item)
    return AskedOnce(services, first.why, answer, first.remedy)


def _decide(run: str, choices: Sequence[str], services: Sequence[str], gate: str, item: str | None) -> str:
    words = ["failover", "decide", "|".join(choices), *map(typed, services), "--gate", gate]
    words += ["--item", shlex.quote(item)] if item else []
    return " ".join([*words, "--run", run, "--reason", "'…'"])


def exported(journal: Journal, name: str) -> Iterator[dict[str, Any]]:
    """The stored records, each with its time as text, whether the run was a simulation, and its signature if any."""
    simulated = None
    signed = {one.seq: {"key": one.key, "value": one.value} for one in journal.signatures(name)}
    for line in journal.lines(name):
        if simulated is None:
            simulated = bool(json.loads(line["event"])["plan"]["simulated"])
        signature = {"signature": signed[line["seq"]]} if line["seq"] in signed else {}
        yield {**line, "time": iso(line["at"]), "simulated": simulated, **signature}
