"""A Redis pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.cutting import impatient
from tests.real.partition import cut_in_a_planned_move, its_mate_still_hears_it, partitioned_and_alive
from tests.real.places import wait_for
from tests.real.redis import Load
from tests.real.redis_apart import Apart, a_pair_apart

pytestmark = pytest.mark.realtime
SEEDS = [one if one == 5 else pytest.param(one, marks=pytest.mark.long) for one in range(1, 26)]
MOVE = ("--service", "cache", "--yes")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Apart]:
    """A pair for a test that breaks it."""
    with a_pair_apart(tmp_path) as made:
        yield made


@pytest.mark.long
def test_its_mate_still_hears_it(pair: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mate is not promoted, whatever is attested."""
    its_mate_still_hears_it(pair, Load(pair), *MOVE)
    assert [server.role for server in pair.servers.values()] == ["master", "slave"]


@pytest.mark.long
def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites take writes from the take-over, whose fence an operator attested, until the guard closes the one
    that is back, and at no other time. What is lost is what only that had, and is dropped by name alone."""
    ny, nj = pair.servers.values()
    with Load(pair) as load:
        until = partitioned_and_alive(pair, load, *MOVE, family="redis")
        lost = load.lost_at(nj)
        assert lost and {load.accepted[number][1] for number in lost} == {"ny"}
        code, text = pair.run("restore", *MOVE, "--site", "ny")
        assert (code, "--accept-loss" in text, ny.role) == (6, True, "master"), text
        code, text = pair.run("resume", "--accept-loss", "a copy is kept")
        assert (code, ny.role) == (0, "slave"), text
    assert load.at("ny")[-1] == until
    for server in (ny, nj):
        wait_for(lambda server=server: load.lost_at(server) == lost)


@pytest.mark.parametrize("seed", SEEDS)
def test_cut_in_a_planned_move(pair: Apart, seed: int) -> None:
    """Law: whichever two are cut off from each other, and whenever: one site takes writes, the other refuses them, and no
    accepted one is lost."""
    runbook = impatient(pair.folder, "redis/controlled")
    cut_in_a_planned_move(pair, Load(pair), pair.in_order, *MOVE, runbook=runbook, seed=seed, lines=16)
    assert {server.role for server in pair.servers.values()} == {"master", "slave"}
