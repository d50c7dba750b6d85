"""Many services in one run: each lane on its own clock; one that fails stops the others only if that was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.embedded import embedded_layout
from simulator.solace.layout import VpnLayout
from tests.cli.shell import VPN, Ended, Shell

OTHERS = ("Risk_VPN", "Settlement_VPN")


def outcomes(ended: Ended) -> dict[str, str]:
    return {lane["service"]: lane["outcome"] for lane in ended.result["lanes"]}


def move_all(shell: Shell, *more: str) -> Ended:
    return shell("controlled", "--all", "--yes", "--xa", shell.decisions, "--json", *more)


def test_all_of_a_pair(shell: Shell) -> None:
    """Law: --all moves every service that the inventory lists for the pair; the run is done when all are."""
    ended = move_all(shell)
    assert ended.code == 0
    assert outcomes(ended) == dict.fromkeys((VPN, *OTHERS), "done")
    assert all(shell.roles(vpn) == ("standby", "active") for vpn in (VPN, *OTHERS))


def test_some_by_name(shell: Shell) -> None:
    """Law: --vpn as often as needed; a name typed twice is one lane; the others are left alone."""
    ended = shell("controlled", *(f"--vpn={name}" for name in (*OTHERS, OTHERS[0])), "--yes", "--json")
    assert outcomes(ended) == dict.fromkeys(OTHERS, "done")
    assert shell.roles(VPN) == ("active", "standby")


def test_a_fast_lane_does_not_wait_for_a_slow_one(shell: Shell) -> None:
    """Law: lanes advance independently: the quick ones are done long before the queue of the slow one is empty."""
    ended = move_all(shell, "--fault", f"drain {VPN}: slow 10x 30s")
    assert ended.code == 0
    at = {line["lane"]: line["at"] for line in ended.values[:-1] if line["event"]["kind"] == "lane.ended"}
    assert max(at[name] for name in OTHERS) < at[VPN]
    outage = {lane["service"]: lane["outage_seconds"] for lane in ended.result["lanes"]}
    assert max(outage[name] for name in OTHERS) < 2 < 5 < outage[VPN]


@pytest.mark.parametrize("failing", OTHERS)
def test_one_that_fails_does_not_stop_the_others(shell: Shell, failing: str) -> None:
    """Law: a lane that refuses leaves the others to theirs; the run is as good as the worst of them."""
    ended = move_all(shell, "--fault", f"demote {failing}: refuse 10h")
    assert ended.code == 3
    assert outcomes(ended) == {name: "refused" if name == failing else "done" for name in (VPN, *OTHERS)}
    assert shell.roles(failing) == ("active", "standby")


def test_fail_fast(shell: Shell) -> None:
    """Law: with --fail-fast the first that fails calls off those that can still turn back, and they do."""
    ended = move_all(shell, "--fail-fast", "--fault", "demote Risk_VPN: refuse 10h")
    assert ended.code == 5
    found = outcomes(ended)
    assert found["Risk_VPN"] == "refused"
    assert found[VPN] == "reverted"
    reason = next(lane["reason"] for lane in ended.result["lanes"] if lane["service"] == VPN)
    assert "aborted by --fail-fast: Risk_VPN ended refused" in reason
    assert shell.roles(VPN) == ("active", "standby")
    assert shell.tally(VPN).lost == 0


def test_a_lane_that_waits_for_decisions_keeps_nobody(shell: Shell) -> None:
    """Law: one lane that needs an operator is resumable alone; the others are done, and free for another run."""
    ended = shell("controlled", "--all", "--yes", "--xa", "stop", "--json")
    assert ended.code == 6
    assert outcomes(ended) == {VPN: "needs-operator", **dict.fromkeys(OTHERS, "done")}
    assert shell("controlled", "--vpn", OTHERS[0], "--from", "nj", "--yes").code == 0
    assert shell("controlled", "--vpn", VPN, "--yes").code == 8
    resumed = shell("resume", ended.result["run"], "--xa", shell.decisions, "--json")
    assert (resumed.code, set(outcomes(resumed).values())) == (0, {"done"})


def test_the_result_of_many_names_those_that_did_not_get_there(shell: Shell) -> None:
    """Law: the screen shows every lane that is not done, with what to do about it."""
    ended = shell("controlled", "--all", "--yes", "--xa", "stop")
    assert f"  {VPN}: needs-operator: " in ended.out
    assert "  Risk_VPN: done" in ended.out
    assert ended.out.count("what to do: ") == 1


def test_very_many_are_summed_up(shell: Shell) -> None:
    """Law: with many lanes the screen tells of what matters; the result has a row for every service, those that differ
    first and in full, and the one that was without an active site for the longest by name. `runs show` too."""
    names = [f"V{number:02}" for number in range(25)]
    layout = replace(embedded_layout(), vpns=tuple(VpnLayout(name, backlog=20) for name in names))
    inventory = str(shell.inventory(layout, services=names))
    ended = shell("controlled", "-i", inventory, "--all", "--yes", "--fault", "demote V07: refuse 10h")
    assert ended.code == 3
    assert [line.split(": ")[0].split(" (")[0].split()[-1] for line in ended.err.splitlines()] == [
        "NJ_Appliance1",
        "ann",
        "V07",
        "V07",
        "ended",
    ]
    assert "  V07: refused: " in ended.out
    for text in (ended.out, shell("runs", "show").out):
        rows = [line.split()[0].rstrip(":") for line in text.splitlines() if line.startswith("  V")]
        assert rows == ["V07", *(name for name in names if name != "V07")]
        assert " more " not in text
        assert "  the longest of these 24: V" in text
