"""``failover simulate`` on the command line: what it prints, for people and for machines."""

from __future__ import annotations

from tests.cli.shell import Shell


def test_for_machines(shell: Shell) -> None:
    """The last line is the result, says SIMULATED, and agrees with the exit code."""
    ended = shell("simulate", "--seeds", "3", "--from", "10", "--kind", "suspend", "--json")
    assert ended.code == ended.result["exit_code"] == 0
    assert ended.result["simulated"] is True
    assert ended.result["seeds"] == 3
    assert ended.result["kinds"] == {"suspend": 3}


def test_for_people(shell: Shell) -> None:
    """A person reads how many nights there were, how they ended, and that no promise was broken."""
    ended = shell("simulate", "--seeds", "2", "--kind", "suspend")
    assert ended.code == 0
    assert ended.out.startswith("SIMULATED  2 nights")
    assert "no promise was broken" in ended.out
