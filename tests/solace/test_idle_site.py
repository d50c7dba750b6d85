"""Roles of a site whose spool is not ready: the procedure makes it standby first, and checks its spool after that
(docs/sources/solace-procedure.md, uncontrolled 4.1 and 4.2)."""

from __future__ import annotations

import pytest

from adapters.solace.reading_models import ReplicationStatus
from orchestrator.clock import VirtualClock
from orchestrator.errors import NotServing, Unreachable
from orchestrator.family.contract import Call
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from tests.seam import apply
from tests.semp import v1_replies as v1
from tests.semp.stage import MONITOR, Reply, ok, scripted
from tests.semp.stage import adapter_of as semp_adapter_of
from tests.solace import layouts
from tests.solace.layouts import STANDING_BY, redundancy
from tests.solace.stage import adapter_of, node
from tests.ssh.scripted import ScriptedDevice

REPLICATION = "show message-vpn a replication"
NOT_READY = layouts.fixture("redundancy_not_ready")  # of the procedure
STANDBY = layouts.replication({"a": "U S D - - - N A"})
DEMOTE, PROMOTE = Call("a", {"role": "standby"}), Call("a", {"role": "active"})


def device(said: str, configured: str, clock: VirtualClock | None = None) -> ScriptedDevice:
    return node("ny", clock, answers={"show redundancy": said, REPLICATION: configured})


def found(*nodes: ScriptedDevice) -> Reading | Failure:
    return adapter_of(*nodes).probe("replication", ["a"])["a"]


def test_a_configured_standby_is_standby() -> None:
    """Law: a role is configuration, so a node without a spool tells it; what its bridge shows then says nothing."""
    assert found(device(NOT_READY, STANDBY)) == ReplicationStatus(enabled=True, role=Role.STANDBY)


def test_a_configured_active_is_no_role() -> None:
    """Law: what would serve as soon as its spool is ready does not serve now: neither active nor standby, and said."""
    told = found(device(NOT_READY, layouts.replication({"a": layouts.ACTIVE})))
    assert isinstance(told, Failure)
    assert (told.kind, "the configured role is active" in told.text) == ("NotServing", True)


def test_standby_is_set_before_the_spool_is_looked_at() -> None:
    """Law: recovery step 4.1 comes before 4.2, on every node; activity is never given to a site that cannot serve."""
    clock = VirtualClock()
    one, two = device(NOT_READY, STANDBY, clock), device(NOT_READY, STANDBY, clock)
    adapter = adapter_of(one, two)
    [result] = apply(adapter, "set_role", DEMOTE)
    assert (result.effect, len(one.obeyed), len(two.obeyed)) == (Effect.ACCEPTED, 1, 1)
    with pytest.raises(NotServing):
        apply(adapter, "set_role", PROMOTE)
    assert (len(one.obeyed), len(two.obeyed)) == (1, 1)


def test_a_refusal_is_shown() -> None:
    """Law: no public source says whether a broker takes it; an answer that refuses is the result, with what to do."""
    one = device(NOT_READY, STANDBY)
    one.refuses["replication state standby"] = "ERROR: message-spool operational status is not AD-ACTIVE"
    [result] = apply(adapter_of(one), "set_role", DEMOTE)
    assert result.effect is Effect.REJECTED
    assert "message-spool operational status is not AD-ACTIVE" in result.detail
    assert "make one ready" in result.detail


@pytest.mark.parametrize("other", [STANDING_BY, redundancy("Local Active", "AD-Activating"), "away"])
def test_a_site_that_may_serve_in_a_moment_is_left_alone(other: str) -> None:
    """Law: only a site that is known to be idle is treated so: a member that is standby, takes over, or does not answer
    may be the one that serves next."""
    clock = VirtualClock()
    one, two = device(NOT_READY, STANDBY, clock), device(other, STANDBY, clock)
    if other == "away":
        two.down = Unreachable("away", device="ny2")
    adapter = adapter_of(one, two)
    with pytest.raises((NotServing, Unreachable)):
        adapter.probe("replication", ["a"])
    with pytest.raises((NotServing, Unreachable)):
        apply(adapter, "set_role", DEMOTE)
    assert (one.obeyed, two.obeyed) == ([], [])


def test_members_that_disagree_have_no_role() -> None:
    """Law: a role counts when every node shows it."""
    clock = VirtualClock()
    active = layouts.replication({"a": layouts.ACTIVE})
    told = found(device(NOT_READY, STANDBY, clock), device(NOT_READY, active, clock))
    assert isinstance(told, Failure)
    assert "standby, active" in told.text


def test_the_same_over_semp() -> None:
    """Law: what a site is reached over changes nothing about it."""
    answers: dict[str, Reply] = {
        v1.SHOW_REDUNDANCY: v1.redundancy("Local Inactive", "Shutdown", status="Down"),
        v1.SHOW_SPOOL: v1.spool("AD-NotReady"),
        f"GET {MONITOR}msgVpns/a": ok(
            {"msgVpnName": "a", "replicationEnabled": True, "replicationRole": "standby"}, {}
        ),
        "PATCH /SEMP/v2/config/msgVpns/a": ok(),
    }
    wire = scripted(answers)
    adapter = semp_adapter_of(wire)
    assert adapter.probe("replication", ["a"])["a"] == ReplicationStatus(enabled=True, role=Role.STANDBY)
    [result] = apply(adapter, "set_role", DEMOTE)
    assert (result.effect, len(wire.changes)) == (Effect.ACCEPTED, 1)
    with pytest.raises(NotServing):
        apply(adapter, "set_role", PROMOTE)
    assert len(wire.changes) == 1
