"""Trivial steps in sequence: the cost of having each step on disk before the next step starts."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.peers.contest import Contender, Contest, Round
from bench.peers.environments import CLEAN, ROOT, environment, versions
from bench.peers.postgresql.servers import one_server

HERE = Path(__file__).parent
STEPS = 50
TWICE = "the outcome of a step and the intent of the next one in one commit"


def contest(folder: Path) -> Contest:
    """All contenders, with their files in ``folder``."""
    ours = [sys.executable, "-m", "bench.peers.steps.ours"]

    def with_file(name: str, words: Callable[[], list[str]], remark: str) -> Contender:
        return Contender(name, lambda: _in_file(folder, words), remark)

    def with_server(name: str, words: Callable[[], list[str]], remark: str) -> Contender:
        return Contender(name, lambda: _on_server(folder, words), remark)

    def dbos() -> list[str]:
        return [str(environment("dbos") / "python"), str(HERE / "with_dbos.py")]

    return Contest(
        f"{STEPS} trivial steps, one after the other",
        (
            Contender("two bare commits", lambda: _bare(folder), "SQLite, WAL, synchronous=FULL: two fsyncs a step"),
            with_file("failover, SQLite", lambda: ours, f"{TWICE}; WAL, synchronous=FULL: one fsync a step"),
            with_file(
                "DBOS, SQLite",
                dbos,
                f"outcome only; SQLite's defaults: rollback journal, synchronous=FULL; {versions('dbos')}",
            ),
            Contender(
                "Prefect",
                lambda: _prefect(folder),
                "states through its own HTTP server; WAL, synchronous=NORMAL: no fsync at a commit; results in files; "
                + versions("prefect"),
                2,
            ),
            with_server(
                "failover, PostgreSQL", lambda: ours, f"{TWICE}; fsync=on, synchronous_commit=on: one flush a step"
            ),
            with_server("DBOS, PostgreSQL", dbos, "outcome only; the same settings of the server"),
        ),
        ("a step, ms",),
        "two bare commits",
        ("recorded",),
        digits=2,
    )


@contextmanager
def _in_file(folder: Path, words: Callable[[], list[str]]) -> Iterator[Round]:
    command = words()

    def play() -> Mapping[str, float]:
        own = folder / "own"
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir()
        return _played([*command, f"sqlite:///{own}/record.sqlite", str(STEPS)], own)

    yield play


@contextmanager
def _on_server(folder: Path, words: Callable[[], list[str]]) -> Iterator[Round]:
    command = words()
    with one_server() as server:
        server.ask("create database record")
        url = f"postgresql+psycopg://admin@127.0.0.1:{server.port}/record"
        yield lambda: _played([*command, url, str(STEPS)], folder)


@contextmanager
def _prefect(folder: Path) -> Iterator[Round]:
    command = [str(environment("prefect") / "python"), str(HERE / "with_prefect.py"), str(STEPS)]
    home = folder / "prefect"

    def play() -> Mapping[str, float]:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        return _played(command, home)

    yield play


def _played(words: list[str], home: Path) -> Mapping[str, float]:
    env = {
        **CLEAN,
        "HOME": str(home),
        "PYTHONPATH": str(ROOT) if words[0] == sys.executable else "",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
    }
    done = subprocess.run(
        words, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
    each, recorded = (float(part) for part in done.stdout.split()[-2:])
    assert recorded == STEPS, f"{recorded:g} of {STEPS} steps are on record"
    return {"a step, ms": each, "recorded": recorded}


@contextmanager
def _bare(folder: Path) -> Iterator[Round]:
    """The cost of two durable records without other work."""

    def play() -> Mapping[str, float]:
        path = folder / "bare.sqlite"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE events (n INTEGER PRIMARY KEY, body TEXT)")
        start = time.perf_counter()
        for _ in range(STEPS):
            for _ in range(2):
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("INSERT INTO events (body) VALUES (?)", ("x" * 220,))
                connection.execute("COMMIT")
        taken = time.perf_counter() - start
        [(count,)] = connection.execute("SELECT count(*) FROM events").fetchall()
        connection.close()
        assert count == 2 * STEPS, count
        return {"a step, ms": taken / STEPS * 1000, "recorded": count / 2}

    yield play
