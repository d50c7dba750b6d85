"""A PostgreSQL server dies in the middle of an action, or its disk is full: what became of it is read, and never two
servers take writes."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.real.cutting import impatient
from tests.real.places import wait_for
from tests.real.postgresql import Load, Pair, Site, a_pair, wrap
from tests.real.test_postgresql_fenced import takes_rows

pytestmark = pytest.mark.realtime
MOVE = ("controlled", "--service", "shop", "--from", "ny", "--yes")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair() as made:
        yield made


@pytest.mark.parametrize(
    ("is_back", "after_s"),
    [
        (True, 0.0),
        (True, 0.015),
        pytest.param(False, 0.0, marks=pytest.mark.long),
        *(pytest.param(True, one / 500, marks=pytest.mark.long) for one in range(1, 16)),
    ],
)
def test_the_target_dies_while_it_is_promoted(pair: Pair, is_back: bool, after_s: float) -> None:
    """Law: a promotion whose server is gone is in doubt, and the old primary stays shut. Once the target is back its role
    is read, and the move ends without a lost row; until then it stops with exit code 6, in a sentence. A server that
    dies between its promotion and the opening of its writers (``after_s``) comes back as a closed primary, and is
    opened."""
    ny, nj = pair.sites.values()
    with Load(pair) as load:
        load.goes_on(50)
        with pair.start(*MOVE) as process:
            assert process.stdout is not None  # it is a pipe
            said = ""
            for line in process.stdout:
                said += line
                if "nj: take over" in line and said.count("nj: take over") == 1:
                    time.sleep(after_s)
                    nj.kill()
                    if is_back:
                        nj.start()
        assert (process.returncode, "failover resume" in said) == ((0, False) if is_back else (6, True)), said
        if not is_back:
            assert not takes_rows(ny)
            nj.start()
            code, text = pair.run("resume")
            assert code == 0, text
        assert (ny.is_standby, nj.is_standby) == (True, False)
        load.goes_on()
    load.arrives_at(ny, nj)


def test_the_source_dies_while_it_is_stopped(pair: Pair) -> None:
    """Law: a stop that was a crash proves no end of the log: the move is rolled back with exit code 5, and the source
    takes writes again with every row."""
    ny, nj = pair.sites.values()
    runbook = impatient(pair.folder, "postgresql/controlled")
    with Load(pair) as load:
        load.goes_on(50)
        wrap(pair, "pg_ctl", f'case "$*" in *" -W stop") kill -9 $(head -1 {ny.data}/postmaster.pid); exit 1;; esac')
        code, text = pair.run(*MOVE, "--runbook", runbook)
        assert code == 5, text
        assert (ny.is_standby, nj.is_standby) == (False, True)
        load.goes_on()
    assert {site for _, site in load.accepted.values()} == {"ny"}
    load.arrives_at(ny, nj)


def leader_of(site: Site) -> int:
    """The number of its postmaster, whose files are seen by it alone."""
    with psycopg.connect(f"host=127.0.0.1 port={site.port} user=tester dbname=postgres") as session:
        backend = session.info.backend_pid
        return int(Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1])


@contextmanager
def a_full_disk(pair: Pair) -> Iterator[None]:
    """The data directory of nj is on a file system of its own, which only its server sees, and which it has filled."""
    ny, nj = pair.sites.values()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    nj.stop("fast")
    aside, leader = pair.folder / "aside", 0
    start = [str(pair.programs / "pg_ctl"), "-D", str(nj.data), "-l", f"{nj.data}.log", "-w", "start"]
    script = f"""
        set -e
        mv {nj.data} {aside}; mkdir {nj.data}
        mount -t tmpfs -o size=200m,mode=700 tmpfs {nj.data}
        cp -a {aside}/. {nj.data}; chown --reference={aside} {nj.data}
        exec runuser -u {pair.account} -- {shlex.join(start)}
    """
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script], cwd=pair.folder, stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            pytest.skip("no file system can be mounted here")
        leader = leader_of(nj)
        wait_for(lambda: len(ny.ask("select 1 from pg_stat_replication where state = 'streaming'")) == 1)
        with pytest.raises(psycopg.errors.DiskFull):
            nj.ask(f"copy (select repeat('x', 1000) from generate_series(1, 1000000)) to '{nj.data}/filler'")
        yield
    finally:
        if leader:
            with suppress(ProcessLookupError):  # what it could not write may have ended it
                os.kill(leader, signal.SIGQUIT)
            wait_for(lambda: not Path(f"/proc/{leader}").exists())
        if aside.exists():
            nj.data.rmdir()
            aside.rename(nj.data)
        nj.start()


@pytest.mark.long
def test_the_disk_of_the_target_is_full(pair: Pair) -> None:
    """Law: a server that dies of its full disk as it is promoted took nothing over: the move stops with exit code 6, and
    names the way back; once the target can be read, an abort gives activity back, and no row is lost."""
    ny, nj = pair.sites.values()
    with Load(pair) as load:
        load.goes_on(50)
        with a_full_disk(pair):
            code, text = pair.run(*MOVE)
            assert (code, "failover abort" in text) == (6, True), text
        assert nj.is_standby
        code, text = pair.run("abort")
        assert code == 5, text
        assert (ny.is_standby, nj.is_standby) == (False, True)
        load.goes_on()
    assert {site for _, site in load.accepted.values()} == {"ny"}
    load.arrives_at(ny, nj)
