"""Sites that are reached over SSH alone: the whole circle of moves, and what is known beforehand."""

from __future__ import annotations

import json

import pytest

from tests.cli.processes import Bench
from tests.cli.shell import roles_of
from tests.cli.test_lab_processes import MakeBench, changes, lab_up

pytestmark = pytest.mark.realtime

_VPNS = ("Trading_VPN", "Risk_VPN", "Settlement_VPN")


def bench_of(make_bench: MakeBench, *options: str) -> Bench:
    """A bench whose inventory is that of a lab which serves SSH alone."""
    bench = make_bench(environment={"FAILOVER_INVENTORY": "lab.yaml"})
    lab_up(bench, "--adapter", "solace-cli", *options)
    return bench


def decisions(bench: Bench) -> str:
    """A file that decides the prepared transactions that the simulated pair starts with."""
    xids = ("0021B028-00-01", "0021ABC4-00-01")
    listed = "".join(f"  - {{xid: {xid}, choice: commit, reason: the log says so}}\n" for xid in xids)
    (bench.folder / "decisions.yaml").write_text(f"decisions:\n{listed}", encoding="utf-8")
    return "decisions.yaml"


def test_from_a_planned_move_back_home(make_bench: MakeBench) -> None:
    """Law: over SSH alone a service is moved, passes the gate of fail-back by what the CLI tells, and is home again."""
    bench = bench_of(make_bench)
    moved = bench.run("controlled", "--vpn", "Risk_VPN", "--yes", "--xa", "stop")
    assert moved.code == 0, moved.err
    back = bench.run("failback", "--vpn", "Risk_VPN", "--site", "ny", "--yes", "--xa", "stop")
    assert back.code == 0, back.err
    assert "endpoint" in back.err, "the gate says what it has compared"
    assert roles_of(bench.lab_world(), "Risk_VPN") == ("active", "standby")


def test_isolated_restored_and_back(make_bench: MakeBench) -> None:
    """Law: a site whose backbone is cut is fenced, demoted, brought back behind its fence, let in, and serves again, with
    no adapter but the CLI; the fence is proven by reading it."""
    bench = bench_of(make_bench, "--fault", "any: bridge down 10s")
    lost = bench.run("uncontrolled", "--all", "--site", "ny", "--isolated", "--yes", "--reason", "the fibre is cut")
    assert lost.code == 0, lost.err
    assert ("ssh", "service msg-backbone shutdown") in changes(bench, "ny")
    restored = bench.run("restore", "--all", "--site", "ny", "--yes", "--xa", decisions(bench))
    assert restored.code == 0, restored.err
    sent = [line for _, line in changes(bench, "ny")]
    assert (sent.count("service msg-backbone shutdown"), "no service msg-backbone shutdown" in sent) == (1, True)
    back = bench.run("failback", "--vpn", "Settlement_VPN", "--site", "ny", "--yes", "--xa", "stop")
    assert back.code == 0, back.err
    roles = [roles_of(bench.lab_world(), vpn) for vpn in _VPNS]
    assert roles == [("standby", "active"), ("standby", "active"), ("active", "standby")]


def test_a_plan_shows_every_line_at_its_prompt(make_bench: MakeBench) -> None:
    """Law: what a dry run shows for a device is what that device hears when the run is done, in the same order."""
    bench = bench_of(make_bench)
    shown = bench.run("controlled", "--vpn", "Trading_VPN", "--xa", "stop", "--dry-run").out
    for line in (
        "NY_Appliance1> no paging",
        "NY_Appliance1> enable",
        "NY_Appliance1# configure",
        "NY_Appliance1(configure)# message-vpn Trading_VPN",
        "NY_Appliance1(configure/message-vpn)# replication state standby",
        "NY_Appliance1(configure/message-vpn)# show redundancy",
        "NY_Appliance1(configure/message-vpn)# end",
        "show transaction message-vpn Trading_VPN state PREPARED detail",
    ):
        assert line in shown, shown


def test_what_it_cannot_do_is_known_beforehand(make_bench: MakeBench) -> None:
    """Law: `check` and `runbook lint` say of each procedure whether it is possible, from the declarations alone."""
    bench = bench_of(make_bench)
    checked = bench.run("check", "--json")
    [pair] = json.loads(checked.out)["pairs"]
    assert set(pair["procedures"]) == {"ny", "nj"}
    assert pair["procedures"]["ny"]["uncontrolled-isolated"] == "possible"
    assert pair["procedures"]["ny"]["uncontrolled"] == "with attestation"
    assert pair["procedures"]["ny"]["uncontrolled-commanded"] == "not"
    assert pair["procedures"]["ny"]["snapshot"] == "possible"
    printed = bench.run("check").out
    [row] = [line.split() for line in printed.splitlines() if line.startswith("uncontrolled-commanded ")]
    assert row[1:] == ["not", "not"]
    assert "uncontrolled-commanded (ny): not: source: the fence plan of the site has no command" in printed
    assert "external_fence" not in printed
