"""Completion in real shells: commands, and names from the inventory and from the record."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.solace.layout import VpnLayout
from tests.cli.processes import FAILOVER, Bench

pytestmark = pytest.mark.realtime

MakeBench = Callable[..., Bench]
COMPLETE_BASH = """\
eval "$({script})"
COMP_WORDS=(failover {words} "{begun}"); COMP_CWORD={at}
_failover_completion failover
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """\
zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell 'PS1="> "; stty columns 200; autoload -Uz compinit; compinit -u -D'
zpty -w shell 'eval "$({script})"; echo set-"up"'
zpty -m -r shell line '*set-up*'
zpty -w -n shell $'failover {words} {begun}\\t'
zpty -m -r shell line '*{expected}*'
print -r -- "$line"
zpty -d shell
"""


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench(vpns=(VpnLayout("Trading_VPN"), VpnLayout("Trade_VPN"), VpnLayout("Risk_VPN")))


def run(bench: Bench, shell: str, text: str) -> list[str]:
    """What this shell prints, with our program first on its path."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    variables = bench.variables()
    path = f"{Path(FAILOVER).parent}{os.pathsep}{variables['PATH']}"
    out = subprocess.run(
        [program, "-c", text],
        cwd=bench.folder,
        env={**variables, "PATH": path, "HOME": str(bench.folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    return out.splitlines()


def script(shell: str) -> str:
    return f"_FAILOVER_COMPLETE=source_{shell} failover"


def in_bash(bench: Bench, words: str, begun: str) -> list[str]:
    at = len(words.split()) + 1
    return run(bench, "bash", COMPLETE_BASH.format(script=script("bash"), words=words, begun=begun, at=at))


@pytest.mark.parametrize(
    ("words", "begun", "expected"),
    [
        ("", "sta", ["status"]),
        ("controlled", "Tra", ["Trade_VPN", "Trading_VPN"]),
        ("controlled Trading_VPN", "Tra", ["Trade_VPN"]),
        ("restore --site", "n", ["nj", "ny"]),
        ("controlled -i missing.yaml", "Tra", [""]),
    ],
)
def test_bash(bench: Bench, words: str, begun: str, expected: list[str]) -> None:
    """Law: a service, a site or a pair of the inventory completes; a file that cannot be read completes to nothing."""
    assert sorted(in_bash(bench, words, begun)) == expected


def test_runs_complete(bench: Bench) -> None:
    """Law: a run completes by its prefix, and so does ``last``; without a record nothing does, and none is made."""
    assert in_bash(bench, "runs show", "l") == [""]
    assert not (bench.folder / "state" / "journal.sqlite").exists()
    assert bench.here("controlled", "-i", str(bench.inventory), "Risk_VPN", "--yes").code == 0
    [name] = [value["run"] for value in bench.here("runs", "list", "--json").values]
    assert in_bash(bench, "runs show", "l") == ["last"]
    assert in_bash(bench, "runs show", name[:8]) == [name]


def test_fish(bench: Bench) -> None:
    """Law: the same in fish."""
    text = f"{script('fish')} | source; complete -C 'failover controlled Tra'"
    assert sorted(line.split("\t")[0] for line in run(bench, "fish", f"env {text}")) == ["Trade_VPN", "Trading_VPN"]


def test_zsh(bench: Bench) -> None:
    """Law: the same in zsh, at a terminal."""
    text = ZSH.format(script=script("zsh"), words="controlled", begun="Ri", expected="Risk_VPN")
    assert any("failover controlled Risk_VPN" in line for line in run(bench, "zsh", text))


def test_it_is_installed(bench: Bench) -> None:
    """Law: --install-completion makes it so for the shell that it is typed in, and --show-completion prints it."""
    # A shell gives its place to its last command, which then does not see what shell it is in.
    text = (
        "failover --install-completion >/dev/null; source ~/.bashrc; complete -p failover; "
        "failover --show-completion; true"
    )
    shown = run(bench, "bash", text)
    assert shown[0] == "complete -o default -F _failover_completion failover"
    assert "_failover_completion() {" in shown
