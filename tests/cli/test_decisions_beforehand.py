"""Decisions made beforehand: on prepared transactions, on a lost bridge, on a stalled drain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.shell import VPN, XIDS, Shell, hasty_runbook


@pytest.fixture
def hasty(shell: Shell) -> str:
    """The shipped runbook with a short grace."""
    return str(shell.write("hasty.yaml", hasty_runbook("5s")))


# --- prepared transactions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("xa", [(), ("--xa", "revert")])
def test_a_known_question_is_answered_before_anything_is_given_up(shell: Shell, xa: tuple[str, ...]) -> None:
    """Law (promise 16): unattended, prepared transactions without a decision refuse the move, with the option to add;
    the dry run says the same and ends alike."""
    ended = shell("controlled", "--vpn", VPN, "--yes", *xa)
    assert ended.code == 3
    assert "2 prepared transactions need a decision: " in ended.out
    assert "add --xa FILE with a decision for each" in ended.out
    assert (dict(shell.tally().commands), shell.roles()) == ({}, ("active", "standby"))
    dry = shell("controlled", "--vpn", VPN, "--dry-run", *xa)
    assert (dry.code, "WOULD REFUSE: 2 prepared transactions need a decision" in dry.out) == (3, True)


def test_a_dry_run_says_where_a_run_would_stop(shell: Shell) -> None:
    """Law (promise 16): to stop at a question that is known now is said, with the exit code of the run."""
    dry = shell("controlled", "--vpn", VPN, "--dry-run", "--xa", "stop")
    assert dry.code == 6
    assert dry.out.splitlines()[-1].startswith(f"{VPN}: WOULD STOP: 2 prepared transactions need a decision: ")
    assert "with no site active" in dry.out.splitlines()[-1]
    [lane] = shell("controlled", "--vpn", VPN, "--dry-run", "--xa", "stop", "--json").result["lanes"]
    assert (lane["would_refuse"], lane["would_ask"], bool(lane["would_stop"])) == ("", "", True)
    assert shell("controlled", "--vpn", VPN, "--dry-run", "--xa", shell.decisions).code == 0


def test_a_late_transaction_gives_activity_back(shell: Shell) -> None:
    """Law (promise 16): one that is prepared after the demotion, with no operator there, rolls the lane back; nothing is
    done to it."""
    late = "transactions: tm prepares 0021B0FF-00-01"
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", shell.decisions, "--fault", late)
    assert ended.code == 5
    assert "1 prepared transaction needs a decision: 0021B0FF-00-01" in ended.out
    assert (shell.roles(), shell.tally().lost) == (("active", "standby"), 0)


def test_nothing_is_decided_silently(shell: Shell) -> None:
    """Law: with --xa stop prepared transactions stop the lane at a safe place; no transaction is touched."""
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    assert ended.code == 6
    assert "2 prepared transactions need a decision: " in ended.out
    assert all(xid in ended.out for xid in XIDS)
    assert "NO SITE IS ACTIVE since " in ended.out
    assert "--xa FILE" in ended.out
    assert {key.action for key in shell.tally().commands} == {"set_role"}
    assert shell.roles() == ("standby", "standby")


def test_decisions_from_a_file(shell: Shell) -> None:
    """Law: each decision is carried out on the source and recorded with its reason and the file it came from."""
    result = shell.move("--json").result
    assert [(one["item"], one["choice"], one["by"], one["reason"]) for one in result["lanes"][0]["decisions"]] == [
        (XIDS[0], "commit", "file decisions.yaml", "the log says so"),
        (XIDS[1], "rollback", "file decisions.yaml", "the order was cancelled"),
    ]
    outcomes = {key.args: key.site for key in shell.tally().commands if key.action == "complete_transaction"}
    assert outcomes == {
        (("outcome", "commit"), ("xid", XIDS[0])): "ny",
        (("outcome", "rollback"), ("xid", XIDS[1])): "ny",
    }


def test_a_file_that_decides_on_some(shell: Shell) -> None:
    """Law: what the file leaves open, or does not list, has no decision; the lane stops and names it."""
    text = f"decisions:\n  - {{xid: {XIDS[0]}, branches: [committed, unknown]}}\n"
    some = str(shell.write("some.yaml", text))
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", some)
    assert ended.code == 3
    assert "2 prepared transactions need a decision" in ended.out
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    text = f"decisions:\n  - {{xid: {XIDS[0]}, branches: [committed, committed]}}\n"
    some = str(shell.write("some.yaml", text))
    ended = shell("resume", "--xa", some)
    assert ended.code == 6
    assert f"1 prepared transaction needs a decision: {XIDS[1]}" in ended.out


def test_going_on_with_decisions(shell: Shell) -> None:
    """Law: a run that stopped for decisions goes on with `resume --xa FILE`, also after an explicit --xa stop."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    assert shell("resume").code == 6
    assert shell("resume", "--xa", shell.decisions).code == 0
    assert (shell.roles(), shell.tally().lost) == (("standby", "active"), 0)


