"""Pairs that cannot be moved: a server is hung, gone, alone or named twice. Each is refused with a sentence."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.real import postgresql, redis
from tests.real.places import free_ports, wait_for
from tests.real.relay import Relay

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def redises(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.Pair]:
    """One pair for all cases; each leaves it as it was."""
    with redis.a_pair(tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.fixture(scope="module")
def databases() -> Iterator[postgresql.Pair]:
    """The same of PostgreSQL."""
    with postgresql.a_pair() as made:
        yield made


@contextmanager
def other_text(path: Path, old: str, new: str) -> Iterator[None]:
    """A file with one change, for as long as the block lasts."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        yield
    finally:
        path.write_text(text)


@contextmanager
def halted(process: int) -> Iterator[None]:
    """A process that gets no time: its connections stay, and it answers nothing."""
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@contextmanager
def old_version(pair: redis.Pair) -> Iterator[None]:
    """ny answers as an old server does, which lacks a command besides."""
    ny, way = pair.servers["ny"], Relay(pair.servers["ny"].port)
    way.asked = lambda piece: piece.replace(b"EVAL_RO", b"EVAL_XX")
    way.answered = lambda piece: piece.replace(b"redis_version:7", b"redis_version:6")
    with other_text(pair.folder / "inventory.yaml", f"port: {ny.port}}}]", f"port: {way.port}}}]"):
        yield
    way.close()


@contextmanager
def failed_save(pair: redis.Pair) -> Iterator[None]:
    """The file of the target cannot be written."""
    nj = pair.servers["nj"]
    (nj.folder / "dump.rdb").unlink(missing_ok=True)
    (nj.folder / "dump.rdb").mkdir()
    nj.ask("BGSAVE")
    wait_for(lambda: nj.told("rdb_last_bgsave_status", "persistence") == "err")
    try:
        yield
    finally:
        (nj.folder / "dump.rdb").rmdir()
        nj.ask("BGSAVE")
        wait_for(lambda: nj.told("rdb_last_bgsave_status", "persistence") == "ok")


def follows(server: redis.Server, *, master: redis.Server | None) -> None:
    """Make it a replica of ``master``, or of nobody, and return once it is."""
    words = ("NO", "ONE") if master is None else ("127.0.0.1", str(master.port))
    with redis.Session(server.port) as session:
        session.ask("REPLICAOF", *words)
        wanted = "role:master" if master is None else "master_link_status:up"
        wait_for(lambda: wanted in session.ask("INFO", "replication"))


@contextmanager
def hung_replica(pair: redis.Pair) -> Iterator[None]:
    process = pair.servers["nj"].process
    assert process is not None
    with halted(process.pid):
        yield


@contextmanager
def no_replication(pair: redis.Pair) -> Iterator[None]:
    follows(pair.servers["nj"], master=None)
    try:
        yield
    finally:
        follows(pair.servers["nj"], master=pair.servers["ny"])


@contextmanager
def two_replicas(pair: redis.Pair) -> Iterator[None]:
    folder = pair.folder / "third"
    folder.mkdir()
    third = redis.Server("third", free_ports(1)[0], folder)
    third.start(master=pair.servers["ny"].port)
    try:
        follows(third, master=pair.servers["ny"])
        yield
    finally:
        third.stop()


@contextmanager
def gated_target(pair: redis.Pair) -> Iterator[None]:
    with redis.Session(pair.servers["nj"].port) as session:
        session.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        try:
            yield
        finally:
            session.ask("CONFIG", "SET", "min-replicas-to-write", "0")


@contextmanager
def stopped_replica(pair: redis.Pair) -> Iterator[None]:
    pair.servers["nj"].stop()
    try:
        yield
    finally:
        pair.servers["nj"].start(master=pair.servers["ny"].port)
        follows(pair.servers["nj"], master=pair.servers["ny"])


