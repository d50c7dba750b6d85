"""``--no-wait``: the run is begun here and led by a process of its own, which outlives this one and its terminal.

Nothing is said to have begun before that process leads the run: who hands a fail-over to nobody must be told.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.render.terminal import say, show, show_json
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

_LOOK_EVERY = 0.1


def begin(tools: Tools, request: Request, *, as_json: bool) -> int:
    """Begin the run that is asked for and leave it to another process. Returns 0 once that one leads it.

    Raises ``DefinitionError`` when a secret would have to be typed, ``NotStarted`` when no session can be made,
    ``KeyUsed``, and ``JournalUnavailable`` when the other process ended before it led the run.
    """
    plan = recordable(request.plan)
    if any(asks_somebody(site) for site in plan.inventory.sites.values()):
        raise DefinitionError(
            "--no-wait leaves the run to a process that nobody can type a password for",
            hint="name the secrets by env or file in the inventory, or wait for the end",
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
                hint=f"nothing was sent; mend the cause, and then: failover resume {lease.run}",
            )
    _tell(lease.run, plan, log, as_json=as_json)
    return 0


def _log_file(tools: Tools, run: str) -> Path:
    hint = f"run {run} is begun: failover resume {run}"
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
    """The other process: the same program, in a session of its own, with its own place for what it prints."""
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
    """The run's row as soon as somebody else has led it, or the other process has ended."""
    while True:
        gone = leader.poll() is not None
        row = journal.insist(lambda: journal.row(run))
        if gone or row.epoch != epoch:
            return row
        tools.clock.sleep(_LOOK_EVERY)


def _tell(run: str, plan: ev.Plan, log: Path, *, as_json: bool) -> None:
    words = f"begun; a process of its own leads it, and writes to {log}"
    if as_json:
        show_json({"result": {"run": run, "simulated": plan.simulated, "message": words, "exit_code": 0}})
        return
    show(f"{'SIMULATED  ' if plan.simulated else ''}run {run}: {words}")
    say(f"how it stands: failover runs show {run}; stop it: failover abort {run} --reason TEXT")
