"""The database of the journal: all of a transaction or nothing, questions of one moment, and the tables it lacks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.database import Database


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


def claim(*services: str) -> list[dict[str, str]]:
    return [{"service": service, "run": "run-1"} for service in services]


def claimed(database: Database) -> list[str]:
    with database.reading() as read:
        return [service for service, _ in read.ask(sql.CLAIMED, {})]


def test_one_or_many_rows(database: Database) -> None:
    """A statement is carried out for each of its rows, and tells how many rows it changed, with one as with many."""
    with database.writing() as commit:
        assert commit.run(sql.ADD_CLAIMS, claim("a")) == 1
        assert commit.run(sql.ADD_CLAIMS, claim("b", "c")) == 2
        released = [{"b_run": "run-1", "b_service": service} for service in ("a", "c", "never claimed")]
        assert commit.run(sql.RELEASE_CLAIM, released) == 2
        assert commit.run(sql.RELEASE_CLAIM, released[:1]) == 0
    assert claimed(database) == ["b"]


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_whatever_is_raised_takes_everything_back(database: Database, raised: type[BaseException]) -> None:
    """On a lent connection and on one that is kept; the database can be used again at once."""
    kept = database.lend() if database.is_embedded else None
    for connection in (None, kept):
        with pytest.raises(raised), database.writing(connection) as commit:
            commit.run(sql.ADD_CLAIMS, claim("a"))
            raise raised
        assert claimed(database) == []
    with database.writing(kept) as commit:
        commit.run(sql.ADD_CLAIMS, claim("a"))
    assert claimed(database) == ["a"]


def test_the_same_at_once_or_bit_by_bit(database: Database) -> None:
    """An answer of any length can be had row by row, and left before its end."""
    names = [f"service-{number:04}" for number in range(2_500)]
    with database.writing() as commit:
        commit.run(sql.ADD_CLAIMS, claim(*names))
    with database.reading() as read:
        with closing(read.stream(sql.CLAIMED, {})) as stored:
            assert sorted(service for service, _ in stored) == names
        with closing(read.stream(sql.CLAIMED, {})) as stored:
            assert next(stored)[1] == "run-1"
    assert sorted(claimed(database)) == names


def test_an_embedded_database_answers_of_one_moment(tmp_path: Path) -> None:
    """What others write meanwhile is not seen until the reading has ended, and they need not wait for it."""
    database = Database(f"sqlite:///{tmp_path / 'journal.sqlite'}")

    def write() -> None:
        with database.writing() as commit:
            commit.run(sql.ADD_CLAIMS, claim("a"))

    with database.reading() as read:
        assert read.ask(sql.CLAIMED, {}) == []
        other = threading.Thread(target=write)
        other.start()
        other.join(timeout=30)
        assert not other.is_alive()
        assert read.ask(sql.CLAIMED, {}) == []
    assert claimed(database) == ["a"]
    database.close()


def test_whoever_asks_meanwhile_has_a_connection_of_his_own(tmp_path: Path) -> None:
    """A connection is lent to one at a time, whatever became of its transaction, and is closed with the database."""
    database = Database(f"sqlite:///{tmp_path / 'journal.sqlite'}")
    with database.writing() as commit, database.reading() as read:
        commit.run(sql.ADD_CLAIMS, claim("a"))
        assert read.ask(sql.CLAIMED, {}) == []
    with pytest.raises(ValueError, match="in the middle"), database.reading() as read:
        raise ValueError("in the middle")
    lent = [database.lend() for _ in range(3)]
    assert len({id(one.driver_connection) for one in lent}) == 3
    assert not any(one.driver_connection.in_transaction for one in lent if one.driver_connection is not None)
    for one in lent:
        database.give_back(one)
    assert claimed(database) == ["a"]
    database.close()
    assert database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
