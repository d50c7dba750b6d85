"""`--dry-run` says beforehand what a run will do, and does nothing; `--yes` and the one question."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from simulator.embedded import embedded_layout
from tests.cli.shell import VPN, XIDS, Ended, Shell


def ahead(ended: Ended, lane: int = 0) -> list[dict[str, Any]]:
    """The commands of a dry run's JSON, in order."""
    return [command for step in ended.result["lanes"][lane]["steps"] for command in step["commands"]]


def changes(ended: Ended) -> list[tuple[str, str]]:
    """Device and line of each changing command that is sent in any case."""
    return [(c["device"], c["line"]) for c in ahead(ended) if c["purpose"] == "change" and not c["when"]]


def sent(shell: Shell) -> list[tuple[str, str]]:
    """Device and line of each changing command that the last run sent, by its record."""
    events = [json.loads(line["event"]) for line in shell("runs", "export").values]
    return [(event["device"], line) for event in events if event["kind"] == "action.ended" for line in event["sent"]]


def test_what_it_prints_is_what_is_sent(shell: Shell) -> None:
    """Law: the run that follows sends the changing commands of the dry run, all of them, in order, and no other."""
    layout = embedded_layout()
    # A transaction manager that reconciles nothing leaves every deletion to us, as the dry run must assume.
    vpn = replace(layout.vpns[0], manager=replace(layout.vpns[0].manager, outcomes=()))
    inventory = str(shell.inventory(replace(layout, vpns=(vpn,)), services=[VPN]))
    move = ("controlled", "-i", inventory, "--vpn", VPN, "--xa", shell.decisions)
    planned = changes(shell(*move, "--dry-run", "--json"))
    assert shell(*move, "--yes").code == 0
    assert planned == sent(shell)
    assert ("NY_Appliance1", "replication state standby") in planned
    assert ("NJ_Appliance1", "replication state active") in planned
    assert ("NY_Appliance1", f"commit-transaction xid {XIDS[0]}") in planned
    assert ("NY_Appliance1", f"rollback-transaction xid {XIDS[1]}") in planned


def test_it_changes_nothing(shell: Shell) -> None:
    """Law (promise 6): no device receives a changing command, nothing is recorded, and nobody's role changes."""
    before = shell.roles()
    for form in ((), ("--json",)):
        assert shell("controlled", "--all", "--dry-run", "--xa", shell.decisions, *form).code == 0
    assert (dict(shell.tally().commands), shell.roles()) == ({}, before)
    assert shell("runs", "list").out == ""


def test_commands_name_their_device_and_come_in_order(shell: Shell) -> None:
    """Law: every line names the device it goes to; the source gives up activity before the target takes it."""
    out = shell("controlled", "--vpn", VPN, "--dry-run").out
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    sends = [rest for word, rest in (line for line in lines if len(line) == 2) if word == "SEND"]
    assert sends == [
        "NY_Appliance1> configure",
        f"NY_Appliance1> message-vpn {VPN}",
        "NY_Appliance1> replication state standby",
        "NJ_Appliance1> configure",
        f"NJ_Appliance1> message-vpn {VPN}",
        "NJ_Appliance1> replication state active",
    ]
    assert out.index("show queue") < out.index("replication state active")


def test_the_other_direction(shell: Shell) -> None:
    """Law: --from turns source and target around, in the commands too."""
    assert shell.move().code == 0
    planned = changes(shell("controlled", "--vpn", VPN, "--from", "nj", "--dry-run", "--json"))
    assert planned[2] == ("NJ_Appliance1", "replication state standby")
    assert planned[-1] == ("NY_Appliance1", "replication state active")


def test_undecided_transactions_show_both_ways(shell: Shell) -> None:
    """Law: what a decision would lead to is shown as such, and never as if it were sent in any case."""
    ended = shell("controlled", "--vpn", VPN, "--dry-run", "--json")
    conditional = {(c["when"], c["line"]) for c in ahead(ended) if c["when"]}
    for xid in XIDS:
        assert ("commit", f"commit-transaction xid {xid}") in conditional
        assert ("rollback", f"rollback-transaction xid {xid}") in conditional
        assert ("decided", f"delete-transaction xid {xid}") in conditional
    assert not any(xid in line for _, line in changes(ended) for xid in XIDS)
    text = shell("controlled", "--vpn", VPN, "--dry-run").out
    assert f"a decision is needed: {XIDS[0]}, {XIDS[1]}" in text


