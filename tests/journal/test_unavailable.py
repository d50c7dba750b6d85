"""A journal that cannot be used says so in a sentence, writes all or nothing, and can be used again afterwards."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.errors import JournalCorrupt, JournalUnavailable
from orchestrator.journal.database.schema import METADATA
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from orchestrator.model.requests import AbortRequest
from tests.core.builders import created

Opener = Callable[..., Journal]
LONG = [(None, ev.ObserverFailed(observer="screen", text="x" * 4000))]
SHORT = [(None, ev.RunPaused(reason="SIGINT"))]


def a_run(journal: Journal, clock: VirtualClock) -> Writer:
    return create_run(journal, clock, "run-1", created())[1]


def the_hint(error: pytest.ExceptionInfo[JournalUnavailable]) -> str:
    assert error.value.exit_code == 6
    return error.value.hint


# --- SQLite --------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def embedded(path: Path) -> Iterator[Journal]:
    journal = Journal.at(path)
    yield journal
    journal.close()


def test_sqlite_is_durable(embedded: Journal) -> None:
    """The embedded journal runs in WAL mode, and every commit waits for the disk (synchronous=FULL is 2)."""
    with embedded.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_full_disk(path: Path, clock: VirtualClock) -> None:
    """With no room left an append writes nothing and says why; with room again the same writer goes on."""
    journal = Journal.at(path)
    writer = a_run(journal, clock)
    limit = _limit_pages(journal, 20)
    with pytest.raises(JournalUnavailable, match="could not be written: database or disk is full") as error:
        for _ in range(100):
            writer = journal.append(writer, clock.now(), LONG * 3)
    assert "disk full?" in the_hint(error)
    assert journal.row("run-1").seq == writer.seq == len(list(journal.records("run-1")))
    sa.event.remove(journal.engine, "connect", limit)
    journal.close()
    journal = Journal.at(path)
    assert len(list(journal.records("run-1"))) + 3 == journal.append(writer, clock.now(), LONG * 3).seq
    journal.close()


def _limit_pages(journal: Journal, pages: int) -> Callable[[sqlite3.Connection, object], None]:
    """From the next connection on the database may not grow beyond ``pages`` pages."""

    def limit(connection: sqlite3.Connection, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    journal.close()
    sa.event.listen(journal.engine, "connect", limit)
    return limit


def test_a_full_disk_at_the_very_beginning(path: Path, clock: VirtualClock) -> None:
    """A run that cannot be recorded does not begin: no run, no claim, no lease is left behind."""
    journal = Journal.at(path)
    _limit_pages(journal, 1)
    with pytest.raises(JournalUnavailable):
        a_run(journal, clock)
    journal.close()
    journal = Journal.at(path)
    assert journal.runs() == []
    a_run(journal, clock)
    journal.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(tmp_path: Path) -> None:
    """A folder in which nothing may be created is named as the reason."""
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(JournalUnavailable, match="unable to open database file"):
            Journal.at(tmp_path / "journal.sqlite")
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_no_folder(tmp_path: Path) -> None:
    """A folder that is not there is a journal that cannot be opened."""
    with pytest.raises(JournalUnavailable, match="could not be opened: unable to open database file"):
        Journal.at(tmp_path / "nowhere" / "journal.sqlite")


def test_a_file_that_is_no_journal(path: Path) -> None:
    """A file that holds something else is not overwritten."""
    path.write_text("the minutes of the last meeting\n" * 100)
    with pytest.raises(JournalCorrupt, match="file is not a database"):
        Journal.at(path)
    assert path.read_text().startswith("the minutes")


def test_a_read_only_journal(path: Path, clock: VirtualClock) -> None:
    """A journal that may only be read refuses the append with a sentence, and nothing is half written."""
    journal = Journal.at(path)
    writer = a_run(journal, clock)
    journal.close()
    sa.event.listen(journal.engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only=ON"))
    with pytest.raises(JournalUnavailable, match="readonly database") as error:
        journal.append(writer, clock.now(), SHORT)
    assert "read-only?" in the_hint(error)
    assert len(list(journal.records("run-1"))) == 1
    journal.close()


def test_a_locked_journal(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """A journal that somebody else keeps locked is unavailable, with the reason; afterwards it goes on."""
    writer = a_run(embedded, clock)
    embedded.close()
    sa.event.listen(embedded.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=1"))
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnavailable, match="database is locked"):
            embedded.append(writer, clock.now(), SHORT)
        assert len(list(embedded.records("run-1"))) == 1
        other.execute("ROLLBACK")
    finally:
        other.close()
    assert embedded.append(writer, clock.now(), SHORT).seq == 2


def test_readers_are_not_held_up_by_a_writer(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """While one process writes, others can list runs, read records and look into the inbox."""
    a_run(embedded, clock)
    embedded.close()
    sa.event.listen(embedded.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=1"))
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        assert [row.run for row in embedded.runs()] == ["run-1"]
        assert len(list(embedded.records("run-1"))) == 1
        assert embedded.requests("run-1") == []
        assert embedded.writer("run-1").seq == 1
    finally:
        other.close()


# --- any database --------------------------------------------------------------------------------------------------


def test_an_append_is_all_or_nothing(opened: Opener, clock: VirtualClock) -> None:
    """If one record of an append cannot be written, none is, and the run's row does not move."""
    journal = opened()
    writer = a_run(journal, clock)
    with journal.engine.begin() as connection:  # something in the way of the third record
        connection.execute(sa.text("CREATE UNIQUE INDEX in_the_way ON events (event)"))
    with pytest.raises(JournalUnavailable, match="could not be written"):
        journal.append(writer, clock.now(), [*SHORT, *LONG, *SHORT])
    assert (journal.row("run-1").seq, len(list(journal.records("run-1")))) == (1, 1)
    with journal.engine.begin() as connection:
        connection.execute(sa.text("DROP INDEX in_the_way"))
    assert journal.append(writer, clock.now(), [*SHORT, *LONG, *SHORT]).seq == 4


