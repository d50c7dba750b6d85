"""``--approve-by``, the inventory's policy and ``failover approve``: who is asked, who may answer, and what is said."""

from __future__ import annotations

import os
import pwd
import signal
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest
import yaml

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools, account_name
from tests.cli.processes import Bench, line_with
from tests.cli.shell import VPN, Ended, Shell

MOVE = ("controlled", "--vpn", "V", "--yes")
WAITS = "decision needed: the plan needs"


def as_account(bench: Bench, account: str, *arguments: str) -> Ended:
    """A command typed by somebody else."""
    out, err = StringIO(), StringIO()
    tools = Tools(bench.folder / "state", SystemClock(), SecretStore(None), Registry(), account=account)
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments, tools)
    return Ended(code, out.getvalue(), err.getvalue())


# --- without anybody else ------------------------------------------------------------------------------------------


def test_a_dry_run_says_how_many(shell: Shell) -> None:
    """Law: a dry run tells how many approvals would be needed, to people and to machines, and asks nobody."""
    said = shell("controlled", "--vpn", VPN, "--dry-run", "--approve-by", "2", "--approve-within", "30m").out
    assert "starts only after 2 other people approved it, within 30m" in said
    assert (
        shell("controlled", "--vpn", VPN, "--dry-run", "--approve-by", "1", "--json").result["approvals_needed"] == 1
    )
    assert shell("controlled", "--vpn", VPN, "--dry-run", "--json").result["approvals_needed"] == 0


def test_nobody_approves_in_time(shell: Shell) -> None:
    """Law: without the approvals in time it is refused, exit code 3, and nothing was changed."""
    ended = shell.move("--approve-by", "1", "--approve-within", "20s", "--json")
    assert (ended.code, shell.roles()) == (3, ("active", "standby"))
    asked = [value["event"] for value in ended.values[:-1] if value["event"]["kind"] == "gate.opened"]
    assert [(one["gate"], one["approval"]["needed"]) for one in asked] == [("approval", 1)]
    assert ended.result["approval"]["needed"] == 1
    assert ended.result["lanes"][0]["reason"] == "the plan was not approved: 0 of 1 agreed in time"
    assert all(value["lane"] is None or value["event"]["kind"] == "lane.ended" for value in ended.values[:-1])


def test_the_glass_is_broken_at_the_start(shell: Shell) -> None:
    """Law: with --break-glass it begins at once, and every account of the run says who did that and why."""
    ended = shell.move("--approve-by", "2", "--break-glass", "nobody can be reached")
    assert (ended.code, shell.roles()) == (0, ("standby", "active"))
    by = account_name()
    assert f"BREAK-GLASS by {by}: started without the approval of others (nobody can be reached)" in ended.out
    assert f"decided by {by}: break-glass (nobody can be reached)" in shell("runs", "report").out
    report = shell("runs", "show", "--json").values[0]["approval"]
    assert (report["decision"]["choice"], report["given"]) == ("break-glass", [])


def policy(shell: Shell, **words: object) -> tuple[str, ...]:
    """The options for an inventory whose pair has an approval policy."""
    inventory = shell.inventory(shell.world().layout, name="strict.yaml")
    plain = yaml.safe_load(inventory.read_text(encoding="utf-8"))
    plain["pairs"][0]["approval"] = words
    inventory.write_text(yaml.safe_dump(plain), encoding="utf-8")
    return ("--inventory", str(inventory))


def needed(shell: Shell, *arguments: str) -> int:
    return int(shell(*arguments, "--dry-run", "--json").result["approvals_needed"])


def test_the_policy_of_the_inventory(shell: Shell) -> None:
    """Law: the policy holds for the commands it names, and the command line can ask for more, never for less."""
    where = policy(shell, needed=2, within="10m", commands=["controlled"])
    move = ("controlled", "--vpn", VPN, *where)
    assert [
        needed(shell, *move),
        needed(shell, *move, "--approve-by", "1"),
        needed(shell, *move, "--approve-by", "3"),
    ] == [*(2, 2, 3)]
    assert "within 10m" in shell(*move, "--dry-run", "--approve-within", "3h").out
    assert "within 5m" in shell(*move, "--dry-run", "--approve-within", "5m").out
    assert needed(shell, "restore", "--vpn", VPN, "--site", "nj", *where) == 0
    assert shell("rehearse", *move, "--fast", "--yes", "--xa", shell.decisions).code == 0


def test_a_policy_without_glass(shell: Shell) -> None:
    """Law: where --break-glass is not allowed, asking for it is refused before anything is recorded."""
    where = policy(shell, needed=1, break_glass=False)
    refused = shell("controlled", "--vpn", VPN, "--yes", *where, "--break-glass", "hurry")
    assert (refused.code, "does not allow --break-glass" in refused.complaint) == (2, True)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize(
    "words",
    [
        {"needed": 0},
        {"needed": 1, "within": "0s"},
        {"needed": 1, "within": 60},
        {"needed": 1, "commands": []},
        {"needed": 1, "commands": ["abort"]},
        {},
    ],
)
def test_a_policy_that_is_none(shell: Shell, words: dict[str, object]) -> None:
    """Law: a policy that would let nobody, or everybody, through is a mistake in the inventory, with its line."""
    refused = shell("controlled", "--vpn", VPN, "--dry-run", *policy(shell, **words))
    assert (refused.code, "strict.yaml" in refused.complaint) == (2, True)