def test_what_holds_now_is_checked_now(shell: Shell) -> None:
    """Law: the dry run's exit code is the one the run would refuse with, and its reason the same sentence."""
    assert shell("controlled", "--vpn", VPN, "--dry-run", "--xa", shell.decisions).code == 0
    shell.disturb("at 0s: bridge down")
    shell.clock.advance(2)
    dry = shell("controlled", "--vpn", VPN, "--dry-run", "--json")
    assert dry.code == dry.result["exit_code"] == 3
    [lane] = dry.result["lanes"]
    run = shell("controlled", "--vpn", VPN, "--yes", "--json")
    assert run.code == 3
    assert lane["would_refuse"] == run.result["lanes"][0]["reason"]
    assert shell("controlled", "--vpn", VPN, "--dry-run").out.endswith(
        f"\nA new run would refuse: {VPN}\n  {VPN}: WOULD REFUSE: {lane['would_refuse']}\n"
        "    what to do: Nothing was changed. Check the bridge at the standby site with `show bridge "
        f"#MSGVPN_REPLICATION_BRIDGE message-vpn {VPN} detail`.\n"
    )


def test_an_unreadable_answer_is_not_a_good_one(shell: Shell) -> None:
    """Law: what could not be read is shown as unknown, and would refuse."""
    shell.disturb("reads: garbage reply 1h")
    ended = shell("controlled", "--vpn", VPN, "--dry-run")
    assert ended.code == 3
    assert "?         ny: replication is unknown: the answer of ny makes no sense" in ended.out
    assert "Nothing was changed. Run the command again with -vv: it shows what was sent to ny" in ended.out


def test_decisions_made_beforehand_are_in_the_plan(shell: Shell) -> None:
    """Law: an option that decides something beforehand shows in the plan as decided."""
    out = shell("controlled", "--vpn", VPN, "--dry-run", "--on-bridge-loss", "wait", "--on-stall", "escalate").out
    assert "if the guard is broken for 1m: wait, decided in advance" in out
    assert "if nothing moves for 2m: escalate, decided in advance" in out
    assert "unattended: revert" in shell("controlled", "--vpn", VPN, "--dry-run").out


@pytest.mark.parametrize("services", [("--all",), ("--vpn", "Risk_VPN", "--vpn", VPN)])
def test_many_services(shell: Shell, services: tuple[str, ...]) -> None:
    """Law: each service has its own plan; one reading serves all of them."""
    ended = shell("controlled", *services, "--dry-run", "--json")
    names = [lane["service"] for lane in ended.result["lanes"]]
    assert names == (["Trading_VPN", "Risk_VPN", "Settlement_VPN"] if "--all" in services else ["Risk_VPN", VPN])
    for number, name in enumerate(names):
        lines = [command["line"] for command in ahead(ended, number)]
        assert lines[0] == "show message-vpn * replication"
        assert f"message-vpn {name}" in lines


@pytest.mark.parametrize(
    ("command", "suspended", "words"),
    [
        (
            ("uncontrolled", "--site", "ny", "--attest", "cables pulled"),
            False,
            "ny: the failed site still answers as active",
        ),
        (("controlled",), True, "ny: replication is suspended"),
    ],
)
def test_what_must_never_be_and_is_now(shell: Shell, command: tuple[str, ...], suspended: bool, words: str) -> None:
    """Law: a wait that would end at once, because of what must never be, refuses the dry run in the run's own words."""
    layout = embedded_layout()
    vpn = replace(layout.vpns[0], reject_on_discard=not suspended)
    inventory = str(shell.inventory(replace(layout, vpns=(vpn,)), services=[VPN]))
    line = (*command, "-i", inventory, "--vpn", VPN)
    foreseen = shell(*line, "--dry-run", "--json")
    [lane] = foreseen.result["lanes"]
    assert lane["would_refuse"].startswith(words)
    told = shell(*line, "--dry-run").out
    assert f"NO        {words}" in told
    done = shell(*line, "--yes", "--json")
    assert [one["reason"] for one in done.result["lanes"]] == [lane["would_refuse"]]
    assert (foreseen.code, done.code) == (3, 3)
    way_on = f"`failover restore {VPN} --site nj`"
    assert [way_on in screen for screen in (told, shell(*line, "--yes").out)] == [suspended, suspended]


def test_a_question_is_asked_in_one_sentence(shell: Shell) -> None:
    """Law: the plan joins a question to its choices without a stop in between."""
    told = shell("uncontrolled", "--vpn", VPN, "--site", "ny", "--dry-run").out
    assert "continue without that proof: attest / waive / stop" in " ".join(told.split())
