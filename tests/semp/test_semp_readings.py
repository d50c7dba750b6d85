"""Readings of a message VPN over SEMP: what is told becomes a value, what is not told stays unknown."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx
import pytest

from adapters.solace.reading_models import (
    Bridge,
    DeviceHealth,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import VirtualClock
from orchestrator.errors import CommandTimedOut, ConnectionLost, Unreachable, UnreadableReply
from orchestrator.model.outcome import Failure
from orchestrator.model.readings import Role
from simulator.http.server import Incoming, Outgoing
from tests.seam import read
from tests.semp import v1_replies as v1
from tests.semp.stage import MONITOR, Answer, Broker, Reply, Scripted, adapter_of, no, ok, scripted
from tests.semp.wire import Wire

VPN, VPNS = f"GET {MONITOR}msgVpns/a", f"GET {MONITOR}msgVpns"
QUEUE = f"{VPN}/queues/%23MSGVPN_REPLICATION_DATA_QUEUE"
NAMED = {"msgVpnName": "a", "queueName": "#MSGVPN_REPLICATION_DATA_QUEUE"}
ACTIVE = {
    "msgVpnName": "a",
    "replicationEnabled": True,
    "replicationRole": "active",
    "replicationRemoteBridgeUp": True,
    "replicationQueueBound": True,
    "replicationSyncEligible": False,
    "replicationRejectMsgWhenSyncIneligibleEnabled": False,
    "replicationTransactionMode": "async",
}
STANDBY = {
    "msgVpnName": "a",
    "replicationEnabled": True,
    "replicationRole": "standby",
    "replicationBridgeUp": True,
    "replicationBridgeBoundToQueue": True,
}


def with_answers(answers: Mapping[str, Reply]) -> tuple[SolaceSempAdapter, Wire]:
    wire = scripted(answers)
    return adapter_of(wire), wire


def probe(reading: str, answers: Mapping[str, Reply], *services: str) -> object:
    found = with_answers(answers)[0].probe(reading, list(services) or ["a"])
    return found if len(services) > 1 else found[services[0] if services else "a"]


# Replication.


def test_the_active_side() -> None:
    """Its own bridge is disabled and means nothing there."""
    assert probe("replication", {VPN: ok(ACTIVE, {})}) == ReplicationStatus(
        enabled=True,
        role=Role.ACTIVE,
        bridge=None,
        remote_bridge_up=True,
        queue_bound=True,
        sync_eligible=False,
        reject_when_ineligible=False,
        transaction_mode="async",
    )


def test_the_standby_side() -> None:
    """Queue and eligibility are not told there, and not false."""
    assert probe("replication", {VPN: ok(STANDBY, {})}) == ReplicationStatus(
        enabled=True, role=Role.STANDBY, bridge=Bridge.BOUND
    )


@pytest.mark.parametrize(
    ("up", "bound", "bridge"),
    [
        (True, True, Bridge.BOUND),
        (True, False, Bridge.UNBOUND),
        (False, True, Bridge.DOWN),
        (False, False, Bridge.DOWN),
        (False, None, Bridge.DOWN),
        (True, None, None),
        (None, True, None),
        (None, None, None),
    ],
)
@pytest.mark.parametrize("role", ["standby", None])
def test_the_bridge_in_three_values(
    up: bool | None, bound: bool | None, bridge: Bridge | None, role: str | None
) -> None:
    """Bound needs both to be told (docs/sources/solace.md, 1.6: on a degraded side they are missing)."""
    told = {
        "msgVpnName": "a",
        "replicationRole": role,
        "replicationBridgeUp": up,
        "replicationBridgeBoundToQueue": bound,
    }
    found = probe("replication", {VPN: ok({name: value for name, value in told.items() if value is not None}, {})})
    assert isinstance(found, ReplicationStatus)
    assert found.bridge is bridge


def test_what_is_not_told_is_unknown() -> None:
    """Every one of them; a value nobody knows, and a value of another type, too."""
    assert probe("replication", {VPN: ok({"msgVpnName": "a"}, {})}) == ReplicationStatus()
    strange = {
        "msgVpnName": "a",
        "replicationRole": "primary",
        "replicationEnabled": "true",
        "replicationTransactionMode": 1,
    }
    assert probe("replication", {VPN: ok(strange, {})}) == ReplicationStatus()


def test_one_request_for_many() -> None:
    """Any number of services costs one paged list; one that is not in it is definitely not there."""
    listed = ok([ACTIVE, {**STANDBY, "msgVpnName": "b"}, {"msgVpnName": "#config-sync"}], [{}, {}, {}])
    adapter, wire = with_answers({VPNS: listed})
    found = adapter.probe("replication", ["b", "a", "gone", "b"])
    assert {name: getattr(one, "role", None) for name, one in found.items()} == {
        "b": Role.STANDBY,
        "a": Role.ACTIVE,
        "gone": None,
    }
    assert found["gone"] == Failure(
        kind="NoSuchService",
        text="ny1 does not list the message VPN gone",
        device="ny1",
        definite=True,
    )
    assert [line.partition("&")[2] for line in wire.lines if "msgVpns?" in line] == ["count=100"]


def test_a_message_vpn_that_is_not_there() -> None:
    """Its own word on it, by code."""
    found = probe("replication", {VPN: no(400, 6, "NOT_FOUND")})
    assert isinstance(found, Failure)
    assert (found.kind, found.definite) == ("NoSuchService", True)


@pytest.mark.parametrize("answer", [ok([ACTIVE], [{}]), ok({**ACTIVE, "msgVpnName": "b"}, {}), ok({}, {})])
def test_an_answer_about_something_else(answer: Reply) -> None:
    """The collection in place of the object (a lost #), another message VPN, or one without a name."""
    adapter, _ = with_answers({VPN: answer})
    try:
        found = adapter.probe("replication", ["a"])["a"]
    except UnreadableReply:
        return
    assert isinstance(found, Failure)
    assert found.kind == "UnreadableReply"


def test_a_name_that_cannot_be_one_is_not_asked_for() -> None:
    """It fails alone; the others are read."""
    adapter, wire = with_answers({VPN: ok(ACTIVE, {})})
    found = adapter.probe("replication", ["a", 'x"y'])
    assert isinstance(found["a"], ReplicationStatus)
    assert isinstance(found['x"y'], Failure)
    assert not any("x" in line.partition("msgVpns")[2] and '"' in line for line in wire.lines)


def test_an_unknown_reading_is_a_mistake() -> None:
    """Of the caller, so no adapter's error."""
    with pytest.raises(ValueError, match="no reading weather"):
        with_answers({})[0].probe("weather", ["a"])


# Pages.


def paged(*pages: list[dict[str, object]]) -> Broker:
    """A broker whose list of message VPNs has these pages, the second and later ones under a cursor."""

    def answer(request: Incoming) -> dict[str, object]:
        query = request.target.partition("?")[2]
        number = int(query.partition("cursor=c")[2] or 0)
        more = {
            "cursorQuery": f"c{number + 1}",
            "nextPageUri": f"http://10.9.9.9:1/SEMP/v2/monitor/msgVpns?cursor=c{number + 1}",
        }
        meta = {"paging": more} if number + 1 < len(pages) else {}
        return ok(pages[number], [{} for _ in pages[number]], **meta)

    return Broker({VPNS: answer})


def test_pages_may_be_short_and_empty() -> None:
    """Only the absence of a next page ends a list (docs/sources/solace.md, 1.1); its host is not where we go."""
    wire = Scripted(paged([ACTIVE], [], [{**STANDBY, "msgVpnName": "b"}]), VirtualClock())
    found = adapter_of(wire).probe("replication", ["a", "b"])
    assert all(isinstance(one, ReplicationStatus) for one in found.values())
    assert [line for line in wire.lines if "cursor" in line] == [
        "GET /SEMP/v2/monitor/msgVpns?cursor=c1",
        "GET /SEMP/v2/monitor/msgVpns?cursor=c2",
    ]


def test_a_next_page_may_be_escaped_otherwise() -> None:
    """Law: the next page of a collection is followed however the broker escapes its path, under our own."""
    number, pages = iter(range(9)), ([ACTIVE], [{**STANDBY, "msgVpnName": "b"}])

    def answer(_: Incoming) -> dict[str, object]:
        page = next(number)
        more = {"nextPageUri": "http://10.9.9.9:1/%53EMP/v2/monitor/%6dsgVpns?cursor=c1"}
        return ok(pages[page], [{}], **({} if page else {"paging": more}))

    wire = Scripted(Broker({VPNS: answer}), VirtualClock())
    found = adapter_of(wire).probe("replication", ["a", "b"])
    assert all(isinstance(one, ReplicationStatus) for one in found.values())
    assert [line for line in wire.lines if "cursor" in line] == ["GET /SEMP/v2/monitor/msgVpns?cursor=c1"]


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:8080/SEMP/v2/monitor/msgVpns?cursor=again",
        "http://127.0.0.1:8080/SEMP/v2/config/msgVpns?cursor=1",
        "http://127.0.0.1:8080/SEMP/v2/monitor/msgVpns",
        "http://127.0.0.1:8080/SEMP/v2/monitor/msgVpns/b?cursor=1",
        "/SEMP/v2/monitor/msgVpns?cursor=\u20ac",
        "http://[10.9/SEMP/v2/monitor/msgVpns?cursor=1",
        "",
    ],
)
def test_pages_that_lead_elsewhere_or_have_no_end(uri: str) -> None:
    """They are not followed, and the list is not taken for complete."""
    listed = ok([ACTIVE], [{}], paging={"cursorQuery": "x", "nextPageUri": uri})
    adapter, wire = with_answers({VPNS: listed})
    with pytest.raises(UnreadableReply):
        adapter.probe("replication", ["a", "b"])
    assert len([line for line in wire.lines if "msgVpns" in line]) <= 3


