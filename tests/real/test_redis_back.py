"""A Redis master is lost, fenced and given up; it comes back, follows, and is the master again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.redis import PASSWORD, Load, Pair, a_pair

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair(tmp_path) as made:
        yield made


def in_one_line(text: str) -> str:
    """So that no sentence is missed for where a line ends."""
    return " ".join(text.split())


def lose_ny(pair: Pair, load: Load) -> set[int]:
    """ny takes writes that nj does not hear of, dies, is fenced, and is given up. The writes that only ny has."""
    ny, nj = pair.servers.values()
    ny.keeps = True
    ny.ask("CONFIG", "SET", "appendonly", "yes")
    ny.ask("CONFIG", "SET", "appendfsync", "always")
    load.goes_on(50)
    pair.ways["ny"].cut()
    load.goes_on()
    ny.stop()
    code, text = pair.run("uncontrolled", "--service", "cache", "--site", "ny", "--yes")
    assert code == 0, text
    assert "BOTH SITES ACTIVE" not in text
    assert re.search(r"LEFT AT ny: .*unknown", text), text
    load.goes_on()
    pair.ways["ny"].heal()
    lost = load.lost_at(nj)
    assert lost
    assert {load.accepted[number][1] for number in lost} == {"ny"}
    return lost


def test_lost_and_back(pair: Pair) -> None:
    """Law: a master that died is fenced with a proof before its replica takes over. When it is back with its old role,
    status says so; what only it has is dropped by name alone, and then it follows, and can be given activity."""
    ny, nj = pair.servers.values()
    with Load(pair) as load:
        lost = lose_ny(pair, load)
    ny.start()
    assert (ny.role, nj.role) == ("master", "master")
    code, text = pair.run("status")
    assert (code, "BOTH ACTIVE" in text) == (4, True), text
    code, text = pair.run("restore", "--service", "cache", "--site", "ny", "--yes")
    assert (code, "--accept-loss" in text) == (6, True), text
    assert ny.role == "master"
    with pytest.raises(PermissionError, match="NOREPLICAS"):
        ny.ask("SET", "number:0", "1")
    code, text = pair.run("resume", "--accept-loss", "a copy is kept")
    assert code == 0, text
    assert (ny.role, nj.role, nj.told("sync_full", "stats")) == ("slave", "master", "1")
    with Load(pair) as later:
        later.goes_on()
        code, text = pair.run("failback", "--service", "cache", "--site", "ny", "--yes")
        assert code == 0, text
        assert PASSWORD not in text
        later.goes_on()
    assert (ny.role, nj.role) == ("master", "slave")
    later.arrives_at(ny, nj)
    assert load.lost_at(ny) == load.lost_at(nj) == lost


def test_a_fail_back_before_it_is_safe(pair: Pair) -> None:
    """Law: activity goes back to a server only once that follows the acting one."""
    ny, nj = pair.servers.values()
    nj.ask("REPLICAOF", "NO", "ONE")
    code, text = pair.run("failback", "--service", "cache", "--site", "ny", "--yes")
    assert (code, "so the restore is not complete" in text) == (3, True), text
    assert (ny.role, nj.role) == ("master", "master")
