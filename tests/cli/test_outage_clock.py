"""While no site is known to serve, everything that waits, asks or stops says so, and for how long."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby

import pytest

from orchestrator.cli.live.screen import LiveScreen
from orchestrator.cli.render.screen import PlainScreen
from orchestrator.core.position import Positions
from orchestrator.core.run import Run, fold
from orchestrator.model import events as ev
from tests.cli.shell import VPN, Shell
from tests.core.builders import a_plan, created, role

CLOCK = re.compile(r"; NO SITE ACTIVE for \d+s$")
LOST = ("--fault", "drain: bridge down", "--on-bridge-loss", "revert")


def test_every_line_that_waits_or_stops(shell: Shell) -> None:
    """Law: each line of the drain, of a guarantee that broke, of a question and of its decision has the clock, until the
    source is read active again; no line before the demotion or after the end has it."""
    lines = shell.move(*LOST).err.splitlines()
    waiting = [
        line
        for line in lines
        if re.search("messages left|ATTENTION|decision needed|decided by|turning", line) and "ended:" not in line
    ]
    assert len(waiting) > 5
    assert [line for line in waiting if not CLOCK.search(line)] == []
    others = [line for line in lines if re.search(r"connecting|led by|\[1/8\]|ended: reverted|run ended", line)]
    assert len(others) >= 4
    assert [line for line in others if "NO SITE" in line] == []


def test_the_clock_runs(shell: Shell) -> None:
    """Law: it counts from the demotion on, in whole seconds, and never back."""
    seconds = [int(found) for found in re.findall(r"NO SITE ACTIVE for (\d+)s", shell.move(*LOST).err)]
    assert seconds == sorted(seconds)
    assert seconds[-1] >= 60, "the grace time alone is as long"


def test_a_stop_with_nobody_active(shell: Shell) -> None:
    """Law: the line of the stop, the report, and the first event of the process that resumes it know of the outage from
    its beginning on, however long nobody led the run."""
    ended = shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop", "--json")
    assert ended.code == 6
    since = ended.result["lanes"][0]["no_active_site_since"]
    assert since is not None
    shell.clock.advance(600)
    resumed = shell("resume", "--xa", shell.decisions, "--json")
    started, *_ = (line for line in resumed.values[:-1] if line["lane"])
    assert (started["no_active_site_since"], started["serves"]) == (since, "none")
    [outage] = [lane["outage_seconds"] for lane in resumed.result["lanes"]]
    assert outage > 600


def test_what_each_event_says(shell: Shell) -> None:
    """Law: with --json every event of a service tells who serves by then and since when nobody does; those of the run
    itself tell nothing; and `runs report` says the same."""
    *events, _ = shell.move("--json").values
    assert {line["serves"] for line in events if line["lane"] is None} == {None}
    lane = [line for line in events if line["lane"]]
    serves = [key for key, _ in groupby(line["serves"] for line in lane)]
    assert serves == ["unknown", "source", "unknown", "none", "unknown", "target"]
    dark = [place for place, line in enumerate(lane) if line["no_active_site_since"]]
    assert dark == list(range(dark[0], dark[-1] + 1)), "the clock runs without a break"
    assert lane[dark[0]]["event"]["kind"] == "action.intended"
    assert lane[dark[-1] + 1]["serves"] == "target"
    stored = shell("runs", "report", "last", "--json").values[:-1]
    assert [line["serves"] for line in stored] == [line["serves"] for line in events]


# Both at once, on either screen


@pytest.fixture
def run() -> Run:
    plan = a_plan(services=("Trading", "Risk"))
    return fold([ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(plan))])


@pytest.mark.parametrize("kind", [LiveScreen, PlainScreen])
def test_both_active_is_said_at_once(run: Run, kind: type, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: the reading that shows both sites active is a line of its own on either screen, at once and once."""
    positions = Positions(run.plan)
    shown = LiveScreen(positions, lambda: 12.0) if kind is LiveScreen else PlainScreen(positions)
    for seq, at in ((2, 10.0), (3, 11.0)):
        seen = (role("source", "active", at), role("target", "active", at))
        record = ev.Record(run="R", seq=seq, at=at, lane="Risk", event=ev.Observed(mark=1, seen=seen))
        positions.take(record)
        shown(record, replace(run, seq=seq))
    shown.close()
    said = capsys.readouterr().err
    assert said.count("BOTH SITES ACTIVE: ny and nj were both read active") == 1
    assert "Risk" in said
