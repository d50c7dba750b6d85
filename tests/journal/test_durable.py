"""What is committed stays: on each database this is forced, or the journal is refused with the way out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import Forbidden, JournalCorrupt, JournalLost, JournalUnavailable
from orchestrator.journal.database.embedded_files import file_system
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from tests.core.builders import created
from tests.journal.servers import Server, a_server, until

STARTED = [(None, ev.RunStarted(by="ann", epoch=1, attended=False))]


# --- SQLite -----------------------------------------------------------------------------------------------------------


def test_a_log_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    """Where SQLite silently stays without its write-ahead log, as on a file system without shared memory, the journal is
    refused; the remedy is named. Here the library's own locking by files stands for such a file system."""
    path = tmp_path / "journal.sqlite"
    with pytest.raises(
        JournalUnavailable, match=r"cannot keep a write-ahead log for .* \(SQLite reports 'delete'\)"
    ) as error:
        Journal(f"sqlite:///file:{path}?vfs=unix-dotfile&uri=true")
    assert "FAILOVER_STATE" in error.value.hint and "FAILOVER_JOURNAL" in error.value.hint


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / {home} rw,relatime shared:9 - {kind} filer:/export/home rw,vers=4.2
31 30 254:1 / {home}/local rw,relatime shared:9 - xfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "fuse.glusterfs", "ceph", "lustre", "9p", "virtiofs"]
)
def test_a_network_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    """On a file system of the network SQLite's shared memory does not keep two bastions apart: the journal is refused
    before a file is made, and the sentence names the file system, a local directory, and the server to share."""
    home = tmp_path / "home dir"
    (home / "local").mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(home=str(home).replace(" ", r"\040"), kind=kind))
    with pytest.raises(JournalUnavailable, match=rf"is on a network file system \({kind}\)") as error:
        Journal(f"sqlite:///{home}/journal.sqlite", mounts=mounts)
    assert "FAILOVER_STATE" in error.value.hint and "postgresql+psycopg://" in error.value.hint
    assert list(home.iterdir()) == [home / "local"]
    with pytest.raises(JournalUnavailable, match="is on a network file system"):
        Journal(f"sqlite:///file:{home}/journal.sqlite?uri=true", mounts=mounts)
    Journal(f"sqlite:///{home}/local/journal.sqlite", mounts=mounts).close()
    Journal(f"sqlite:///{tmp_path}/journal.sqlite", mounts=mounts).close()


def test_a_link_to_the_network_is_followed(tmp_path: Path) -> None:
    """What counts is where the file would be, not how it is called."""
    (tmp_path / "home").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "home")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(home=tmp_path / "home", kind="nfs4"))
    assert file_system(tmp_path / "state" / "journal.sqlite", mounts) == "nfs4"
    assert file_system(tmp_path / "journal.sqlite", mounts) == "ext4"


def test_where_the_system_does_not_tell_nothing_is_refused(tmp_path: Path) -> None:
    """Without a list of what is mounted the file system is unknown; the log itself is still checked."""
    assert file_system(tmp_path, tmp_path / "nowhere") == ""
    assert file_system(tmp_path) != ""
    Journal(f"sqlite:///{tmp_path}/journal.sqlite", mounts=tmp_path / "nowhere").close()


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Server]:
    with a_server() as server:
        server.make()
        yield server


def setting(journal: Journal, name: str) -> str:
    with journal.engine.connect() as connection:
        return str(connection.exec_driver_sql(f"SHOW {name}").scalar_one())


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("given", "used"), [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")]
)
def test_every_commit_waits_for_the_disk(server: Server, given: str, used: str) -> None:
    """Whatever the server's setting is, each connection of the journal waits for the disk, also one that replaces a lost
    one; a stronger setting is left as it is."""
    server.start(f"synchronous_commit={given}")
    with closing(Journal(server.url)) as journal:
        assert setting(journal, "synchronous_commit") == used
        server.stop()
        server.start(f"synchronous_commit={given}")
        assert setting(journal, "synchronous_commit") == used


