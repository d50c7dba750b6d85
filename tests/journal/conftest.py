"""A journal on each database: SQLite in a file, and PostgreSQL when there is a server or the means to start one.

``FAILOVER_TEST_POSTGRESQL_URL`` names a server (each test makes and drops a schema of its own there). Without it, a
private server is started from Debian's ``/usr/lib/postgresql/*/bin``, as an ordinary account, on a free port of the
loopback interface, and stopped at the end. Without those programs the tests on PostgreSQL are skipped, and say why.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.journal import Journal

URL_VARIABLE = "FAILOVER_TEST_POSTGRESQL_URL"
Opener = Callable[..., Journal]


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server to test on."""
    given = os.environ.get(URL_VARIABLE)
    if given:
        yield given
        return
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not binaries:
        pytest.skip(f"no PostgreSQL: set {URL_VARIABLE}, or install the server's programs")
    folder = Path(tempfile.mkdtemp(prefix="failover-postgresql-"))
    try:
        yield from _private_server(binaries[-1].parent, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _private_server(programs: Path, folder: Path) -> Iterator[str]:
    account = _ordinary_account()
    if account is not None:
        shutil.chown(folder, account)
    data, port = folder / "data", _free_port()

    def call(*command: str) -> None:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        done = subprocess.run(
            command, user=account, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"PostgreSQL could not be started: {(done.stderr or done.stdout).strip()[-300:]}")

    call(str(programs / "initdb"), "-D", str(data), "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    control = str(programs / "pg_ctl")
    log = str(folder / "log")
    call(control, "-D", str(data), "-l", log, "-w", "-t", "60", "-o", options, "start")
    try:
        yield f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
    finally:
        call(control, "-D", str(data), "-m", "immediate", "-w", "stop")


def _ordinary_account() -> str | None:
    """Whom to be: PostgreSQL refuses to run as root. None: whoever we are."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no other account")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
