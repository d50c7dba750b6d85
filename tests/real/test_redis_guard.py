"""`failover guard` against real servers: the lost master comes back with its old role while its mate serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.places import wait_for
from tests.real.redis import Load, Pair, Server, a_pair

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair(tmp_path) as made:
        yield made


def is_closed(server: Server) -> bool:
    """Does it refuse writes by the gate?"""
    try:
        server.ask("SET", "probe", "1")
    except PermissionError as refused:
        return "NOREPLICAS" in str(refused)
    return False


def test_it_is_closed_when_it_comes_back(pair: Pair) -> None:
    """Law: a guarded site that serves again beside its mate is closed by a recorded run, without a question; the mate
    keeps serving, and a second start of the site is closed like the first."""
    ny, nj = pair.servers.values()
    ny.stop()
    nj.ask("REPLICAOF", "NO", "ONE")
    with pair.guarding("ny") as said:
        for number in (1, 2):
            ny.start()
            assert ny.role == "master"
            wait_for(lambda number=number: pair.outcomes("redis/guard") == ["done"] * number)
            assert is_closed(ny)
            if number == 1:
                ny.stop()
    assert "SO DOES ITS MATE" in said[0]
    assert nj.role == "master"
    assert not is_closed(nj)


def test_a_pair_that_is_well(pair: Pair) -> None:
    """Law: a site that serves alone is not guarded: nothing is changed, and the refusal says what to do."""
    code, text = pair.run("guard", "--site", "ny", "--yes")
    assert (code, "could end the service" in " ".join(text.split())) == (3, True), text
    with Load(pair) as load:
        load.goes_on()
