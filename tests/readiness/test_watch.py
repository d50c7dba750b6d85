"""`failover watch`: the queue of the acting site while its mate is away, and the suspension of replication."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.loader import load_runbook
from orchestrator.journal.lease import LEASE_SECONDS
from orchestrator.model import events as ev
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.watch.suspension import stopped_in
from orchestrator.reports.history import History
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.cli.shell import VPN, Ended, Shell

# 1,200 messages a second of 629 bytes fill 12 MB in about 17 seconds.
SMALL = WorldLayout(
    sites=(SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",))),
    vpns=(VpnLayout(VPN, publish_rate=1_200.0, drain_rate=2_000.0, quota_mb=12),),
)
DARK = "at 0s: node ny/NY_Appliance1 down"


@pytest.fixture
def outage(shell: Shell) -> str:
    """The inventory of a pair whose first site is dark, and whose second has just taken over."""
    path = str(shell.inventory(SMALL, services=[VPN]))
    lost = ("uncontrolled", "-i", path, "--all", "--site", "ny", "--yes", "--attest", "cables pulled")
    assert shell(*lost, "--fault", DARK).code == 0
    return path


def watch(shell: Shell, inventory: str, *more: str, seconds: float = 12.0) -> Ended:
    """Watch for so long, then Ctrl-C."""
    shell.clock.stop_in(seconds)  # type: ignore[attr-defined]  # the fixture's
    return shell("watch", "-i", inventory, "--all", "--interval", "3s", *more)


def looks(ended: Ended) -> list[dict[str, Any]]:
    """The readings among the JSON lines."""
    return [value for value in ended.values if "percent_full" in value]


def world_of(shell: Shell) -> World:
    return WORLDS.acquire(str(shell.folder / "inventory.yaml.world.json"), shell.clock)


def rejects(shell: Shell) -> bool:
    world = world_of(shell)
    with world.request():
        answer = world.appliance("nj", "NJ_Appliance1").replication_queue(VPN).reject_on_discard
    WORLDS.release(world)
    return answer


def test_it_follows_the_queue(shell: Shell, outage: str) -> None:
    """Law: usage, rate and the time until full are those of the world; the rate is what publishers send."""
    ended = watch(shell, outage, "--json")
    readings = looks(ended)
    assert len(readings) == 4
    assert all(one["simulated"] and one["site"] == "nj" and one["service"] == VPN for one in readings)
    assert readings[0]["rate_per_s"] is None
    last = readings[-1]
    assert last["rate_per_s"] == pytest.approx(1_200, rel=0.05)
    assert last["usage_mb"] == pytest.approx(last["messages"] * 629 / 1_048_576, rel=0.01)
    left = (last["quota_mb"] - last["usage_mb"]) * 1_048_576 / 629 / 1_200
    assert last["full_in_s"] == pytest.approx(left, rel=0.1)
    assert last["state"] == "filling"


def test_ctrl_c_is_its_end(shell: Shell, outage: str) -> None:
    """Law: it ends with Ctrl-C, exit code 0, and a last line that says how it stood."""
    ended = watch(shell, outage, "--json")
    assert ended.code == 0
    result = ended.result
    assert (result["exit_code"], result["simulated"], result["site"]) == (0, True, "nj")
    assert result["services"][VPN] == {key: looks(ended)[-1][key] for key in result["services"][VPN]}


def test_in_words(shell: Shell, outage: str) -> None:
    """Law: every line says SIMULATED, when and of which queue; advice is given once, not at each look."""
    ended = watch(shell, outage)
    lines = ended.out.splitlines()
    assert all(f"Z SIMULATED  {VPN} at nj: " in line for line in lines)
    assert sum("what to do" in line for line in lines) == 1
    assert ended.err == "SIMULATED  stopped; the queue is no longer watched\n"


def test_the_high_mark_and_the_end(shell: Shell, outage: str) -> None:
    """Law: crossing the high mark, and reaching the quota, are events of their own, each told once."""
    happened = [event for one in looks(watch(shell, outage, "--json", seconds=30)) for event in one["happened"]]
    assert happened == ["high", "full"]


def test_it_changes_nothing_by_itself(shell: Shell, outage: str) -> None:
    """Law: without --suspend-at no device receives a command, and no run is recorded, however full it is."""
    before = len(shell("runs", "list", "--json").values)
    watch(shell, outage, seconds=30)
    assert rejects(shell)
    assert len(shell("runs", "list", "--json").values) == before


def test_suspension_is_a_recorded_run(shell: Shell, outage: str) -> None:
    """Law: at the given usage replication is suspended by a run of solace/suspend with its reason, once."""
    ended = watch(shell, outage, "--suspend-at", "60%", seconds=30)
    assert ended.code == 0
    assert not rejects(shell)
    runs = shell("runs", "list", "--json").values
    assert [run["runbook"] for run in runs] == ["solace/suspend", "solace/uncontrolled"]
    assert (runs[0]["outcome"], runs[0]["source"], runs[0]["target"]) == ("done", "ny", "nj")
    assert runs[0]["notes"] == ["the queue is 60% full, and --suspend-at is 60%"]
    assert "replication is suspended" in ended.out


def test_not_before_it_is_so_full(shell: Shell, outage: str) -> None:
    """Law: below the mark nothing is done; the look is taken just in time, not an interval late."""
    ended = watch(shell, outage, "--suspend-at", "50", "--json", seconds=30)
    suspended = next(at for at, value in enumerate(ended.values) if value.get("happened") == ["suspended"])
    before = [value for value in ended.values[:suspended] if "percent_full" in value]
    assert all(one["percent_full"] < 50 for one in before[:-1])
    assert 50 <= before[-1]["percent_full"] < 62
    after = [value for value in ended.values[suspended:] if "percent_full" in value]
    assert all(one["suspended"] is True for one in after)


def test_the_record_knows_of_it(shell: Shell, outage: str) -> None:
    """Law: a fail-back is judged with the knowledge that replication was suspended; a restore can lift it."""
    watch(shell, outage, "--suspend-at", "10%")
    tools = shell.tools()
    journal = tools.journal()
    known = History(journal, tools.inventory(Path(outage)).sites.values()).last_outage(VPN, "nj")
    journal.close()
    assert known is not None
    assert known.suspended is True
    restore = load_runbook("solace/restore")
    lifting = restore.steps[restore.index_of("resume-replication")]
    assert lifting.do is not None
    assert lifting.do.args == {"enabled": "yes"}


def test_the_dark_site_is_not_spoken_to(shell: Shell, outage: str) -> None:
    """Law: the suspension's run does not need the failed site, which does not even open a session."""
    before = shell.clock.now()
    watch(shell, outage, "--suspend-at", "1%", "--json", seconds=6)
    assert shell.clock.now() - before < 12
    assert not rejects(shell)


