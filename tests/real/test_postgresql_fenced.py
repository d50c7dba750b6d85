"""A PostgreSQL primary is killed under load, fenced with a proof, and given up; it comes back, and what only it has is
counted."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.families.pacemaker import crm_mon, resource, stand_in
from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, Site, a_pair, fence_plan
from tests.real.test_prepared_transactions import prepare, prepared

pytestmark = pytest.mark.realtime
LOST = ("uncontrolled", "--service", "shop", "--site", "ny", "--yes")
RESTORE = ("restore", "--service", "shop", "--site", "ny", "--yes")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A pair for a test that breaks it; the fence plan of ny is the family's own."""
    with a_pair() as made:
        fence_plan(made, "ny", "[{stopped: true}]")
        yield made


def numbers(site: Site) -> set[int]:
    """The rows of one site."""
    return {row[0] for row in site.ask("select number from written")}


def lose_ny(pair: Pair, load: Load) -> tuple[Site, Site]:
    """ny takes rows that nj does not hear of, and is killed. Both sites, ny first."""
    ny, nj = pair.sites.values()
    load.goes_on(50)
    pair.ways["ny"].cut()
    load.goes_on()
    ny.kill()
    return ny, nj


def takes_rows(site: Site) -> bool:
    """May a client write here?"""
    try:
        with psycopg.connect(f"host=127.0.0.1 port={site.port} user=app dbname=shop", autocommit=True) as session:
            session.execute("insert into written (number) values (-1)")
            session.execute("delete from written where number = -1")
    except psycopg.Error:
        return False
    return True


def test_pacemaker_of_a_lost_server(pair: Pair) -> None:
    """Law: a Pacemaker that may start the lost server again is asked about before that is fenced, and before it is
    restored, though nothing of the server itself answers. (The program answers like crm_mon.)"""
    ny, nj = pair.sites.values()
    inventory, agent = pair.folder / "inventory.yaml", "ocf:heartbeat:pgsql"
    at_ny = "      slot: for_nj"  # what ny alone says
    assert inventory.read_text().count(at_ny) == 1
    inventory.write_text(inventory.read_text().replace(at_ny, f"      cluster_host: host\n{at_ny}"))

    def refused(*words: str) -> None:
        code, text = pair.run(*words)
        assert (code, f"ny: {agent} may act" in text, "Pacemaker manages the server of the source" in text) == (
            3,
            True,
            True,
        ), text

    stand_in(pair.folder / "bin", crm_mon(resource(agent, "true", "Stopped")))
    ny.kill()
    refused(*LOST)
    assert nj.is_standby
    stand_in(pair.folder / "bin", crm_mon(resource(agent, "false", "Stopped")))
    code, text = pair.run(*LOST)
    assert (code, nj.is_standby) == (0, False), text
    stand_in(pair.folder / "bin", crm_mon(resource(agent, "true", "Stopped")))
    refused(*RESTORE)
    code, text = pair.run(
        *RESTORE, "--accept-manager", "it is switched off, J. Doe", "--accept-loss", "nothing was written"
    )
    assert (code, ny.is_standby) == (0, True), text


def test_killed_fenced_and_back(pair: Pair) -> None:
    """Law: a primary that was killed is fenced with a proof, and no operator attests anything. Whoever starts it with its
    old role starts a standby, which takes no row and resolves no prepared transaction (F5). What only it has is counted
    before it is dropped, and that is what the clients lost."""
    (pair.folder / "decisions.yaml").write_text("decisions:\n  - {gid: p, choice: rollback, reason: not paid}\n")
    with Load(pair) as load:
        prepare(pair.sites["ny"], -5, "p")
        ny, nj = lose_ny(pair, load)
        code, text = pair.run(*LOST, "--prepared", "decisions.yaml")
        assert code == 0, text
        assert re.search(r"LEFT AT ny: .*unknown", text), text
        load.goes_on()
    pair.ways["ny"].heal()
    ny.start()
    assert (ny.is_standby, takes_rows(ny), takes_rows(nj)) == (True, False, True)
    with pytest.raises(psycopg.Error, match="during recovery"):
        ny.ask("rollback prepared 'p'")
    alone, lost = numbers(ny) - numbers(nj), load.lost_at(nj)
    assert lost
    assert lost <= alone <= lost | load.unknown
    assert {load.accepted[number][1] for number in lost} == {"ny"}
    code, text = pair.run(*RESTORE)
    assert (code, f"ny: transactions {len(alone)}." in text) == (6, True), text
    code, text = pair.run("resume", "--accept-loss", "a copy is kept")
    assert code == 0, text
    assert (ny.is_standby, nj.is_standby) == (True, False)
    wait_for(lambda: numbers(ny) == numbers(nj))
    assert prepared(nj) == set()


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(pair: Pair, seed: int) -> None:
    """Law: an unplanned move that is killed at any instant, and resumed, fences the lost server before its standby takes
    over; it is restored from as it was left, and no more rows are lost than only it had."""
    chance = random.Random(seed)
    with Load(pair) as load:
        ny, nj = lose_ny(pair, load)
        process = pair.start(*LOST)
        assert process.stdout is not None  # it is a pipe
        for _ in range(chance.randint(2, 22)):  # lines of a move that takes 22 or so
            process.stdout.readline()
        process.kill()
        process.communicate()
        code, text = pair.run("resume")
        assert code == 0 or "no run is unfinished" in text, text
        assert not nj.is_standby, text
        load.goes_on()
    assert (ny.data / "standby.signal").exists()
    lost = load.lost_at(nj)
    pair.ways["ny"].heal()
    code, text = pair.run(*RESTORE, "--accept-loss", "a copy is kept")
    assert code == 0, text
    counted = int(re.findall(r"ny: transactions ([0-9]+)", text)[-1])
    assert len(lost) <= counted <= len(lost | load.unknown)
    assert ny.is_standby
    wait_for(lambda: numbers(ny) == numbers(nj))
    assert load.lost_at(nj) == lost


