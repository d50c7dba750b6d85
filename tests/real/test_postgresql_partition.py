"""A PostgreSQL pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.network.spaces import CUT
from tests.real.cutting import impatient
from tests.real.postgresql import in_order, wait_for
from tests.real.postgresql_apart import Apart, LoadAtSites, a_pair_apart

pytestmark = [pytest.mark.realtime, pytest.mark.long]
MOVE = ("--service", "shop", "--yes")


@pytest.fixture
def pair() -> Iterator[Apart]:
    """A pair for a test that breaks it."""
    with a_pair_apart() as made:
        yield made


def test_its_mate_still_hears_it(pair: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mate is not promoted, whatever is attested."""
    ny, nj = pair.sites.values()
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        pair.spaces.spoil("ny", "op", CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--site", "ny", "--attest", "power is off")
        assert (code, "still hears from the failed server" in text) == (3, True), text
    assert (ny.is_standby, nj.is_standby) == (False, True)
    assert load.at("nj") == []


def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites take writes from the take-over, whose fence an operator attested, until the guard closes the one
    that is back. What is lost is what only it had, and is dropped by name alone."""
    ny, nj = pair.sites.values()
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        for other in ("op", "nj"):
            pair.spaces.spoil("ny", other, CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--site", "ny", "--attest", "power is off")
        assert code == 0, text
        assert "nothing was lost" not in text.lower()
        taken_over = load.at("nj")[0]
        wait_for(lambda: load.at("ny")[-1] > taken_over + 1.0)  # the fence is a claim: the clients at ny know nothing
        with pair.guarding("ny") as said:
            for other in ("op", "nj"):
                pair.spaces.heal("ny", other)
            wait_for(lambda: pair.outcomes("postgresql/guard") == ["done"])
            until = load.at("ny")[-1]
            wait_for(lambda: load.at("nj")[-1] > until + 1.0)
        assert load.at("ny")[-1] == until
        assert "SO DOES ITS MATE" in said[0]
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
    accepted one is lost. Runs with an odd seed are killed while it is cut, and resumed."""
    chance = random.Random(seed)
    site, other = chance.choice(pair.spaces.cables)[::-1]
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        process = pair.start("controlled", *MOVE, "--runbook", impatient(pair.folder, "postgresql/controlled"))
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(3, 24)):
            process.stdout.readline()
        pair.spaces.spoil(site, other, CUT)
        if seed % 2:
            process.stdout.readline()
            process.kill()
        elif other == "op":  # it reads on until it hears again
            process.stdout.readline()
            pair.spaces.heal(site, other)
        said, _ = process.communicate(timeout=180)
        code = process.returncode
        pair.spaces.heal(site, other)
        if code < 0 or code == 6:
            code, more = pair.run("resume")
            said += more
        assert code in (0, 3, 5) or "no run is unfinished" in said, said
        active, idle = in_order(pair)
        last = len(load.at(active.name))
        wait_for(lambda: len(load.at(active.name)) > last + 20)
    ny, nj = load.at("ny"), load.at("nj")
    assert not nj or ny[-1] < nj[0], "both sites took writes"
    assert idle.is_standby
    for one in pair.sites.values():
        wait_for(lambda one=one: not load.lost_at(one))
