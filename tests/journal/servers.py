"""PostgreSQL servers of a test's own, on a free port of the loopback interface, that end with the process that made
them."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Where there is one, a disk in memory: what is tried is what a server does, not how long a disk takes.
_FAST = Path("/dev/shm")
_LONGEST_S = 60.0
_ENVIRONMENT = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
# Ends the server as soon as the pipe is closed, as the system does it for a process that is killed, and tidies up then.
_GUARDIAN = '"$@" >>log 2>&1 & server=$!; read word; kill -QUIT $server; wait $server; [ "$word" ] || rm -rf "$PWD"'


class Server:
    """One server, which keeps its data when it is stopped."""

    def __init__(self, programs: Path, folder: Path, account: str | None) -> None:
        self.programs, self.folder, self.account = programs, folder, account
        self.port = _free_port()
        self._guardian: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/postgres"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def call(self, program: str, *arguments: str) -> str:
        """One of PostgreSQL's programs; what it printed. Skips the test where it cannot be run."""
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            user=self.account,
            cwd=self.folder,
            env=_ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"PostgreSQL: {program}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def make(self) -> None:
        """A new database, empty."""
        self.call("initdb", "-D", str(self.data), "-U", "tester", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def start(self, *settings: str) -> None:
        """Start it, with ``settings`` such as ``synchronous_commit=off``, and wait until it answers."""
        given = (
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "hot_standby=on",
            *settings,
        )
        options = [word for setting in given for word in ("-c", setting)]
        command = [str(self.programs / "postgres"), "-D", str(self.data), *options]
        self._guardian = subprocess.Popen(
            ["sh", "-c", _GUARDIAN, "guardian", *command],
            user=self.account,
            cwd=self.folder,
            env=_ENVIRONMENT,
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(1_000):
            if self.answers():
                return
            if self._guardian.poll() is not None:
                break
        pytest.skip(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-300:]}")

    def answers(self) -> bool:
        """Does it take connections?"""
        ready = [str(self.programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready, env=_ENVIRONMENT, check=False).returncode == 0

    def stop(self) -> None:
        """End it at once, as a crash would."""
        if self._guardian is not None:
            guardian, self._guardian = self._guardian, None
            guardian.communicate(b"stop\n", timeout=30)

    def backends(self) -> list[int]:
        """Its processes that serve a client."""
        [master] = [int(line) for line in (self.data / "postmaster.pid").read_text().splitlines()[:1]]
        children = [int(one) for one in Path(f"/proc/{master}/task/{master}/children").read_text().split()]
        return [one for one in children if b"tester" in Path(f"/proc/{one}/cmdline").read_bytes()]

    def freeze(self) -> list[int]:
        """Stop those processes, as a machine in trouble does; to be let go on by ``thaw``."""
        stopped = self.backends()
        for one in stopped:
            os.kill(one, signal.SIGSTOP)
        return stopped

    def thaw(self, stopped: list[int]) -> None:
        """Let them go on, as far as they are there."""
        for one in stopped:
            try:
                os.kill(one, signal.SIGCONT)
            except ProcessLookupError:
                continue


def until(happened: Callable[[], bool]) -> None:
    """Wait for it, and not for ever. For tests marked realtime."""
    end = time.monotonic() + _LONGEST_S
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


@contextmanager
def a_server() -> Iterator[Server]:
    """One that is not made yet. Skips the test where there is no PostgreSQL."""
    binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not binaries:
        pytest.skip("no PostgreSQL: install the server's programs")
    fast = _FAST if _FAST.is_dir() and os.access(_FAST, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="failover-postgresql-", dir=fast))
    account = _ordinary_account()
    if account is not None:
        shutil.chown(folder, account)
    server = Server(binaries[-1].parent, folder, account)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


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
