"""Two PostgreSQL servers, the second following the first, and a load that counts what was accepted.

The servers run as an ordinary account, on free ports of the loopback interface, in a folder of the test's own. Where the
tests run as root, ``pg_ctl`` changes to that account first, as an operator's ``sudo`` would.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.journal.servers import a_server
from tests.process_state import has_ended
from tests.real import load
from tests.real.commands import Operator
from tests.real.places import Place, wait_for
from tests.real.relay import Relay

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = {port}
cluster_name = '{name}'
primary_conninfo = 'host=127.0.0.1 port={mate} user=tester application_name={name}'
primary_slot_name = 'for_{name}'
wal_log_hints = on
max_prepared_transactions = 20
wal_keep_size = '256MB'
wal_receiver_status_interval = 1s
wal_sender_timeout = 5s
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
hot_standby_feedback = on
fsync = off
autovacuum = off
"""
INVENTORY = """\
sites:
{sites}pairs:
  - {{name: shop, sites: [ny, nj], services: [shop]}}
"""
SITE = """\
  {name}:
    adapter: postgresql
    devices: [{{name: {name}, address: 127.0.0.1, port: {port}}}]
    login: {{username: tester}}
    options:
      writers: app
      data: {data}
      log: {data}.log
      programs: {programs}
      keep: {data}-kept
      aside: {data}-aside
      slot: for_{mate}
      mate: host=127.0.0.1 port={mate_port} user=tester dbname=postgres
"""
# Run as the account of the server, wherever the operator's account is another one.
PROGRAMS = (
    "pg_ctl",
    "pg_controldata",
    "pg_rewind",
    "pg_waldump",
    "pg_basebackup",
    "postgres",
    "env",
    "find",
    "mv",
)
WRAPPER = """\
#!/bin/sh
{before}{runs_as}exec {program} "$@"
"""


