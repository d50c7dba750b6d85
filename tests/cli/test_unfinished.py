"""Runs that are not at their end: what was killed half-way is gone on with, and a bug leaves a record that is good."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint

import pytest

from adapters.mock.adapter import MockAdapter
from adapters.mock.embedded import embedded_layout
from orchestrator.contract import Failure
from orchestrator.lease import LEASE_SECONDS
from orchestrator.readings import Reading
from orchestrator.registry import GROUP, Registry
from tests.cli.shell import VPN, Shell


def claims(shell: Shell) -> list[tuple[str, str]]:
    """The services that runs hold, as the journal has them."""
    journal = sqlite3.connect(shell.state / "journal.sqlite")
    try:
        return journal.execute("SELECT service, run FROM claims").fetchall()
    finally:
        journal.close()


def test_killed_while_it_let_go_of_its_services(shell: Shell) -> None:
    """Law: a run that had ended and was killed before it let go is among the unfinished; resume is done at once."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    held = claims(shell)
    assert shell("resume", "--xa", shell.decisions).code == 0
    assert claims(shell) == []
    journal = sqlite3.connect(shell.state / "journal.sqlite")
    journal.executemany("INSERT INTO claims (service, run) VALUES (?, ?)", held)
    journal.commit()
    journal.close()
    commands = dict(shell.tally().commands)
    assert shell("controlled", "--vpn", VPN, "--from", "nj", "--yes").code == 8
    resumed = shell("resume")
    assert (resumed.code, "DONE after" in resumed.out) == (0, True)
    assert (claims(shell), dict(shell.tally().commands)) == ([], commands)
    assert shell("controlled", "--vpn", VPN, "--from", "nj", "--yes").code == 0


def test_called_off_too_late(shell: Shell) -> None:
    """Law: past its point of no return a service cannot be called off; abort says so, and goes on to the end."""
    ended = shell.move("--fault", "delete: refuse 10h")
    assert ended.code == 6
    assert "It is past the point of no return: the only way is forward." in ended.out
    assert "failover abort" not in ended.out
    aborted = shell("abort", "--reason", "second thoughts")
    assert "cannot be called off: it is past the point of no return" in aborted.err
    assert aborted.code == 6
    assert shell.roles() == ("standby", "active")


def test_whose_leader_is_on_another_machine(shell: Shell) -> None:
    """Law: nobody here can tell whether that leader still lives. Until its lease is over it is said when it was last
    heard of, and what is left for it says what to do should it be gone; then the same command does it."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    journal = sqlite3.connect(shell.state / "journal.sqlite")
    lease = ("bastion-2:4711 elsewhere/1", shell.clock.now() + LEASE_SECONDS - 9)
    journal.execute("UPDATE runs SET holder = ?, expires_at = ?", lease)
    journal.commit()
    journal.close()
    [run] = (one["run"] for one in shell("runs", "list", "--json").values)
    leader = "led by bastion-2:4711, last heard of 9s ago"
    assert f"by ann, {leader}" in shell("runs", "show").out
    assert f"run {run} is {leader}" in shell("resume").err
    again = f"should it be gone, its lease is over in 6s: `failover abort {run}` then does it"
    assert f"it is {leader}, and was asked to call it off; {again}" in shell("abort").out
    shell.clock.advance(6)
    assert shell("abort").code == 5


def test_an_undo_that_fails(shell: Shell) -> None:
    """Law: a change that cannot be taken back is stuck: a person must look, and resume tries again."""
    ended = shell.move("--fault", "drain: bridge down", "--fault", "revert: refuse")
    assert ended.code == 7
    assert "NO SITE IS ACTIVE since " in ended.out
    assert shell("status").code == 4
    assert shell("resume").code == 5
    assert (shell.roles(), shell.tally().lost) == (("active", "standby"), 0)


def test_an_activation_that_nobody_knows_the_end_of(shell: Shell) -> None:
    """Law: nobody is said to be active or not where the answer to a command was lost and its site is gone; here the
    target did take over. Once it can be read, that is known."""
    ended = shell.move("--fault", "activate: lose reply", "--fault", "activate: unreachable nj 40s")
    assert ended.code == 6
    assert " PERHAPS NO SITE IS ACTIVE since " in ended.out
    assert ": what became of the command to nj is not known\n" in ended.out
    resumed = shell("resume")
    assert (resumed.code, "NO SITE IS ACTIVE" in resumed.out) == (0, False)
    assert shell.roles() == ("standby", "active")


def test_it_does_not_matter_where_it_is_typed(shell: Shell) -> None:
    """Law: a run is gone on with by a beginning of its name, `last`, or no name at all."""
    for name in ("last", "", None):
        shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
        run = shell.run_name()
        typed = [run[:-2]] if name == "" else [] if name is None else [name]
        assert shell("abort", *typed).code == 5


class BrokenAdapter(MockAdapter):
    """A program with a mistake: it falls over when asked for transactions."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        if reading == "transactions":
            raise ZeroDivisionError("a mistake\nof ours")
        return super().probe(reading, services)


BROKEN = EntryPoint("mock", "tests.cli.test_unfinished:BrokenAdapter", GROUP)


@pytest.mark.parametrize("traced", [True, False])
def test_a_bug(shell: Shell, monkeypatch: pytest.MonkeyPatch, traced: bool) -> None:
    """Law: a bug ends in one sentence and exit code 70; the run can be gone on with by a program without it."""
    if traced:
        monkeypatch.setenv("FAILOVER_TRACEBACK", "1")
    shell.registry = Registry([BROKEN])
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop", "--json")
    assert (ended.code, ended.result["exit_code"]) == (70, 70)
    assert ended.complaint == "this is a bug: ZeroDivisionError: a mistake\\nof ours"
    assert ("Traceback" in ended.err) is traced
    assert ("set FAILOVER_TRACEBACK=1" in ended.err) is not traced
    shell.registry = Registry()
    shell.clock.advance(60)
    assert shell("resume", "--xa", shell.decisions).code == 0
    assert shell.tally().lost == 0


def test_a_reset_while_a_run_is_unfinished(shell: Shell) -> None:
    """Law: a pair does not begin anew beneath an unfinished run, and the ways to end that one are named. Who insists is
    told of it, and the run finds out before anything more is done. The control is a reset with no such run."""
    assert shell("lab", "reset").err == ""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    run, roles = shell.run_name(), shell.roles()
    refused = shell("lab", "reset")
    assert (refused.code, refused.complaint) == (
        2,
        f"run {run} is unfinished, and would find the sites that it moved as new",
    )
    assert f"failover resume {run} or failover abort {run}; --force" in refused.err
    assert shell.roles() == roles
    reset = shell("lab", "reset", "--force")
    assert reset.code == 0
    assert reset.err.splitlines() == [
        f"SIMULATED  run {run} is unfinished, and finds the sites that it moved as new",
        f"SIMULATED    what to do: failover abort {run}, or failover resume {run}",
    ]
    ended = shell("resume", "--xa", shell.decisions)
    assert (ended.code, "the source is active again" in ended.out) == (5, True)
    assert (shell.roles(), shell.tally().both_active) == (("active", "standby"), ())


def test_an_inventory_that_has_changed(shell: Shell) -> None:
    """Law: resume uses the inventory and the runbook as they were; that they are gone since does not matter."""
    inventory = shell.inventory(embedded_layout())
    shell("controlled", "-i", str(inventory), "--vpn", VPN, "--yes", "--xa", "stop")
    inventory.unlink()
    assert shell("resume", "--xa", shell.decisions).code == 0
