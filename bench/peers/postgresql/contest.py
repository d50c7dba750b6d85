"""The planned switch of a PostgreSQL pair while a client writes: the time without accepted rows, and the lost rows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.peers.account import account, call
from bench.peers.contest import Contender, Contest, Round
from bench.peers.environments import CLEAN, ROOT, versions
from bench.peers.postgresql.load import Load
from bench.peers.postgresql.servers import Server, Servers, a_pair, hand_over, installed_programs
from bench.peers.postgresql.with_patroni import patroni_pair
from bench.peers.postgresql.with_repmgr import repmgr_pair

HERE = Path(__file__).parent
Move = Callable[[Server, Server], None]
SITE = """\
  {name}:
    adapter: postgresql
    devices: [{{name: {name}, address: 127.0.0.1, port: {port}}}]
    login: {{username: admin}}
    options: {{writers: app, data: {data}, log: {data}.log, programs: {programs}}}
"""


def contest() -> Contest:
    """All contenders, each with a separate pair."""
    return Contest(
        "planned switch of a PostgreSQL pair under load",
        (
            Contender("bare script", _bare, "checkpoint, pg_ctl stop, pg_promote, pg_ctl start; checks nothing"),
            Contender(
                "failover", _ours, "closes the writers, proves that the target has the whole log, keeps a record"
            ),
            Contender("repmgr", repmgr_pair(_played), "repmgr standby switchover; Debian's 5.3.3, unpacked"),
            Contender(
                "Patroni",
                patroni_pair(_played),
                f"POST /switchover; one etcd 3.4; loop_wait 10 s; {versions('patroni')}",
            ),
        ),
        ("outage, ms", "whole command, ms"),
        "bare script",
        ("rows missing",),
    )


def _played(servers: Servers, move: Move) -> Mapping[str, float]:
    """Move the primary to the other server once, and return the figures of the load."""
    source, target = servers.in_order()
    with Load([one.port for one in servers.both]) as load:
        start = time.perf_counter()
        move(source, target)
        taken = time.perf_counter() - start
        load.more()
    new, _ = servers.in_order()
    assert new is target, f"{target.name} is not the primary"
    missing = set(load.accepted) - {row[0] for row in target.ask("select number from written", "shop")}
    assert not missing, f"{len(missing)} accepted rows are missing"
    return {"outage, ms": load.outage_ms(), "whole command, ms": taken * 1000, "rows missing": 0.0}


@contextmanager
def _bare() -> Iterator[Round]:
    with a_pair(installed_programs()) as servers:

        def move(source: Server, target: Server) -> None:
            call(
                [str(HERE / "bare.sh"), str(source.data), str(source.port), str(target.port)],
                source.folder,
                source.env,
            )

        yield lambda: _played(servers, move)


@contextmanager
def _ours() -> Iterator[Round]:
    with a_pair(installed_programs()) as servers:
        folder = servers.both[0].folder
        (folder / "bin").mkdir()
        # Neither program runs as root: the wrapper changes to the account first, as an operator's sudo would.
        runs_as = f"setpriv --reuid {account()} --regid {account()} --clear-groups " if os.geteuid() == 0 else ""
        for program in ("pg_ctl", "pg_controldata"):
            wrapper = f'#!/bin/sh\nexec {runs_as}{servers.both[0].programs}/{program} "$@"\n'
            hand_over(folder / "bin" / program, wrapper, 0o755)
        sites = (
            SITE.format(name=one.name, port=one.port, data=one.data, programs=folder / "bin") for one in servers.both
        )
        pair = "pairs:\n  - {name: shop, sites: [ny, nj], services: [shop]}\n"
        (folder / "inventory.yaml").write_text("sites:\n" + "".join(sites) + pair)
        (folder / "state").mkdir(mode=0o700)
        env = {
            **CLEAN,
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "FAILOVER_STATE": str(folder / "state"),
            "FAILOVER_INVENTORY": str(folder / "inventory.yaml"),
            "NO_COLOR": "1",
        }

        def move(source: Server, target: Server) -> None:
            words = [
                sys.executable,
                "-m",
                "orchestrator.cli",
                "controlled",
                "--service",
                "shop",
                "--from",
                source.name,
            ]
            done = subprocess.run(
                [*words, "--yes"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-600:]}"

        yield lambda: _played(servers, move)
