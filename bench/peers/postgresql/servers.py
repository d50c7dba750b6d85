"""PostgreSQL servers of an ordinary account: a single server, or a pair in which the second follows the first."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.peers.account import account, call, folder_on_disk, free_port, wait_for
from bench.peers.contest import Unavailable
from bench.peers.environments import CLEAN

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = {port}
cluster_name = '{name}'
wal_log_hints = on
max_prepared_transactions = 20
wal_keep_size = '256MB'
wal_receiver_status_interval = 1s
wal_sender_timeout = 5s
wal_receiver_timeout = 5s
wal_retrieve_retry_interval = 200ms
hot_standby_feedback = on
"""
FOLLOWS = "primary_conninfo = 'host=127.0.0.1 port={mate} user=admin application_name={name}'\n"


@dataclass(frozen=True, slots=True)
class Server:
    """One server. ``programs``: the folder of its programs. ``admin`` is a superuser that needs no password."""

    name: str
    port: int
    folder: Path
    programs: Path

    @property
    def data(self) -> Path:
        return self.folder / self.name

    @property
    def env(self) -> dict[str, str]:
        """The environment of its programs."""
        return {**CLEAN, "PATH": f"{self.programs}:{CLEAN['PATH']}", "HOME": str(self.folder)}

    def tool(self, program: str, *words: str) -> str:
        """Run one of PostgreSQL's programs as the account until it ends."""
        return call([str(self.programs / program), *words], self.folder, self.env)

    def make(self, settings: str) -> None:
        """Make a new database and start it."""
        self.tool("initdb", "-D", str(self.data), "-U", "admin", "--auth=trust", "--encoding=UTF8")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(settings)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.tool("pg_ctl", "-D", str(self.data), "-l", f"{self.data}.log", "-w", "start")

    def stop(self) -> None:
        """Stop it, if it runs."""
        if (self.data / "postmaster.pid").exists():
            self.tool("pg_ctl", "-D", str(self.data), "-m", "immediate", "-w", "stop")

    def ask(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as a superuser, and return its rows."""
        where = f"host=127.0.0.1 port={self.port} user=admin dbname={database} connect_timeout=5"
        with psycopg.connect(where, autocommit=True) as session:
            rows = session.execute(statement.encode())
            return [] if rows.description is None else list(rows)

    @property
    def follows(self) -> bool | None:
        """Does the server report that it is a standby? None: it does not answer."""
        try:
            return bool(self.ask("select pg_is_in_recovery()")[0][0])
        except psycopg.Error:
            return None


@dataclass(frozen=True, slots=True)
class Servers:
    """A pair of servers."""

    both: tuple[Server, Server]

    def in_order(self) -> tuple[Server, Server]:
        """Wait until the standby streams from the primary, and return the primary first."""
        found: list[Server] = []

        def is_whole() -> bool:
            found[:] = sorted(self.both, key=lambda one: one.follows is not False)
            roles = [one.follows for one in found]
            streams = "select count(*) from pg_stat_replication where state = 'streaming' and replay_lsn is not null"
            return roles == [False, True] and found[0].ask(streams) == [(1,)]

        wait_for(is_whole, "one primary, and one standby that streams from it")
        return found[0], found[1]


def installed_programs() -> Path:
    """The folder of the newest PostgreSQL's programs. Raises ``Unavailable``."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise Unavailable("no PostgreSQL server: install postgresql")
    return found[-1].parent


@contextmanager
def one_server() -> Iterator[Server]:
    """An empty server, on disk. Raises ``Unavailable``."""
    programs = installed_programs()
    with folder_on_disk("postgresql", of_account=True) as folder:
        server = Server("alone", free_port(), folder, programs)
        try:
            server.make(SETTINGS.format(port=server.port, name="alone"))
            yield server
        finally:
            server.stop()


@contextmanager
def a_pair(programs: Path, more: str = "") -> Iterator[Servers]:
    """A pair: ny is the primary, nj follows ny, and both know their mate. ``more``: settings of both. Raises
    ``Unavailable``."""
    with folder_on_disk("postgresql", of_account=True) as folder:
        ny, nj = (Server(name, free_port(), folder, programs) for name in ("ny", "nj"))
        own = {one.name: SETTINGS.format(port=one.port, name=one.name) + more for one in (ny, nj)}
        try:
            ny.make(own["ny"] + FOLLOWS.format(mate=nj.port, name="ny"))
            prepare(ny)
            where = ["-h", "127.0.0.1", "-p", str(ny.port), "-U", "admin"]
            nj.tool("pg_basebackup", *where, "-D", str(nj.data), "-c", "fast")
            with (nj.data / "postgresql.conf").open("a") as file:  # the last value of a setting counts
                file.write(own["nj"] + FOLLOWS.format(mate=ny.port, name="nj"))
            hand_over(nj.data / "standby.signal")
            nj.start()
            yield Servers((ny, nj))
        finally:
            for one in (ny, nj):
                one.stop()


def prepare(primary: Server) -> None:
    """Make the database of the load, with its table and its login role."""
    primary.ask("create database shop")
    primary.ask("create role app login")
    primary.ask("create table written (number bigint primary key, moment timestamptz default now())", "shop")
    primary.ask("grant all on written to app", "shop")


def hand_over(path: Path, text: str = "", mode: int = 0o600) -> None:
    """Write a file that belongs to the account."""
    path.write_text(text)
    path.chmod(mode)
    if os.geteuid() == 0:
        found = pwd.getpwnam(account())
        os.chown(path, found.pw_uid, found.pw_gid)
