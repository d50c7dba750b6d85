"""`failover rehearse` of a family in a file: the real command on a pair that is made from the file alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import Ended, Shell
from tests.families.declared_pairs import OPTIONS, inventory_of


def rehearse(shell: Shell, folder: Path, family: str, kind: str, *more: str) -> Ended:
    """At once, with no operator."""
    words = ("rehearse", kind, "--inventory", str(inventory_of(folder, family)), "--all", "--fast", "--seed", "7")
    return shell(*words, *more)


@pytest.mark.parametrize("family", OPTIONS)
def test_a_planned_move(shell: Shell, tmp_path: Path, family: str) -> None:
    """Law: each family that comes as a file is rehearsed, and every output says SIMULATED; nothing is lost."""
    ended = rehearse(shell, tmp_path, family, "controlled")
    assert ended.code == 0, ended.err[-2_000:]
    assert f"SIMULATED  {family}/controlled: ny to nj: DONE" in ended.out
    assert ": 0 " in ended.out
    assert "never two active sites" in ended.out
    assert all("SIMULATED" in line for line in ended.err.splitlines() if line)


@pytest.mark.parametrize("family", OPTIONS)
def test_a_lost_site(shell: Shell, tmp_path: Path, family: str) -> None:
    """Law: what the lost site alone holds is counted by the world, whatever the family reports."""
    ended = rehearse(shell, tmp_path, family, "uncontrolled", "--attest", "it is unplugged")
    assert ended.code == 0, ended.err[-2_000:]
    assert "are still held by a site that does not serve" in ended.out


def test_a_lost_server_whose_machine_answers(shell: Shell, tmp_path: Path) -> None:
    """Law: a fence of the family is rehearsed as such: the server is down, and its machine obeys; no operator attests."""
    inventory = inventory_of(tmp_path, "postgresql", fence="[{stopped: true}]")
    words = ("rehearse", "uncontrolled", "--inventory", str(inventory), "--all", "--fast", "--seed", "7")
    ended = shell(*words, "--site", "ny")
    assert ended.code == 0, ended.err[-2_000:]
    assert "SIMULATED  postgresql/uncontrolled-fenced: ny to nj: DONE" in ended.out


# What goes wrong, and how the command ends with no operator: exit code, and what happened to the role.
FAULTS = {
    "the link hardly carries anything": ("act close: link slow 100000x", 5),
    "link down in the drain": ("act close: link down", 5),
    "link back in time": ("act close: link down 8s", 0),
    # Nothing shows that the target does not serve, so the source is not opened again.
    "the target is down for good": ("act close: down TARGET", 7),
    "the target is down for a while": ("act close: down TARGET 8s", 0),
    "the answer is lost, and it was obeyed": ("act take_over: lose reply", 0),
    "the request is lost": ("act take_over: lose request", 0),
    "it is obeyed late": ("act take_over: late 2s", 0),
    "a slow start of the node": ("act close: down SOURCE 8s", 0),
    "another operator opens the source": ("act close +10ms: somebody open SOURCE", 5),
}


@pytest.mark.parametrize("family", ["redis", "rabbitmq"])
def test_a_fail_back(shell: Shell, tmp_path: Path, family: str) -> None:
    """Law: a fail-back is rehearsed after a loss and a restore, which answers its question about what is dropped."""
    ended = rehearse(shell, tmp_path, family, "failback", "--site", "ny")
    assert ended.code == 0, ended.out + ended.err


@pytest.mark.parametrize("name", FAULTS)
def test_faults(shell: Shell, tmp_path: Path, name: str) -> None:
    """Law: what goes wrong in the copy ends as the runbook says; no fault leads to two active sites or a loss."""
    fault, code = FAULTS[name]
    ended = rehearse(shell, tmp_path, "redis", "controlled", "--fault", fault)
    assert ended.code == code, (ended.out, ended.err[-2_000:])
    assert "the simulation counted: 0 bytes lost" in ended.out
    assert "never two active sites" in ended.out


def test_what_no_such_pair_has(shell: Shell, tmp_path: Path) -> None:
    """Law: a fault of another family is refused before anything starts, with what is understood."""
    ended = rehearse(shell, tmp_path, "redis", "controlled", "--fault", "drain: bridge down")
    assert (ended.code, "link down [5s]" in ended.err) == (2, True), ended.err
    ended = rehearse(shell, tmp_path, "redis", "controlled", "--fault", "at 1s: somebody promote SOURCE")
    assert (ended.code, "there is no action promote" in ended.err) == (2, True), ended.err


def test_a_kept_rehearsal(shell: Shell, tmp_path: Path) -> None:
    """Law: a kept rehearsal has its pair on file, and says where it is."""
    ended = rehearse(shell, tmp_path, "rabbitmq", "controlled", "--keep")
    assert ended.code == 0, ended.err[-2_000:]
    [world] = shell.state.glob("rehearsals/*/world.json")
    kept = json.loads(world.read_text())
    assert kept["family"] == "generic"
    assert [one["told"]["serves"] for one in kept["state"]["services"]["one"]["ends"].values()] == [False, True]


def test_the_drill(shell: Shell, tmp_path: Path) -> None:
    """Law: the drill for families in a file fits each of them."""
    ended = rehearse(shell, tmp_path, "redis", "controlled", "--drill", "link-lost")
    assert ended.code == 5, (ended.out, ended.err[-2_000:])
    assert "this fault will happen: act ny: link down 3m" in ended.err