# A rule of the server's own, which outlives a restart, and leaves everybody in but the writers.
FENCE = """\
#!/bin/sh
rule='host shop app all reject'
case $1 in
close) sed -i "1i $rule" {data}/pg_hba.conf;;
open) sed -i "/^$rule$/d" {data}/pg_hba.conf;;
*) [ "$(head -n 1 {data}/pg_hba.conf)" = "$rule" ]; exit $?;;
esac
{programs}/pg_ctl -D {data} reload || true
"""
ALSO = """\
[{{command: cut}}]
    also:
      - adapter: local
        options:
          commands:
            cut: {{argv: [{fence}, close], check: [{fence}, is-closed], undo: let-in}}
            let-in: {{argv: [{fence}, open]}}"""


@pytest.mark.parametrize("more", [[], pytest.param(["--rebuild"], marks=pytest.mark.long)])
def test_a_fence_of_a_command_is_opened_by_the_restore(pair: Pair, more: list[str]) -> None:
    """Law (promise 8): what a command closed stays closed over a restart of the server, and until the restore has made a
    standby of it, which opens it at its own step."""
    ny, nj = pair.sites.values()
    fence = pair.folder / "fence"
    fence.write_text(FENCE.format(data=ny.data, programs=pair.folder / "bin"))
    fence.chmod(0o755)
    inventory = pair.folder / "inventory.yaml"
    inventory.write_text(inventory.read_text().replace("[{stopped: true}]", ALSO.format(fence=fence)))
    ny.kill()
    code, text = pair.run(*LOST)
    assert code == 0, text
    ny.start()
    assert (ny.is_standby, takes_rows(ny), takes_rows(nj)) == (False, False, True)
    code, text = pair.run(*RESTORE, *more)
    assert code == 0, text
    titles = ["Start the failed server as a standby", "Open the fence that the command of the fence plan closed"]
    assert re.findall("|".join(titles), text) == titles
    assert ny.is_standby
    with psycopg.connect(f"host=127.0.0.1 port={ny.port} user=app dbname=shop") as session:
        assert session.execute("select pg_is_in_recovery()").fetchone() == (True,)


def test_a_primary_that_comes_back_is_closed(pair: Pair) -> None:
    """Law: a guarded server that comes back as a primary beside its mate is closed by a recorded run, and remains so when
    it is started again; its mate keeps serving."""
    ny, nj = pair.sites.values()
    ny.kill()
    nj.ask("select pg_promote()", "postgres")
    with pair.guarding("ny") as said:
        ny.start()
        assert not ny.is_standby
        wait_for(lambda: pair.outcomes("postgresql/guard") == ["done"])
        assert not takes_rows(ny)
        ny.stop()
        ny.start()
        assert (ny.is_standby, takes_rows(ny)) == (False, False)
    assert "SO DOES ITS MATE" in said[0]
    assert takes_rows(nj)


def test_the_data_of_another_server(pair: Pair) -> None:
    """Law: a data directory that is not that of the pair, or cannot be read, fences nothing: nothing is changed, and the
    refusal names another way."""
    ny, nj = pair.sites.values()
    ny.kill()
    other = pair.folder / "other"
    ny.tool("initdb", "-D", str(other), "-U", "tester", "--no-sync")
    path = pair.folder / "inventory.yaml"
    text = path.read_text()
    for data in (other, pair.folder / "nowhere"):
        path.write_text(text.replace(f"data: {ny.data}\n", f"data: {data}\n"))
        code, said = pair.run(*LOST)
        assert (code, "--attest" in said) == (3, True), said
    assert not (other / "standby.signal").exists()
    assert nj.is_standby
