"""What was read and is bad stands first: both sites active, messages left at a failed site. The world judges it."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.solace.layout import VpnLayout, WorldLayout
from tests.cli.shell import VPN, Ended, Shell
from tests.readiness.test_guard import SINGLE, Night, both_active_s

LEFT = 4_000


@pytest.fixture
def night(shell: Shell) -> Night:
    """A pair of one service, whose queue holds messages for the mate."""
    layout = WorldLayout(sites=SINGLE, vpns=(VpnLayout(VPN, backlog=LEFT, drain_rate=200, publish_rate=10),))
    return Night(shell, str(shell.inventory(layout, services=[VPN])))


def came_back(night: Night) -> None:
    """The site fails, its mate takes over, and it is back as active before anybody watches."""
    night.lose()
    assert night.wait(100.0).both_active


def alarms(ended: Ended) -> list[Any]:
    return [one["kind"] for one in ended.result["alarms"]]


def first_line(ended: Ended) -> str:
    return next(line for line in ended.out.splitlines() if line and not line.startswith("run "))


# Both sites were active


def test_a_guard_that_finds_both_active(night: Night) -> None:
    """Law (promise 17): that both sites were read active is the first line of the guard's report and of everybody who
    shows the run later, in capitals, with at least and at most how long, and what it may have done. No more is claimed
    than the world itself saw."""
    came_back(night)
    ended = night.guard()
    assert ended.code == 0
    lines = ended.out.splitlines()
    began = next(place for place, line in enumerate(lines) if "SIMULATED  BOTH SITES ACTIVE: ny and nj" in line)
    assert "solace/guard: " in lines[began + 1]
    assert "Messages that were published or consumed meanwhile may be duplicated" in lines[began]
    assert any(line.startswith("SIMULATED  BOTH SITES ACTIVE: read at ") for line in lines[began + 2 :])
    assert first_line(night.shell("runs", "show")) == lines[began]
    [document] = night.shell("runs", "show", "--json").values
    assert [one["kind"] for one in document["alarms"]] == ["both-active"]
    [both] = document["lanes"][0]["both_active"]
    assert both["until"] is not None
    # From the fail-over's last reading of the mate as standby to the guard's first of this site as standby.
    assert both["at_least_seconds"] <= both_active_s(night.tally()) <= both["at_most_seconds"]
    assert f", at most {both['at_most_seconds']:.1f}s; ended by {both['until']}" in lines[began]


def test_it_is_said_the_moment_it_is_read(night: Night) -> None:
    """Law: each event of a run tells who serves by then; the guard's own reading counts from its first event on."""
    came_back(night)
    events = [value for value in night.guard("--json").values if "event" in value and value["lane"]]
    assert events[0]["serves"] == "both"
    assert events[-1]["serves"] == "target"


@pytest.mark.parametrize("as_json", [True, False])
def test_who_restores_is_told_too(night: Night, as_json: bool) -> None:
    """Law: the restore and the fail-back after it say that duplicates are possible, and which run read both active."""
    came_back(night)
    assert night.guard().code == 0
    run = night.runs()[-1]["run"]
    told = f"run {run} read both sites active for {VPN} at "
    for typed in (("restore", "--site", "ny"), ("failback", "--site", "ny", "--accept-risk", "the desk agrees")):
        ended = night(*typed, "--all", "--yes", *(["--json"] if as_json else []))
        assert ended.code == 0, ended
        assert told in (str(ended.result["notes"]) if as_json else ended.out)
        night.wait(60.0)


def test_a_restore_that_reads_both_active(night: Night) -> None:
    """Law: a restore of a site that came back as active says so first."""
    came_back(night)
    ended = night("restore", "--all", "--site", "ny", "--yes")
    assert ended.code == 0
    assert "SIMULATED  BOTH SITES ACTIVE: ny and nj were both read active for " in first_line(ended)
    [document] = night.shell("runs", "show", "--json").values
    [both] = document["lanes"][0]["both_active"]
    assert both["at_least_seconds"] <= both_active_s(night.tally()) <= both["at_most_seconds"]
    assert "both-active" not in alarms(night("restore", "--all", "--site", "ny", "--yes", "--json"))


