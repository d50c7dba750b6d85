"""A Redis server moves to its replica and back under load, and no accepted write is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families.pacemaker import crm_mon, resource, stand_in
from tests.real.killing import killed_and_resumed
from tests.real.places import free_ports, wait_for
from tests.real.redis import PASSWORD, Load, Pair, Session, a_pair

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A pair of its own for each test."""
    with a_pair(tmp_path) as made:
        yield made


def test_there_and_back_under_load(pair: Pair) -> None:
    """Law: a controlled move and the way back lose no accepted write, and the password is in nothing that is said."""
    with Load(pair) as load:
        load.goes_on(50)
        for _ in range(2):
            source, target = pair.in_order()
            code, text = pair.run("controlled", "--service", "cache", "--from", source.name, "--yes")
            assert code == 0, text
            assert PASSWORD not in text
            assert (source.role, target.role) == ("slave", "master")
            load.goes_on()
    load.arrives_at(*pair.servers.values())
    code, text = pair.run("status")
    assert code == 0, text
    code, text = pair.run("runs", "export", "last")
    assert (code, PASSWORD in text) == (0, False)


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(pair: Pair, seed: int) -> None:
    """Law: a move that is killed at any instant, and resumed, ends with one master, and without a lost write."""
    killed_and_resumed(pair, Load(pair), pair.in_order, "--service", "cache", "--yes", seed=seed, lines=16)
    assert {server.role for server in pair.servers.values()} == {"master", "slave"}


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


def test_pacemaker_is_found(pair: Pair, tmp_path: Path) -> None:
    """Law: while Pacemaker manages the servers, or its host does not answer, a move is refused, until they are not
    managed, or that is accepted by name. (The program answers like crm_mon.)"""
    programs, inventory, agent = tmp_path / "programs", tmp_path / "inventory.yaml", "ocf:heartbeat:redis"
    programs.mkdir()
    (programs / "redis-cli").symlink_to("/usr/bin/redis-cli")
    text = inventory.read_text()
    named = text.replace("mate_port:", f"programs: {programs}, cluster_host: host, mate_port:")
    assert named != text
    inventory.write_text(named)
    stand_in(programs, crm_mon(resource(agent, "true")))
    code, said = pair.run("status")
    assert (code, f"another manager may act at ny ({agent})" in " ".join(said.split())) == (4, True), said
    code, said = pair.run("controlled", "--service", "cache", "--yes")
    assert (code, f"{agent} may act" in said, pair.in_order()[0].name) == (3, True, "ny"), said
    stand_in(programs, crm_mon(resource(agent, "false"), maintenance=True))
    code, said = pair.run("controlled", "--service", "cache", "--yes")
    assert (code, pair.in_order()[0].name) == (0, "nj"), said
    inventory.write_text(named.replace("cluster_host: host", "cluster_host: gone"))
    code, said = pair.run("controlled", "--service", "cache", "--from", "nj", "--yes")
    assert (code, "unknown whether pacemaker" in " ".join(said.split()), pair.in_order()[0].name) == (
        3,
        True,
        "nj",
    ), said
    accepted = ("--accept-manager", "its host is being repaired, J. Doe")
    code, said = pair.run("controlled", "--service", "cache", "--from", "nj", "--yes", *accepted)
    assert (code, pair.in_order()[0].name) == (0, "ny"), said


def test_a_sentinel_is_found(pair: Pair, tmp_path: Path) -> None:
    """Law: a Sentinel that watches the servers refuses a move, and nothing is changed, until it is gone."""
    ny, nj = pair.servers.values()
    settings = tmp_path / "sentinel.conf"
    settings.write_text(f"sentinel monitor cache 127.0.0.1 {ny.port} 1\nsentinel auth-pass cache {PASSWORD}\n")
    words = ["redis-server", str(settings), "--sentinel", "--port", str(free_ports(1)[0]), "--bind", "127.0.0.1"]
    sentinel = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path)
    try:
        with Session(ny.port) as session:
            wait_for(lambda: "name=sentinel-" in session.ask("CLIENT", "LIST"))
        code, text = pair.run("controlled", "--service", "cache", "--yes")
        assert (code, "SENTINEL REMOVE" in text) == (3, True), text
        assert (ny.role, nj.role) == ("master", "slave")
        code, text = pair.run("status")
        assert (code, "another manager may act at ny (sentinel-" in " ".join(text.split())) == (4, True), text
    finally:
        sentinel.terminate()
        sentinel.wait()
    with Session(ny.port) as session:
        wait_for(lambda: "name=sentinel-" not in session.ask("CLIENT", "LIST"))
    code, text = pair.run("controlled", "--service", "cache", "--yes")
    assert (code, nj.role) == (0, "master"), text
