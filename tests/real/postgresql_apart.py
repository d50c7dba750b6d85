"""A PostgreSQL pair in network namespaces: each site and the operator in one, with a cable between each two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.journal.servers import a_server
from tests.real import postgresql
from tests.real.distant import Distant, three_spaces
from tests.real.places import wait_for
from tests.real.postgresql import INVENTORY, PROGRAMS, SETTINGS, SITE, Pair, Site, wrap

PORT = 5432
# The programs of a site run at that site, whoever calls them.
AT_SITE = '[ "$(ip netns identify $$)" = {space} ] || exec ip netns exec {space} "$0" "$@"'


@dataclass
class Apart(Distant, Pair):
    """The pair."""


@contextmanager
def a_pair_apart() -> Iterator[Apart]:
    """ny is the primary, and nj follows it. Skips the test where there can be no namespaces, or is no PostgreSQL."""
    with a_server() as place, three_spaces() as (spaces, stack):
        pair = Apart(place.folder, place.programs, place.account, spaces=spaces)
        for name in ("ny", "nj"):
            pair.sites[name] = Site(name, PORT, pair.folder / name, pair, spaces=spaces)
            stack.callback(pair.sites[name].stop)
        ny, nj = pair.sites.values()
        ny.tool("initdb", "-D", str(ny.data), "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-sync")
        own = (ny.data / "postgresql.conf").read_text()
        postgresql.write(pair, ny.data / "postgresql.conf", own + _settings(pair, "ny", "nj"))
        rules = (ny.data / "pg_hba.conf").read_text()
        network = "".join(f"host {what} all 10.77.0.0/16 trust\n" for what in ("all", "replication"))
        postgresql.write(pair, ny.data / "pg_hba.conf", rules + network)
        ny.start()
        ny.ask("create database shop", "postgres")
        ny.ask("create role app login")
        ny.ask("create table written (number bigint primary key, worker int, moment timestamptz default now())")
        ny.ask("grant all on written to app")
        ny.ask("select pg_create_physical_replication_slot('for_nj')")
        with spaces.inside("ny"):
            nj.tool(
                "pg_basebackup", "-h", "127.0.0.1", "-p", str(PORT), "-U", "tester", "-D", str(nj.data), "-c", "fast"
            )
        postgresql.write(pair, nj.data / "postgresql.conf", own + _settings(pair, "nj", "ny"))
        postgresql.write(pair, nj.data / "standby.signal", "")
        nj.start()
        sites = (_site(pair, ny, nj), _site(pair, nj, ny))
        postgresql.write(pair, pair.folder / "inventory.yaml", INVENTORY.format(sites="".join(sites)))
        (pair.folder / "state").mkdir(mode=0o700)
        wait_for(lambda: len(ny.ask("select 1 from pg_stat_replication where state = 'streaming'")) == 1)
        yield pair


def _settings(pair: Apart, name: str, mate: str) -> str:
    text = SETTINGS.format(port=PORT, mate=PORT, name=name)
    text = text.replace("listen_addresses = '127.0.0.1'", "listen_addresses = '*'")
    return text.replace("host=127.0.0.1", f"host={pair.spaces.address(mate, name)}")


def _site(pair: Apart, site: Site, mate: Site) -> str:
    """Its part of the inventory, and the programs and folders that this names."""
    folder = f"bin-{site.name}"
    (pair.folder / folder).mkdir()
    for name in PROGRAMS:
        wrap(pair, name, AT_SITE.format(space=pair.spaces.full(site.name)), folder)
    postgresql.own_folder(pair, pair.folder / f"{site.name}-kept")
    text = SITE.format(
        name=site.name,
        port=PORT,
        data=site.data,
        programs=pair.folder / folder,
        mate=mate.name,
        mate_port=PORT,
    )
    text = text.replace("address: 127.0.0.1", f"address: {pair.spaces.address(site.name, 'op')}")
    return text.replace("mate: host=127.0.0.1", f"mate: host={pair.spaces.address(mate.name, site.name)}")
