"""A Redis pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.network.spaces import CUT
from tests.real.cutting import impatient
from tests.real.postgresql import wait_for
from tests.real.redis_apart import Apart, LoadAtSites, a_pair_apart

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
    ny, nj = pair.servers.values()
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        pair.spaces.spoil("ny", "op", CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--site", "ny", "--attest", "power is off")
        assert (code, "still hears from the failed server" in text) == (3, True), text
    assert (ny.role, nj.role) == ("master", "slave")
    assert load.at("nj") == []


@pytest.mark.long
def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites take writes from the take-over, whose fence an operator attested, until the guard closes the one
    that is back, and at no other time. Meanwhile nothing is claimed of the site that is not seen; what is lost is what
    only it had, and is dropped by name alone."""
    ny, nj = pair.servers.values()
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        for other in ("op", "nj"):
            pair.spaces.spoil("ny", other, CUT)
        code, text = pair.run("uncontrolled", *MOVE, "--site", "ny", "--attest", "power is off")
        assert code == 0, text
        assert "decided on unfenced: attest" in text
        assert re.search(r"LEFT AT ny: .*unknown", text), text
        assert "nothing was lost" not in text.lower()
        taken_over = load.at("nj")[0]
        wait_for(
            lambda: load.at("ny")[-1] > taken_over + 1.0
        )  # the fence is a claim: the clients at ny know of nothing
        code, text = pair.run("status")
        assert (code, "unknown" in text, "BOTH ACTIVE" in text) == (4, True, False), text
        with pair.guarding("ny") as said:
            for other in ("op", "nj"):
                pair.spaces.heal("ny", other)
            wait_for(lambda: pair.outcomes("redis/guard") == ["done"])
            until = load.at("ny")[-1]
            wait_for(lambda: load.at("nj")[-1] > until + 1.0)
        assert load.at("ny")[-1] == until
        assert "SO DOES ITS MATE" in said[0]
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
    accepted one is lost. Runs with an odd seed are killed while it is cut, and resumed."""
    chance = random.Random(seed)
    site, other = chance.choice(pair.spaces.cables)[::-1]
    runbook = impatient(pair.folder, "redis/controlled")
    with LoadAtSites(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        process = pair.start("controlled", *MOVE, "--runbook", runbook)
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(3, 16)):
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
        active, idle = ("ny", "nj") if pair.servers["ny"].role == "master" else ("nj", "ny")
        last = len(load.at(active))
        wait_for(lambda: len(load.at(active)) > last + 20)
    ny, nj = load.at("ny"), load.at("nj")
    assert not nj or ny[-1] < nj[0], "both sites took writes"
    assert pair.servers[idle].role == "slave"
    for server in pair.servers.values():
        wait_for(lambda server=server: not load.lost_at(server))