# The replication queue.


def test_the_depth_is_what_is_there_now() -> None:
    """``collections.msgs.count``; the life-time counter is not even asked for (docs/sources/solace.md, 0.1)."""
    adapter, wire = with_answers(
        {
            VPN: ok({"msgVpnName": "a", "replicationQueueRejectMsgToSenderOnDiscardEnabled": False}, {}),
            QUEUE: ok(
                {**NAMED, "msgSpoolUsage": 1_048_576, "maxMsgSpoolUsage": 60_000, "spooledMsgCount": 99},
                {"msgs": {"count": 7}},
            ),
        }
    )
    assert adapter.probe("replication_queue", ["a"])["a"] == QueueDepth(
        messages=7, usage_mb=1.0, quota_mb=60_000.0, rejects_on_discard=False
    )
    assert not any("spooledMsgCount" in line for line in wire.lines)


def test_zero_is_drained_only_when_it_was_told() -> None:
    """Nothing told is not zero."""
    zero = probe("replication_queue", {QUEUE: ok(NAMED, {"msgs": {"count": 0}})})
    silent = probe("replication_queue", {QUEUE: ok(NAMED, {}), f"{QUEUE}/msgs": ok([], [])})
    assert isinstance(zero, QueueDepth)
    assert isinstance(silent, QueueDepth)
    assert (zero.drained, silent.drained, silent.messages) == (True, None, None)


