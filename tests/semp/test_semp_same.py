"""One world, seen in process, over SEMP and over the CLI: the same readings, and the same effects of the same calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from adapters.mock.adapter import MockAdapter
from adapters.solace.reading_models import Endpoints, Platform, QueueDepth, Transactions
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from simulator.solace.layout import TransactionLayout, VpnLayout
from simulator.world.worlds import WORLDS
from tests.seam import apply
from tests.semp.stage import Secrets, Semp

SERVICES = ["Trading", "A B", "plain", "gone"]
XID = "0021B028-00-01"


@pytest.fixture
def semp() -> Iterator[Semp]:
    trading = VpnLayout(
        "Trading",
        backlog=900,
        unconsumed=400,
        sync_every=3,
        transactions=(
            TransactionLayout(XID, published=3, consumed=(1, 2)),
            TransactionLayout("1-2-3", state="ACTIVE"),
        ),
    )
    made = Semp(trading, VpnLayout("A B", backlog=5), VpnLayout("plain", replicated=False), ha=True)
    WORLDS.register(f"same-{id(made)}", made.world)
    yield made
    WORLDS.forget(f"same-{id(made)}")


def in_process(semp: Semp, site: str) -> MockAdapter:
    nodes = tuple(Device(name=name) for name in semp.world.centre(site).nodes)
    described = Site(name=site, adapter="mock", devices=nodes, options={"world": f"memory:same-{id(semp)}"})
    return MockAdapter(described, AdapterContext(semp.clock, Secrets()))


def plain(found: Reading | Failure) -> object:
    """A reading without what two protocols cannot tell alike: who says it, its last digits, its clock's fraction."""
    match found:
        case Failure():
            return "not had"  # why, each protocol says in its own words
        case QueueDepth():
            return found.model_copy(update={"usage_mb": round(found.usage_mb or 0, 3)})
        case Transactions():
            # Counts are asked for over SEMP where an operator has to decide; seconds are whole there.
            items = (one.model_copy(update={"in_state_s": int(one.in_state_s or 0)}) for one in found.items)
            return {
                one.xid: one
                if one.state == "prepared"
                else one.model_copy(update={"published": None, "consumed": None})
                for one in items
            }
        case Endpoints():
            return {one.key: one.model_copy(update={"oldest_at": int(one.oldest_at or 0)}) for one in found.items}
        case Platform():
            return found.model_copy(update={"clock_offset_s": round(found.clock_offset_s or 0)})
        case _:
            return found


def same(semp: Semp) -> Mapping[str, object]:
    """Every reading of every site, over SEMP; AssertionError where it is another one in process."""
    seen: dict[str, object] = {}
    for site in ("ny", "nj"):
        over_semp, mock = semp.adapter(site), in_process(semp, site)
        for reading in SolaceSempAdapter.readings:
            with semp.world.request():  # one moment for both
                one = {name: plain(found) for name, found in over_semp.probe(reading, SERVICES).items()}
                other = {name: plain(found) for name, found in mock.probe(reading, SERVICES).items()}
            assert one == other, (site, reading)
            seen |= {f"{site} {reading} {name}": found for name, found in one.items()}
        over_semp.close()
        mock.close()
    return seen


def test_all_adapters_of_solace_offer_the_same() -> None:
    """Whatever a runbook may ask of one, it may ask of the other."""
    assert SolaceSempAdapter.readings.keys() == MockAdapter.readings.keys()
    for name, over_semp in SolaceSempAdapter.actions.items():
        mock = MockAdapter.actions[name]
        assert (over_semp.idempotent, over_semp.inverse, dict(over_semp.arguments)) == (
            mock.idempotent,
            mock.inverse,
            dict(mock.arguments),
        )
    assert SolaceSempAdapter.actions.keys() == MockAdapter.actions.keys()


def test_a_world_at_rest(semp: Semp) -> None:
    """Both sites, all readings, several message VPNs at once and one that is not there."""
    seen = same(semp)
    assert (seen["ny replication gone"], seen["ny replication_queue plain"]) == ("not had", "not had")


@pytest.mark.parametrize("fault", ["at 0s: bridge down", "at 0s: ha switch ny", "at 0s: node ny/NY_Appliance2 down"])
def test_a_world_in_trouble(semp: Semp, fault: str) -> None:
    """A lost bridge, a pair that switched, a member that is away."""
    from simulator.solace.faults import parse_faults

    semp.world.inject(parse_faults([fault]))
    semp.clock.sleep(5)
    same(semp)


def test_a_move_with_everything_in_it(semp: Semp) -> None:
    """Each action over SEMP shows in every reading as it does in process."""
    ny, nj = semp.adapter("ny"), semp.adapter("nj")
    steps = [
        (ny, "set_reject_on_discard", {"enabled": "no"}),
        (ny, "set_role", {"role": "standby"}),
        (ny, "complete_transaction", {"xid": XID, "outcome": "rollback"}),
        (nj, "set_role", {"role": "active"}),
        (ny, "delete_transaction", {"xid": XID}),
        (ny, "set_backbone", {"state": "down"}),
        (ny, "set_backbone", {"state": "up"}),
    ]
    for adapter, action, args in steps:
        [result] = apply(adapter, action, Call("Trading", args))
        assert (result.effect, result.detail) == (Effect.ACCEPTED, ""), action
        semp.clock.sleep(2)
        same(semp)
    for adapter in (ny, nj):
        adapter.close()
    assert all(sessions.open == 0 for sessions in semp.sessions.values()), "each session was given back"


def test_a_look_ahead_changes_nothing(semp: Semp) -> None:
    """A session that only reads leaves nothing but reads on the record of every node."""
    adapter = semp.adapter("ny", read_only=True)
    adapter.open()
    for reading in adapter.readings:
        adapter.probe(reading, SERVICES)
    adapter.close()
    assert [log.changes for log in semp.logs.values()] == [(), (), (), ()]
    assert {record.kind for log in semp.logs.values() for record in log.records} == {"show", "mode"}


def test_one_session_serves_a_thousand_readings(semp: Semp) -> None:
    """The cookie is reused; a node has few sessions."""
    adapter = semp.adapter("ny")
    random = Random(1)
    for _ in range(50):
        adapter.probe(random.choice(list(adapter.readings)), ["Trading"])
    assert [semp.sessions[name].open for name in ("NY_Appliance1", "NY_Appliance2")] == [1, 1]
    for sessions in semp.sessions.values():
        sessions.forget_all()
    adapter.probe("replication", ["Trading"])
    assert semp.sessions["NY_Appliance1"].open == 1


def test_a_token_needs_no_session(semp: Semp) -> None:
    """OAuth: nothing to reuse, nothing to give back."""
    adapter = semp.adapter("ny", token={"env": "TOKEN"})
    adapter.open()
    adapter.probe("replication", ["Trading"])
    adapter.close()
    assert all(sessions.open == 0 for sessions in semp.sessions.values())
    assert all("logout" not in line for wire in semp.wires.values() for line in wire.lines)


def test_no_more_than_one_page_for_a_thousand(semp: Semp) -> None:
    """Whatever the number of services, the list is read once for all of them."""
    wire = semp.wires["NY_Appliance1"]
    adapter = semp.adapter("ny")
    adapter.probe("replication", [f"v{number}" for number in range(1000)])
    assert sum("/monitor/msgVpns" in line for line in wire.lines) == 1
