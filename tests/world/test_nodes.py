"""Laws of nodes: which one serves, what the other shows, and what a switch-over does to clients and bridges."""

from __future__ import annotations

import pytest

from orchestrator.errors import DefinitionError, Unreachable
from simulator.solace.appliance import Refused
from tests.world.stage import Stage, Stages


def spools(here: Stage, site: str = "ny") -> list[str]:
    return [here.node(site, number).redundancy().spool for number in (1, 2)]


def test_exactly_one_node_of_a_pair_has_the_active_spool(stage: Stages) -> None:
    """The first serves, the second stands by and says so."""
    here = stage(ha=True)
    one, two = (here.node("ny", number).redundancy() for number in (1, 2))
    assert (one.activity, one.spool, one.role) == ("Local Active", "AD-Active", "Primary")
    assert (two.activity, two.spool, two.role) == ("Mate Active", "AD-Standby", "Backup")
    assert one.mate_router_name == "NY_Appliance2"
    assert one.up and one.configured and one.mate_link_up


def test_a_node_alone_is_not_configured_for_redundancy(stage: Stages) -> None:
    """A standalone appliance serves without a mate; that is no fault."""
    view = stage().node("ny").redundancy()
    assert (view.configured, view.activity, view.spool) == (False, "Local Active", "AD-Active")


def test_the_node_that_does_not_serve_shows_an_empty_queue_and_refuses(stage: Stages) -> None:
    """A trap that is really there: 0 on the wrong node is not drained."""
    here = stage(ha=True, backlog=700, publish_rate=0, drain_rate=1)
    assert here.depth() == 700
    assert here.node("ny", 2).replication_queue("V").messages == 0
    with pytest.raises(Refused):
        here.node("ny", 2).set_role("V", "standby")
    assert here.row("ny").role == "active"


def test_a_switch_over_interrupts_and_loses_nothing(stage: Stages) -> None:
    """Nobody serves for a while, then the mate does with the same messages; the bridge dials anew."""
    here = stage(ha=True, publish_rate=100, drain_rate=50, backlog=500, unconsumed=500, consume_rate=10)
    here.wait(1)
    before = here.depth()
    here.fault("at 0s: ha switch ny")
    here.wait(1)
    assert spools(here) == ["AD-NotReady", "AD-Activating"]
    assert here.row("nj").local_bridge == "down"
    assert here.node("ny", 1).redundancy().activity == "Local Inactive"
    here.wait(1.5)
    assert spools(here) == ["AD-Standby", "AD-Active"]
    assert here.node("ny", 2).replication_queue("V").messages >= before
    here.wait(2)
    assert here.row("nj").local_bridge == "up"
    assert here.tally().lost == 0
    assert here.tally().outages == ((1.0, 3.0),)


def test_a_dead_node_is_replaced_by_its_mate(stage: Stages) -> None:
    """The survivor takes over, says that its mate is gone, and gives nothing back when the other returns."""
    here = stage(ha=True)
    here.fault("at 1s: node ny/NY_Appliance1 down 30s")
    here.wait(5)
    with pytest.raises(Unreachable):
        here.node("ny", 1).redundancy()
    survivor = here.node("ny", 2).redundancy()
    assert (survivor.spool, survivor.mate_link_up, survivor.up) == ("AD-Active", False, False)
    here.wait(40)
    assert spools(here) == ["AD-Standby", "AD-Active"]


def test_a_node_that_dies_while_taking_over_leaves_nobody(stage: Stages) -> None:
    """Both dead: nobody serves until one of them returns and has taken over."""
    here = stage(ha=True)
    here.fault("at 1s: node ny/NY_Appliance1 down", "at 2s: node ny/NY_Appliance2 down 10s")
    here.wait(11)
    assert not here.world.reachable("ny", "NY_Appliance2")
    here.wait(2)
    assert here.node("ny", 2).redundancy().spool == "AD-Activating"
    here.wait(2)
    assert here.node("ny", 2).redundancy().spool == "AD-Active"
    assert here.tally().outages == ((1.0, 14.0),)


def test_the_death_of_a_lone_node_is_an_outage_until_it_returns(stage: Stages) -> None:
    """A site of one node: clients wait, and the role is found again as it was."""
    here = stage(publish_rate=50)
    here.fault("at 10s: node ny/NY_Appliance1 down 20s")
    here.wait(15)
    with pytest.raises(Unreachable):
        here.row("ny")
    here.wait(30)
    assert here.row("ny").role == "active"
    assert here.tally().outages == ((10.0, 32.0),)
    assert here.tally().lost == 0


def test_a_lost_site_that_returns_makes_two_actives(stage: Stages) -> None:
    """docs/sources/solace-procedure.md, uncontrolled 2: the failed site was configured active, so it recovers
    active."""
    here = stage()
    here.fault("at 1s: node ny/NY_Appliance1 down 60s")
    here.wait(5)
    here.role("nj", "active")
    here.wait(100)
    assert here.tally().both_active == ((63.0, 105.0),)


def test_unreachable_management_disturbs_nobody_else(stage: Stages) -> None:
    """Only whoever asks notices: clients publish on and the bridge carries on."""
    here = stage(publish_rate=100, drain_rate=200, backlog=500)
    here.fault("at 0s: unreachable nj 4s")
    here.wait(1)
    assert here.world.reachable("nj", "NJ_Appliance1") is False
    with pytest.raises(Unreachable):
        here.row("nj")
    here.wait(3)
    assert here.row("nj").local_bridge == "up"
    assert here.depth() == pytest.approx(100, abs=2)


def test_a_split_pair_claims_twice(stage: Stages) -> None:
    """During a split both nodes say that they serve; afterwards one does."""
    here = stage(ha=True)
    here.fault("at 0s: ha split ny 10s")
    here.wait(1)
    assert spools(here) == ["AD-Active", "AD-Active"]
    here.wait(10)
    assert spools(here) == ["AD-Active", "AD-Standby"]


def test_names_that_are_not_there_are_named(stage: Stages) -> None:
    """A slip in an inventory is told with what there is."""
    here = stage()
    with pytest.raises(DefinitionError, match="no site la; it has ny, nj"):
        here.world.appliance("la", "X")
    with pytest.raises(DefinitionError, match="no node X; it has NY_Appliance1"):
        here.world.appliance("ny", "X")
