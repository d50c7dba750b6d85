"""Two real processes and one run: the one that was stopped across its lease changes nothing when it goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import LeaseHeld
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import LEASE_SECONDS, lease_left, take
from tests.cli.processes import PATIENCE_S, Bench
from tests.journal.ageing import age_leases
from tests.journal.stopping import HastyClock

pytestmark = pytest.mark.realtime

PROJECT = Path(__file__).parents[2]
MOVE = ("controlled", "--vpn", "V", "--yes")


class Theatre:
    """A bench whose processes stop where they are told to, on the journal at ``url``."""

    def __init__(self, folder: Path, url: str) -> None:
        self.origin = time.time()
        self.bench = Bench(folder, environment={"FAILOVER_JOURNAL": url, "PYTHONPATH": str(PROJECT)})
        self.clock = HastyClock(self.origin)
        self.journal = Journal(url)
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *command: str, side: str = "-", where: str = "-") -> subprocess.Popen[str]:
        """One process; it stops right at ``where`` on ``side``."""
        self._started.append(
            subprocess.Popen(
                [sys.executable, "-m", "tests.journal.stopping", str(self.origin), side, where, *command],
                cwd=self.bench.folder,
                env=self.bench.variables(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return self._started[-1]

    def stopped(self, *command: str, side: str, where: str) -> subprocess.Popen[str]:
        """The same, once it has stopped."""
        process = self.start(*command, side=side, where=where)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), (os.waitstatus_to_exitcode(status), process.stderr and process.stderr.read())
        return process

    def ended(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Exit code and what it said."""
        said = process.communicate(timeout=PATIENCE_S)[1]
        return process.returncode, said

    def wait_out(self) -> str:
        """Until the lease of the only run is over; its name."""
        [row] = self.journal.runs()
        self.clock.sleep(lease_left(row, self.clock.now()) + 0.1 if row.read_at is None else 0.0)
        age_leases(self.journal, LEASE_SECONDS)
        return row.run

    def record(self) -> list[Mapping[str, Any]]:
        """Every stored record of the only run."""
        [row] = self.journal.runs()
        return [{"epoch": row.epoch}, *self.journal.lines(row.run)]

    def account(self) -> tuple[object, ...]:
        """Which changing commands have arrived at the sites, and who served when, by the world's own account."""
        tally = self.bench.tally()
        return tally.commands, tally.roles, tally.both_active

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate()
        self.journal.close()


@pytest.fixture
def theatre(tmp_path: Path, url: str) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path, url)
    yield theatre
    theatre.close()


@pytest.mark.parametrize(
    ("side", "where", "then", "code"),
    [
        # Its intent to give activity back is on disk, and another process goes the other way meanwhile.
        ("target", "before set_role", "abort", 5),
        ("source", "before set_role", "resume", 0),
        ("source", "after set_role", "resume", 0),
        ("source", "before reading replication_queue", "abort", 3),
    ],
)
def test_who_slept_through_its_lease_changes_nothing(
    theatre: Theatre, side: str, where: str, then: str, code: int
) -> None:
    """Promise 5 with real processes: one leads and is stopped, with an intent on disk or before a reading, and another
    one takes the run under a higher epoch and ends it. The first goes on: it writes no record, no command of it
    arrives, and it says that somebody else leads the run."""
    sleeper = theatre.stopped(*MOVE, side=side, where=where)
    name = theatre.wait_out()
    assert theatre.ended(theatre.start(then, name))[0] == code
    before = (theatre.record(), theatre.account())
    assert before[0][0] == {"epoch": 2}
    os.kill(sleeper.pid, signal.SIGCONT)
    ended, said = theatre.ended(sleeper)
    assert (ended, "is led by another process now" in said) == (8, True), said
    assert (theatre.record(), theatre.account()) == before
    assert theatre.bench.roles() == (("standby", "active") if code == 0 else ("active", "standby"))
    assert theatre.bench.tally().both_active == ()


def test_a_stopped_process_keeps_its_run_while_its_lease_lasts(theatre: Theatre) -> None:
    """A process that is only stopped is not dead: until its lease is over nobody takes its run, and continued in time
    it finishes the job itself."""
    sleeper = theatre.stopped(*MOVE, side="source", where="before set_role")
    [row] = theatre.journal.runs()
    with pytest.raises(LeaseHeld, match=f":{sleeper.pid}, last heard of "):
        take(theatre.journal, theatre.clock, row.run, {})
    os.kill(sleeper.pid, signal.SIGCONT)
    assert theatre.ended(sleeper)[0] == 0
    assert theatre.bench.roles() == ("standby", "active")
