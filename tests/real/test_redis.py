"""A Redis server moves to its replica and back under load, and no accepted write is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.postgresql import wait_for
from tests.real.redis import PASSWORD, Load, Pair, a_pair

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A pair of its own for each test."""
    with a_pair(tmp_path) as made:
        yield made


def goes_on(load: Load) -> None:
    """Fail unless clients write again."""
    before = len(load.accepted)
    wait_for(lambda: len(load.accepted) > before + 20)


def test_there_and_back_under_load(pair: Pair) -> None:
    """Law: a controlled move and the way back lose no accepted write, and the password is in nothing that is said."""
    with Load(pair) as load:
        wait_for(lambda: len(load.accepted) > 50)
        for _ in range(2):
            source, target = pair.in_order()
            code, text = pair.run("controlled", "--service", "cache", "--from", source.name, "--yes")
            assert code == 0, text
            assert PASSWORD not in text
            assert (source.role, target.role) == ("slave", "master")
            goes_on(load)
    for server in pair.servers.values():
        wait_for(lambda server=server: not load.lost_at(server))
    code, text = pair.run("status")
    assert code == 0, text
    code, text = pair.run("runs", "export", "last")
    assert (code, PASSWORD in text) == (0, False)


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(pair: Pair, seed: int) -> None:
    """Law: a move that is killed at any instant, and resumed, ends with one master, and without a lost write."""
    chance = random.Random(seed)
    with Load(pair) as load:
        wait_for(lambda: len(load.accepted) > 20)
        process = pair.start("controlled", "--service", "cache", "--yes")
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(4, 16)):  # lines of a move that takes 16 or so
            process.stdout.readline()
        process.kill()
        process.communicate()
        code, text = pair.run("resume")
        assert code in (0, 5) or "no run is unfinished" in text, text
        assert {server.role for server in pair.servers.values()} == {"master", "slave"}
        goes_on(load)
    for server in pair.servers.values():
        wait_for(lambda server=server: not load.lost_at(server))


@pytest.mark.long
def test_a_killed_master(pair: Pair) -> None:
    """Law: after the loss of the master its replica takes over once somebody answers for the fence, and what is lost was
    written within the last seconds."""
    ny, nj = pair.servers.values()
    with Load(pair) as load:
        wait_for(lambda: len(load.accepted) > 50)
        ny.stop()
        code, text = pair.run(
            "uncontrolled", "--service", "cache", "--failed", "ny", "--yes", "--attest", "power is off"
        )
        assert code == 0, text
        goes_on(load)
    last = max(moment for moment, site in load.accepted.values() if site == "ny")
    assert all(last - load.accepted[number][0] < 2.0 for number in load.lost_at(nj))


def test_a_wrong_password(pair: Pair, tmp_path: Path) -> None:
    """Law: what the server refuses to tell is one sentence, and nothing is changed."""
    inventory = tmp_path / "inventory.yaml"
    (tmp_path / "wrong").write_text("battery-staple")
    (tmp_path / "wrong").chmod(0o600)
    inventory.write_text(inventory.read_text().replace("{env: REDIS_PASSWORD}", f"{{file: {tmp_path}/wrong}}"))
    code, text = pair.run("controlled", "--service", "cache", "--yes")
    assert code == 3, text
    assert "NOAUTH" in text or "WRONGPASS" in text, text
    assert pair.in_order()[0].name == "ny"