@pytest.mark.realtime
def test_a_server_that_does_not_write_is_refused(server: Server) -> None:
    """A server whose disk is never waited for keeps nothing."""
    server.start("fsync=off")
    with pytest.raises(JournalUnavailable, match="does not wait for its disk") as error:
        Journal(server.url)
    assert "administrator" in error.value.hint


@pytest.fixture
def replica(server: Server) -> Iterator[Server]:
    """A copy of ``server``, which follows it asynchronously."""
    server.start()
    with a_server() as replica:
        origin = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "tester")
        replica.call("pg_basebackup", *origin, "-D", str(replica.data), "-R", "-c", "fast", "--no-sync")
        replica.start()
        yield replica


@pytest.mark.realtime
def test_a_standby_is_no_journal(server: Server, replica: Server) -> None:
    """A server in recovery may be behind: who leads a run is asked of the primary only. Of several servers in the URL the
    primary is taken."""
    with closing(Journal(server.url)) as journal:
        create_run(journal, VirtualClock(), "run-1", created())
    with pytest.raises(JournalUnavailable, match=r"server 127.0.0.1:\d+ is a standby") as error:
        Journal(replica.url)
    assert "?host=one&host=two" in error.value.hint
    with closing(Journal(both(replica, server))) as journal:
        assert [row.run for row in journal.runs()] == ["run-1"]


def both(*servers: Server) -> str:
    hosts = "&".join(f"host=127.0.0.1:{one.port}" for one in servers)
    return f"postgresql+psycopg://tester@/postgres?{hosts}"


@pytest.mark.realtime
def test_an_asynchronous_replica_is_named(server: Server, replica: Server, tmp_path: Path) -> None:
    """A replica that no commit waits for may lack the newest records: whoever leads a run is told, with the remedy. Once
    it is promoted without them, nothing more is sent, and on this bastion the run is known to have been further."""
    with closing(Journal(both(server, replica), heads=tmp_path / "heads")) as journal:
        until(lambda: bool(journal.caveat()))
        assert "synchronous_standby_names" in journal.caveat()
        clock = VirtualClock()
        lease, writer = create_run(journal, clock, "run-1", created())
        until(lambda: _rows(replica) == 1)
        replica.stop()
        writer = journal.append(writer, clock.now(), STARTED)
        server.stop()
        replica.start()
        replica.call("pg_ctl", "-D", str(replica.data), "-w", "promote")
        with pytest.raises(Forbidden, match="the records of run run-1 are no longer in the journal"):
            lease.check()
        with pytest.raises(JournalLost):
            journal.append(writer, clock.now(), STARTED)
        with pytest.raises(JournalCorrupt, match="record 2 was written, but missing now"):
            list(journal.records("run-1"))


@pytest.mark.realtime
def test_a_synchronous_replica_needs_no_word(server: Server, replica: Server) -> None:
    """With a replica that each commit waits for there is nothing to say; nor without any."""
    with closing(Journal(replica.url.replace(str(replica.port), str(server.port)))) as journal:
        until(lambda: bool(journal.caveat()))
        admin = sa.create_engine(server.url, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(sa.text("ALTER SYSTEM SET synchronous_standby_names = '*'"))
            connection.execute(sa.text("SELECT pg_reload_conf()"))
        admin.dispose()
        until(lambda: not journal.caveat())


def _rows(server: Server) -> int:
    """How many runs it has, asked as anybody may."""
    engine = sa.create_engine(server.url)
    try:
        with engine.connect() as connection:
            return int(connection.execute(sa.text("SELECT count(*) FROM runs")).scalar_one())
    except sa.exc.DBAPIError:
        return -1
    finally:
        engine.dispose()


@pytest.mark.realtime
def test_a_server_of_the_tests_ends_with_them(tmp_path: Path) -> None:
    """A test run that is killed leaves no server behind, and no data."""
    code = """
import sys, time
from tests.journal.servers import a_server
with a_server() as server:
    server.make()
    server.start()
    print(server.folder, server.port, flush=True)
    sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    folder, port = process.stdout.readline().split()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not Path(folder).exists())
    server = Server(Path(sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]), tmp_path, None)
    server.port = int(port)
    assert not server.answers()