def test_the_other_way_to_the_same_number() -> None:
    """``meta.count`` of its messages, where the size of the collection is not told (docs/sources/solace.md, 1.7)."""
    found = probe("replication_queue", {QUEUE: ok(NAMED, {}), f"{QUEUE}/msgs": ok([], [], count=12)})
    assert isinstance(found, QueueDepth)
    assert found.messages == 12


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (no(400, 6, "NOT_FOUND"), "CommandRejected"),
        (no(400, 2), "CommandRejected"),
        (ok({"msgVpnName": "b", "queueName": NAMED["queueName"]}, {"msgs": {"count": 0}}), "UnreadableReply"),
        (ok({"msgVpnName": "a", "queueName": "other"}, {"msgs": {"count": 0}}), "UnreadableReply"),
        (ok({}, {"msgs": {"count": 0}}), "UnreadableReply"),
        (ok([NAMED], [{"msgs": {"count": 0}}]), "UnreadableReply"),
        (Outgoing(200, b"{"), "UnreadableReply"),
    ],
)
def test_no_queue_is_not_an_empty_queue(answer: Reply, kind: str) -> None:
    """Missing, refused, another one's, all of them, or garbage: none of it is a depth."""
    found = probe("replication_queue", {QUEUE: answer})
    assert isinstance(found, Failure)
    assert (found.kind, found.definite) == (kind, False)