def test_words_that_cannot_be_said(shell: Shell) -> None:
    """Law: approving nothing, contradictions, and reasons that are none are exit code 2, and leave nothing behind."""
    shell.move("--approve-by", "1", "--approve-within", "5s")
    for wrong in (
        ("approve", "--yes"),
        ("approve", "last", "--yes"),
        ("approve", "last", "--deny", "--break-glass", "x"),
        ("approve", "last", "--break-glass", " "),
        ("controlled", "--vpn", VPN, "--yes", "--approve-by", "1", "--break-glass", " "),
        ("controlled", "--vpn", VPN, "--yes", "--approve-by", "1", "--approve-within", "5"),
        ("controlled", "--vpn", VPN, "--yes", "--approve-by", "1", "--approve-within", "0s"),
        ("controlled", "--vpn", VPN, "--yes", "--approve-by", "0"),
        ("controlled", "--vpn", VPN, "--yes", "--approve-within", "30m"),  # whoever says so wants to be approved
    ):
        assert shell(*wrong).code == 2, wrong
    assert len(shell("runs", "list").out.splitlines()) == 1


def test_no_variable_makes_somebody_else() -> None:
    """Law: who approves is the account of the process, whatever the environment says."""
    assert account_name() == pwd.getpwuid(os.getuid()).pw_name


# --- with other people: real processes -----------------------------------------------------------------------------


@pytest.mark.realtime
def test_somebody_else_approves(make_bench: Callable[..., Bench]) -> None:
    """Law: a run that waits is seen to wait; the requester cannot approve it, somebody else can, and then it goes on."""
    bench = make_bench()
    process = bench.start(*MOVE, "--approve-by", "1")
    line_with(process, WAITS)
    shown = bench.here("runs", "show")
    assert "WAITS for 1 of 1 approval until" in shown.out
    assert "OPEN QUESTION for the whole run: the plan needs approval by another person within 1h" in shown.out
    own = bench.here("approve", "--yes")
    assert (own.code, own.complaint) == (
        2,
        f"{account_name()} requested this run; another person must approve the plan",
    )
    assert as_account(bench, "bob", "approve").code == 2  # no terminal: cannot ask for confirmation
    said = as_account(bench, "bob", "approve", "--yes", "--reason", "change 4711")
    assert (said.code, said.out.strip().endswith("approved by bob")) == (0, True)
    assert process.communicate(timeout=60)[1]
    assert (process.returncode, bench.roles()) == (0, ("standby", "active"))
    assert "approved by bob on" in bench.here("runs", "show").out


@pytest.mark.realtime
def test_killed_while_it_waits_and_approved_meanwhile(make_bench: Callable[..., Bench]) -> None:
    """Law (promise 4): kill -9 while it waits; what is said then is not lost, and resume goes on with it."""
    bench = make_bench()
    process = bench.start(*MOVE, "--approve-by", "2")
    line_with(process, WAITS)
    assert as_account(bench, "bob", "approve", "--yes").code == 0
    line_with(process, "approved by bob")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert as_account(bench, "bob", "approve", "--yes").complaint == "bob has already approved the plan"
    said = as_account(bench, "carol", "approve", "--yes", "--json")
    assert "no process leads the run: failover resume" in said.result["message"]
    assert bench.roles() == ("active", "standby")
    assert bench.run("resume").code == 0
    assert bench.roles() == ("standby", "active")


@pytest.mark.realtime
def test_somebody_denies(make_bench: Callable[..., Bench]) -> None:
    """Law: one no from anybody ends it, refused, with name and reason."""
    bench = make_bench()
    process = bench.start(*MOVE, "--approve-by", "2")
    line_with(process, WAITS)
    assert as_account(bench, "bob", "approve", "--deny", "--reason", "market is open").code == 0
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, bench.roles()) == (3, ("active", "standby"))
    assert "the plan was denied by bob: market is open" in out


@pytest.mark.realtime
def test_a_no_is_not_asked_about(make_bench: Callable[..., Bench]) -> None:
    """Law: to deny takes one command, also on a terminal, and the requester may do it too."""
    bench = make_bench()
    process = bench.start(*MOVE, "--approve-by", "1")
    line_with(process, WAITS)
    terminal = bench.terminal("approve", "--deny")
    assert terminal.end() == 0
    process.communicate(timeout=60)
    assert process.returncode == 3


@pytest.mark.realtime
def test_the_plan_is_shown(make_bench: Callable[..., Bench]) -> None:
    """Law: what is agreed to is named: procedure, direction, services, steps, decisions made beforehand, digest."""
    bench = make_bench()
    process = bench.start(*MOVE, "--approve-by", "1", "--on-bridge-loss", "escalate")
    line_with(process, WAITS)
    shown = bench.here("approve", "--show").out
    digest = bench.here("approve", "--show", "--json").result["digest"]
    for words in (f"requested by {account_name()}", "source: ny", "target: nj", "services: V", "point of no return"):
        assert words in shown
    for words in ("decided in advance on bridge-lost: escalate", f"plan {digest}", "approvals are not signed"):
        assert words in shown
    process.kill()
