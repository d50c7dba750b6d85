"""``failover runs verify``: does the record prove itself, in the journal or in an exported file?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from orchestrator.cli.finding import find_run
from orchestrator.cli.terminal import show, show_json
from orchestrator.cli.wiring import Tools
from orchestrator.errors import DefinitionError, JournalCorrupt
from orchestrator.events import RunCreated
from orchestrator.journal import Journal, check_exported, parse_line

# The first record of a run has its inventory and its runbook in it, a megabyte each at most; texts grow when quoted.
_LINE_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """``simulated`` None: the record does not even tell that."""

    what: str
    records: int = 0
    simulated: bool | None = None
    problem: str = ""


def verify(tools: Tools, name: str | None, *, as_json: bool) -> int:
    """Check chains. Returns 0, or 4 when one does not prove itself. Raises ``DefinitionError`` for no record."""
    bad = 0
    for verdict in _verdicts(tools, name):
        bad += bool(verdict.problem)
        if as_json:
            show_json(
                {
                    "verified": verdict.what,
                    "ok": not verdict.problem,
                    "records": verdict.records,
                    "simulated": verdict.simulated,
                    "problem": verdict.problem,
                }
            )
        else:
            marker = "SIMULATED  " if verdict.simulated else ""
            show(f"{marker}{verdict.what}: {verdict.problem or f'{verdict.records} records, unbroken'}")
    return 4 if bad else 0


def _verdicts(tools: Tools, name: str | None) -> Iterator[Verdict]:
    if name is not None and Path(name).is_file():
        yield verify_file(Path(name))
        return
    with closing(tools.journal()) as journal:
        for run in [find_run(journal, name)] if name else [row.run for row in journal.runs()]:
            yield _of_run(journal, run)


def _of_run(journal: Journal, run: str) -> Verdict:
    simulated, count = None, 0
    try:
        for record in journal.records(run):
            count += 1
            if isinstance(record.event, RunCreated):
                simulated = record.event.plan.simulated
    except JournalCorrupt as error:
        return Verdict(f"run {run}", count, simulated, str(error))
    return Verdict(f"run {run}", count, simulated)


def verify_file(path: Path) -> Verdict:
    """Does this exported run prove itself? Raises ``DefinitionError`` for a file that is none."""
    simulated, count = None, 0
    try:
        with path.open(encoding="utf-8") as file:
            for line in check_exported(_lines(file)):
                count += 1
                event = parse_line(line).event
                if isinstance(event, RunCreated):
                    simulated = event.plan.simulated
    except JournalCorrupt as error:
        return Verdict(str(path), count, simulated, str(error))
    except OSError as error:
        raise DefinitionError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DefinitionError(f"{path} is not an exported run: {error}") from error
    return Verdict(str(path), count, simulated)


def _lines(file: TextIO) -> Iterator[Any]:
    """The JSON values of ``file``, a line each. Raises ``ValueError`` for what no export can hold."""
    while text := file.readline(_LINE_MAX + 1):
        if len(text) > _LINE_MAX:
            raise ValueError(f"a line is longer than {_LINE_MAX // 1_048_576} MB")
        yield json.loads(text)
