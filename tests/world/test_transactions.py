"""Laws of transactions at both sites, and of the manager that acts in between (docs/sources/solace.md, 4.3)."""

from __future__ import annotations

import pytest

from simulator.solace.appliance import NoSuchObject, Refused
from simulator.solace.layout import ManagerLayout, TransactionLayout
from tests.world.stage import Stage, Stages

PREPARED = TransactionLayout(xid="0021B028-00-01", consumed=(7, 8), age=20.0)
ALONE = TransactionLayout(xid="00A0-00-01", replicated=False)
RUNNING = TransactionLayout(xid="00A1-00-01", state="ACTIVE", replicated=False)


def states(here: Stage, site: str) -> dict[str, str]:
    return {view.xid: view.state for view in here.node(site).transactions("V")}


def test_only_prepared_replicated_ones_are_known_at_both_sites(stage: Stages) -> None:
    """Active branches and unreplicated ones are not mirrored."""
    here = stage(transactions=(PREPARED, ALONE, RUNNING))
    assert states(here, "ny") == {PREPARED.xid: "PREPARED", ALONE.xid: "PREPARED", RUNNING.xid: "ACTIVE"}
    assert states(here, "nj") == {PREPARED.xid: "PREPARED"}


def test_a_row_tells_what_the_device_knows(stage: Stages) -> None:
    """Time in state is world time; what was consumed is listed message by message."""
    here = stage(transactions=(PREPARED,))
    here.wait(5)
    (view,) = here.node("ny").transactions("V")
    assert view.in_state_s == pytest.approx(25.0)
    assert view.consumed == ((7, "queue", "orders"), (8, "queue", "orders"))
    assert (view.type, view.replicated, view.messages_consumed) == ("XA", True, 2)


def test_completing_reaches_the_mate_while_its_bridge_is_bound(stage: Stages) -> None:
    """Afterwards both sites show it complete, and each has to delete its own."""
    here = stage(transactions=(PREPARED,))
    here.role("ny", "standby")
    here.wait(1)
    here.node("ny").complete_transaction("V", PREPARED.xid, "commit")
    assert states(here, "ny") == states(here, "nj") == {PREPARED.xid: "COMPLETE"}
    here.node("ny").delete_transaction("V", PREPARED.xid)
    assert (states(here, "ny"), states(here, "nj")) == ({}, {PREPARED.xid: "COMPLETE"})


def test_completing_without_a_bridge_leaves_the_mate_prepared(stage: Stages) -> None:
    """What could not cross is still to be decided at the other site."""
    here = stage(transactions=(PREPARED,))
    here.fault("at 0s: bridge down")
    here.node("ny").complete_transaction("V", PREPARED.xid, "rollback")
    assert states(here, "nj") == {PREPARED.xid: "PREPARED"}


def test_commands_that_do_not_fit_the_state_are_refused_and_counted(stage: Stages) -> None:
    """Complete twice, delete too early, a stranger: refused, and none of them has an effect."""
    here = stage(transactions=(PREPARED, RUNNING))
    node = here.node("ny")
    with pytest.raises(Refused, match="not complete"):
        node.delete_transaction("V", PREPARED.xid)
    node.complete_transaction("V", PREPARED.xid, "commit")
    with pytest.raises(Refused, match="not prepared"):
        node.complete_transaction("V", PREPARED.xid, "commit")
    with pytest.raises(Refused, match="not prepared"):
        node.complete_transaction("V", RUNNING.xid, "commit")
    with pytest.raises(NoSuchObject):
        node.complete_transaction("V", "FFFF-00-00", "commit")
    counts = {(key.action, dict(key.args)["xid"]): count for key, count in here.tally().commands.items()}
    assert counts["complete_transaction", PREPARED.xid].received == 2
    assert counts["complete_transaction", PREPARED.xid].effects == 1
    assert counts["complete_transaction", RUNNING.xid].effects == 0
    assert counts["delete_transaction", PREPARED.xid].effects == 0


def test_the_manager_reconciles_after_the_promotion(stage: Stages) -> None:
    """It ends and forgets what its log knows at the new active, and leaves the rest."""
    other = TransactionLayout(xid="0021B029-00-01")
    here = stage(
        transactions=(PREPARED, other),
        manager=ManagerLayout(outcomes=((PREPARED.xid, "commit"),), reconciles_after=3),
    )
    here.role("ny", "standby")
    here.wait(1)
    here.role("nj", "active")
    here.wait(2)
    assert len(states(here, "nj")) == 2
    here.wait(2)
    assert states(here, "nj") == {other.xid: "PREPARED"}


def test_an_operator_against_the_managers_log_is_a_mixed_outcome(stage: Stages) -> None:
    """Rolled back by hand though the log says commit: the account sees a transaction torn in two."""
    here = stage(transactions=(PREPARED,), manager=ManagerLayout(outcomes=((PREPARED.xid, "commit"),)))
    here.role("ny", "standby")
    here.wait(1)
    here.node("ny").complete_transaction("V", PREPARED.xid, "rollback")
    here.role("nj", "active")
    here.wait(10)
    assert here.tally().mixed_transactions == (PREPARED.xid,)


def test_the_manager_may_end_or_prepare_one_at_any_time(stage: Stages) -> None:
    """The list changes between listing and acting: what was there is gone, and another has come."""
    here = stage(transactions=(PREPARED,))
    here.role("ny", "standby")
    here.fault(f"transactions: tm commits {PREPARED.xid}", "transactions +2s: tm prepares 00FF-00-01")
    assert states(here, "ny") == {}
    assert states(here, "nj") == {}
    here.wait(3)
    assert states(here, "ny") == states(here, "nj") == {"00FF-00-01": "PREPARED"}
    with pytest.raises(NoSuchObject):
        here.node("ny").complete_transaction("V", PREPARED.xid, "commit")