# Messages that stayed at a failed site


def test_what_a_dark_site_holds_is_unknown(night: Night) -> None:
    """Law: nothing can be read of a dark site, so what it holds is unknown; what was read last, by whichever command, is
    told with its time and is no number of now."""
    night.lose()
    [document] = night.shell("runs", "show", "--json").values
    left = document["lanes"][0]["left_behind"]
    assert (left["site"], left["messages"], left["read_at"], left["is_fresh"]) == ("ny", None, None, False)
    text = night.shell("runs", "show").out
    assert (
        "SIMULATED  LEFT AT ny: the number of messages that only ny holds is unknown, because no reading shows it"
        in text
    )


def test_what_status_read_is_last_known(night: Night) -> None:
    """Law: the last number that is known of a failed site is the newest that any command read, with its time."""
    [seen] = night("status", "--json").values
    number, at = seen["services"][0]["sites"]["ny"]["messages"], seen["at"]
    night.shell.clock.advance(600.0)
    night.lose()
    [document] = night.shell("runs", "show", "--json").values
    left = document["lanes"][0]["left_behind"]
    assert (left["messages"], left["is_fresh"]) == (number, False)
    assert left["read_at"][:16] == at[:16]
    assert f"{number:,} messages queued for the mate at {left['read_at']}" in str(document["notes"])
    assert "this reading is old, so the present number is unknown" in night.shell("runs", "show").out


@pytest.mark.parametrize("as_json", [True, False])
def test_what_was_left_is_counted(night: Night, as_json: bool) -> None:
    """Law: a restore counts what the failed site holds, and a fail-back what it holds before it serves again: from a
    reading taken for that run, the same as the device itself shows."""
    came_back(night)
    for typed in (("restore", "--site", "ny"), ("failback", "--site", "ny", "--accept-risk", "the desk agrees")):
        [row] = night("status", "--json").values[-1]["services"]
        held = row["sites"]["ny"]["messages"]
        assert held > LEFT / 2
        ended = night(*typed, "--all", "--yes", *(["--json"] if as_json else []))
        assert ended.code == 0, ended
        if as_json:
            left = ended.result["lanes"][0]["left_behind"]
            assert (left["site"], left["messages"], left["is_fresh"]) == ("ny", held, True)
            assert "left-behind" in alarms(ended)
        else:
            assert f"SIMULATED  LEFT AT ny: {held:,} messages queued for its mate, read at " in ended.out
        night.wait(60.0)


def test_an_empty_queue_is_no_bad_news(shell: Shell) -> None:
    """Law: where a reading shows that nothing was left, nothing is said to be."""
    layout = WorldLayout(sites=SINGLE, vpns=(VpnLayout(VPN, publish_rate=0),))
    night = Night(shell, str(shell.inventory(layout, services=[VPN])))
    came_back(night)
    ended = night("restore", "--all", "--site", "ny", "--yes", "--json")
    assert ended.result["lanes"][0]["left_behind"]["messages"] == 0
    assert "left-behind" not in alarms(ended)


# Publishers that wait for the mate


@pytest.mark.parametrize("refuses", [True, False])
def test_publishers_that_wait_for_the_lost_site(shell: Shell, refuses: bool) -> None:
    """Law: after an uncontrolled fail-over the report says that synchronous publishers wait, where the message VPN is
    configured so (docs/sources/solace-procedure.md, controlled 1), and only there."""
    vpn = VpnLayout(VPN, publish_rate=10, sync_every=1, reject_when_ineligible=refuses)
    night = Night(shell, str(shell.inventory(WorldLayout(sites=SINGLE, vpns=(vpn,)), services=[VPN])))
    night.lose()
    [document] = night.shell("runs", "show", "--json").values
    assert ("sync-refused" in [one["kind"] for one in document["alarms"]]) is refuses
    text = f"SIMULATED  PUBLISHERS WAIT: nj refuses synchronous messages of {VPN} until ny is restored"
    assert (text in night.shell("runs", "show").out) is refuses