def test_a_suspension_that_fails_is_tried_again(shell: Shell, outage: str) -> None:
    """Law: a refused suspension ends as the run does, is said, and tried again only after a minute."""
    path = shell.folder / "inventory.yaml.world.json"
    world = WORLDS.acquire(str(path), shell.clock)
    world.inject(parse_faults(["any: refuse 40s"]))
    WORLDS.release(world)
    ended = watch(shell, outage, "--suspend-at", "1%", seconds=70)
    runs = [run["outcome"] for run in shell("runs", "list", "--json").values if run["runbook"] == "solace/suspend"]
    assert runs[-1] in ("refused", "reverted")
    assert runs[0] == "done"
    assert len(runs) == 2
    assert ended.code == 0
    assert not rejects(shell)


def suspensions(shell: Shell) -> list[dict[str, Any]]:
    """The runs that suspend replication, newest first."""
    runs = shell("runs", "list", "--json").values
    return [run for run in runs if run["runbook"] == "solace/suspend"]


def stop_in_the_suspension(shell: Shell, outage: str) -> Ended:
    """A watch that is stopped by Ctrl-C as soon as the run of its suspension is recorded."""
    with closing(shell.tools().journal()) as journal:
        before = len(journal.runs())
        shell.clock.stop_when = lambda: len(journal.runs()) > before  # type: ignore[attr-defined]  # the fixture's
        return shell("watch", "-i", outage, "--all", "--interval", "3s", "--suspend-at", "1%")


def test_ctrl_c_in_a_suspension(shell: Shell, outage: str) -> None:
    """Law: who stops the watch in the course of a suspension is told which run of it is unfinished, how to resume
    it, and where to see whether it happened; the exit code is that of the run."""
    ended = stop_in_the_suspension(shell, outage)
    [run] = suspensions(shell)
    assert run["outcome"] is None
    assert ended.complaint == f"the watch was stopped in the suspension of {VPN}: run {run['run']} is unfinished"
    assert f"`failover resume {run['run']}`" in ended.err
    assert "`failover status` shows whether replication is suspended" in ended.err
    assert ended.err.endswith("the queue is no longer watched\n")
    assert ended.code == shell("runs", "show", run["run"], "--json").values[0]["exit_code"]


@pytest.mark.parametrize("is_begun", [True, False])
def test_what_is_known_of_a_suspension(shell: Shell, outage: str, is_begun: bool) -> None:
    """Law: one whose run ended is known by how it did; where none began since, nothing was changed."""
    line = ("controlled", "--runbook", "solace/suspend", "-i", outage, "--vpn", VPN, "--from", "ny", "--yes")
    since = shell.clock.now()
    assert shell(*line).code == 0
    [run] = suspensions(shell)
    tools = shell.tools()
    shell.clock.sleep(1.0)
    wish = PlanRequest("solace/suspend", Path(outage), (VPN,), False, None, "ny", ev.Policy())
    report, said, _ = stopped_in(tools, make_plan(tools, wish), since if is_begun else shell.clock.now())
    assert (None if report is None else report.run) == (run["run"] if is_begun else None)
    assert said.endswith(
        f"run {run['run']} had ended with the outcome done" if is_begun else "started; nothing was changed"
    )


