"""A database moves between two real PostgreSQL servers under load, and no accepted row is lost."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.families.pacemaker import crm_mon, resource, stand_in
from tests.real.killing import killed_and_resumed
from tests.real.postgresql import Load, Pair, a_pair, in_order

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def shared() -> Iterator[Pair]:
    """One pair for all tests that leave a primary which the other server follows."""
    with a_pair() as made:
        yield made


@pytest.fixture
def fresh() -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair() as made:
        yield made


def test_there_and_back_under_load(shared: Pair) -> None:
    """Law: a controlled move and the way back lose no accepted row, and leave one primary that the other one follows. The
    wire log has the statements and the commands."""
    log = shared.folder / "wire.log"
    with Load(shared) as load:
        load.goes_on(50)
        for _ in range(2):
            source, target = in_order(shared)
            words = ["--service", "shop", "--from", source.name, "--yes", "--log-file", str(log)]
            code, text = shared.run("controlled", *words)
            assert code == 0, text
            assert (source.is_standby, target.is_standby) == (True, False)
            load.goes_on()
    load.arrives_at(*shared.sites.values())
    for sent in ("pg_promote(false)", '"service": "shop"', "-m fast -W stop", "Database cluster state"):
        assert log.read_text().count(sent) >= 2, sent


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(shared: Pair, seed: int) -> None:
    """Law: a move that is killed at any instant, and resumed, ends with one primary, and without a lost row."""
    move = ("--service", "shop", "--yes")
    killed_and_resumed(shared, Load(shared), lambda: in_order(shared), *move, seed=seed, lines=20)
    assert {site.is_standby for site in shared.sites.values()} == {True, False}


@pytest.mark.long
def test_a_standby_that_does_not_replay(shared: Pair) -> None:
    """Law: a drain that stands still is rolled back, and the source takes writes again (trap: the link looks well)."""
    source, target = in_order(shared)
    with Load(shared) as load:
        load.goes_on()
        target.ask("select pg_wal_replay_pause()", "postgres")
        try:
            code, text = shared.run(
                "controlled", "--service", "shop", "--from", source.name, "--yes", "--on-stall", "revert"
            )
        finally:
            target.ask("select pg_wal_replay_resume()", "postgres")
        assert code == 5, text
        assert (source.is_standby, target.is_standby) == (False, True)
        load.goes_on()


def test_what_status_and_check_say(shared: Pair) -> None:
    """Law: the facets of a family file give status and check, in its own words and unit."""
    source, _ = in_order(shared)
    code, text = shared.run("status")
    assert code == 0, text
    assert f"{source.name} yes" in " ".join(text.split())
    assert "byte" in text
    code, text = shared.run("check")
    assert code == 0, text
    code, text = shared.run("family", "test", "postgresql", "--inventory", str(shared.folder / "inventory.yaml"))
    assert (code, "0 broken" in text) == (0, True), text


def test_a_killed_primary(fresh: Pair) -> None:
    """Law: after the loss of the primary its standby takes over once somebody answers for the fence, and what is lost is
    no more than what the primary alone had."""
    ny, nj = fresh.sites.values()
    with Load(fresh) as load:
        load.goes_on(50)
        ny.stop()
        code, text = fresh.run("uncontrolled", "--service", "shop", "--site", "ny", "--yes")
        assert (code, "an operator must attest that clients are kept away" in text) == (2, True), text
        assert nj.is_standby
        code, text = fresh.run(
            "uncontrolled", "--service", "shop", "--site", "ny", "--yes", "--attest", "power is off"
        )
        assert code == 0, text
        assert not nj.is_standby
        load.goes_on()
    lost = load.lost_at(nj)
    last = max(moment for moment, site in load.accepted.values() if site == "ny")
    assert all(last - load.accepted[number][0] < 1.0 for number in lost)


def test_another_manager_is_found(shared: Pair) -> None:
    """Law: a session of Patroni with the server refuses a move, and nothing is changed, until it is accepted by name."""
    source, target = in_order(shared)
    conninfo = f"host=127.0.0.1 port={source.port} user=tester dbname=postgres application_name=Patroni"
    with psycopg.connect(conninfo, autocommit=True):
        code, text = shared.run("controlled", "--service", "shop", "--from", source.name, "--yes")
        assert (code, "patronictl pause" in text) == (3, True), text
        assert (source.is_standby, target.is_standby) == (False, True)
        code, text = shared.run("status")
        assert (code, f"another manager may act at {source.name} (Patroni)" in " ".join(text.split())) == (4, True), (
            text
        )
    code, text = shared.run("status")
    assert code == 0, text


def test_pacemaker_is_found(shared: Pair) -> None:
    """Law: while Pacemaker manages the servers, or its host does not answer, a move is refused, until they are not
    managed, or that is accepted by name. (The program answers like crm_mon.)"""
    source, target = in_order(shared)
    programs, inventory, agent = shared.folder / "bin", shared.folder / "inventory.yaml", "ocf:heartbeat:pgsqlms"
    text = inventory.read_text()
    named = text.replace("      slot: for_", "      cluster_host: host\n      slot: for_")
    move = ("controlled", "--service", "shop", "--yes", "--from")
    try:
        inventory.write_text(named)
        stand_in(programs, crm_mon(resource(agent, "true")))
        code, said = shared.run("status")
        assert (code, f"another manager may act at ny ({agent})" in " ".join(said.split())) == (4, True), said
        code, said = shared.run(*move, source.name)
        assert (code, f"{agent} may act" in said, in_order(shared)) == (3, True, (source, target)), said
        stand_in(programs, crm_mon(resource(agent, "false"), maintenance=True))
        code, said = shared.run(*move, source.name)
        assert (code, in_order(shared)) == (0, (target, source)), said
        inventory.write_text(named.replace("cluster_host: host", "cluster_host: gone"))
        code, said = shared.run(*move, target.name)
        assert (code, "unknown whether pacemaker" in " ".join(said.split()), in_order(shared)) == (
            3,
            True,
            (target, source),
        ), said
        code, said = shared.run(*move, target.name, "--accept-manager", "its host is being repaired, J. Doe")
        assert (code, in_order(shared)) == (0, (source, target)), said
    finally:
        inventory.write_text(text)
        (programs / "ssh").unlink(missing_ok=True)