def test_each_of_many_has_its_own_queue() -> None:
    """One that fails does not take the others with it."""
    listed = ok(
        [{"msgVpnName": name, "replicationQueueRejectMsgToSenderOnDiscardEnabled": True} for name in "ab"], [{}, {}]
    )
    other = {**NAMED, "msgVpnName": "b"}
    found = probe(
        "replication_queue",
        {
            VPNS: listed,
            QUEUE: no(400, 2),
            QUEUE.replace("/a/", "/b/"): ok(other, {"msgs": {"count": 0}}),
        },
        "a",
        "b",
        "gone",
    )
    assert isinstance(found, dict)
    assert [getattr(found[name], "kind", None) for name in ("a", "b", "gone")] == [
        "CommandRejected",
        "replication_queue",
        "NoSuchService",
    ]
    assert found["b"].rejects_on_discard is True


# Transactions.

LIST = f"{VPN}/transactions"


def transaction(xid: str = "0021B028-00-01", **more: object) -> dict[str, object]:
    told = {
        "msgVpnName": "a",
        "xid": xid,
        "type": "xa",
        "state": "prepared",
        "replicated": True,
        "timeInState": 61,
        "clientName": "c/1",
    }
    return {name: value for name, value in {**told, **more}.items() if value is not None}


def test_transactions_in_every_state() -> None:
    """Their messages are counted where an operator has to decide, and nowhere else."""
    items = [
        transaction(),
        transaction("1-2-3", state="active", replicated=False),
        transaction("4-5-6", state="complete"),
    ]
    counts = ok({"xid": "0021B028-00-01"}, {"publisherMsgs": {"count": 3}, "consumerMsgs": {"count": 7}})
    adapter, wire = with_answers({LIST: ok(items, [{}, {}, {}]), f"{LIST}/0021B028-00-01": counts})
    common = {"type": "xa", "client": "c/1", "in_state_s": 61.0}
    assert adapter.probe("transactions", ["a"])["a"] == Transactions(
        items=(
            Transaction(
                xid="0021B028-00-01",
                state=TransactionState.PREPARED,
                replicated=True,
                published=3,
                consumed=7,
                **common,
            ),
            Transaction(xid="1-2-3", state=TransactionState.ACTIVE, replicated=False, **common),
            Transaction(xid="4-5-6", state=TransactionState.COMPLETE, replicated=True, **common),
        )
    )
    assert sum("/transactions/" in line for line in wire.lines) == 1


def test_a_prepared_transaction_is_listed_even_if_its_counts_are_not_told() -> None:
    """That it is there matters more than what it holds; unknown whether replicated, it is looked at too."""
    found = probe("transactions", {LIST: ok([transaction(replicated=None, type=None, timeInState=None)], [{}])})
    assert found == Transactions(
        items=(Transaction(xid="0021B028-00-01", state=TransactionState.PREPARED, client="c/1"),)
    )


@pytest.mark.parametrize(
    "answer", [ok({}, {}), ok([{"state": "prepared"}], [{}]), ok([transaction(msgVpnName="b")], [{}]), no(400, 2)]
)
def test_transactions_that_cannot_be_read_are_not_none(answer: Reply) -> None:
    """An empty list has to be a list."""
    assert isinstance(probe("transactions", {LIST: answer}), Failure)
    assert probe("transactions", {LIST: ok([], [])}) == Transactions()


# Old brokers, and trouble on the way.


