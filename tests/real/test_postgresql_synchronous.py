"""Pairs of PostgreSQL servers whose writers wait for a synchronous standby, which during a move is not there yet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, a_pair, in_order

pytestmark = [pytest.mark.realtime, pytest.mark.long]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Each server waits for the other one."""
    with a_pair() as made:
        ny, nj = made.sites.values()
        for site, mate in ((ny, nj), (nj, ny)):
            site.ask(f"alter system set synchronous_standby_names = '{mate.name}'")
            site.ask("select pg_reload_conf()")
        wait_for(lambda: ny.ask("select 1 from pg_stat_replication where sync_state = 'sync'"))
        yield made


def test_there_and_back(pair: Pair) -> None:
    """Law: neither move waits for the standby that it has not started yet, no accepted row is lost, and each ends with a
    synchronous standby."""
    with Load(pair) as load:
        load.goes_on(50)
        for _ in range(2):
            source, target = in_order(pair)
            code, text = pair.run("controlled", "--service", "shop", "--from", source.name, "--yes")
            assert code == 0, text
            assert (source.is_standby, target.is_standby) == (True, False)
            assert target.ask("select sync_state from pg_stat_replication") == [("sync",)]
            load.goes_on()
    load.arrives_at(*pair.sites.values())
