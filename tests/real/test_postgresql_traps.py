"""What misled others about PostgreSQL: signs that say that all is well, and gates that hold nobody."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import psycopg
import pytest

from tests.real.cutting import impatient
from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, a_pair, in_order

pytestmark = [pytest.mark.realtime, pytest.mark.long]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A pair for all tests; each leaves a primary which the other server follows."""
    with a_pair() as made:
        yield made


def move(pair: Pair, *more: str) -> tuple[int, str]:
    """The planned move from where the primary is."""
    return pair.run("controlled", "--service", "shop", "--from", in_order(pair)[0].name, "--yes", *more)


def test_a_session_that_was_open_before_cannot_write_on(pair: Pair) -> None:
    """Law (P4): the gate is no advice that a session may overrule: one that was open is ended, and nobody logs in."""
    source, target = in_order(pair)
    overruled = f"host=127.0.0.1 port={source.port} user=app dbname=shop"
    overruled += " options='-c default_transaction_read_only=off'"
    with psycopg.connect(overruled, autocommit=True) as session:
        session.execute("insert into written (number) values (-1)")
        code, text = move(pair)
        assert code == 0, text
        with pytest.raises(psycopg.OperationalError):
            session.execute("insert into written (number) values (-2)")
    assert target.ask("select number from written where number < 0") == [(-1,)]
    # What the new standby has of the two rules is the new primary's: both are in the log.
    with pytest.raises(psycopg.Error), psycopg.connect(overruled, autocommit=True) as session:
        session.execute("insert into written (number) values (-3)")


def test_a_receiver_that_hangs_is_no_lost_row(pair: Pair) -> None:
    """Law (P7): a receiver that is there and does not work is seen by the age of what it said, whatever its process looks
    like: the move is rolled back, and nothing is lost once it goes on."""
    source, target = in_order(pair)
    receiver = int(target.ask("select pid from pg_stat_wal_receiver", "postgres")[0][0])
    with Load(pair) as load:
        load.goes_on(50)
        os.kill(receiver, signal.SIGSTOP)
        try:
            wait_for(lambda: not linked(pair))
            code, text = move(pair, "--runbook", impatient(pair.folder, "postgresql/controlled"))
        finally:
            os.kill(receiver, signal.SIGCONT)
        assert code == 3, text
        assert "(not linked)" in text
        load.goes_on()
    assert (source.is_standby, target.is_standby) == (False, True)
    load.arrives_at(source, target)


def linked(pair: Pair) -> bool:
    """Has the standby said anything in the last 3 s, as the primary sees it?"""
    asked = "select 1 from pg_stat_replication where clock_timestamp() - reply_time < interval '3 s'"
    return bool(in_order(pair)[0].ask(asked))


def test_what_is_lost_is_counted_on_both_sides(pair: Pair) -> None:
    """Law: after an unplanned move the rows that the new primary lacks are those that the load had confirmed and the old
    one alone has, and the restore counts their transactions before it drops them."""
    source, target = in_order(pair)
    with Load(pair, workers=1) as load:
        load.goes_on(50)
        target.stop("fast")
        load.goes_on()
        source.stop()
        target.start()
        code, text = pair.run(
            "uncontrolled", "--service", "shop", "--site", source.name, "--yes", "--attest", "power is off"
        )
        assert code == 0, text
    lost = load.lost_at(target)
    assert lost
    code, text = pair.run("restore", "--service", "shop", "--site", source.name, "--yes")
    counted = re.search(r"transactions ([\d,]+)", text)
    assert code == 6, text
    assert counted is not None, text
    assert len(lost) <= int(counted[1].replace(",", "")) <= len(lost) + len(load.unknown)