def test_calling_it_off_instead(shell: Shell) -> None:
    """Law: abort before the point of no return gives activity back to the source; nothing is lost."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    ended = shell("abort", "--reason", "the desk changed its mind")
    assert ended.code == 5
    assert f"{VPN}: reverted: aborted by ann: the desk changed its mind" in ended.out
    assert (shell.roles(), shell.tally().lost, shell.tally().both_active) == (("active", "standby"), 0, ())
    assert shell.move().code == 0


# --- the bridge -----------------------------------------------------------------------------------------------------

LOST = ("--fault", "drain +1s: bridge down")


def test_a_short_loss_heals(shell: Shell) -> None:
    """Law: a bridge that comes back within the grace time costs time, and nothing else."""
    ended = shell.move("--fault", "drain +1s: bridge down 4s")
    assert ended.code == 0
    assert "ATTENTION nj: the replication bridge was lost before the replication queue was drained" in ended.err
    assert "INTERRUPTED for " in ended.err
    assert "holds again, continuing" in ended.err
    assert shell.tally().lost == 0


@pytest.mark.parametrize("decided", [(), ("--on-bridge-loss", "revert")])
def test_a_long_loss_reverts(shell: Shell, hasty: str, decided: tuple[str, ...]) -> None:
    """Law (promise 3): unattended the lane reverts after the grace time; the report says how many were at risk."""
    ended = shell.move("--runbook", hasty, *LOST, *decided, "--json")
    assert ended.code == 5
    [decision] = ended.result["lanes"][0]["decisions"]
    assert (decision["gate"], decision["choice"], decision["by"]) == ("bridge-lost", "revert", "policy")
    assert decision["reason"] == ("decided in advance" if decided else "no operator could be asked")
    assert decision["at_risk"] > 0
    assert f"; at risk: {decision['at_risk']:,} messages" in shell("runs", "show").out
    assert (shell.roles(), shell.tally().lost) == (("active", "standby"), 0)


def test_escalation(shell: Shell, hasty: str) -> None:
    """Law: escalated means on, without the guarantee: exit code 9, and the number at risk in every form of it."""
    ended = shell.move("--runbook", hasty, *LOST, "--on-bridge-loss", "escalate", "--json")
    assert ended.code == 9
    [lane] = ended.result["lanes"]
    at_risk = lane["at_risk_messages"]
    assert at_risk > 0
    assert shell.tally().lost <= at_risk
    shown = shell("runs", "show").out
    assert f"    {at_risk:,} messages at risk" in shown
    assert f"{at_risk:,} messages may be only at ny" in shown
    assert f"{at_risk:,} messages at risk" in shell("runs", "report").out
    assert shell.roles() == ("standby", "active")


def test_waiting(shell: Shell, hasty: str) -> None:
    """Law: wait waits for another while, each time, until the bridge is back."""
    ended = shell.move(
        "--runbook", hasty, "--fault", "drain +1s: bridge down 30s", "--on-bridge-loss", "wait", "--json"
    )
    assert ended.code == 0
    choices = [one["choice"] for one in ended.result["lanes"][0]["decisions"] if one["gate"] == "bridge-lost"]
    assert set(choices) == {"wait"}
    assert len(choices) >= 4
    assert shell.tally().lost == 0


@pytest.mark.parametrize(
    ("decided", "code"),
    [((), 5), (("--on-stall", "revert"), 5), (("--on-stall", "escalate"), 9), (("--on-stall", "wait"), 0)],
)
def test_a_stalled_drain(shell: Shell, hasty: str, decided: tuple[str, ...], code: int) -> None:
    """Law: a queue that does not move is called stalled, not slow, and decided like a lost bridge."""
    ended = shell.move("--runbook", hasty, "--fault", "drain +1s: stall 20s", *decided)
    assert ended.code == code
    assert "stalled with " in ended.err
    assert "there is no progress" in ended.err


def test_a_slow_drain_is_not_a_stalled_one(shell: Shell, hasty: str) -> None:
    """Law: a bridge that carries little, but something, is waited for."""
    ended = shell.move("--runbook", hasty, "--fault", "drain: slow 10x 20s")
    assert (ended.code, "stalled" in ended.err) == (0, False)


# --- a policy that changes on the way -------------------------------------------------------------------------------


def test_resume_may_decide_anew(shell: Shell, pausing: Callable[[], str]) -> None:
    """Law: options of resume replace what was decided before, are recorded, and hold from then on."""
    run = pausing()
    assert shell("resume", run, "--xa", shell.decisions, "--on-bridge-loss", "wait").code == 0
    assert "decisions changed by ann" in shell("runs", "report", run).out


@pytest.fixture
def pausing(shell: Shell) -> Callable[[], str]:
    """Leaves a run that stopped for decisions; returns its name."""

    def leave() -> str:
        shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop", "--on-bridge-loss", "revert")
        return shell.run_name()

    return leave