@contextmanager
def one_server_twice(pair: redis.Pair) -> Iterator[None]:
    ny, nj = pair.servers.values()
    with other_text(pair.folder / "inventory.yaml", f"port: {nj.port}}}]", f"port: {ny.port}}}]"):
        yield


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (hung_replica, "was ended by a signal|no replica has reported"),
        (no_replication, "the target is not a replica"),
        (two_replicas, "no replica or more than one replica"),
        (gated_target, "min-replicas-to-write of the target"),
        (stopped_replica, "no replica has reported"),
        (one_server_twice, "the target is not a replica"),
        (old_version, "the source is older than Redis 7"),
        (failed_save, "so the target may refuse writes (MISCONF)"),
    ],
)
def test_redis(redises: redis.Pair, make: Callable[[redis.Pair], Iterator[None]], sentence: str) -> None:
    """Law: the move is refused in a sentence that says what is wrong, with exit code 3, and the source still takes writes
    as if nothing had been asked."""
    with make(redises):  # type: ignore[attr-defined]
        code, text = redises.run("controlled", "--service", "cache", "--from", "ny", "--yes")
        assert (code, any(one in text for one in sentence.split("|"))) == (3, True), text
        with redis.Session(redises.servers["ny"].port) as session:
            assert session.ask("SET", "still", "1") == "OK"


@contextmanager
def hung_standby(pair: postgresql.Pair) -> Iterator[None]:
    with halted(int((pair.sites["nj"].data / "postmaster.pid").read_text().split()[0])):
        yield


@contextmanager
def stopped_standby(pair: postgresql.Pair) -> Iterator[None]:
    ny, nj = pair.sites.values()
    nj.stop("fast")
    try:
        yield
    finally:
        nj.start()
        wait_for(lambda: len(ny.ask("select 1 from pg_stat_replication where state = 'streaming'")) == 1)


@contextmanager
def no_such_database(pair: postgresql.Pair) -> Iterator[None]:
    with other_text(pair.folder / "inventory.yaml", "services: [shop]", "services: [shop, shep]"):
        yield


@contextmanager
def the_primary_twice(pair: postgresql.Pair) -> Iterator[None]:
    ny, nj = pair.sites.values()
    with other_text(pair.folder / "inventory.yaml", f"port: {nj.port}}}]", f"port: {ny.port}}}]"):
        yield


@contextmanager
def no_such_role(pair: postgresql.Pair) -> Iterator[None]:
    with other_text(pair.folder / "inventory.yaml", "writers: app", "writers: apps"):
        yield


@contextmanager
def through_a_relay(pair: postgresql.Pair, said: bytes, instead: bytes) -> Iterator[None]:
    """nj is asked through a relay that puts another word into its answers."""
    nj = pair.sites["nj"]
    way = Relay(nj.port)
    way.answered = lambda piece: piece.replace(said, instead)
    try:
        with other_text(pair.folder / "inventory.yaml", f"port: {nj.port}}}]", f"port: {way.port}}}]"):
            yield
    finally:
        way.close()


@contextmanager
def an_old_version(pair: postgresql.Pair) -> Iterator[None]:
    [(version,)] = pair.sites["nj"].ask("show server_version_num", "postgres")
    with through_a_relay(pair, version.encode(), b"140019"):
        yield


@contextmanager
def half_an_answer(pair: postgresql.Pair) -> Iterator[None]:
    """The answer to the reading of the log breaks off, and the rest of it never comes."""
    with through_a_relay(pair, b"knows_mate", b""):
        yield


@contextmanager
def no_login(pair: postgresql.Pair) -> Iterator[None]:
    nj = pair.sites["nj"]
    rules = nj.data / "pg_hba.conf"
    with other_text(rules, "127.0.0.1/32            trust", "127.0.0.1/32            scram-sha-256"):
        nj.tool("pg_ctl", "-D", str(nj.data), "reload")
        yield
    nj.tool("pg_ctl", "-D", str(nj.data), "reload")
    wait_for(lambda: nj.is_standby)


@pytest.mark.parametrize(
    ("make", "code", "sentence"),
    [
        (hung_standby, 3, "nj"),
        (stopped_standby, 3, "no session"),
        (no_such_database, 2, "a PostgreSQL server is promoted as a whole"),
        (the_primary_twice, 3, "the target"),
        (no_such_role, 3, "the source"),
        (an_old_version, 3, "the target is older than PostgreSQL 15"),
        pytest.param(half_an_answer, 3, "nj", marks=pytest.mark.long),
        (no_login, 3, "no password supplied"),
    ],
)
def test_postgresql(
    databases: postgresql.Pair, make: Callable[[postgresql.Pair], Iterator[None]], code: int, sentence: str
) -> None:
    """Law: the same; the primary takes writes, and its standby still follows."""
    ny, _ = databases.sites.values()
    with make(databases):  # type: ignore[attr-defined]
        ended, text = databases.run("controlled", "--service", "shop", "--from", "ny", "--yes")
        assert (ended, sentence in text) == (code, True), text
        ny.ask("create table if not exists still (number int)")
    assert not ny.is_standby
