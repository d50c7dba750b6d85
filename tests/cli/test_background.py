"""`--no-wait`: the command returns, the run goes on in a process of its own, and nothing is said that is not so."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.journal.journal import Journal
from simulator.solace.layout import VpnLayout
from tests.cli.processes import Bench
from tests.cli.shell import Shell
from tests.process_state import comes

pytestmark = pytest.mark.realtime


@pytest.fixture
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A folder of its own, perhaps with a longer queue; its processes end with the test."""
    bench = Bench(
        tmp_path, (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=getattr(request, "param", 900)),)
    )
    yield bench
    bench.close()


def begun(bench: Bench, *more: str) -> str:
    """Begin a run that nobody waits for; its name."""
    ended = bench.run("controlled", "--all", "--yes", "--json", "--runbook", "hasty.yaml", "--no-wait", *more)
    assert ended.code == 0, ended.err
    return str(ended.result["run"])


@pytest.mark.parametrize("bench", [4_500], indirect=True)  # five seconds of drain: a busy machine asks late
def test_the_run_goes_on_without_us(bench: Bench) -> None:
    """Law: the command ends before the run does; the run comes to its end all the same."""
    run = begun(bench, "--idempotency-key", "k")
    [document] = bench.here("runs", "show", run, "--json").values
    assert document["outcome"] is None
    ended = bench.run("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--idempotency-key", "k", "--json")
    assert (ended.code, ended.result["run"], ended.result["outcome"]) == (0, run, "done")
    assert bench.roles() == ("standby", "active")


def test_its_paper_is_private_and_whole(bench: Bench) -> None:
    """Law: what the other process prints is kept for its owner only, and ends in the result."""
    run = begun(bench, "--idempotency-key", "k")
    bench.run("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--idempotency-key", "k", "--json")
    log = bench.folder / "state" / "logs" / f"{run}.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert comes(lambda: "result" in last_line(log))  # the record has the end of the run before its log has it
    assert last_line(log)["result"]["outcome"] == "done"


def last_line(log: Path) -> dict[str, Any]:
    """What the log ends in."""
    line = log.read_text(encoding="utf-8").splitlines()[-1]
    return dict(json.loads(line)) if line.endswith("}") else {}


@pytest.mark.parametrize("bench", [20_000], indirect=True)
def test_ctrl_c_at_the_terminal_is_not_for_it(bench: Bench) -> None:
    """Law: the other process has a session of its own: what ends our terminal does not end the run. Whoever asks again
    meanwhile is told how it stands, and not to go on with it."""
    run = begun(bench, "--idempotency-key", "k")
    with closing(Journal.at(bench.folder / "state" / "journal.sqlite")) as journal:
        pid = int(journal.row(run).holder.split()[0].rpartition(":")[2])
    assert os.getsid(pid) == pid != os.getsid(0)
    again = ("controlled", "--all", "--yes", "--runbook", "hasty.yaml", "--no-wait", "--idempotency-key", "k")
    asked = bench.run(*again)
    assert (asked.code, "The run is in progress" in asked.out, "failover resume" in asked.out) == (6, True, False)
    assert bench.run("abort", run, "--reason", "enough").code == 5


def test_a_password_that_would_be_asked_for(shell: Shell) -> None:
    """Law: a run that would wait for a password to be typed is not started at all."""
    login = {"username": "admin", "password": {"prompt": True}}
    sites = {
        name: {"adapter": "solace-cli", "devices": [{"name": name, "address": "127.0.0.1"}], "login": login}
        for name in ("ny", "nj")
    }
    pairs = [{"name": "p", "sites": ["ny", "nj"], "services": ["V"]}]
    path = shell.write("asks.yaml", json.dumps({"sites": sites, "pairs": pairs}))
    ended = shell("controlled", "-i", str(path), "--all", "--yes", "--no-wait")
    assert (ended.code, "cannot ask for a password" in ended.complaint) == (2, True)
    assert shell("runs", "list", "--json").values == []


def test_a_process_that_does_not_come_up(bench: Bench) -> None:
    """Law: a run that nobody leads is not said to have begun; the sentence says how to go on with it."""
    (bench.folder / "state" / "logs").write_text("in the way", encoding="utf-8")
    ended = bench.run("controlled", "--all", "--yes", "--no-wait")
    assert (ended.code, ended.complaint) == (6, "state/logs is not a directory")
    assert ended.hint.startswith("move it away; run ") and "failover resume" in ended.hint
    assert bench.here("resume").code == 0


def test_the_module_ends_as_the_script_does(bench: Bench) -> None:
    """Law: `python -m orchestrator.cli`, which leads such a run, has the same exit codes as `failover`."""
    ended = subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", "runs", "show", "nothing"],
        cwd=bench.folder,
        env={**bench.variables(), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == bench.run("runs", "show", "nothing").code == 2
