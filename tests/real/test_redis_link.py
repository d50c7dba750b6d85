"""The link of a Redis pair is lost before the replica has everything: the move is rolled back, or escalated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cutting import at_risk, cut_in_drain, impatient
from tests.real.redis import Load, Pair, a_pair

pytestmark = pytest.mark.realtime
PING = len("*1\r\n$4\r\nPING\r\n")
SELECT = len("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair(tmp_path) as made:
        yield made


def size_of(number: int) -> int:
    """The bytes of replication that a write of the load is."""
    key = f"number:{number}"
    return len(f"*3\r\n$3\r\nSET\r\n${len(key)}\r\n{key}\r\n$1\r\n1\r\n")


def is_idle_talk(size: int) -> bool:
    """Are so many bytes of replication pings, and perhaps the SELECT before the first write after a full copy?"""
    return any(rest >= 0 and rest % PING == 0 for rest in (size, size - SELECT))


def moved(pair: Pair, load: Load, seed: int, *answer: str) -> tuple[int, str]:
    """A controlled move from ny under load, whose link is lost."""
    load.goes_on(50)
    words = ["controlled", "--service", "cache", "--yes", "--runbook", impatient(pair.folder, "redis/controlled")]
    code, text = cut_in_drain(pair, pair.ways["ny"], [*words, *answer], seed=seed)
    pair.ways["ny"].heal()
    load.goes_on()
    return code, text


SEEDS = [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))]


@pytest.mark.parametrize("seed", SEEDS)
def test_rolled_back(pair: Pair, seed: int) -> None:
    """Law: without an answer the move is rolled back: the source takes writes again, and no accepted one is lost."""
    with Load(pair) as load:
        code, text = moved(pair, load, seed)
        assert code == 5, text
    assert [server.role for server in pair.servers.values()] == ["master", "slave"]
    assert {site for _, site in load.accepted.values()} == {"ny"}
    load.arrives_at(*pair.servers.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_escalated(pair: Pair, seed: int) -> None:
    """Law: what an escalation loses is exactly what it called at risk: that many bytes are the lost writes, and pings.
    The source keeps them, closed, until an operator lets the restore drop them."""
    with Load(pair) as load:
        code, text = moved(pair, load, seed + 1, "--on-bridge-loss", "escalate")
        assert code == 9, text
    ny, nj = pair.servers.values()
    lost = load.lost_at(nj)
    assert not lost & load.lost_at(ny)
    with pytest.raises(PermissionError, match="NOREPLICAS"):
        ny.ask("SET", "number:0", "1")
    assert {load.accepted[number][1] for number in lost} == {"ny"}
    assert lost
    assert is_idle_talk(at_risk(text, "byte") - sum(size_of(number) for number in lost)), text
    code, text = pair.run("restore", "--service", "cache", "--site", "ny", "--yes", "--accept-loss", "a copy is kept")
    assert (code, [ny.role, nj.role]) == (0, ["slave", "master"]), text