@dataclass
class Site(Place):
    """One server, and where it is kept."""

    port: int
    data: Path
    pair: Pair

    def tool(self, program: str, *words: str) -> str:
        """One of PostgreSQL's programs, run to its end."""
        return self.pair.call([str(self.pair.programs / program), *words])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self.inside():
            self.tool("pg_ctl", "-D", str(self.data), "-l", f"{self.data}.log", "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it, as a crash would unless another ``mode`` is named."""
        with suppress(AssertionError):
            self.tool("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    @property
    def leader(self) -> int:
        """The number of its postmaster."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """End the postmaster at once; return when its processes have noticed, and its number is free: one that is still
        listed keeps a server from being started."""
        leader = self.leader
        processes = [int(one) for one in Path(f"/proc/{leader}/task/{leader}/children").read_text().split()]
        os.kill(leader, signal.SIGKILL)
        wait_for(lambda: all(has_ended(one) for one in processes) and not Path(f"/proc/{leader}").exists())

    def ask(self, statement: str, database: str = "shop") -> list[tuple[Any, ...]]:
        """What a superuser reads, at the site."""
        where = f"host=127.0.0.1 port={self.port} user=tester dbname={database}"
        with self.inside(), psycopg.connect(where, autocommit=True) as found:
            rows = found.execute(statement)
            return [] if rows.description is None else list(rows)

    def has(self) -> Counter[int]:
        """The numbers of its rows."""
        return Counter(row[0] for row in self.ask("select number from written"))

    @property
    def is_standby(self) -> bool:
        """Does it follow, as it says itself?"""
        return bool(self.ask("select pg_is_in_recovery()", "postgres")[0][0])


@dataclass
class Pair(Operator):
    """The two servers, an inventory of them, the account that all of it belongs to, and the network: each server follows
    its mate through the relay that leads there."""

    programs: Path
    account: str | None
    sites: dict[str, Site] = field(default_factory=dict)
    ways: dict[str, Relay] = field(default_factory=dict)

    def call(self, words: list[str]) -> str:
        """A program of the account, run to its end; what it printed."""
        output = self.folder / "output"
        with output.open("wb") as stream:
            done = subprocess.run(
                words,
                user=self.account,
                cwd=self.folder,
                env=self.environment,
                stdout=stream,
                stderr=stream,
                check=False,
            )
        said = output.read_text()
        assert done.returncode == 0, f"{words}: {said}"
        return said


@contextmanager
def a_pair() -> Iterator[Pair]:
    """ny is the primary, and nj follows it. Skips the test where there is no PostgreSQL."""
    with a_server() as first, a_server() as second:
        pair = Pair(first.folder, first.programs, first.account)
        ports = {"ny": first.port, "nj": second.port}
        for name, port in ports.items():
            pair.sites[name] = Site(name, port, pair.folder / name, pair)
            pair.ways[name] = Relay(port)
        ny, nj = pair.sites.values()
        ny.tool("initdb", "-D", str(ny.data), "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-sync")
        own = (ny.data / "postgresql.conf").read_text()
        write(
            pair,
            ny.data / "postgresql.conf",
            own + SETTINGS.format(port=ny.port, mate=pair.ways["nj"].port, name="ny"),
        )
        try:
            ny.start()
            ny.tool("createdb", "-h", "127.0.0.1", "-p", str(ny.port), "-U", "tester", "shop")
            ny.ask("create role app login")
            ny.ask("create table written (number bigint primary key, worker int, moment timestamptz default now())")
            ny.ask("grant all on written to app")
            ny.ask("select pg_create_physical_replication_slot('for_nj')")
            nj.tool(
                "pg_basebackup",
                "-h",
                "127.0.0.1",
                "-p",
                str(ny.port),
                "-U",
                "tester",
                "-D",
                str(nj.data),
                "-c",
                "fast",
            )
            write(
                pair,
                nj.data / "postgresql.conf",
                own + SETTINGS.format(port=nj.port, mate=pair.ways["ny"].port, name="nj"),
            )
            write(pair, nj.data / "standby.signal", "")
            nj.start()
            write(pair, pair.folder / "inventory.yaml", _inventory(pair))
            (pair.folder / "state").mkdir(mode=0o700)
            for site in pair.sites.values():
                own_folder(pair, Path(f"{site.data}-kept"))
            (pair.folder / "bin").mkdir()
            for name in PROGRAMS:
                wrap(pair, name)
            wait_for(lambda: len(ny.ask("select 1 from pg_stat_replication where state = 'streaming'")) == 1)
            yield pair
        finally:
            for site in pair.sites.values():
                site.stop()
            for way in pair.ways.values():
                way.close()


def wrap(pair: Pair, name: str, before: str = "", folder: str = "bin") -> None:
    """A program that an operator's account runs as the server's. ``before``: a line of shell that runs first."""
    own = pair.programs / name
    program = str(own) if own.is_file() else shutil.which(name)
    runs_as = (
        "" if pair.account is None else f'[ $(id -u) = 0 ] && exec runuser -u {pair.account} -- {program} "$@"\n'
    )
    path = pair.folder / folder / name
    path.write_text(WRAPPER.format(before=before and f"{before}\n", runs_as=runs_as, program=program))
    path.chmod(0o755)


def _inventory(pair: Pair) -> str:
    ny, nj = pair.sites.values()
    sites = (
        SITE.format(
            name=one.name,
            port=one.port,
            data=one.data,
            programs=pair.folder / "bin",
            mate=mate.name,
            mate_port=mate.port,
        )
        for one, mate in ((ny, nj), (nj, ny))
    )
    return INVENTORY.format(sites="".join(sites))


def own_folder(pair: Pair, path: Path) -> None:
    path.mkdir(mode=0o700)
    if pair.account is not None:
        shutil.chown(path, pair.account)


def write(pair: Pair, path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o600)
    if pair.account is not None:
        shutil.chown(path, pair.account)


def fence_plan(pair: Pair, site: str, plan: str) -> None:
    """Give a site of the inventory a fence plan."""
    path = pair.folder / "inventory.yaml"
    line = f"  {site}:\n    adapter: postgresql\n"
    text = path.read_text()
    assert line in text
    path.write_text(text.replace(line, f"{line}    fence: {plan}\n"))


def in_order(pair: Pair) -> tuple[Site, Site]:
    """The primary first."""
    first, second = pair.sites.values()
    return (second, first) if first.is_standby else (first, second)


class Load(load.Load[Site]):
    """Writes a row for each number. ``unknown``: those whose session ended before the answer."""

    ends = (psycopg.Error,)

    def __init__(self, pair: Pair, workers: int = 3) -> None:
        self.unknown: set[int] = set()
        super().__init__(pair.sites.values(), workers)

    def _write_at(self, place: Site, worker: int) -> None:
        where = f"host=127.0.0.1 port={place.port} user=app dbname=shop connect_timeout=2"
        with psycopg.connect(where, autocommit=True) as session:
            if session.execute("select pg_is_in_recovery()").fetchone() != (False,):
                return
            while not self._end.is_set():
                number = next(self.numbers)
                try:
                    session.execute("insert into written (number, worker) values (%s, %s)", (number, worker))
                except psycopg.OperationalError:
                    self.unknown.add(number)  # it may have been accepted
                    raise
                self.accepted[number] = (time.monotonic(), place.name)
                self._end.wait(0.005)
