"""Runs that are not at their end: what was killed half-way is gone on with, and a bug leaves a record that is good."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import ClassVar

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.registry import GROUP, Registry
from orchestrator.journal.lease import LEASE_SECONDS
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from simulator.embedded import embedded_layout
from tests.cli.shell import VPN, Ended, Shell


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


def last_line(ended: Ended) -> str:
    return ended.out.splitlines()[-1]


def test_aborted_too_late(shell: Shell) -> None:
    """Law: past its point of no return a service cannot be aborted; abort says so, and goes on to where the run stops."""
    ended = shell.move("--fault", "delete: refuse 10h")
    assert ended.code == 6
    assert "The service is past the point of no return, so it cannot be rolled back." in ended.out
    assert all(" --leave " in one for one in ended.out.split("failover abort ")[1:])
    aborted = shell("abort", "--reason", "second thoughts")
    assert "abort declined: the run is past the point of no return" in aborted.err
    assert aborted.code == 6
    assert (
        last_line(aborted) == f"SIMULATED  NOT ABORTED: {VPN}: the run is past the point of no return; nj is active"
    )
    assert shell.roles() == ("standby", "active")


@pytest.mark.parametrize("as_json", [False, True])
def test_an_abort_that_completed_the_move_does_not_look_like_one(shell: Shell, as_json: bool) -> None:
    """Law: an abort that came too late ends with an exit code of its own, and says last what is so now; the report of the
    run says first that it was asked for and not done. So does everybody who shows the run afterwards."""
    assert shell.move("--fault", "delete: refuse").code == 6
    shell.clock.advance(120)
    aborted = shell("abort", "--reason", "late", *(["--json"] if as_json else []))
    assert (aborted.code, shell.roles()) == (10, ("standby", "active"))
    why = "the run is past the point of no return"
    if as_json:
        found = {key: aborted.result[key] for key in ("aborted", "exit_code", "outcome", "message")}
        verdict = f"NOT ABORTED: {VPN}: {why}; nj is active"
        assert found == {"aborted": False, "exit_code": 10, "outcome": "done", "message": verdict}
        assert [one["kind"] for one in aborted.result["alarms"]] == ["not-aborted"]
    else:
        assert last_line(aborted) == f"SIMULATED  NOT ABORTED: {VPN}: {why}; nj is active"
    told = f"NOT ABORTED: {why}: {VPN}: nj is active"
    assert shell("runs", "show").out.splitlines()[1] == f"SIMULATED  {told}"
    assert told in shell("runs", "report").out


def test_an_abort_that_was_done(shell: Shell) -> None:
    """Law: a run that was rolled back ends as it did before: exit code 5, and nothing speaks against it."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    aborted = shell("abort", "--json")
    assert (aborted.code, aborted.result["aborted"], aborted.result["alarms"]) == (5, True, [])
    assert "NOT ABORTED" not in shell("runs", "show").out


def test_an_abort_of_some(shell: Shell) -> None:
    """Law: where one service of a run was done before, that one was not aborted, and is named."""
    assert shell("controlled", "--all", "--yes", "--xa", "stop").code == 6
    aborted = shell("abort")
    assert (aborted.code, shell.roles()) == (10, ("active", "standby"))
    assert last_line(aborted) == (
        "SIMULATED  NOT ABORTED: Risk_VPN, Settlement_VPN: the procedure was already done; nj is active"
    )


