"""Whatever cannot work: one clear sentence, the documented exit code, nothing changed or lost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simulator.embedded import embedded_layout
from tests.cli.complaints import complained, untouched
from tests.cli.shell import VPN, Shell

# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Nowhere",
        "",
        " Trading_VPN",
        "trading_vpn",
        "Trading_VPN;reload",
        "Trading_VPN\nreload",
        "Trading_VPN\rreload",
        'Trading_VPN" reload',
        "Trading_VPN'",
        "`reload`",
        "*",
        "\x1b[2J",
        "--all",
    ],
)
def test_a_name_that_is_not_listed(shell: Shell, name: str) -> None:
    """Law: a VPN that the inventory does not list is refused before any device is asked, on one line, escaped."""
    ended = shell("controlled", f"--vpn={name}", "--yes")
    complained(ended, 2, "the inventory does not list", repr(name).strip("'\"")[:5])
    assert ended.hint.endswith("listed: Trading_VPN, Risk_VPN, Settlement_VPN")
    assert not any(character in ended.err.replace("\n", "") for character in "\r\x1b")
    untouched(shell)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize(
    "name",
    ["A;reload", "A\nreload", 'A"', "A'", "A`id`", "A?", "A*", "A\\n", "A|B", "A<B", "A>B", "A&B", "A\x7f", " A"],
)
def test_a_listed_name_that_would_be_a_second_command(shell: Shell, name: str) -> None:
    """Law: quotes, newlines and `;` never get into an inventory, hence never into a command."""
    inventory = shell.inventory(services=[name])
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, f"{inventory}:1: ")
    assert shell("inventory", "lint", str(inventory)).code == 2


def test_a_name_with_a_blank_stays_one_argument(shell: Shell) -> None:
    """Law: a blank is allowed in a name, and every command that names it puts it in quotes."""
    layout = embedded_layout()
    vpn = replace(layout.vpns[1], name="My VPN")
    inventory = shell.inventory(replace(layout, vpns=(vpn,)), services=["My VPN"])
    [lane] = shell("controlled", "-i", str(inventory), "--all", "--dry-run", "--json").result["lanes"]
    lines = [command["line"] for step in lane["steps"] for command in step["commands"]]
    assert [line for line in lines if "My VPN" in line.replace('"My VPN"', "")] == []
    assert shell("controlled", "-i", str(inventory), "--all", "--yes").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no service is named"),
        (("--all", "--vpn", VPN), "give names of services or --all, not both"),
        (("--vpn", VPN, "--from", "la"), "'la' is not a site of the pair trading"),
        (("--vpn", VPN, "--from", "n\ny"), "'n\\ny' is not a site"),
        (("--vpn", VPN, "--pair", "orders"), "no pair is called 'orders'"),
        (("--vpn", VPN, "--runbook", "solace/nothing"), "no shipped runbook is called solace/nothing"),
        (("--vpn", VPN, "--runbook", "nothing.yaml"), "nothing.yaml: there is no such file"),
        (("--vpn", VPN, "--xa", "nothing.yaml"), "nothing.yaml: there is no such file"),
        (("--vpn", VPN, "--xa", "ask"), "--xa ask needs an operator, but no operator can answer"),
        (("--vpn", VPN, "--on-bridge-loss", "panic"), "'panic' is not a valid answer to bridge-lost"),
        (("--vpn", VPN, "--on-stall", "stop"), "'stop' is not a valid answer to drain-stalled"),
        (("--vpn", VPN, "--fault", "later: bridge down"), "not a fault: 'later: bridge down'"),
        (("--vpn", VPN, "--fault", "drain: unreachable la"), "has no site la"),
        (("--vpn", VPN, "--fault", "drain Else_VPN: stall"), "no message VPN Else_VPN"),
        (("--vpn", VPN, "--dry-run", "--fault", "drain: stall"), "--dry-run changes nothing"),
        (("--vpn", VPN, "-i", "nothing.yaml"), "nothing.yaml: there is no such file"),
    ],
)
def test_what_does_not_fit_together(shell: Shell, arguments: tuple[str, ...], sentence: str) -> None:
    """Law: whatever is wrong with what was typed is said before anything begins, with exit code 2."""
    more = () if "--dry-run" in arguments else ("--yes",)
    complained(shell("controlled", *arguments, *more), 2, sentence)
    untouched(shell)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize("words", [("uncontrolled", "--site", "ny"), ("restore", "--site", "ny"), ("failback",)])
def test_no_command_disturbs_the_pair_in_a_dry_run(shell: Shell, words: tuple[str, ...]) -> None:
    """Law: a fault is not passed over in silence either, whatever the command."""
    complained(shell(*words, "--vpn", VPN, "--dry-run", "--fault", "drain: stall"), 2, "--dry-run changes nothing")


def test_text_that_is_none(shell: Shell) -> None:
    """Law: bytes that are no text are refused, and never reach the record."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    complained(shell("abort", "--reason", "caf\udce9"), 2, "--reason is not valid UTF-8 text")
    assert shell("abort").code == 5


