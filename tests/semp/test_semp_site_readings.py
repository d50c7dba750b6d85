"""Fence, endpoints and platform: read of every node, or of the one that serves, and unknown where nothing is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import formatdate

import pytest

from adapters.solace.reading_models import EndpointDepth, Endpoints, Fence, NodeFence, Platform
from orchestrator.clock import VirtualClock
from orchestrator.errors import Unreachable
from orchestrator.model.outcome import Failure
from simulator.http.server import Incoming, Outgoing
from tests.seam import read
from tests.semp import v1_replies as v1
from tests.semp.stage import MONITOR, Body, Reply, adapter_of, no, ok, scripted
from tests.semp.wire import Wire

BROKER, VPN, VPNS = f"GET {MONITOR}", f"GET {MONITOR}msgVpns/a", f"GET {MONITOR}msgVpns"


def door(up: bool | None, clients: Mapping[str, Sequence[str]]) -> dict[str, Reply]:
    """What a node says of its backbone and of the clients of each message VPN."""
    answers: dict[str, Reply] = {
        BROKER: ok({} if up is None else {"serviceMsgBackboneEnabled": up}, {}),
        VPNS: ok(
            [{"msgVpnName": name} for name in clients],
            [{"clients": {"count": len(names)}} for names in clients.values()],
        ),
    }
    for name, names in clients.items():
        answers[f"{VPNS}/{name}/clients"] = ok([{"clientName": client} for client in names], [{} for _ in names])
    return answers


def fence(*wires: Wire) -> Fence:
    return read(adapter_of(*wires), Fence, "a")


def test_clients_of_all_message_vpns_count_but_the_nodes_own() -> None:
    """A name that begins with # is the node's (docs/sources/solace.md, 3.9); empty message VPNs are not even
    listed."""
    node = scripted(door(True, {"a": ["#client", "x/1"], "b": ["y/1", "y/2"], "c": []}))
    assert fence(node).nodes == (NodeFence(node="ny1", backbone_up=True, clients=3),)
    assert not any("/c/clients" in line for line in node.lines)


def test_a_site_is_closed_when_every_node_is() -> None:
    """The flag is not config-synced: each node is read, the one that stands by too."""
    clock = VirtualClock()
    down, up = door(False, {"a": ["#client"]}), door(True, {"a": []})
    assert fence(scripted(down, clock), scripted(down, clock)).closed is True
    assert fence(scripted(down, clock), scripted(up, clock)).closed is False
    assert fence(scripted(up, clock), scripted(up, clock)).open is True


@pytest.mark.parametrize(
    ("answers", "closed"),
    [
        (door(False, {"a": ["x/1"]}), False),  # a client that is still there
        (door(None, {"a": []}), None),  # the flag is not told
        (door(False, {}) | {VPNS: no(400, 2)}, None),  # the clients are not told: not known to be gone
        (door(False, {"a": []}) | {f"{VPNS}/a/clients": no(403, 72), VPNS: ok([{"msgVpnName": "a"}], [{}])}, None),
    ],
)
def test_a_door_is_not_closed_by_silence(answers: dict[str, Reply], closed: bool | None) -> None:
    """Only a flag that is down and a number that is 0 are."""
    assert fence(scripted(answers)).closed is closed


def test_a_node_that_is_away_makes_it_unknown() -> None:
    """Whatever the other one says; and when all are away, the reading was not had."""
    clock = VirtualClock()
    one, two = scripted(door(False, {"a": []}), clock), scripted(clock=clock)
    two.is_away = True
    assert fence(one, two).nodes == (NodeFence(node="ny1", backbone_up=False, clients=0), NodeFence(node="ny2"))
    assert fence(one, two).closed is None
    one.is_away = True
    with pytest.raises(Unreachable):
        fence(one, two)


def test_a_fence_needs_nobody_to_serve() -> None:
    """A site that has just failed is read all the same."""
    node = scripted(door(False, {"a": []}) | {v1.SHOW_REDUNDANCY: v1.redundancy("Local Inactive")})
    assert fence(node).closed is True


# Endpoints.

QUEUES, TOPICS = f"{VPN}/queues", f"{VPN}/topicEndpoints"
SHOW_OLDEST = (
    "<rpc><show><queue><name>orders</name><vpn-name>a</vpn-name><messages /><oldest /><detail /><count />"
    "<num-elements>1</num-elements></queue></show></rpc>"
)
OLDEST = v1.reply(
    "<queue><queues><queue><name>orders</name><spooled-messages><spooled-message><message-id>5</message-id>"
    "<date-seconds>1790000123</date-seconds></spooled-message></spooled-messages></queue></queues></queue>"
)


def endpoints(answers: dict[str, Reply]) -> tuple[object, Wire]:
    node = scripted({TOPICS: ok([], [])} | answers)
    return adapter_of(node).probe("endpoints", ["a"])["a"], node


def queues(*names: str, count: int | None = 2, lowest: int | None = 5) -> Body:
    sizes = {} if count is None else {"msgs": {"count": count}}
    return ok([{"queueName": name, "durable": True, "lowestMsgId": lowest} for name in names], [sizes for _ in names])


def test_queues_and_topic_endpoints_with_their_oldest_message() -> None:
    """SEMP v1 has a request for a queue's oldest; a topic endpoint's is fetched by its lowest id, in v2."""
    topic = ok([{"topicEndpointName": "audit", "durable": True, "lowestMsgId": 9}], [{"msgs": {"count": 4}}])
    found, node = endpoints(
        {
            QUEUES: queues("orders"),
            SHOW_OLDEST: OLDEST,
            TOPICS: topic,
            f"{TOPICS}/audit/msgs/9": ok({"msgId": 9, "spooledTime": 1790000456}, {}),
        }
    )
    assert found == Endpoints(
        items=(
            EndpointDepth(name="orders", endpoint="queue", messages=2, oldest_at=1790000123.0),
            EndpointDepth(name="audit", endpoint="topic-endpoint", messages=4, oldest_at=1790000456.0),
        )
    )
    assert not any("/queues/orders/msgs" in line for line in node.lines)


def test_what_holds_no_replicated_messages_is_left_out() -> None:
    """The replication queue, and endpoints that die with their client."""
    listed = ok(
        [
            {"queueName": "#MSGVPN_REPLICATION_DATA_QUEUE", "durable": True},
            {"queueName": "#P2P/v/1", "durable": False},
            {"queueName": "#DEAD_MSG_QUEUE", "durable": True},
        ],
        [{"msgs": {"count": 0}}] * 3,
    )
    found, _ = endpoints({QUEUES: listed})
    assert found == Endpoints(items=(EndpointDepth(name="#DEAD_MSG_QUEUE", endpoint="queue", messages=0),))


def test_an_empty_endpoint_is_not_asked_for_its_oldest() -> None:
    """There is none."""
    found, node = endpoints({QUEUES: queues("orders", count=0)})
    assert found == Endpoints(items=(EndpointDepth(name="orders", endpoint="queue", messages=0),))
    assert not any("msgs/" in line for line in node.lines)
    assert [one for one in node.sent if b"oldest" in one.body] == []


@pytest.mark.parametrize("refusal", [v1.failed("no"), v1.reply("<queue><queues/></queue>"), "garbage"])
def test_where_v1_does_not_tell_v2_may(refusal: str) -> None:
    """By the lowest id, since no order of the list is promised (docs/sources/solace.md, 1.7)."""
    found, _ = endpoints(
        {
            QUEUES: queues("orders"),
            SHOW_OLDEST: refusal,
            f"{QUEUES}/orders/msgs/5": ok({"msgId": 5, "spooledTime": 77}, {}),
        }
    )
    assert found == Endpoints(items=(EndpointDepth(name="orders", endpoint="queue", messages=2, oldest_at=77.0),))


@pytest.mark.parametrize("lowest", [5, None])
def test_an_age_that_nobody_tells_is_unknown(lowest: int | None) -> None:
    """Consumed meanwhile, or never told: the endpoint itself is listed all the same."""
    found, _ = endpoints({QUEUES: queues("orders", lowest=lowest), SHOW_OLDEST: v1.failed("no")})
    assert found == Endpoints(items=(EndpointDepth(name="orders", endpoint="queue", messages=2),))


def test_an_age_without_measure_is_unknown() -> None:
    """A moment beyond every clock would be later than any fail-over, and the way back would look safe."""
    endless = OLDEST.replace("1790000123", "9" * 400)
    found, _ = endpoints({QUEUES: queues("orders"), SHOW_OLDEST: endless})
    assert found == Endpoints(items=(EndpointDepth(name="orders", endpoint="queue", messages=2),))


def test_an_endpoint_without_a_name_is_not_left_out() -> None:
    """What it holds could make the way back unsafe."""
    for listed in (ok([{"durable": True}], [{"msgs": {"count": 9}}]), ok([{"queueName": 7, "durable": True}], [{}])):
        found, _ = endpoints({QUEUES: listed})
        assert isinstance(found, Failure)
        assert found.kind == "UnreadableReply"


def test_a_depth_that_is_not_told_is_asked_for() -> None:
    """By the other way; and unknown, not 0, when that does not tell either."""
    found, _ = endpoints({QUEUES: queues("orders", count=None), f"{QUEUES}/orders/msgs": ok([], [], count=3)})
    assert isinstance(found, Endpoints)
    assert found.items[0].messages == 3
    found, _ = endpoints({QUEUES: queues("orders", count=None), f"{QUEUES}/orders/msgs": ok([], [])})
    assert isinstance(found, Endpoints)
    assert found.items[0].messages is None


def test_endpoints_that_cannot_be_listed_are_no_endpoints_at_all() -> None:
    """An empty tuple would make a way back look safe."""
    for answer in (no(400, 2), ok({}, {}), Outgoing(200, b"[")):
        found, _ = endpoints({QUEUES: answer})
        assert isinstance(found, Failure)


# The platform.


def platform(*wires: Wire) -> Platform:
    return read(adapter_of(*wires), Platform, "a")


FULL = {
    "version": "10.26.4",
    "guaranteedMsgingTransactionReplicationCompatibilityMode": "transacted",
    "configSyncEnabled": True,
    "configSyncUp": False,
    "configSyncRedundancyGroupUp": True,
}
MATE = v1.reply("<replication><mate><router-name>nj1</router-name></mate></replication>")


def test_a_platform_that_tells_everything() -> None:
    """Of a pair, config-sync is that of the pair: the far site's absence is not a fault of this one."""
    clock = VirtualClock()

    def dated(request: Incoming) -> Outgoing:
        return Outgoing(
            200, json.dumps(ok(FULL, {})).encode(), headers={"Date": formatdate(clock.now() + 30, usegmt=True)}
        )

    one = scripted({BROKER: dated, v1.SHOW_REPLICATION: MATE, v1.SHOW_REDUNDANCY: v1.SERVING}, clock)
    two = scripted({v1.SHOW_REDUNDANCY: v1.STANDING_BY}, clock)
    assert platform(one, two) == Platform(
        node="ny1",
        version="10.26.4",
        transactions="transacted",
        config_sync_up=True,
        mate="nj1",
        level="admin",
        clock_offset_s=30.5,
    )


