"""Who acted: beside what a person wants to be called stands the account of the system whose process it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.operations.runtime import Tools, account_name
from tests.cli.shell import VPN, Shell

CALLED = "ceo@bank (approved)"
# What acts by itself.
NOBODY = frozenset({"policy", "--fail-fast"})


@pytest.fixture
def disguised(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Somebody who calls himself somebody else."""
    monkeypatch.setenv("FAILOVER_USER", CALLED)
    return shell


def who_acted(value: Any) -> Iterator[tuple[str, str, int | None]]:
    """Every ``by`` below ``value``, with the account and the number beside it."""
    if isinstance(value, dict):
        if "by" in value:
            yield value["by"], value.get("account", ""), value.get("uid")
        for inner in value.values():
            yield from who_acted(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from who_acted(inner)


def recorded(shell: Shell) -> list[Any]:
    return [json.loads(line["event"]) for line in shell("runs", "export").values]


def kinds(events: list[Any]) -> set[str]:
    return {event["kind"] for event in events}


def test_the_account_stands_beside_every_name(disguised: Shell) -> None:
    """Law: planned, led, decided in advance, resumed with other decisions, called off: each has account and number, which
    no variable of the environment changes."""
    shell = disguised
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    assert shell("decide", "later", "--gate", "xa", "--reason", "x").code == 2  # nothing is asked now
    assert shell("resume", "last", "--xa", shell.decisions).code == 0
    first = recorded(shell)
    assert {"run.created", "run.started", "policy.changed", "gate.decided", "lane.resumed"} <= kinds(first)
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes", "--fault", "drain: bridge down").code == 5
    own = (account_name(), os.getuid())
    for name, account, uid in [*who_acted(first), *who_acted(recorded(shell))]:
        assert (account, uid) == (("", None) if name in NOBODY else own), name
        assert name in NOBODY or name == CALLED or name == "file decisions.yaml"


def test_what_others_leave_has_their_account(disguised: Shell) -> None:
    """Law: an abort that is left for the process that leads the run has the account of who left it."""
    shell = disguised
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    shell("abort", "--reason", "enough")
    [asked] = [event for event in recorded(shell) if event["kind"] == "abort.asked"]
    assert (asked["by"], asked["account"], asked["uid"]) == (CALLED, account_name(), os.getuid())


def test_decisions_have_the_hash_of_their_file(shell: Shell) -> None:
    """Law: a decision that came from a file has the file's name, the SHA-256 of what was read, and who gave the file; so
    it can be found again, and another file of the same name is another."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    assert shell("resume", "last", "--xa", shell.decisions).code == 0
    digest = sha256(Path(shell.decisions).read_bytes()).hexdigest()
    rulings = [event["ruling"] for event in recorded(shell) if event["kind"] == "gate.decided" and event["item"]]
    assert [(one["by"], one["account"], one["file"]) for one in rulings] == [
        ("file decisions.yaml", account_name(), digest)
    ] * 2


def test_the_screen_names_the_account(disguised: Shell) -> None:
    """Law: where somebody is called otherwise than his account, people read both, in the report and in the story."""
    shell = disguised
    shell.move()
    real = f"{CALLED} (account {account_name()}, uid {os.getuid()})"
    story = shell("runs", "report").out
    assert f"planned by {real}" in story
    assert f"led by {real}" in story
    document = shell("runs", "show", "--json").values[0]
    assert (document["by"], document["account"]) == (CALLED, account_name())


def test_nobody_is_named_twice(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: who is called as his account is, is named once."""
    monkeypatch.setenv("FAILOVER_USER", account_name())
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes").code == 0
    assert "(account" not in shell("runs", "report").out


def test_another_account(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    """Control: the account is that of the process, not one that is always the same."""
    plain = shell.tools()
    other = Tools(shell.state, shell.clock, plain.secrets, shell.registry, plain.fleet, account="bob", uid=4711)
    assert main(["controlled", "--vpn", "Risk_VPN", "--yes"], other) == 0
    capsys.readouterr()
    assert {(account, uid) for _, account, uid in who_acted(recorded(shell)) if account} == {("bob", 4711)}
