"""After a night: the record must prove itself, tell what the last process believed, and say SIMULATED."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from orchestrator.chain import follow_exported, parse_line, record_of
from orchestrator.errors import JournalCorrupt
from orchestrator.journal import Journal
from orchestrator.reports.report import run_and_report
from orchestrator.state import Run, fold
from proof.promises import Broken

# DESIGN section 7; a run that is not at its end needs somebody.
_EXIT_CODES = {"done": 0, "refused": 3, "reverted": 5, "escalated": 9, "needs-operator": 6, "stuck": 7}
_TAMPERED_EVERY = 10  # seeds


def record_findings(journal: Journal, run: str, believed: Run, seed: int) -> Iterator[Broken]:
    """Promises 11, 12 and 13 of a run that nobody leads any more."""
    try:
        links = list(journal.links(run))
    except JournalCorrupt as error:
        yield Broken(11, str(error))
        return
    records = [record_of(run, link) for link in links]
    recorded, report = run_and_report(records)
    # Another process may have found nothing left to do, and said so.
    if (recorded if believed.seq == len(records) else fold(records[: believed.seq])) != believed:
        yield Broken(12, "the record folds to something else than the process believed")
    wanted = 6 if recorded.outcome is None else _EXIT_CODES[recorded.outcome]
    if report.exit_code != wanted:
        yield Broken(12, f"the record says {recorded.outcome}, the report exit code {report.exit_code}")
    if not report.simulated:
        yield Broken(13, "the report does not say that it was simulated")
    if seed % _TAMPERED_EVERY == 0:
        yield from _tampering([{"run": run, **link._asdict()} for link in links], Random(seed))


def _tampering(lines: Sequence[Mapping[str, Any]], chance: Random) -> Iterator[Broken]:
    """Promise 11: an edit, a deletion, a reordering and a missing end are found offline."""
    at = chance.randrange(len(lines) - 1)
    ways: Mapping[str, list[Mapping[str, Any]]] = {
        "an edit": [*lines[:at], {**lines[at], "at": lines[at]["at"] + 1.0}, *lines[at + 1 :]],
        "a deletion": [*lines[:at], *lines[at + 1 :]],
        "a reordering": [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
        "a missing end": list(lines[: at + 1]),
    }
    for what, changed in ways.items():
        if what == "a missing end" and parse_line(lines[at]).event.kind in ("run.finished", "run.paused"):
            continue  # it was cut where an earlier process had left it: a whole record
        try:
            for _ in follow_exported(changed):
                pass
        except JournalCorrupt:
            continue
        yield Broken(11, f"{what} of record {at + 1} is not found")
