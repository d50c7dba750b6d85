"""A PostgreSQL pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.cutting import impatient
from tests.real.partition import cut_in_a_planned_move, its_mate_still_hears_it, partitioned_and_alive
from tests.real.places import wait_for
from tests.real.postgresql import Load, in_order
from tests.real.postgresql_apart import Apart, a_pair_apart

pytestmark = [pytest.mark.realtime, pytest.mark.long]
MOVE = ("--service", "shop", "--yes")


@pytest.fixture
def pair() -> Iterator[Apart]:
    """A pair for a test that breaks it."""
    with a_pair_apart() as made:
        yield made


def test_its_mate_still_hears_it(pair: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mate is not promoted, whatever is attested."""
    its_mate_still_hears_it(pair, Load(pair), *MOVE)
    assert [site.is_standby for site in pair.sites.values()] == [False, True]


def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites take writes from the take-over, whose fence an operator attested, until the guard closes the one
    that is back, and at no other time. What is lost is what only that had, and is dropped by name alone."""
    ny, nj = pair.sites.values()
    with Load(pair) as load:
        until = partitioned_and_alive(pair, load, *MOVE, family="postgresql")
        lost = load.lost_at(nj)
        assert lost and {load.accepted[number][1] for number in lost} == {"ny"}
        code, text = pair.run("restore", *MOVE, "--site", "ny")
        assert (code, "--accept-loss" in text) == (6, True), text
        code, text = pair.run("resume", "--accept-loss", "a copy is kept")
        assert (code, ny.is_standby) == (0, True), text
    assert load.at("ny")[-1] == until
    for site in (ny, nj):
        wait_for(lambda site=site: load.lost_at(site) == lost)


@pytest.mark.parametrize("seed", range(1, 26))
def test_cut_in_a_planned_move(pair: Apart, seed: int) -> None:
    """Law: whichever two are cut off from each other, and whenever: one site takes writes, the other refuses them, and no
    accepted one is lost."""
    runbook = impatient(pair.folder, "postgresql/controlled")
    cut_in_a_planned_move(pair, Load(pair), lambda: in_order(pair), *MOVE, runbook=runbook, seed=seed, lines=24)
    assert {site.is_standby for site in pair.sites.values()} == {False, True}
