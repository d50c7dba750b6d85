"""A journal on each database: SQLite in a file, and PostgreSQL when there is a server or the means to start one.

``FAILOVER_TEST_POSTGRESQL_URL`` names a server (each test makes and drops a schema of its own there). Without it, a
private server is started from Debian's ``/usr/lib/postgresql/*/bin``, as an ordinary account, on a free port of the
loopback interface (``servers``), and ends with this process. Without those programs the tests on PostgreSQL are skipped,
and say why.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from tests.journal.servers import a_server

URL_VARIABLE = "FAILOVER_TEST_POSTGRESQL_URL"
Opener = Callable[..., Journal]


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server to test on."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    with a_server() as server:
        server.make()
        server.start()
        yield server.url


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """A URL whose tables are this test's alone."""
    schema = f"test_{secrets.token_hex(6)}"
    admin = sa.create_engine(postgresql_server)
    with admin.begin() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
    yield f"{postgresql_server}?options=-csearch_path%3D{schema}"
    with admin.begin() as connection:
        connection.execute(sa.text(f"DROP SCHEMA {schema} CASCADE"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where this test's journal is."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql"))
    return f"sqlite:///{tmp_path / 'journal.sqlite'}"


@pytest.fixture
def opened(url: str) -> Iterator[Opener]:
    """Opens the test's journal as another process would; all are closed at the end."""
    made: list[Journal] = []

    def another(kind: type[Journal] = Journal) -> Journal:
        made.append(kind(url))
        return made[-1]

    yield another
    for journal in made:
        journal.close()


@pytest.fixture
def journal(opened: Opener) -> Journal:
    return opened()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()
