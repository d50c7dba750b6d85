"""The in-process adapter: readings, commands, and the one question after each — could the device have obeyed?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.mock.adapter import MockAdapter
from adapters.solace.reading_models import (
    Bridge,
    DeviceHealth,
    QueueDepth,
    ReplicationStatus,
    Transactions,
    TransactionState,
)
from orchestrator.clock import VirtualClock
from orchestrator.errors import (
    AuthenticationFailed,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NotServing,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import Adapter, AdapterContext, Call, Result
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.readings import Role
from simulator.embedded import embedded_inventory, embedded_world
from simulator.solace.layout import SiteLayout, TransactionLayout
from tests.seam import Permits, Secretless, read
from tests.world.stage import Adapters, Stages

DEMOTE = Call("V", {"role": "standby"})


def one(adapter: MockAdapter, permit: Permits, call: Call = DEMOTE, action: str = "set_role") -> Result:
    (result,) = adapter.apply(action, [call], permit)
    return result


def test_it_is_an_adapter_and_says_that_it_is_simulated() -> None:
    """The declaration: what can be read and done, what is idempotent and what takes it back."""
    kind: type[Adapter] = MockAdapter
    assert kind.simulated is True
    site_wide = {"health", "fence", "platform"}
    assert set(kind.readings) == {"replication", "replication_queue", "transactions", "endpoints", *site_wide}
    declared = {name: (spec.idempotent, spec.inverse, set(spec.arguments)) for name, spec in kind.actions.items()}
    assert declared == {
        "set_role": (True, "set_role", {"role"}),
        "complete_transaction": (False, None, {"xid", "outcome"}),
        "delete_transaction": (False, None, {"xid"}),
        "set_backbone": (True, "set_backbone", {"state"}),
        "set_reject_on_discard": (True, "set_reject_on_discard", {"enabled"}),
    }


def test_the_literal_commands_are_those_of_the_documents() -> None:
    """What a plan shows is what an appliance would be sent; names with blanks are quoted."""
    actions, readings = MockAdapter.actions, MockAdapter.readings
    assert actions["set_role"].commands(Call("Trading_VPN", {"role": "standby"})) == (
        "configure",
        "message-vpn Trading_VPN",
        "replication state standby",
    )
    done = Call("A B", {"xid": "0021B028-00-01", "outcome": "rollback"})
    assert actions["complete_transaction"].commands(done) == (
        "admin",
        'message-spool message-vpn "A B"',
        "rollback-transaction xid 0021B028-00-01",
    )
    assert actions["delete_transaction"].commands(done)[-1] == "delete-transaction xid 0021B028-00-01"
    assert readings["replication"].commands(["A", "B"]) == ("show message-vpn * replication",)
    assert readings["replication_queue"].commands(["A"]) == (
        "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn A detail",
    )


def test_readings_keep_unknown_unknown(stage: Stages, adapter: Adapters) -> None:
    """A flag that does not apply on this side is None, never False."""
    here = stage(publish_rate=10, backlog=3, drain_rate=10)
    ny, nj = adapter(here.world, "ny"), adapter(here.world, "nj")
    assert ny.probe("replication", ["V"]) == {
        "V": ReplicationStatus(
            enabled=True,
            role=Role.ACTIVE,
            remote_bridge_up=True,
            queue_bound=True,
            sync_eligible=True,
            reject_when_ineligible=False,
            transaction_mode="async",
        )
    }
    assert read(nj, ReplicationStatus, "V").bridge is Bridge.BOUND
    assert read(nj, ReplicationStatus, "V").queue_bound is None
    depth = read(ny, QueueDepth, "V")
    assert depth == QueueDepth(messages=3, usage_mb=3 * 629 / 1_048_576, quota_mb=60_000, rejects_on_discard=True)


def test_transactions_are_listed_in_all_states(stage: Stages, adapter: Adapters) -> None:
    """What may be ignored is the runbook's decision, not the adapter's."""
    layouts = (TransactionLayout(xid="A-1", consumed=(1,)), TransactionLayout(xid="B-2", state="IDLE", type="LOCAL"))
    here = stage(transactions=layouts)
    found = read(adapter(here.world), Transactions, "V")
    assert [(item.xid, item.state, item.type) for item in found.items] == [
        ("A-1", TransactionState.PREPARED, "xa"),
        ("B-2", TransactionState.IDLE, "local"),
    ]
    assert found.items[0].consumed == 1


def test_a_vpn_that_is_not_there_fails_alone(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """One stranger among the services does not spoil the others."""
    ny = adapter(stage().world)
    answers = ny.probe("replication", ["Stranger", "V"])
    assert isinstance(answers["V"], ReplicationStatus)
    failure = answers["Stranger"]
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.definite, failure.device) == ("NoSuchService", True, "NY_Appliance1")
    result = one(ny, permit, Call("Stranger", {"role": "standby"}))
    assert result.effect is Effect.REJECTED


def test_the_serving_node_is_found_anew_each_time(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """After a switch-over the same session speaks to the other node, and reads its true queue."""
    here = stage(ha=True, backlog=500, drain_rate=0.001, publish_rate=0)
    ny = adapter(here.world)
    assert read(ny, QueueDepth, "V").messages == 500
    here.fault("at 0s: ha switch ny")
    here.wait(1)
    with pytest.raises(NotServing, match="no node of ny serves"):
        ny.probe("replication_queue", ["V"])
    here.wait(5)
    assert read(ny, QueueDepth, "V").messages == 500
    result = one(ny, permit)
    assert (result.effect, result.device) == (Effect.ACCEPTED, "NY_Appliance2")


def test_two_claims_to_serve_are_refused(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """When both nodes say that they serve, neither is believed."""
    here = stage(ha=True)
    here.fault("at 0s: ha split ny")
    here.wait(1)
    ny = adapter(here.world)
    with pytest.raises(NotServing, match="both report"):
        ny.probe("replication", ["V"])
    with pytest.raises(NotServing):
        one(ny, permit)
    assert here.tally().commands == {}
    assert read(ny, DeviceHealth, "V").serving is False


def test_health_tells_which_node_serves(stage: Stages, adapter: Adapters) -> None:
    """One answer for the site, for whichever services it was asked."""
    here = stage(ha=True)
    ny = adapter(here.world)
    serving = DeviceHealth(
        node="NY_Appliance1", serving=True, spool_active=True, mate_node="NY_Appliance2", redundancy_up=True
    )
    assert ny.probe("health", ["V", "W"]) == {"V": serving, "W": serving}
    here.fault("at 0s: ha switch ny")
    here.wait(1)
    assert read(ny, DeviceHealth, "V") == DeviceHealth(serving=False, spool_active=False)
    here.wait(5)
    assert read(ny, DeviceHealth, "V").node == "NY_Appliance2"


def test_a_site_of_one_node_has_no_redundancy_to_judge(stage: Stages, adapter: Adapters) -> None:
    """Not configured is unknown, not down."""
    found = adapter(stage().world).probe("health", ["V"])["V"]
    assert found == DeviceHealth(node="NY_Appliance1", serving=True, spool_active=True)


def test_an_unreachable_site_is_told_before_anything_leaves(
    stage: Stages, adapter: Adapters, permit: Permits
) -> None:
    """Neither reading nor command; the permit is not even asked."""
    here = stage()
    ny = adapter(here.world)
    here.fault("at 0s: unreachable ny 5s")
    for attempt in (ny.open, lambda: ny.probe("health", ["V"]), lambda: one(ny, permit)):
        with pytest.raises(Unreachable):
            attempt()
    assert permit.checks == 0
    here.wait(6)
    ny.open()


def test_a_half_reachable_pair_does_not_pretend(stage: Stages, adapter: Adapters) -> None:
    """The serving node is dead and its mate not ready: nobody can say that nobody serves."""
    here = stage(ha=True)
    here.fault("at 0s: node ny/NY_Appliance1 down")
    here.wait(0.5)
    ny = adapter(here.world)
    with pytest.raises(Unreachable, match="some nodes do not answer"):
        ny.probe("replication", ["V"])
    here.wait(3)
    assert read(ny, ReplicationStatus, "V").role is Role.ACTIVE


def test_each_request_takes_the_sites_latency_half_before_and_half_after(
    stage: Stages, adapter: Adapters, permit: Permits, clock: VirtualClock
) -> None:
    """The effect lies in the middle of a round trip."""
    sites = (SiteLayout("ny", ("NY_Appliance1",), latency=0.4), SiteLayout("nj", ("NJ_Appliance1",)))
    here = stage(world={"sites": sites})
    ny = adapter(here.world)
    start = clock.now()
    ny.probe("replication", ["V"])
    assert clock.now() - start == pytest.approx(0.4)
    one(ny, permit)
    assert clock.now() - start == pytest.approx(0.8)
    assert here.tally().roles[-1].moment == pytest.approx(0.6)


def test_the_permit_is_asked_for_each_command_right_before_it(
    stage: Stages, adapter: Adapters, clock: VirtualClock
) -> None:
    """A permit that is withdrawn between two calls stops the second one, and nothing was sent."""
    here = stage()

    class Once:
        moments: list[float] = []  # noqa: RUF012 - one test, one list

        def check(self) -> None:
            self.moments.append(here.world.now())
            if len(self.moments) > 1:
                raise Forbidden("the lease is gone")

    results = adapter(here.world).apply("set_role", [DEMOTE, Call("V", {"role": "active"})], Once())
    assert next(results).effect is Effect.ACCEPTED
    with pytest.raises(Forbidden):
        next(results)
    assert here.tally().roles[-1].moment == Once.moments[0]
    assert here.row("ny").role == "standby"


def test_a_read_only_session_cannot_send(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """Refused before anything: no latency, no permit, no command."""
    here = stage()
    ny = adapter(here.world, read_only=True)
    ny.probe("replication", ["V"])
    with pytest.raises(Forbidden):
        next(ny.apply("set_role", [DEMOTE], permit))
    assert (permit.checks, here.tally().commands) == (0, {})


def test_a_refusal_is_an_answer(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """The device read the command and said no: it did not obey, and we know what was sent."""
    here = stage()
    here.fault("demote: refuse")
    result = one(adapter(here.world), permit)
    assert result.effect is Effect.REJECTED
    assert result.sent[-1] == "replication state standby"
    missing = one(adapter(here.world), permit, Call("V", {"xid": "F-0"}), "delete_transaction")
    assert (missing.effect, missing.detail) == (Effect.REJECTED, "transaction F-0 does not exist")


@pytest.mark.parametrize(
    ("fault", "obeyed"),
    [
        ("demote: lose request", False),
        ("demote: lose reply", True),
        ("demote: truncate reply", True),
        ("demote: garbage reply", True),
        ("demote: node ny/NY_Appliance1 down 1s", False),
    ],
)
def test_doubt_looks_the_same_whether_or_not_it_was_obeyed(
    stage: Stages, adapter: Adapters, permit: Permits, fault: str, obeyed: bool
) -> None:
    """Only a reading can tell: the result is doubtful either way."""
    here = stage()
    here.fault(fault)
    result = one(adapter(here.world), permit)
    assert result.effect is Effect.DOUBTFUL
    here.wait(5)
    assert here.row("ny").role == ("standby" if obeyed else "active")


def test_a_lost_request_takes_the_whole_time_limit(
    stage: Stages, adapter: Adapters, permit: Permits, clock: VirtualClock
) -> None:
    """Nobody knows earlier that no answer will come."""
    here = stage()
    here.fault("demote: lose request")
    start = clock.now()
    one(adapter(here.world, command_timeout=7.0), permit)
    assert clock.now() - start == pytest.approx(7.0, abs=0.01)


def test_a_late_effect_lands_after_the_time_out(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """A negative reading right after a time-out proves nothing yet."""
    here = stage()
    here.fault("demote: late 9s")
    ny = adapter(here.world, command_timeout=8.0)
    assert one(ny, permit).effect is Effect.DOUBTFUL
    assert read(ny, ReplicationStatus, "V").role is Role.ACTIVE
    here.wait(1.5)
    assert read(ny, ReplicationStatus, "V").role is Role.STANDBY


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("reads: truncate reply", UnreadableReply),
        ("reads: garbage reply", UnreadableReply),
        ("reads: lose reply", ConnectionLost),
        ("reads: lose request", CommandTimedOut),
        ("reads: unreachable ny 1s", Unreachable),
    ],
)
def test_a_reading_that_was_not_had_is_an_error_not_a_value(
    stage: Stages, adapter: Adapters, fault: str, error: type[Exception]
) -> None:
    """Never a depth of 0 out of a broken answer."""
    here = stage()
    here.fault(fault)
    ny = adapter(here.world)
    with pytest.raises(error) as caught:
        ny.probe("replication_queue", ["V"])
    if isinstance(caught.value, UnreadableReply):
        assert caught.value.text
    here.wait(2)
    assert read(ny, QueueDepth, "V").drained is True


def test_a_fault_of_the_drain_hits_the_batch_that_reads_it(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """One request for many services is one answer: it is cut off as a whole."""
    here = stage(backlog=100)
    here.fault("drain: truncate reply")
    ny = adapter(here.world)
    ny.probe("replication_queue", ["V"])
    one(ny, permit)
    ny.probe("replication", ["V"])
    with pytest.raises(UnreadableReply):
        ny.probe("replication_queue", ["V"])
    ny.probe("replication_queue", ["V"])


def test_a_wrong_password_ends_the_login(stage: Stages, adapter: Adapters) -> None:
    """And only the login that met it."""
    here = stage()
    here.fault("login: wrong password")
    ny = adapter(here.world)
    with pytest.raises(AuthenticationFailed):
        ny.open()
    ny.open()


def test_a_session_that_broke_logs_in_anew(stage: Stages, adapter: Adapters, permit: Permits) -> None:
    """An account that is not accepted any more is met by who has no session, in readings and in commands, and by nobody
    in the middle of one. Nothing is obeyed then."""
    here = stage()
    ny = adapter(here.world)
    ny.open()
    here.fault("reads: lose reply", "any: wrong password 5s")
    with pytest.raises(ConnectionLost):
        ny.probe("replication", ["V"])
    with pytest.raises(AuthenticationFailed):
        ny.probe("replication", ["V"])
    with pytest.raises(AuthenticationFailed):
        list(ny.apply("set_role", [DEMOTE], permit))
    assert here.row("ny").role == "active"
    here.wait(5)
    ny.probe("replication", ["V"])


def test_an_inventory_that_does_not_fit_the_world_is_refused(
    clock: VirtualClock, adapter: Adapters, stage: Stages
) -> None:
    """No world, an unregistered one, a node that is not there: told at the first use, with names."""

    def site(node: str = "NY_Appliance1", **options: Any) -> MockAdapter:
        described = Site(name="ny", adapter="mock", devices=(Device(name=node),), options=options)
        return MockAdapter(described, AdapterContext(clock, Secretless()))

    with pytest.raises(DefinitionError, match="needs the option world"):
        site().open()
    with pytest.raises(DefinitionError, match="no simulated world named nowhere"):
        site(world="memory:nowhere").open()
    adapter(stage().world).open()
    here = adapter(stage().world)
    reference = here._site.options["world"]
    with pytest.raises(DefinitionError, match="no node NY_Typo"):
        site("NY_Typo", world=reference).open()


def test_closing_never_raises(tmp_path: Path, clock: VirtualClock) -> None:
    """Not even when the world's file is gone by then."""
    path = tmp_path / "world.json"
    embedded_world(path, clock)
    described = embedded_inventory(path).sites["ny"]
    ny = MockAdapter(described, AdapterContext(clock, Secretless()))
    ny.open()
    path.unlink()
    ny.close()


def test_closing_twice_is_nothing(stage: Stages, adapter: Adapters) -> None:
    """As the contract demands."""
    ny = adapter(stage().world)
    ny.open()
    ny.close()
    ny.close()
