"""Kill -9 while hooks are told, then go on: no event is lost, none is out of order, at most one is repeated."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.journal import Journal
from orchestrator.operations.runtime import Tools
from simulator.embedded import embedded_inventory, embedded_layout
from simulator.solace.world import World
from tests.cli.shell import Ended
from tests.hooks.hooking import lines_of
from tests.hooks.receiving import serving

pytestmark = pytest.mark.realtime

FAILOVER = str(Path(sys.executable).with_name("failover"))
VPN = "Risk_VPN"
WANTED = ["run.started", "step.started", "step.done", "lane.ended", "run.finished"]


class Bench:
    """A simulated pair in files, and the processes that move it."""

    def __init__(self, folder: Path, hooks: list[Mapping[str, object]], **environment: str) -> None:
        self.folder = folder
        (folder / "state").mkdir(mode=0o700)
        world = folder / "world.json"
        World(embedded_layout(), SystemClock(), path=world).save()
        plain = embedded_inventory(world).model_dump(mode="json", exclude_defaults=True)
        for site in plain["sites"].values():
            del site["name"]
        Path(self.inventory).write_text(json.dumps({**plain, "hooks": hooks}), encoding="utf-8")
        self.secrets = environment

    @property
    def inventory(self) -> str:
        return str(self.folder / "inventory.yaml")

    def move(self) -> int:
        """Move in a process of its own, which may be killed. Returns its exit code."""
        own = {"FAILOVER_STATE": "state", "FAILOVER_USER": "ann", "PATH": os.environ["PATH"]}
        return subprocess.run(
            [FAILOVER, "controlled", "-i", self.inventory, "--vpn", VPN, "--yes", "--json"],
            cwd=self.folder,
            env={**own, **self.secrets},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        ).returncode

    def __call__(self, *arguments: str) -> Ended:
        """Another command, in this process: starting one takes its time."""
        out, err = io.StringIO(), io.StringIO()
        tools = Tools(self.folder / "state", SystemClock(), SecretStore(None, environment=self.secrets), Registry())
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments, tools)
        return Ended(code, out.getvalue(), err.getvalue())

    def recorded(self) -> list[int]:
        """The numbers of the records that a hook wants to be told of."""
        journal = Journal.at(self.folder / "state" / "journal.sqlite")
        try:
            [row] = journal.runs()
            return [one.seq for one in journal.records(row.run) if one.event.kind in WANTED]
        finally:
            journal.close()


def killing(log: Path, at: int, *, after: bool) -> Mapping[str, object]:
    """A hook that keeps what it is told, and kills whoever tells it right before, or right after, the ``at``-th time."""
    count = f"echo $(($(cat {log}.count 2>/dev/null || echo 0) + 1)) > {log}.count"
    kill = f'test "$(cat {log}.count)" != {at} || {{ kill -9 $PPID; exit; }}'
    take = f"cat >> {log}"
    return {
        "name": "log",
        "on": WANTED,
        "command": ["sh", "-c", "; ".join([count, *((take, kill) if after else (kill, take))])],
    }


@pytest.mark.parametrize("at", [1, 8, 17])
@pytest.mark.parametrize("after", [True, False])
def test_killed_by_the_receiver(tmp_path: Path, at: int, after: bool) -> None:
    """Law: killed before a receiver took an event, or after it did and before we know: all arrive, in order."""
    log = tmp_path / "log"
    bench = Bench(tmp_path, [killing(log, at, after=after)])
    code = bench.move()
    if code == -signal.SIGKILL:
        bench("resume", "--json")  # to the end, if the run was not at its end
        assert bench("hooks", "flush").code == 0
    else:
        assert code == 0
    arrived = [line["seq"] for line in lines_of(log)]
    assert sorted(set(arrived)) == bench.recorded()
    assert arrived == sorted(arrived)
    assert len(arrived) - len(set(arrived)) <= 1
    assert bench("runs", "verify").code == 0
    assert bench("hooks", "list", "--json").out == ""


def test_killed_while_the_receiver_is_down(tmp_path: Path) -> None:
    """Law: what a run could not deliver outlives its process; whoever leads it next, or flushes, brings it."""
    with serving() as endpoint:
        url = endpoint.url
    dead = tmp_path / "dead"
    once = f"test -e {dead} || {{ touch {dead}; kill -9 $PPID; }}"
    hooks: list[Mapping[str, object]] = [
        {"name": "web", "on": WANTED, "webhook": {"url": url, "secret": {"env": "HOOK_SECRET"}}},
        {"name": "killer", "on": ["step.done"], "command": ["sh", "-c", once]},
    ]
    bench = Bench(tmp_path, hooks, HOOK_SECRET="s3cret-s3cret")
    assert bench.move() == -signal.SIGKILL
    assert '"hook":"web"' in bench("hooks", "list", "--json").out
    assert bench("hooks", "flush").code == 4
    with serving(port=urlsplit(url).port or 0) as again:
        bench("resume", "--json")  # to the end, if the run was not at its end
        assert bench("hooks", "flush").code == 0
    assert [event["data"]["seq"] for event in again.events] == bench.recorded()
