"""The messages of endpoints over SEMP: all of them, in order, from where one stopped; and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from adapters.mock.adapter import MockAdapter
from orchestrator.errors import NoSuchService, UnreadableReply
from orchestrator.family.contract import AdapterContext, BrowsedMessage, Browser, Endpoint
from orchestrator.model.inventory import Device, Site
from simulator.solace.layout import VpnLayout
from simulator.world.worlds import WORLDS
from tests.semp.stage import MONITOR, Secrets, Semp, adapter_of, ok, scripted

ORDERS = Endpoint("V", "orders", "queue")
PATH = f"{MONITOR}msgVpns/V/queues/orders/msgs"


@pytest.fixture
def semp() -> Iterator[Semp]:
    made = Semp(VpnLayout("V", backlog=230, unconsumed=230, publish_rate=0, consume_rate=0, drain_rate=10))
    WORLDS.register(f"browse-{id(made)}", made.world)
    yield made
    WORLDS.forget(f"browse-{id(made)}")


def in_process(semp: Semp, site: str) -> MockAdapter:
    nodes = tuple(Device(name=name) for name in semp.world.centre(site).nodes)
    described = Site(name=site, adapter="mock", devices=nodes, options={"world": f"memory:browse-{id(semp)}"})
    return MockAdapter(described, AdapterContext(semp.clock, Secrets()))


@pytest.mark.parametrize("site", ["ny", "nj"])
def test_the_same_messages_as_in_process(semp: Semp, site: str) -> None:
    """Over SEMP, page by page, every message that the world holds, in order, with what SEMP can tell of it; a second
    look goes on behind a message, whether it is there or not. Only GET was sent, besides who serves."""
    semp.clock.sleep(20)
    over_semp, mock = semp.adapter(site, read_only=True), in_process(semp, site)
    assert isinstance(over_semp, Browser)
    assert list(over_semp.durable_endpoints("V")) == list(mock.durable_endpoints("V"))
    found = list(over_semp.browse(ORDERS, None))
    truth = list(mock.browse(ORDERS, None))
    assert len(found) == over_semp.count(ORDERS).messages == mock.count(ORDERS).messages
    assert len(found) > 130
    assert found == [replace(one, digest=None, spooled_at=float(int(one.spooled_at))) for one in truth]
    assert [one.number for one in found] == sorted({one.number for one in found})
    behind = found[120]
    assert list(over_semp.browse(ORDERS, behind)) == found[121:]
    assert list(mock.browse(ORDERS, behind)) == truth[121:]
    gone = BrowsedMessage(found[-1].number + 5, "gone", 0.0)
    assert list(over_semp.browse(ORDERS, gone)) == list(mock.browse(ORDERS, gone)) == []
    with pytest.raises(NoSuchService):
        list(over_semp.browse(replace(ORDERS, name="nowhere"), None))
    over_semp.close()
    mock.close()


def test_what_waits_for_the_mate_is_told(semp: Semp) -> None:
    """Messages that wait in the replication queue are pending; one message has one id and one content at both sites."""
    semp.clock.sleep(10)
    ny, nj = in_process(semp, "ny"), in_process(semp, "nj")
    with semp.world.request():
        here, there = list(ny.browse(ORDERS, None)), list(nj.browse(ORDERS, None))
    pending = {one.message_id for one in here if one.replicated == "pending-replication"}
    assert 0 < len(pending) < len(here) == 230
    assert {one.message_id for one in here} - {one.message_id for one in there} <= pending
    contents = {one.message_id: one.digest for one in here}
    assert contents.items() >= {one.message_id: one.digest for one in there}.items()
    ny.close()
    nj.close()


def browsed(*messages: dict[str, object]) -> list[BrowsedMessage]:
    """What a broker that lists these messages is understood to hold."""
    wire = scripted({f"GET {PATH}": ok(list(messages), [{} for _ in messages])})
    return list(adapter_of(wire).browse(ORDERS, None))


def message(number: int, **more: object) -> dict[str, object]:
    told = {"msgId": number, "spooledTime": 1_800_000_000, "replicationState": "replicated"}
    return {**told, "replicationGroupMsgId": f"rmid1:0-0-00000000-{number:08x}", **more}


def test_what_a_message_tells() -> None:
    """Sizes add up; a message that only this site has needs no common id; what is not told is unknown."""
    first, second = browsed(
        message(7, contentSize=10, attachmentSize=5, redeliveryCount=2),
        {"msgId": 9, "spooledTime": 1_800_000_001, "replicationState": "not-replicated"},
    )
    assert (first.number, first.size, first.redeliveries, first.digest) == (7, 15, 2, None)
    assert (second.replicated, second.size, second.redeliveries) == ("not-replicated", None, None)
    assert second.message_id != first.message_id


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([message(9), message(7)], "does not list its messages in the order of their ids"),
        ([{**message(7), "msgId": "x"}], "has a message without msgId"),
        ([{**message(7), "spooledTime": None}], "has a message without spooledTime"),
        ([{**message(7), "replicationGroupMsgId": None}], "has a replicated message without replicationGroupMsgId"),
    ],
)
def test_what_cannot_be_compared_or_gone_on_with_is_refused(messages: list[dict[str, object]], why: str) -> None:
    """A list in another order could not be gone on with, and a message without an id or a time could not be compared:
    the snapshot stops with a sentence, and invents nothing."""
    with pytest.raises(UnreadableReply, match=why):
        browsed(*messages)
