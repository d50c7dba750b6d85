"""Promise 13: a run on the simulator says SIMULATED in every output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import VPN, Shell

TEXTS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("controlled", "--vpn", "Risk_VPN", "--dry-run"),
    ("controlled", "--vpn", "Risk_VPN", "--yes"),
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "report"),
    ("runs", "verify"),
    ("resume",),
    ("abort",),
    ("lab", "reset", "--force"),
)


@pytest.fixture
def stopped(shell: Shell) -> Shell:
    """A shell with a run that stopped, so that there is something to tell of."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    return shell


@pytest.mark.parametrize("command", TEXTS, ids=" ".join)
def test_in_words(stopped: Shell, command: tuple[str, ...]) -> None:
    """Law: what people read says SIMULATED, on stdout and on every line of progress."""
    ended = stopped(*command)
    assert "SIMULATED" in ended.out
    assert all("SIMULATED" in line for line in ended.err.splitlines())


JSONS: tuple[tuple[str, ...], ...] = (
    ("status", "--json"),
    ("controlled", "--vpn", "Risk_VPN", "--dry-run", "--json"),
    ("controlled", "--vpn", "Risk_VPN", "--yes", "--json"),
    ("runs", "list", "--json"),
    ("runs", "show", "--json"),
    ("runs", "export"),
    ("runs", "verify", "--json"),
    ("resume", "--json"),
    ("abort", "--json"),
)


@pytest.mark.parametrize("command", JSONS, ids=" ".join)
def test_for_machines(stopped: Shell, command: tuple[str, ...]) -> None:
    """Law: every JSON value says it too, events and results alike."""
    values = stopped(*command).values
    assert values
    for value in values:
        assert value.get("result", value)["simulated"] is True, value


def test_an_exported_file(stopped: Shell) -> None:
    """Law: the file says it on every line, and still proves itself."""
    path = Path("run.jsonl")
    stopped("runs", "export", "last", "-o", str(path))
    assert all(json.loads(line)["simulated"] is True for line in path.read_text(encoding="utf-8").splitlines())
    verified = stopped("runs", "verify", str(path))
    assert verified.out.startswith("SIMULATED  run.jsonl: ")


def test_half_a_simulation_is_none(stopped: Shell) -> None:
    """Law: a pair with one real site is not called simulated."""
    inventory = json.loads(stopped.inventory().read_text(encoding="utf-8"))
    inventory["sites"]["nj"] |= {"adapter": "solace-cli", "options": {}}
    path = stopped.write("half.yaml", json.dumps(inventory))
    ended = stopped("controlled", "--vpn", VPN, "--dry-run", "-i", str(path))
    assert ended.code != 0
    assert "SIMULATED" not in ended.out + ended.err
