"""A run that continues in the background: a separate process leads it, and continues when this one and its terminal
end.

The run counts as started only once that process leads it: a fail-over that no process leads must be reported.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import DefinitionError, JournalUnavailable
from orchestrator.interpreter import module, same_code
from orchestrator.journal.journal import Journal
from orchestrator.journal.unavailability import WATCHED, Patience
from orchestrator.model import events as ev
from orchestrator.operations.runs.lead import Request, begin_run
from orchestrator.operations.runs.plan import recordable
from orchestrator.operations.runtime import Tools
from orchestrator.operations.secret_references import asks_somebody

if TYPE_CHECKING:
    from orchestrator.journal.journal import RunRow

_CHECKED_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class InBackground:
    """The run that another process leads, and the file that it writes to."""

    run: str
    plan: ev.Plan
    log: Path


def begin(tools: Tools, request: Request, say: Callable[[str], None]) -> InBackground:
    """Start the requested run, and return once another process leads it. ``say`` is told the reason of a wait.

    Raises ``DefinitionError`` if a secret would have to be typed, ``NotStarted`` if no session can be opened,
    ``KeyUsed``, and ``JournalUnavailable`` if the other process ended before it led the run.
    """
    plan = recordable(request.plan)
    if any(asks_somebody(site) for site in plan.inventory.sites.values()):
        raise DefinitionError(
            "--no-wait leaves the run to a process without a terminal, which cannot ask for a password",
            hint="name the secrets by env or file in the inventory, or leave --no-wait out",
        )
    with closing(tools.journal()) as journal:
        lease = begin_run(tools, journal, replace(request, plan=plan)).held.lease
        journal.patience = Patience(tools.clock, WATCHED, say)
        lease.release()
        log = _log_file(tools, lease.run)
        leader = _start(lease.run, log)
        row = _await_leader(tools, journal, lease.run, lease.epoch, leader)
        if row.epoch == lease.epoch:
            raise JournalUnavailable(
                f"the process that should lead run {lease.run} ended with exit code {leader.returncode}; see {log}",
                hint=f"nothing was sent; fix the cause, then run: failover resume {lease.run}",
            )
    return InBackground(lease.run, plan, log)


def _log_file(tools: Tools, run: str) -> Path:
    hint = f"run {run} was recorded; continue it with: failover resume {run}"
    try:
        path = tools.folder("logs") / f"{run}.log"
    except JournalUnavailable as error:
        raise JournalUnavailable(str(error), hint=f"{error.hint}; {hint}") from error
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise JournalUnavailable(f"{path} cannot be written: {error.strerror}", hint=hint) from error
    return path


def _start(run: str, log: Path) -> subprocess.Popen[bytes]:
    """Start the other process: the same program, in a separate session, with its output in ``log``."""
    with log.open("ab") as paper:
        return subprocess.Popen(
            module("orchestrator.cli", "resume", run, "--json"),
            env=same_code(),
            stdin=subprocess.DEVNULL,
            stdout=paper,
            stderr=paper,
            start_new_session=True,
        )


def _await_leader(tools: Tools, journal: Journal, run: str, epoch: int, leader: subprocess.Popen[bytes]) -> RunRow:
    """The run's row as soon as another process has led the run, or that process has ended."""
    while True:
        gone = leader.poll() is not None
        row = journal.insist(lambda: journal.row(run))
        if gone or row.epoch != epoch:
            return row
        tools.clock.sleep(_CHECKED_EVERY_S)
