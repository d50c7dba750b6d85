"""A real PostgreSQL server that was lost comes back as a standby, and its clients go back to it without a lost row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, Site, a_pair, wrap

pytestmark = pytest.mark.realtime
LOST = ("uncontrolled", "--service", "shop", "--site", "ny", "--yes", "--attest", "power is off")
RESTORE = ("restore", "--service", "shop", "--site", "ny", "--yes")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair() as made:
        yield made


def lose(pair: Pair) -> tuple[Site, Site]:
    """ny dies with three rows that nj never had, and nj takes over. Both sites, ny first."""
    ny, nj = pair.sites.values()
    nj.stop("fast")
    for number in (-1, -2, -3):
        ny.ask(f"insert into written (number) values ({number})")
    ny.stop()
    nj.start()
    code, text = pair.run(*LOST)
    assert code == 0, text
    nj.ask("insert into written (number) values (-9)")
    return ny, nj


def rows(site: Site) -> set[int]:
    """The rows with a negative number, which no load writes."""
    return {row[0] for row in site.ask("select number from written where number < 0")}


def configuration(site: Site) -> dict[str, bytes]:
    """The files of the server's own."""
    return {path.name: path.read_bytes() for path in sorted(site.data.glob("*.conf"))}


def owners(folder: Path) -> set[str]:
    """Whose files there are."""
    return {path.owner() for path in folder.rglob("*")}


def test_rewound_and_given_back(pair: Pair) -> None:
    """Law: what only the failed server has is counted before it is dropped; it comes back with its own configuration,
    after a checkpoint of the new timeline (P1), with files of its own account (P5) and its own settings (P6, F2); slots
    hold no log for ever (F3); and the fail-back loses nothing."""
    ny, nj = lose(pair)
    own = configuration(ny)
    seen = pair.folder / "timeline"
    control = f"{pair.programs}/pg_controldata {nj.data} | grep 'checkpoint.s TimeLineID' >> {seen}"
    wrap(pair, "pg_rewind", control)
    code, text = pair.run(*RESTORE)
    assert code == 6, text
    assert "transactions 3" in text
    assert rows(nj) == {-9}
    code, text = pair.run("resume", "--accept-loss", "copied out")
    assert code == 0, text
    assert {line.split()[-1] for line in seen.read_text().splitlines()} == {"2"}
    assert (ny.is_standby, nj.is_standby) == (True, False)
    wait_for(lambda: rows(ny) == {-9})
    assert configuration(ny) == own
    assert owners(ny.data) == {ny.data.owner()}
    assert ny.ask("select slot_name from pg_replication_slots") == []
    assert nj.ask("select slot_name, active from pg_replication_slots") == [("for_ny", True)]
    with Load(pair) as load:
        load.goes_on(50)
        code, text = pair.run("failback", "--service", "shop", "--site", "ny", "--yes")
        assert code == 0, text
        load.goes_on()
    assert (ny.is_standby, nj.is_standby) == (False, True)
    wait_for(lambda: not load.lost_at(nj))
    assert not load.lost_at(ny)


@pytest.mark.long
def test_rebuilt_where_it_cannot_be_rewound(pair: Pair) -> None:
    """Law: where pg_rewind cannot be used, a base backup brings the server back; the old data directory is kept, the
    configuration is the server's own."""
    ny, nj = lose(pair)
    own = configuration(ny)
    wrap(pair, "pg_rewind", "echo 'pg_rewind: error: target server needs to use wal_log_hints'; exit 1")
    code, text = pair.run(*RESTORE, "--rebuild")
    assert code == 0, text
    assert (ny.is_standby, nj.is_standby) == (True, False)
    wait_for(lambda: rows(ny) == {-9})
    assert configuration(ny) == own
    assert (Path(f"{ny.data}-aside") / "PG_VERSION").is_file()


@pytest.mark.long
def test_a_rewind_that_is_not_possible_yet(pair: Pair) -> None:
    """Law: where pg_rewind cannot be used, nothing is dropped, and the run is resumed once that is repaired."""
    ny, nj = lose(pair)
    wrap(pair, "pg_rewind", "echo 'pg_rewind: error: target server needs to use wal_log_hints'; exit 1")
    code, text = pair.run(*RESTORE, "--accept-loss", "copied out")
    assert (code, "pg_rewind cannot be used" in text) == (6, True), text
    ny.start()  # nothing was dropped: it is as it was
    assert rows(ny) == {-1, -2, -3}
    ny.stop("fast")
    wrap(pair, "pg_rewind")
    code, text = pair.run("resume", "--accept-loss", "copied out")
    assert code == 0, text
    assert (ny.is_standby, nj.is_standby) == (True, False)
    wait_for(lambda: rows(ny) == {-9})


def test_a_target_that_waits_for_the_lost_server_is_promoted_all_the_same() -> None:
    """Law: with the lost server as the only synchronous standby of the target, our own statements do not wait for it,
    and the run says that the writers do."""
    with a_pair() as pair:
        ny, nj = pair.sites.values()
        nj.ask("alter system set synchronous_standby_names = 'ny'")
        nj.ask("select pg_reload_conf()")
        ny.stop()
        code, text = pair.run(*LOST)
        assert code == 0, text
        assert not nj.is_standby
        assert "WRITERS WAIT: nj confirms no write of shop until ny is restored" in " ".join(text.split()), text


def test_a_failback_before_the_restore_is_refused(pair: Pair) -> None:
    """Law (promise 9): nothing is given back to a server that does not follow."""
    _, nj = lose(pair)
    code, text = pair.run("failback", "--service", "shop", "--site", "ny", "--yes")
    assert code == 3, text
    assert not nj.is_standby
    assert nj.ask("select datconnlimit from pg_database where datname = 'shop'") == [(-1,)]
