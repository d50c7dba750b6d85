"""Prepared transactions of real PostgreSQL servers go through the same gate, rules and kind of file as any others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import psycopg
import pytest

from adapters.declared.adapter import DeclaredAdapter
from adapters.declared.family import family_of
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import read_family, read_inventory
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.model.outcome import Effect, Failure
from tests.families.declared import ROOT
from tests.real.places import wait_for
from tests.real.postgresql import Pair, Site, a_pair, in_order

pytestmark = pytest.mark.realtime
FILE = ROOT / "runbooks/postgresql.yaml"
# Quotes, a backslash, a colon, a per cent sign and a comment: text that no statement may be put together with.
HOSTILE = "it's \\ :service %s -- x"
MOVE = ("controlled", "--service", "shop", "--yes", "--from")


@pytest.fixture(scope="module")
def shared() -> Iterator[Pair]:
    """A pair for all tests: each leaves a primary which the other server follows."""
    with a_pair() as made:
        yield made


@pytest.fixture
def pair(shared: Pair) -> Iterator[Pair]:
    """The same, with nothing prepared before and after."""
    yield shared
    forget(in_order(shared)[0])


def prepare(site: Site, number: int, name: str) -> None:
    """A transaction of the writers' own, with one row and no outcome."""
    where = f"host=127.0.0.1 port={site.port} user=app dbname=shop"
    with psycopg.connect(where, autocommit=True, cursor_factory=psycopg.ClientCursor) as session:
        session.execute("begin")
        session.execute("insert into written (number) values (%s)", (number,))
        session.execute("prepare transaction %s", (name,))


def written(site: Site) -> set[int]:
    """The rows with a negative number, which no load writes."""
    return {row[0] for row in site.ask("select number from written where number < 0")}


def prepared(site: Site) -> set[str]:
    """What has no outcome."""
    return {row[0] for row in site.ask("select gid from pg_prepared_xacts")}


def forget(site: Site) -> None:
    """Roll back what is left, and delete the rows of these tests."""
    with psycopg.connect(
        f"host=127.0.0.1 port={site.port} user=tester dbname=shop",
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,
    ) as session:
        for name in prepared(site):
            session.execute("rollback prepared %s", (name,))
        session.execute("delete from written where number < 0")


def test_a_move_without_a_decision_changes_nothing(pair: Pair) -> None:
    """Law (promise 16): without an operator, a transaction that nobody decided on refuses the move before any change."""
    source, _ = in_order(pair)
    prepare(source, -1, "held")
    (pair.folder / "other.yaml").write_text("decisions:\n  - {gid: another, choice: commit, reason: known}\n")
    for given in ((), ("--prepared", "other.yaml")):
        code, text = pair.run(*MOVE, source.name, *given)
        assert code == 3, text
        assert "held" in text
        assert "--prepared FILE" in text
    assert not source.is_standby
    limit = source.ask("select datconnlimit from pg_database where datname = 'shop'")
    assert (limit, prepared(source)) == ([(-1,)], {"held"})


def test_decisions_of_a_file_are_done_at_the_source(pair: Pair) -> None:
    """Law (promise 7): each has its decision with a reason on record, is done at the old primary, and holds at both."""
    source, target = in_order(pair)
    prepare(source, -1, HOSTILE)
    prepare(source, -2, "b")
    prepare(source, -3, "c")
    quoted = HOSTILE.replace("'", "''")
    (pair.folder / "decisions.yaml").write_text(
        "decisions:\n"
        f"  - {{gid: '{quoted}', choice: commit, reason: 'ticket 4711'}}\n"
        "  - {gid: b, branches: [committed, rolled-back]}\n"
        "  - {gid: c, branches: [committed, committed]}\n"
    )
    code, text = pair.run(*MOVE, source.name, "--prepared", "decisions.yaml")
    assert code == 0, text
    assert (source.is_standby, target.is_standby, prepared(target)) == (True, False, set())
    assert written(target) == {-1, -3}
    wait_for(lambda: written(source) == {-1, -3})
    code, text = pair.run("runs", "report")
    assert "ticket 4711" in text, text


class NoSecrets:
    """Of a login without a password."""

    def reveal(self, reference: object, *, what: str) -> str:
        """Nothing is asked for."""
        raise AssertionError(f"{what}: {reference}")


class Allowed:
    """A permit that lets every command leave."""

    def check(self) -> None:
        """Nothing is forbidden."""


def test_what_has_an_outcome_already_is_not_claimed(pair: Pair) -> None:
    """Law (promise 17): "does not exist" (42704) is a refusal, so the list is read; and a standby, where the list is
    always empty, does not know it. A session with the database is not taken for a client."""
    inventory = read_inventory(pair.folder / "inventory.yaml").result()
    kind = cast("type[DeclaredAdapter]", family_of(read_family(FILE).result(), None).adapters["postgresql"])
    context = AdapterContext(clock=SystemClock(), secrets=NoSecrets())
    source, target = in_order(pair)
    prepare(source, -1, "one")
    adapters = [kind(inventory.sites[site.name], context) for site in (source, target)]
    try:
        calls = [Call("shop", {"gid": gid, "outcome": "rollback"}) for gid in ("one", "one", "never there")]
        results = list(adapters[0].apply("resolve", calls, Allowed()))
        assert [one.effect for one in results] == [Effect.ACCEPTED, Effect.REJECTED, Effect.REJECTED]
        assert "does not exist" in results[1].detail
        assert adapters[0].probe("database", ["shop"])["shop"].model_dump()["clients"] == 0
        assert adapters[0].probe("prepared", ["shop"])["shop"].model_dump()["items"] == ()
        unknown = adapters[1].probe("prepared", ["shop"])["shop"]
        assert isinstance(unknown, Failure)
        assert "does not know the list" in unknown.text
    finally:
        for adapter in adapters:
            adapter.close()


@pytest.mark.long
def test_without_a_decision_the_run_stops_and_is_resumed_with_one(pair: Pair) -> None:
    """Law: to stop at the question is an answer, and a resume brings the decision that was missing."""
    source, target = in_order(pair)
    prepare(source, -1, "late")
    code, text = pair.run(*MOVE, source.name, "--prepared", "stop")
    assert code == 6, text
    assert "late" in text
    assert not source.is_standby  # it runs, and lets no writer in
    (pair.folder / "decisions.yaml").write_text("decisions:\n  - {gid: late, choice: rollback, reason: gone}\n")
    code, text = pair.run("resume", "--prepared", "decisions.yaml")
    assert code == 0, text
    assert (target.is_standby, prepared(target), written(target)) == (False, set(), set())


@pytest.mark.long
def test_they_appear_at_the_target_of_an_unplanned_move() -> None:
    """Law: a transaction that was replicated is seen after the promotion, where the run asks for its decision."""
    with a_pair() as fresh:
        ny, nj = fresh.sites.values()
        prepare(ny, -1, "kept")
        wait_for(lambda: nj.ask("select 1 from pg_stat_wal_receiver where latest_end_lsn = pg_last_wal_replay_lsn()"))
        ny.stop()
        failed = ("uncontrolled", "--service", "shop", "--site", "ny", "--yes", "--attest", "power is off")
        code, text = fresh.run(*failed)
        assert code == 6, text
        assert "kept" in text
        assert (nj.is_standby, prepared(nj)) == (False, {"kept"})
        (fresh.folder / "decisions.yaml").write_text("decisions:\n  - {gid: kept, choice: commit, reason: known}\n")
        code, text = fresh.run("resume", "--prepared", "decisions.yaml")
        assert code == 0, text
        assert (prepared(nj), written(nj)) == (set(), {-1})