# --- definitions ----------------------------------------------------------------------------------------------------


def test_an_unknown_key(shell: Shell) -> None:
    """Law: YAML with an unknown key is refused with its file and line."""
    inventory = shell.inventory(comment="spare the time")
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, "inventory.yaml:1:", "comment")
    runbook = shell.write("own.yaml", "runbook: own/move\nsummary: s\nspeed: high\nsteps: []\n")
    complained(shell("controlled", "--all", "--yes", "--runbook", str(runbook)), 2, "own.yaml:3:", "speed")
    decisions = shell.write("xa.yaml", "decisions: []\ndefault: commit\n")
    complained(shell("controlled", "--all", "--yes", "--xa", str(decisions)), 2, "xa.yaml:2:", "default")
    untouched(shell)


def test_the_same_site_twice(shell: Shell) -> None:
    """Law: a pair of a site with itself is no pair."""
    inventory = shell.inventory(sites=["ny", "ny"])
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, "a pair needs two different sites")


@pytest.mark.parametrize(
    ("command", "option"), [("controlled", "--from"), ("uncontrolled", "--site"), ("restore", "--site")]
)
def test_a_site_that_is_none_of_the_pair(shell: Shell, command: str, option: str) -> None:
    """Law: it is answered with the two that are, and with no option that the command does not have."""
    ended = shell(command, "--vpn", VPN, option, "la")
    complained(ended, 2, "'la' is not a site of the pair trading")
    assert ended.hint == "name ny or nj"


def test_a_runbook_that_lint_refuses_moves_nothing(shell: Shell) -> None:
    """Law: what `runbook lint` calls an error is refused by every command that would run it."""
    text = "runbook: own/move\nsummary: s\nsteps:\n  - {id: a, title: t, do: {on: source, action: explode}}\n"
    runbook = shell.write("own.yaml", text)
    ended = shell("controlled", "--vpn", VPN, "--yes", "--runbook", str(runbook))
    complained(ended, 2, "own.yaml:4:", "explode")
    assert ended.err.count("known: complete_transaction") == 1, "what to do is said once"
    assert shell("runbook", "lint", str(runbook)).code == 4


# --- errors for machines, and bugs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("controlled", "--vpn", "Nowhere", "--yes", "--json"), 2),
        (("controlled", "--vpn", VPN, "--json"), 2),
        (("controlled", "--json", "--no-such-option"), 2),
        (("resume", "--json"), 2),
        (("runs", "show", "nosuch", "--json"), 2),
    ],
)
def test_errors_for_machines(shell: Shell, arguments: tuple[str, ...], code: int) -> None:
    """Law: with --json an error too ends in a result object, with the exit code and the sentence of stderr."""
    ended = shell(*arguments)
    assert ended.code == code
    assert ended.result["exit_code"] == code
    assert (
        json.dumps(ended.result["error"])[1:-1] in ended.err.replace("\n", " ") or ended.result["error"] in ended.err
    )


def test_without_a_terminal_and_without_yes(shell: Shell) -> None:
    """Law: nobody is asked who is not there; it refuses, and says what to add."""
    ended = shell("controlled", "--vpn", VPN)
    complained(ended, 2, "no terminal: cannot ask for confirmation")
    assert "--yes" in ended.hint
    untouched(shell)


def test_a_long_reason_is_refused_by_the_part_that_is_wrong(shell: Shell) -> None:
    """Law: the refusal shows the character and what is around it, not ten thousand characters."""
    reason = f"{'a' * 5000}\u202e{'b' * 5000}"
    ended = shell("uncontrolled", VPN, "--site", "ny", "--yes", "--reason", reason)
    complained(ended, 2, "or hides or reverses text", "a\\u202eb")
    assert len(ended.complaint) < 300
    untouched(shell)
