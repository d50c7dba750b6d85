"""`failover runbook explore`, and what `lint` takes from it."""

from __future__ import annotations

from orchestrator.documents.loader import load_runbook
from tests.cli.shell import Shell
from tests.exploration.small import BARE, GUARD, SMALL, UNDO
from tests.exploration.small_amps import MOVE, step


def test_explore_prints_the_counts(shell: Shell) -> None:
    """Law: states, transitions, ends by name, and how far the walk went, in words and for machines alike."""
    told = shell("runbook", "explore", "solace/guard-standby")
    assert told.code == 0
    (data,) = shell("runbook", "explore", "solace/guard-standby", "--json").values
    counts = f"explored {data['states']:,} states and {data['transitions']:,} transitions to depth {data['depth']}"
    assert (
        f"solace/guard-standby: {counts}; not exhausted: all paths with up to one disturbance are complete"
        in told.out
    )
    assert "ends: done" in told.out
    assert (data["found"], data["not_explored"], data["exhausted"], data["disturbances"]) == ([], [], False, 1)


def test_explore_walks_with_two_services(shell: Shell) -> None:
    """Law: a runbook with claims is explored with two services too, in one run and in two; the screen and the JSON say
    how much of that was looked at. A runbook without claims has nothing of it."""
    told = shell("runbook", "explore", "solace/uncontrolled-commanded", "--disturbances", "0")
    (data,) = shell("runbook", "explore", "solace/uncontrolled-commanded", "--disturbances", "0", "--json").values
    assert [one["runs"] for one in data["two_services"]] == [1, 2]
    for one, runs in zip(data["two_services"], ("in one run", "in two runs at once"), strict=True):
        counts = f"explored {one['states']:,} states and {one['transitions']:,} transitions to depth {one['depth']}"
        assert f"two services of the same sites, {runs}: {counts}" in told.out
        assert (one["found"], one["disturbances"]) == ([], 0)
    (data,) = shell("runbook", "explore", "solace/suspend", "--disturbances", "0", "--json").values
    assert data["two_services"] == []


def test_explore_tells_the_shortest_way(shell: Shell) -> None:
    """Law: a broken promise is exit code 4, with its code and each step on the way to it."""
    path = shell.write("own.yaml", BARE.replace(GUARD, ""))
    told = shell("runbook", "explore", str(path), "--disturbances", "0")
    assert told.code == 4
    assert "[promoted-undrained] the shortest way to this problem:" in told.out
    assert "  1. at first: the source is active and holds a backlog" in told.out


def test_lint_explores(shell: Shell) -> None:
    """Law: what lint reads and what the walk shows are findings alike, and how much was looked at is said."""
    path = shell.write("own.yaml", SMALL.replace(UNDO, ""))
    told = shell("runbook", "lint", str(path))
    assert told.code == 4
    assert "[missing-undo]" in told.out
    assert f"{path}: error: the lane ends reverted, and a change of it is still there [not-reverted]" in told.out
    assert "the steps that lead to not-reverted:" in told.out
    assert "all paths with up to one disturbance are complete" in told.out
    *findings, walk = shell("runbook", "lint", str(path), "--json").values
    assert {"missing-undo", "not-reverted"} <= {one["code"] for one in findings}
    assert walk["found"][0]["story"][-1] == "then the lane ends reverted, and a change of it is still there"


def test_lint_says_what_it_does_not_know(shell: Shell) -> None:
    """Law: a runbook with a word that no model knows is linted, and its exploration is unknown, never clean."""
    path = shell.write("own.yaml", MOVE.replace("where: {owned: 0}", "where: {depth: 0}"))
    told = shell("runbook", "lint", str(path))
    assert f"{path}: unknown: not explored: depth of reading queues [not-explored]" in told.out
    assert "explored 0" not in told.out
    assert shell("runbook", "explore", str(path)).code == 4


def test_lint_knows_the_family_by_the_words(shell: Shell) -> None:
    """Law: a runbook for AMPS is checked against what AMPS can do, and explored over a pair of its instances; a command
    of the operator's own is a word of every family."""
    tell = """  - id: tell
    title: t
    do: {on: source, action: ensure, command: tell-desk}
    leaves: the desk was told
"""
    path = shell.write("own.yaml", MOVE.replace(step(MOVE, "close"), tell + step(MOVE, "close")))
    told = shell("runbook", "lint", str(path))
    assert told.code == 0, told.out
    assert "[stands-on-nothing]" in told.out
    assert "all paths with up to one disturbance are complete" in told.out
    path = shell.write("own.yaml", MOVE.replace(step(MOVE, "queues"), ""))
    told = shell("runbook", "lint", str(path))
    assert told.code == 4
    assert f"{path}: error: the move is done, and the source still owns queue messages [queues-left]" in told.out
    assert "  7. read source clients (count 0): step clients-gone is done, step caught-up begins" in told.out


def test_lint_of_a_shipped_runbook_is_clean(shell: Shell) -> None:
    """Law: lint of a shipped runbook ends with how much was looked at, and with nothing against it."""
    told = shell("runbook", "lint", load_runbook("solace/suspend").runbook)
    assert told.code == 0
    assert told.out.startswith("nothing found\nexplored ")
