"""What the last check found is kept beside the record, in one row a service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.errors import JournalUnavailable
from orchestrator.journal.journal import Journal
from orchestrator.journal.readiness_results import Checked, last_checks, store_checks
from orchestrator.model.findings import Finding, Level

BAD = Finding(level=Level.ERROR, code="bridge-not-bound", message="not bound", hint="look at it")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal.at(tmp_path / "journal.sqlite")
    yield opened
    opened.close()


def test_what_was_never_checked_is_not_there(journal: Journal) -> None:
    """Law: no row is no check, and neither good nor bad."""
    assert last_checks(journal, ["V@a,b"]) == {}


def test_the_last_check_and_the_last_good_one(journal: Journal) -> None:
    """Law: a check that is not good replaces the findings, and leaves the time of the last good one."""
    store_checks(journal, 10.0, {"V": (True, [])})
    assert last_checks(journal, ["V"]) == {"V": Checked("V", 10.0, 10.0)}
    store_checks(journal, 20.0, {"V": (False, [BAD])})
    assert last_checks(journal, ["V"]) == {"V": Checked("V", 20.0, 10.0, (BAD,))}
    store_checks(journal, 30.0, {"V": (True, [])})
    assert last_checks(journal, ["V"]) == {"V": Checked("V", 30.0, 30.0)}


def test_never_good(journal: Journal) -> None:
    """Law: a service that was only ever found bad has no good time."""
    store_checks(journal, 10.0, {"V": (False, [BAD])})
    assert last_checks(journal, ["V"])["V"].good_at is None


def test_each_service_for_itself(journal: Journal) -> None:
    """Law: one row a service, however often it is checked."""
    for at in (1.0, 2.0, 3.0):
        store_checks(journal, at, {"V": (True, []), "W": (False, [BAD])})
    with journal.reader.connect() as connection:
        assert connection.execute(sa.text("select count(*) from checks")).scalar_one() == 2
    assert set(last_checks(journal, ["V", "W", "X"])) == {"V", "W"}


def test_an_older_database_gets_the_table(tmp_path: Path) -> None:
    """Law: a journal from before there were checks is one with no check."""
    path = tmp_path / "journal.sqlite"
    first = Journal.at(path)
    with first.engine.begin() as connection:
        connection.execute(sa.text("drop table checks"))
        connection.execute(sa.text("PRAGMA user_version = 1"))
    first.close()
    again = Journal.at(path)
    assert last_checks(again, ["V"]) == {}
    again.close()


def test_a_database_that_cannot_be_written(journal: Journal) -> None:
    """Law: what cannot be stored is an error of the journal, with its exit code."""
    with journal.engine.begin() as connection:
        connection.execute(sa.text("drop table checks"))
    with pytest.raises(JournalUnavailable, match="could not be written"):
        store_checks(journal, 1.0, {"V": (True, [])})
    with pytest.raises(JournalUnavailable, match="could not be read"):
        last_checks(journal, ["V"])