def test_an_older_broker_is_asked_without_select() -> None:
    """It refuses an attribute it does not know (docs/sources/solace.md, 1.1); what it has it tells."""

    def answer(request: Incoming) -> Answer:
        return no(400, 11, "INVALID_PARAMETER") if "select=" in request.target else ok(ACTIVE, {})

    adapter, wire = with_answers({VPN: answer})
    found = adapter.probe("replication", ["a"])["a"]
    assert isinstance(found, ReplicationStatus)
    assert [line.partition("?")[2][:7] for line in wire.lines if "msgVpns/a" in line] == ["select=", ""]


@pytest.mark.parametrize("failure", [httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError])
def test_a_broken_reading_is_asked_again(failure: type[httpx.HTTPError]) -> None:
    """It changes nothing; the first request of the step and the last are treated alike."""
    wire = scripted({VPN: ok(ACTIVE, {})})
    wire.fails = [(True, failure), (False, failure)]
    assert isinstance(adapter_of(wire).probe("replication", ["a"])["a"], ReplicationStatus)


@pytest.mark.parametrize(("status", "times"), [(503, 2), (429, 1), (529, 2)])
def test_a_busy_broker_is_asked_again(status: int, times: int) -> None:
    """ "Busy reconciling" passes by itself."""
    left = [no(status, 2, text="busy")] * times
    adapter, _ = with_answers({VPN: lambda request: left.pop() if left else ok(ACTIVE, {})})
    assert isinstance(adapter.probe("replication", ["a"])["a"], ReplicationStatus)


def test_what_a_state_forbids_is_not_asked_again() -> None:
    """503 with code 89 is an answer."""
    adapter, wire = with_answers({VPN: no(503, 89, "NOT_ALLOWED", "Replication Is Standby")})
    found = adapter.probe("replication", ["a"])["a"]
    assert isinstance(found, Failure)
    assert found.kind == "CommandRejected"
    assert sum("msgVpns/a" in line for line in wire.lines) == 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [(httpx.ConnectError, Unreachable), (httpx.ReadError, ConnectionLost), (httpx.ReadTimeout, CommandTimedOut)],
)
def test_trouble_that_lasts_is_everybodys(failure: type[httpx.HTTPError], error: type[Exception]) -> None:
    """The whole request failed; attempts end, within the time of a command."""
    wire = scripted()
    wire.fails = [(True, failure)] * 50
    began = wire.clock.now()
    with pytest.raises(error):
        adapter_of(wire).probe("replication", ["a"])
    assert len(wire.fails) == 50 - 3
    assert wire.clock.now() - began < 15


def test_a_read_only_session_reads_everything() -> None:
    """A look ahead sees what a run would see."""
    wire = scripted({VPN: ok(ACTIVE, {})})
    adapter = adapter_of(wire, read_only=True)
    adapter.open()
    assert isinstance(adapter.probe("replication", ["a"])["a"], ReplicationStatus)
    assert isinstance(read(adapter, DeviceHealth, "a").serving, bool)
    assert wire.changes == []


def test_plans_show_what_is_asked() -> None:
    """The declared lines are those that leave; pages and details come on top."""
    answers: dict[str, Reply] = {
        VPN: ok(ACTIVE, {}),
        QUEUE: ok(NAMED, {"msgs": {"count": 0}}),
        LIST: ok([], []),
        v1.SHOW_REPLICATION: v1.reply("<replication/>"),
        f"GET {MONITOR}": ok({}, {}),
        VPNS: ok([{"msgVpnName": "a"}], [{"clients": {"count": 0}}]),
        f"{VPN}/queues": ok([], []),
        f"{VPN}/topicEndpoints": ok([], []),
    }
    for name, spec in SolaceSempAdapter.readings.items():
        wire = scripted(answers)
        adapter_of(wire).probe(name, ["a"])
        left = [f"{one.method} {one.target}" + (f" {one.body.decode()}" if one.body else "") for one in wire.sent]
        assert set(spec.commands(["a"])) <= set(left), name
        assert json.dumps(list(spec.commands(["a", "b"])))