def test_beside_an_unfinished_suspension(shell: Shell, outage: str) -> None:
    """Law: beside its own half-done suspension the watch starts none, and says once, not in each round, that it is
    unfinished and how to resume it; once it was aborted, replication is suspended by another run."""
    stop_in_the_suspension(shell, outage)
    shell.clock.sleep(LEASE_SECONDS)  # whose process ended is not known to lead it any more
    [run] = suspensions(shell)
    ended = watch(shell, outage, "--suspend-at", "1%", seconds=200)
    assert suspensions(shell) == [run]
    assert ended.code == 8
    assert ended.complaint == f"the suspension of {VPN}, run {run['run']}, is unfinished, and no process leads it"
    assert f"`failover resume {run['run']}`" in ended.hint
    assert "being suspended" not in ended.err
    shell("abort", run["run"])
    watch(shell, outage, "--suspend-at", "1%", seconds=4)
    assert suspensions(shell)[0]["outcome"] == "done"


def test_an_unreadable_queue_is_unknown(shell: Shell, outage: str) -> None:
    """Law: a site that stops answering is said to be unknown, and the watch goes on."""
    world = world_of(shell)
    world.inject(parse_faults(["at 4s: unreachable nj 5s"]))
    WORLDS.release(world)
    values = watch(shell, outage, "--json", seconds=15).values
    states = [value.get("state") for value in values[:-1]]
    assert "unknown" in states
    assert states[-1] == "filling"


def test_the_mate_comes_back(shell: Shell, outage: str) -> None:
    """Law: a queue that is drained is said to drain, and for how long yet."""
    watch(shell, outage, seconds=6)
    world = world_of(shell)
    with world.request():
        centre = world.centre("ny")
        world.change(lambda: world.take_over("ny", centre.recover("NY_Appliance1")))
        world.vpn(VPN).set_role("ny", "standby")
    WORLDS.release(world)
    readings = looks(watch(shell, outage, "--json", seconds=12))
    assert "draining" in [one["state"] for one in readings]


def test_the_site_gives_up_its_activity(shell: Shell, outage: str) -> None:
    """Law: who watches a queue into which nothing is published any more is told so, once, and where to look."""
    world = world_of(shell)
    world.inject(parse_faults(["at 4s: role nj standby"]))
    WORLDS.release(world)
    lines = watch(shell, outage, seconds=15).out.splitlines()
    [told] = [line for line in lines if "what to do: nj is standby" in line]
    assert "nj: ! what to do: nj is standby" in told
    assert f"`failover watch {VPN} --site ny`" in told
    assert lines.index(told) < len(lines) - 1


def test_a_healthy_pair(shell: Shell) -> None:
    """Law: without an outage the active site is watched, and there is nothing to do."""
    shell.clock.stop_in(5)  # type: ignore[attr-defined]  # the fixture's
    ended = shell("watch", "--vpn", VPN, "--interval", "2s", "--json")
    assert {one["site"] for one in looks(ended)} == {"ny"}
    assert all(one["advice"] == "" and one["full_in_s"] is None for one in looks(ended))


def test_nobody_is_active(shell: Shell, outage: str) -> None:
    """Law: where no site says that it is active there is nothing to follow: refused, unless one is named."""
    world = world_of(shell)
    with world.request():
        world.vpn(VPN).set_role("nj", "standby")
    WORLDS.release(world)
    ended = shell("watch", "-i", outage, "--all")
    assert (ended.code, ended.complaint) == (3, f"neither site reports that it is active: {VPN}")
    assert watch(shell, outage, "--site", "nj").code == 0


MISTAKES = {
    ("--interval", "0s"): "--interval 0s: the time must be longer than 0 seconds",
    ("--interval", "often"): "--interval often: a duration must be a number with a unit: 100ms, 60s, 5m, 2h",
    ("--suspend-at", "120%"): "--suspend-at 120%: write a number from 0 to 100, as in 80%",
    ("--suspend-at", "soon"): "--suspend-at soon: write a number from 0 to 100, as in 80%",
    ("--site", "chicago"): "'chicago' is not a site of the pair trading",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes(shell: Shell, words: tuple[str, str]) -> None:
    """Law: what cannot be used is exit code 2, and one sentence that names it."""
    ended = shell("watch", "--vpn", VPN, *words)
    assert (ended.code, ended.complaint) == (2, MISTAKES[words])


def test_the_runbook_may_be_run_by_hand(shell: Shell, outage: str) -> None:
    """Law: what `watch` does is an ordinary runbook, with a dry run."""
    ended = shell("controlled", "--runbook", "solace/suspend", "-i", outage, "--all", "--dry-run")
    sends = [line.split("> ")[1] for line in ended.out.splitlines() if " SEND " in line]
    assert sends[-1] == "no reject-msg-to-sender-on-discard"
    assert Path(outage).is_file()
    assert json.loads(Path(outage).read_text())
