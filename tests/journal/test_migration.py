"""Journals of other versions: an older one is brought up to date, a newer one is refused and left as it is."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from orchestrator.clock import VirtualClock
from orchestrator.core.run import fold
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.errors import JournalCorrupt, JournalUnavailable, KeyUsed, LeaseHeld
from orchestrator.journal.database.schema import INBOX, METADATA, SCHEMA
from orchestrator.journal.idempotency_keys import UsedKey, run_of_key
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, create_run, service_key, take
from orchestrator.journal.outbox import Outbox
from orchestrator.journal.readiness_results import last_checks
from orchestrator.journal.signing import Verifier, load_public
from orchestrator.model import events as ev
from orchestrator.model.requests import DecideRequest
from orchestrator.operations.verify import Doubts, Stored, Verdict, verdict_of
from tests.cli.shell import Shell
from tests.core.builders import a_plan, created
from tests.core.killing import judge_pair
from tests.core.scripted import ScriptedPair
from tests.journal.keep_database import DONE, FOLDER, KEY, KILLED

Opener = Callable[..., Journal]
OLDEST = "0.1.0"
# What the tables of each schema are, so that nobody changes one without a number of its own and a way to it.
FINGERPRINTS = {2: "b884dc964a79addc"}


@pytest.fixture
def old(url: str) -> str:
    """The journal of 0.1.0 at ``url``, as that version left it."""
    if url.startswith("sqlite"):
        shutil.copy(FOLDER / f"{OLDEST}.sqlite", url.removeprefix("sqlite:///"))
        return url
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql((FOLDER / f"{OLDEST}.postgresql.sql").read_text().replace("%", "%%"))
    engine.dispose()
    return url


def test_an_older_journal_is_brought_up_to_date(old: str) -> None:
    """A journal of 0.1.0 opens with all it holds: its runs, whole and signed, its claims, keys, requests, checks and
    what it owes to hooks; and has every table of the present version."""
    with closing(Journal(old)) as journal:
        assert [row.run for row in journal.runs()] == [KILLED, DONE]
        trusted = Doubts(Verifier([load_public(FOLDER / f"{OLDEST}.pub")]), journal.database.is_embedded)
        for run, count in ((DONE, 38), (KILLED, 8)):
            verdict = verdict_of(Verdict(run), Stored(journal, run), trusted)
            assert (verdict.records, verdict.problem) == (count, "")
        assert set(claims(journal).values()) == {KILLED}
        assert run_of_key(journal, KEY) == UsedKey(DONE, None)
        assert [request for _, request in journal.requests(KILLED)] == [
            DecideRequest(lane="Orders", gate="no-such-gate", choice="wait", by="bob")
        ]
        assert last_checks(journal, ["scripted/Orders"])["scripted/Orders"].findings == ()
        assert [(one.run, one.hook, one.seq) for one in Outbox(journal).behind()] == [(DONE, "log", 0)]
        found = sa.inspect(journal.engine)
        assert set(METADATA.tables) <= set(found.get_table_names())
        assert [index["column_names"] for index in found.get_indexes(INBOX.name)] == [["run"]]
        for table in METADATA.sorted_tables:
            assert {one["name"] for one in found.get_columns(table.name)} == set(table.columns.keys())


def test_an_older_run_is_resumed(old: str) -> None:
    """Promise 4 across versions: a run that 0.1.0 was killed in, with an intent on disk, is taken and led to its end; the
    whole record still proves itself."""
    clock = VirtualClock(1_800_000_100.0)
    pair = ScriptedPair(clock, ("Orders",), depth=10, rate=100)
    with closing(Journal(old)) as journal:
        plan = fold(journal.records(KILLED)).plan
        with pytest.raises(LeaseHeld, match=KILLED):
            create_run(journal, clock, "new", created(plan))
        lease, writer = take(journal, clock, KILLED, {service_key(plan, name): name for name in plan.services})
        assert claims(journal) == {service_key(plan, name): KILLED for name in plan.services}
        fleet = InlineFleet(pair.adapters(), lease, clock)
        run = Engine(journal, lease, writer, fold(journal.records(KILLED)), fleet, clock, by="ann").run()
        assert (run.outcome, judge_pair(pair, run.outcome)) == (ev.Outcome.DONE, [])
        assert (fold(journal.records(KILLED)), journal.requests(KILLED)) == (run, [])
        assert claims(journal) == {}


def test_an_older_journal_takes_new_runs(old: str, clock: VirtualClock) -> None:
    """A key of 0.1.0 begins no second run; a new one is kept with what was asked."""
    with closing(Journal(old)) as journal:
        plan = a_plan(services=("New",))
        with pytest.raises(KeyUsed):
            create_run(journal, clock, "new", created(plan), key=KEY)
        create_run(journal, clock, "new", created(plan), key="k", asked='{"the services": "x"}')
        assert run_of_key(journal, "k") == UsedKey("new", '{"the services": "x"}')


def test_a_process_of_the_older_version_goes_on(old: str, clock: VirtualClock) -> None:
    """What 0.1.0 writes fits into the tables as they are now: it may lead a run while another process opens them."""
    Journal(old).close()
    engine = sa.create_engine(old)
    with engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO idempotency (key, run) VALUES ('old', 'run')"))
        connection.execute(sa.text("UPDATE runs SET expires_at = 1"))
    engine.dispose()
    with closing(Journal(old)) as journal:
        assert run_of_key(journal, "old") == UsedKey("run", None)


def test_it_is_done_once(old: str) -> None:
    """Whoever opens a journal of the present version changes nothing in it."""
    with closing(Journal(old)) as journal:
        before = version_of(journal)
    with closing(Journal(old)) as journal:
        assert version_of(journal) == before == SCHEMA


def version_of(journal: Journal) -> int:
    question = "PRAGMA user_version" if journal.database.is_embedded else "SELECT version FROM schema_version"
    with journal.reader.connect() as connection:
        return int(connection.exec_driver_sql(question).scalar_one())


def set_version(journal: Journal, number: int) -> None:
    change = "PRAGMA user_version =" if journal.database.is_embedded else "UPDATE schema_version SET version ="
    with journal.engine.begin() as connection:
        connection.exec_driver_sql(f"{change} {number}")


def test_a_newer_journal_is_refused(opened: Opener, url: str) -> None:
    """What a later version means by its tables is not known here: nothing is read and nothing changed; the sentence has
    both numbers, and the remedy."""
    journal = opened()
    set_version(journal, SCHEMA + 1)
    with pytest.raises(
        JournalUnavailable, match=f"newer version of failover .schema {SCHEMA + 1}; this one"
    ) as error:
        Journal(url)
    assert error.value.hint == "use that newer version here too; nothing was changed"
    assert version_of(journal) == SCHEMA + 1


def test_a_newer_journal_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command says so in one sentence, with exit code 6, and no run begins."""
    shell = Shell(tmp_path, capsys)
    assert shell("runs", "list").code == 0
    with closing(sqlite3.connect(shell.state / "journal.sqlite")) as journal:
        journal.execute(f"PRAGMA user_version = {SCHEMA + 7}")
    for typed in (["runs", "list"], ["resume"], ["runs", "verify"]):
        ended = shell(*typed)
        assert (ended.code, f"schema {SCHEMA + 7}; this one knows {SCHEMA}" in ended.complaint) == (6, True), typed
    assert (shell.move().code, shell.roles()) == (6, ("active", "standby"))


