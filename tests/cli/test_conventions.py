"""What operators expect of a command line: plain words, aliases, one word for a site, help in groups, manual pages."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.characters import typed
from tests.architecture.source import PRODUCT, python_files
from tests.cli.shell import VPN, Shell
from tests.cli.test_pages import COMMANDS

MOVES = ("controlled", "uncontrolled", "restore", "failback", "repair", "plan")


def planned(shell: Shell, *arguments: str) -> list[str]:
    return [lane["service"] for lane in shell(*arguments, "--json").result["lanes"]]


def test_services_are_plain_words(shell: Shell) -> None:
    """Law: a name is the same as ``--vpn`` with it; both together are both."""
    assert planned(shell, "controlled", VPN, "--dry-run") == planned(shell, "controlled", "--vpn", VPN, "--dry-run")
    assert planned(shell, "controlled", VPN, "--vpn", "Risk_VPN", "Risk_VPN", "--dry-run") == [VPN, "Risk_VPN"]


def test_readers_take_names_too(shell: Shell) -> None:
    """Law: status and check are limited to the services that are named; a name that is none is refused."""
    [found] = shell("status", "Risk_VPN", "--json").values
    assert [one["service"] for one in found["services"]] == ["Risk_VPN"]
    [checked] = shell("check", "Risk_VPN", "--json").values
    assert [one["service"] for one in checked["pairs"][0]["services"]] == ["Risk_VPN"]
    assert shell("status", "Risky").complaint == "the inventory does not list 'Risky'"
    assert shell("check", "Risky").code == 2


def test_a_rehearsal_takes_names_too(shell: Shell) -> None:
    """Law: a plain word of a rehearsed command is a service, and the value of one of its options is not."""
    ended = shell("rehearse", "controlled", "Risk_VPN", "--fast", "--yes", "--on-bridge-loss", "revert", "--json")
    assert ended.code == 0
    assert [lane["service"] for lane in ended.result["lanes"]] == ["Risk_VPN"]


def test_aliases(shell: Shell) -> None:
    """Law: ``switchover`` is ``controlled``, and ``plan`` its dry run, which changes nothing."""
    assert planned(shell, "plan", VPN) == [VPN]
    assert shell("runs", "list").out == ""
    assert shell("switchover", "Risk_VPN", "--yes").code == 0
    for site in ("--site", "--from"):
        assert shell("plan", "Risk_VPN", site, "nj", "--json").result["source"] == "nj"


def test_one_word_for_a_site() -> None:
    """Law: each command that takes one site calls it ``--site``, and help lists no other word for it."""
    for name in (*MOVES, "guard", "watch", "snapshot", "rehearse"):
        command = COMMANDS[f"failover {name}"]
        [site] = [one for one in command.params if "--site" in one.opts]
        assert set(site.opts) <= {"--site", "--from", "--failed", "--to"}


def test_help_is_in_groups(shell: Shell) -> None:
    """Law: help lists commands by when they are needed, the daily ones first, and options by what they are about. A
    second word for a site, and the option for a plain word, are not in it."""
    groups = re.findall(r"^(\w[^\n]*):$", shell("--help").out, re.M)
    assert groups == [
        "Options",
        "Daily",
        "Before a move",
        "After an outage or a move",
        "Build: inventories, runbooks, families",
        "Develop and test",
    ]
    text = shell("controlled", "--help").out
    assert [
        title for title in ("What to move:", "Several services:", "Approval by others:") if title not in text
    ] == []
    assert not {"--vpn", "--from"} & set(re.findall(r"--[a-z-]+", text.partition("Arguments:")[2]))


def test_a_typo_is_answered(shell: Shell) -> None:
    """Law: a command or an option that is nearly one is named."""
    assert "Did you mean 'switchover'?" in shell("switchovr").err
    assert "--dry-run" in shell("controlled", VPN, "--dry-rn").err


def test_manual_pages(shell: Shell) -> None:
    """Law: every command has a manual page with each of its options, and nothing in it that roff does not know."""
    assert shell("man", "pages").code == 0
    pages = {path.stem for path in Path("pages").iterdir()}
    assert {name.replace(" ", "-") for name in COMMANDS} <= pages
    text = Path("pages/failover-controlled.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert [
        one for one in ("--dry-run", "--site SITE", "--xa", "failover(1)") if one not in text.replace("\\fR", "")
    ] == []


def test_manual_pages_are_roff(shell: Shell) -> None:
    """Law: roff has nothing to say about them."""
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    shell("man", "pages")
    pages = [str(path) for path in Path("pages").iterdir()]
    told = subprocess.run(["groff", "-ww", "-man", "-Tutf8", *pages], capture_output=True, text=True, check=True)
    assert told.stderr == ""


def test_advice_names_services_as_plain_words() -> None:
    """Law: what the program advises is what help shows: no family's own option for a service, but for a name that looks
    like an option."""
    assert [typed(name) for name in (VPN, "My VPN", "-x", "a$(id)")] == [VPN, "'My VPN'", "--service=-x", "'a$(id)'"]
    found = [
        f"{source.path}: {line.strip()}"
        for source in python_files(*PRODUCT)
        for line in source.text.splitlines()
        if re.search(r"failover [a-z]+ [^`]*--(vpn|service) ", line)
    ]
    assert found == []
