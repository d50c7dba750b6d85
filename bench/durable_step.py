"""The cost of one durable step: an intent and an outcome on disk, against two bare SQLite commits in the same run.

The journal is measured with its default settings, and with signatures.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from bench._pairs import bench_pair, lead
from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.journal.signing import Signer, generate
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect

ROUNDS = 1_500
LANES = 1_000
_ROW = "x" * 220  # as long as the record of an intent


def main() -> None:
    """Print p50 and p99 of each variant, and the cost per lane and step of a run with many lanes."""
    with TemporaryDirectory() as folder:
        bare = _bare(Path(folder) / "bare.sqlite")
        ours = _journal(Path(folder) / "journal.sqlite", None)
        generate(Path(folder) / "key")
        signed = _journal(Path(folder) / "signed.sqlite", Signer(Path(folder) / "key"))
        # Each round measures all variants in sequence, so a busy disk affects all of them equally.
        samples: tuple[list[float], list[float], list[float]] = ([], [], [])
        for _ in range(ROUNDS):
            samples[0].append(_timed(bare))
            samples[1].append(_timed(ours))
            samples[2].append(_timed(signed))
    print("one durable step (intent + outcome), ms")
    for name, taken in (
        ("two bare commits", samples[0]),
        ("the journal", samples[1]),
        ("the journal, signed", samples[2]),
    ):
        cuts = quantiles(taken, n=100)
        print(f"{name:>20}: p50 {cuts[49] * 1000:.3f}   p99 {cuts[98] * 1000:.3f}")
    ratio = quantiles(samples[1], n=100)[49] / quantiles(samples[0], n=100)[49]
    print(f"{'ratio of p50':>20}: {ratio:.2f}")
    _many_lanes()


def _timed(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def _bare(path: Path) -> Callable[[], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE events (n INTEGER PRIMARY KEY, body TEXT)")

    def step() -> None:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO events (body) VALUES (?)", (_ROW,))
            connection.execute("COMMIT")

    return step


def _journal(path: Path, signer: Signer | None) -> Callable[[], None]:
    journal = Journal.at(path, signer=signer)
    clock = SystemClock()
    with bench_pair(clock, 1) as bench:
        created = ev.RunCreated(plan=bench.plan, by="bench", version="bench")
    _, writer = create_run(journal, clock, "bench", created)
    state = {"writer": writer, "intent": 0}

    def step() -> None:
        number = state["intent"] = state["intent"] + 1  # type: ignore[operator]
        intent = ev.ActionIntended(
            intent=number, step="demote", on="source", action="set_role", args={"role": "standby"}, attempt=1
        )
        ended = ev.ActionEnded(intent=number, effect=Effect.ACCEPTED, device="NY_Appliance1")
        for event in (intent, ended):
            state["writer"] = journal.append(state["writer"], clock.now(), [("Trading_VPN", event)])  # type: ignore[arg-type]

    return step


def _many_lanes() -> None:
    clock = VirtualClock()
    with bench_pair(clock, LANES) as bench:
        start = time.perf_counter()
        lead(bench, threads=False)
        taken = time.perf_counter() - start
        steps = len(bench.plan.runbook.steps)
    each = taken / LANES / steps * 1000
    print(f"{LANES:,} lanes in one run, {steps} steps: {taken:.2f}s, {each:.3f} ms per lane and step")


if __name__ == "__main__":
    main()