def test_a_table_that_is_gone_is_not_made_again(opened: Opener, url: str) -> None:
    """An empty table of claims in place of one that was lost would let a second run begin: a journal of the present
    version is not mended, and says what is missing."""
    with opened().engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE claims")
    with closing(Journal(url)) as journal, pytest.raises(JournalUnavailable, match="claims"):
        claims(journal)


def test_a_file_of_somebody_else_is_no_older_journal(tmp_path: Path) -> None:
    """A database that has tables, and none of ours, gets ours beside them."""
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE minutes (text)")
    with closing(Journal.at(path)) as journal:
        assert (journal.runs(), version_of(journal)) == ([], SCHEMA)


def test_tables_change_with_their_number() -> None:
    """Whoever changes a table gives the schema a new number, and an older journal a way to it (``migration``)."""
    text = "".join(str(CreateTable(table).compile(dialect=sqlite.dialect())) for table in METADATA.sorted_tables)
    assert {SCHEMA: sha256(text.encode()).hexdigest()[:16]} == FINGERPRINTS


def test_a_damaged_journal_is_not_migrated(tmp_path: Path) -> None:
    """A file of 0.1.0 that lost its half is no journal to bring up to date."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes((FOLDER / f"{OLDEST}.sqlite").read_bytes()[:40_000])
    with pytest.raises(JournalCorrupt, match="malformed"):
        list(Journal.at(path).records(DONE))
