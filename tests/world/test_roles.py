"""Laws of roles and bridges, as both ends show them (docs/sources/solace.md, 0.5, 3.2 and 4.4)."""

from __future__ import annotations

import pytest

from simulator.solace.account import CommandCount, CommandKey
from simulator.solace.appliance import NoSuchObject, VpnReplication
from tests.world.stage import Stages


def flags(row: VpnReplication) -> tuple[object, ...]:
    """The columns C B R Q S."""
    return row.role, row.local_bridge, row.remote_bridge_up, row.queue_bound, row.sync_eligible


def test_each_flag_applies_to_one_side_only(stage: Stages) -> None:
    """Active: R, Q, S and no B. Standby: B and no R, Q, S."""
    here = stage(publish_rate=10)
    here.wait(1)
    assert flags(here.row("ny")) == ("active", None, True, True, True)
    assert flags(here.row("nj")) == ("standby", "up", None, None, None)


def test_after_demotion_both_are_standby_and_the_bound_bridge_stays(stage: Stages) -> None:
    """The target's bridge drains on; the former active's own bridge finds nobody to bind to."""
    here = stage(publish_rate=10, backlog=500)
    here.role("ny", "standby")
    assert flags(here.row("ny")) == ("standby", "down", None, None, None)
    assert flags(here.row("nj")) == ("standby", "up", None, None, None)
    here.wait(30)
    assert here.row("ny").local_bridge == "down"


def test_promotion_turns_the_bridge_round(stage: Stages) -> None:
    """The new active's bridge is disabled; the old active's dials, then binds, after a while."""
    here = stage(publish_rate=10)
    here.role("ny", "standby")
    here.wait(5)
    here.role("nj", "active")
    assert flags(here.row("nj")) == ("active", None, False, False, False)
    assert here.row("ny").local_bridge == "down"
    here.wait(0.6)
    assert here.row("ny").local_bridge == "queue-unbound"
    assert flags(here.row("nj"))[2:4] == (True, False)
    here.wait(0.5)
    assert here.row("ny").local_bridge == "up"
    assert flags(here.row("nj")) == ("active", None, True, True, True)


def test_giving_activity_back_before_promotion_loses_nothing(stage: Stages) -> None:
    """Revert: the old site still holds what it queued, and the bridge never left it."""
    here = stage(publish_rate=200, drain_rate=300, backlog=2_000, unconsumed=2_000)
    here.wait(1)
    here.role("ny", "standby")
    here.wait(2)
    here.role("ny", "active")
    here.wait(60)
    tally = here.tally()
    assert (tally.lost, tally.duplicated, tally.out_of_order) == (0, 0, 0)
    assert tally.outage_seconds == pytest.approx(2)


def test_two_active_sites_are_recorded(stage: Stages) -> None:
    """The account notes from when to when both sites were active, though no message was harmed."""
    here = stage()
    here.wait(3)
    here.role("nj", "active")
    here.wait(4)
    assert flags(here.row("ny"))[2:4] == (False, False)
    here.role("ny", "standby")
    here.wait(1)
    assert here.tally().both_active == ((3.0, 7.0),)
    assert here.tally().outages == ()


def test_outages_and_role_changes_carry_their_moments(stage: Stages) -> None:
    """The account knows when nobody served."""
    here = stage()
    here.wait(10)
    here.role("ny", "standby")
    here.wait(2.5)
    here.role("nj", "active")
    here.wait(1)
    tally = here.tally()
    assert tally.outages == ((10.0, 12.5),)
    assert [(one.moment, one.site, one.role) for one in tally.roles] == [
        (0.0, "ny", "active"),
        (10.0, "ny", "standby"),
        (12.5, "nj", "active"),
    ]


def test_a_role_that_is_there_already_changes_nothing(stage: Stages) -> None:
    """Idempotent: the second command arrives and has no effect."""
    here = stage()
    here.role("ny", "standby")
    here.role("ny", "standby")
    key = CommandKey("ny", "set_role", (("role", "standby"),))
    assert here.tally().commands == {key: CommandCount(received=2, effects=1)}
    assert len(here.tally().roles) == 2


def test_a_cut_bridge_between_two_standbys_binds_again_to_the_former_active(stage: Stages) -> None:
    """After the link is back the drain goes on: waiting is a choice that can work."""
    here = stage(publish_rate=0, backlog=1_000, unconsumed=1_000, consume_rate=0, drain_rate=100)
    here.role("ny", "standby")
    here.wait(1)
    here.fault("at 0s: bridge down 5s")
    here.wait(3)
    stuck = here.depth()
    assert here.row("nj").local_bridge == "down"
    here.wait(2.5)
    assert here.depth() == stuck
    assert here.row("nj").local_bridge == "queue-unbound"
    here.wait(60)
    assert here.depth() == 0


def test_clients_follow_the_active_site(stage: Stages) -> None:
    """A standby drops its clients; they find the new active by their host list, and publishing goes on."""
    here = stage(publish_rate=100)
    here.wait(1)
    here.role("ny", "standby")
    before = here.tally().acknowledged
    here.wait(5)
    assert here.tally().acknowledged == before
    here.role("nj", "active")
    here.wait(11)
    assert here.tally().acknowledged - before == pytest.approx(1_000, abs=101)


def test_clients_try_their_host_list_now_and_then(stage: Stages) -> None:
    """Not before a first pause, and then only at their tries: a promotion between two tries waits for the next."""
    here = stage(publish_rate=1_000, world={"reconnect": 8.0})
    here.role("ny", "standby")
    here.role("nj", "active")
    here.wait(3.9)
    assert here.tally().acknowledged == 0
    here.wait(4.2)
    first = here.tally().acknowledged
    assert first > 0
    here.role("nj", "standby")
    here.wait(8.1)  # one try has failed by now
    here.role("ny", "active")
    here.wait(0.1)
    assert here.tally().acknowledged == first
    here.wait(8)
    assert here.tally().acknowledged > first


def test_a_vpn_that_is_not_replicated_has_no_queue_and_no_bridge(stage: Stages) -> None:
    """Admin down: its role still shows, its replication queue does not exist."""
    here = stage(replicated=False, publish_rate=10)
    here.wait(5)
    assert here.row("ny").admin_up is False
    assert here.row("nj").local_bridge == "down"
    with pytest.raises(NoSuchObject):
        here.depth()
    assert here.tally().lost == 0


def test_an_unknown_vpn_is_not_there(stage: Stages) -> None:
    """A name the world does not have is an answer, not a row of defaults."""
    here = stage()
    for ask in (here.node("ny").replication, here.node("ny").replication_queue, here.node("ny").transactions):
        with pytest.raises(NoSuchObject):
            ask("Stranger_VPN")