def test_a_table_that_is_gone(opened: Opener, clock: VirtualClock) -> None:
    """A journal that was damaged from outside raises ``JournalUnavailable``, never a bare error."""
    journal = opened()
    writer = a_run(journal, clock)
    with journal.engine.begin() as connection:
        for table in ("events", "runs", "inbox"):
            connection.execute(sa.text(f"DROP TABLE {table}"))
    for doing in (
        lambda: journal.append(writer, clock.now(), SHORT),
        lambda: list(journal.records("run-1")),
        lambda: journal.runs(),
        lambda: journal.requests("run-1"),
        lambda: journal.ask("run-1", AbortRequest(by="bob")),
    ):
        with pytest.raises(JournalUnavailable):
            doing()


def test_a_server_that_is_away() -> None:
    """A database server that does not answer is named in the sentence; the password of its URL is not."""
    with pytest.raises(JournalUnavailable, match="could not be opened") as error:
        Journal("postgresql+psycopg://failover:s3cr3t-w0rd@127.0.0.1:1/failover?connect_timeout=2")
    assert "s3cr3t-w0rd" not in str(error.value) + the_hint(error)
    assert len(str(error.value).splitlines()) == 1


def test_a_server_whose_machine_falls_silent(postgresql: str) -> None:
    """The system gives up a connection to a machine that is gone, and does not wait for minutes; what the URL says of
    that counts more."""
    for more, connecting in (("", "5"), ("&connect_timeout=3", "3")):
        journal = Journal(f"{postgresql}{more}")
        with journal.engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None
            told = driver.info.get_parameters()
        journal.close()
        assert told["connect_timeout"] == connecting
        assert {"tcp_user_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count"} <= told.keys()


def test_an_address_that_is_none() -> None:
    """A text that is no database URL is refused with a sentence."""
    with pytest.raises(JournalUnavailable):
        Journal("not an address")


def test_it_survives_a_server_that_was_restarted(postgresql: str, clock: VirtualClock) -> None:
    """Connections that the server ended while nothing was written are replaced without anybody noticing."""
    journal = Journal(f"{postgresql}&application_name=failover-restarted")
    writer = journal.append(a_run(journal, clock), clock.now(), SHORT)
    admin = sa.create_engine(postgresql, isolation_level="AUTOCOMMIT")
    for _ in range(2):
        with admin.connect() as connection:
            ours = "pg_stat_activity WHERE application_name = 'failover-restarted'"
            connection.execute(sa.text(f"SELECT pg_terminate_backend(pid, 5000) FROM {ours}"))
        writer = journal.append(writer, clock.now(), SHORT)
        assert [record.seq for record in journal.records("run-1")] == list(range(1, writer.seq + 1))
    admin.dispose()
    journal.close()


def test_a_new_database_is_opened_by_several_at_once(url: str) -> None:
    """Processes that meet at a database without tables all get a journal; the tables are made once."""
    for _ in range(3):
        assert opened_by_four_at_once(url) == []
        journal = Journal(url)
        assert journal.runs() == []
        as_new(journal)


def test_a_new_file_is_converted_while_others_open_it(tmp_path: Path) -> None:
    """Whoever meets another connection half-way through the change to a write-ahead log waits for it."""
    refused = [opened_by_four_at_once(f"sqlite:///{tmp_path}/{number}.sqlite") for number in range(60)]
    assert [errors for errors in refused if errors] == []


def opened_by_four_at_once(url: str) -> list[JournalUnavailable]:
    """What four threads were told that opened the same journal at the same moment."""
    refused: list[JournalUnavailable] = []
    line = threading.Barrier(4)

    def meet() -> None:
        line.wait()
        try:
            Journal(url).close()
        except JournalUnavailable as error:
            refused.append(error)

    threads = [threading.Thread(target=meet) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return refused


def as_new(journal: Journal) -> None:
    """The database as it was before anybody opened it."""
    METADATA.drop_all(journal.engine)
    with journal.engine.begin() as connection:
        if journal.database.is_embedded:
            connection.exec_driver_sql("PRAGMA user_version = 0")
        else:
            connection.exec_driver_sql("DROP TABLE schema_version")
    journal.close()