@pytest.mark.parametrize("as_json", [False, True])
def test_whose_leader_is_on_another_machine(shell: Shell, as_json: bool) -> None:
    """Law: no one here can tell whether that leader still lives. Until its lease is over it is said when it was last
    heard of; an abort waits for it to answer, and no longer than that lease lasts: then it is carried out here."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    journal = sqlite3.connect(shell.state / "journal.sqlite")
    lease = ("bastion-2:4711 elsewhere/1", shell.clock.now() + LEASE_SECONDS - 3)
    journal.execute("UPDATE runs SET holder = ?, expires_at = ?", lease)
    journal.commit()
    journal.close()
    [run] = (one["run"] for one in shell("runs", "list", "--json").values)
    leader = "led by bastion-2:4711, last heard of 3s ago"
    assert f", {leader}" in shell("runs", "show").out
    assert f"run {run} is {leader}" in shell("resume").err
    began = shell.clock.now()
    aborted = shell("abort", "--reason", "enough", *(["--json"] if as_json else []))
    assert aborted.code == 5
    assert as_json is False or aborted.result["aborted"] is True
    assert shell.clock.now() - began >= 6
    told = shell("runs", "report", "last").out
    assert (len(re.findall("abort asked by ann .*: enough", told)), shell.roles()) == (1, ("active", "standby")), told


@pytest.mark.parametrize("as_json", [False, True])
def test_a_leader_that_is_alive_is_asked_to_abort(shell: Shell, as_json: bool) -> None:
    """Law: a process that leads the run, renews its lease and does not answer was only asked: that is no abort, whatever
    the exit code is compared with."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    journal = sqlite3.connect(shell.state / "journal.sqlite", isolation_level=None)
    renew = "UPDATE runs SET holder = 'bastion-2:4711 elsewhere/1', expires_at = ?"

    class Busy(VirtualClock):
        """A clock with which another machine's lease is renewed."""

        def advance(self, seconds: float) -> None:
            super().advance(seconds)
            journal.execute(renew, (self.now() + LEASE_SECONDS,))

    shell.clock = Busy(shell.clock.now())
    shell.clock.advance(1)
    asked = shell("abort", "--reason", "enough", *(["--json"] if as_json else []))
    said = asked.result["message"] if as_json else last_line(asked)
    assert asked.code == 10
    assert "NOT ABORTED: " in said
    assert "the abort was requested from bastion-2:4711, " in said
    assert "which leads the run and has not answered yet" in said
    assert as_json is False or asked.result["aborted"] is False
    assert shell.roles() == ("standby", "standby")
    journal.close()


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
    assert ": the present role of nj was not read\n" in ended.out
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


class UpdatedAdapter(MockAdapter):
    """A program that is updated while it runs, and then needs more of itself."""

    update: ClassVar[Callable[[], None]]

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        if reading == "transactions":
            type(self).update()
            raise ImportError("cannot import name 'new'")
        return super().probe(reading, services)


UPDATED = EntryPoint("mock", "tests.cli.test_unfinished:UpdatedAdapter", GROUP)


@pytest.mark.parametrize("is_removed", [False, True])
def test_an_update_under_a_command(shell: Shell, tmp_path: Path, is_removed: bool) -> None:
    """Law: where the program was replaced on disk, an error is no bug of it: one sentence, with how to continue."""
    source = tmp_path / "loaded_by_this_test.py"
    source.write_text("")
    spec = spec_from_file_location(source.stem, source)
    assert spec is not None
    sys.modules[source.stem] = module_from_spec(spec)
    UpdatedAdapter.update = source.unlink if is_removed else lambda: source.chmod(0o600)
    shell.registry = Registry([UPDATED])
    try:
        ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop", "--json")
    finally:
        del sys.modules[source.stem]
    assert (ended.code, ended.result["exit_code"]) == (6, 6)
    assert ended.complaint.startswith("failover was updated while this command ran")
    assert "`failover resume` continues" in ended.hint
    assert "Traceback" not in ended.err


def test_a_reset_while_a_run_is_unfinished(shell: Shell) -> None:
    """Law: a pair does not begin anew beneath an unfinished run, and the ways to end that one are named. Who insists is
    told of it, and the run finds out before anything more is done. The control is a reset with no such run."""
    assert shell("lab", "reset").err == ""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    run, roles = shell.run_name(), shell.roles()
    refused = shell("lab", "reset")
    assert (refused.code, refused.complaint) == (
        2,
        f"run {run} is unfinished, and a reset would change the sites of this run",
    )
    assert f"failover resume {run} or failover abort {run}; --force" in refused.err
    assert shell.roles() == roles
    reset = shell("lab", "reset", "--force")
    assert reset.code == 0
    assert reset.err.splitlines() == [
        f"SIMULATED  run {run} is unfinished, but its sites were reset",
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
