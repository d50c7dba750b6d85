"""Whose clock says when a lease has ended: nobody is locked out by a bastion whose clock is wrong, and only one acts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import Forbidden, LeaseHeld, LeaseLost
from orchestrator.journal.database.schema import RUNS
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import CLOCKS_APART, LEASE_SECONDS, Lease, create_run, is_led, take
from tests.cli.shell import VPN, Shell
from tests.core.builders import created
from tests.journal.ageing import age_leases

Opener = Callable[..., Journal]
ELSEWHERE = "bastion-2:4711 elsewhere/1"


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def a_run(journal: Journal, clock: VirtualClock) -> Lease:
    """A run whose leader is on another machine, so that nobody can tell whether it lives."""
    lease, _ = create_run(journal, clock, "run-1", created())
    with journal.engine.begin() as connection:
        connection.execute(sa.update(RUNS).values(holder=ELSEWHERE))
    return lease


@pytest.mark.parametrize("ahead", [CLOCKS_APART + 1, 7_200.0, 86_400.0 * 365])
def test_a_clock_that_is_ahead_keeps_nobody_out(opened: Opener, clock: VirtualClock, ahead: float) -> None:
    """A leader whose clock is ahead wrote a lease that no honest clock allows, and died: it counts as ended at once. If
    it still lives, its epoch is the lower one, and it can do nothing more."""
    lease = a_run(opened(), VirtualClock(clock.now() + ahead))
    age_leases(opened(), -ahead)  # as version 0.1.0 wrote it on a server: by the bastion's own clock
    assert not is_led(opened().row("run-1"), clock.now())
    heir, _ = take(opened(), clock, "run-1", {})
    assert heir.epoch == 2
    heir.check()
    with pytest.raises(Forbidden, match="led by another process now"):
        lease.check()
    with pytest.raises(LeaseLost):
        lease.renew()


@pytest.mark.parametrize("ahead", [0.0, 5.0, CLOCKS_APART - 1])
def test_clocks_that_nearly_agree_change_nothing(opened: Opener, clock: VirtualClock, ahead: float) -> None:
    """A leader whose clock is a little ahead is not robbed of its run; and should it be dead, nobody waits for longer
    than that besides."""
    a_run(opened(), VirtualClock(clock.now() + ahead))
    with pytest.raises(LeaseHeld, match="is led by bastion-2:4711"):
        take(opened(), clock, "run-1", {})
    clock.advance(LEASE_SECONDS + ahead + 0.1)
    age_leases(opened(), LEASE_SECONDS + ahead + 0.1)
    assert take(opened(), clock, "run-1", {})[0].epoch == 2


@pytest.mark.parametrize("off", [-86_400.0, -20.0, 20.0, 86_400.0])
def test_on_a_server_its_clock_counts(postgresql: str, clock: VirtualClock, off: float) -> None:
    """Bastions that share a server need not agree on the time: by the clock of a bastion that is hours off, a lease
    neither ends early nor lasts."""
    first, other = Journal(postgresql), Journal(postgresql)
    wrong = VirtualClock(clock.now() + off)
    a_run(first, clock)
    with pytest.raises(LeaseHeld):
        take(other, wrong, "run-1", {})
    age_leases(first, LEASE_SECONDS + 1)
    lease, _ = take(other, wrong, "run-1", {})
    with pytest.raises(LeaseHeld):
        take(first, clock, "run-1", {})
    wrong.advance(10)
    lease.renew()
    assert is_led(first.row("run-1"), clock.now())
    assert lease.expires_at == wrong.now() + LEASE_SECONDS
    for journal in (first, other):
        journal.close()


@pytest.mark.parametrize("command", ["resume", "abort"])
def test_the_commands_follow(shell: Shell, command: str) -> None:
    """A bastion that is two hours ahead died after it had demoted a service: resume and abort go on at once."""
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    journal = sqlite3.connect(shell.state / "journal.sqlite")
    journal.execute("UPDATE runs SET holder = ?, expires_at = ?", (ELSEWHERE, shell.clock.now() + 7_215))
    journal.commit()
    journal.close()
    began = shell.clock.now()
    assert ", last led by " in shell("runs", "show").out.splitlines()[0]
    refused = shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    assert "which is unfinished, and no process leads the run" in refused.complaint
    ended = shell(command, *(["--xa", shell.decisions] if command == "resume" else []))
    assert ended.code == (0 if command == "resume" else 5)
    assert shell.clock.now() - began < 60