def test_a_platform_that_tells_nothing() -> None:
    """Unknown, all of it; and nothing fails."""
    refusing: dict[str, Reply] = {
        BROKER: ok({}, {}),
        v1.SHOW_REPLICATION: v1.failed("no"),
        f"GET {MONITOR}about/user": no(403, 72),
    }
    assert platform(scripted(refusing)) == Platform(node="ny1")


@pytest.mark.parametrize(
    ("told", "up"),
    [
        ({"configSyncEnabled": False, "configSyncUp": True}, False),
        ({"configSyncEnabled": True, "configSyncUp": True, "configSyncRedundancyGroupUp": False}, True),
        ({"configSyncUp": False}, False),
        ({}, None),
    ],
)
def test_config_sync_of_a_node_that_stands_alone(told: dict[str, object], up: bool | None) -> None:
    """It has no group that could be up."""
    assert platform(scripted({BROKER: ok(told, {})})).config_sync_up is up


@pytest.mark.parametrize("date", ["", "soon", "Sat, 99 Foo 2026 00:00:00 GMT"])
def test_a_date_that_is_none(date: str) -> None:
    """The offset is unknown then."""
    assert platform(scripted({BROKER: _dated(date)})).clock_offset_s is None


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's own time is fourteen hours before Greenwich's."""
    monkeypatch.setenv("TZ", "XXX-14")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_east")
@pytest.mark.parametrize("zone", ["GMT", "-0000", ""])
def test_a_date_is_of_greenwich_wherever_it_is_read(zone: str) -> None:
    """HTTP knows no other zone (RFC 9110, section 5.6.7), so one that is not told is not ours."""
    clock = VirtualClock()
    date = formatdate(clock.now()).replace("-0000", zone).rstrip()
    assert platform(scripted({BROKER: _dated(date)}, clock)).clock_offset_s == 0.5


def _dated(date: str) -> Outgoing:
    return Outgoing(
        200, b'{"meta":{"responseCode":200,"request":{"method":"GET"}},"data":{}}', headers={"Date": date}
    )
