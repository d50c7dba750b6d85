"""The lab answers SEMP v2 as a broker does: what is asked, what is changed, and who may."""

from __future__ import annotations

import base64
import json

import pytest

from tests.semp.client import ACTION, BASIC, CONFIG, MONITOR, QUEUE, VPN, XID, Client, v1
from tests.semp.stage import Semp

# Asking.


def test_an_object_and_its_envelope(client: Client) -> None:
    """Data, links, collections, and the request it answers."""
    found = client.get(f"{QUEUE}?select=queueName,msgs.count")
    assert found["data"] == {"queueName": "#MSGVPN_REPLICATION_DATA_QUEUE"}
    assert found["collections"] == {"msgs": {"count": 60}}
    assert found["meta"]["request"] == {"method": "GET", "uri": f"http://lab:1{QUEUE}?select=queueName,msgs.count"}


def test_what_does_not_apply_is_left_out(client: Client) -> None:
    """The active tells of the remote bridge, the standby of its own; absent is not false."""
    active = client.get(f"{MONITOR}msgVpns/V")["data"]
    standby = Client(client.semp, "NJ_Appliance1").get(f"{MONITOR}msgVpns/V")["data"]
    of_active = {"replicationRemoteBridgeUp", "replicationQueueBound", "replicationSyncEligible"}
    of_standby = {"replicationBridgeUp", "replicationBridgeBoundToQueue"}
    assert (of_active <= active.keys(), of_standby & active.keys()) == (True, set())
    assert (of_standby <= standby.keys(), of_active & standby.keys()) == (True, set())


@pytest.mark.parametrize(
    "query",
    [
        "select=msgVpnName,weather",
        "select=msgVpnName%2Cenabled",
        "select=spooledMsgCount",
        "select=",
        "select=,",
        "select=enabled,-state",
        "select=enabled&select=state",
        "where=weather==1",
        "where=enabled~true",
        "where=enabled==true%2Cstate==up",
        "count=0",
        "count=101",
        "count=many",
        "cursor=not-ours",
        "colour=red",
        "select",
    ],
)
def test_what_a_broker_refuses(client: Client, query: str) -> None:
    """An attribute nobody knows, a comma that is encoded, a parameter that is none (docs/sources/solace.md, 1.1)."""
    assert client.refused("GET", f"{MONITOR}msgVpns?{query}") == (400, 11)


@pytest.mark.parametrize("query", ["count=5", "cursor=x", "where=enabled==true"])
def test_one_object_has_no_pages(client: Client, query: str) -> None:
    """These belong to collections."""
    assert client.refused("GET", f"{MONITOR}msgVpns/V?{query}") == (400, 11)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (f"{MONITOR}msgVpns/V/queues/#MSGVPN_REPLICATION_DATA_QUEUE", 27),
        (f"{MONITOR}msgVpns/%zz", 27),
        (f"{MONITOR}msgVpns/none", 6),
        (f"{MONITOR}msgVpns/V/queues/none", 6),
        (f"{MONITOR}msgVpns/V/queues/none/msgs", 6),
        (f"{MONITOR}msgVpns/V/transactions/1-2-3", 6),
        (f"{MONITOR}msgVpns/none/transactions", 6),
        (f"{MONITOR}msgVpns//queues", 6),
        (f"{MONITOR}redundancy", 6),
        (f"{CONFIG}msgVpns/V/transactions", 6),
        ("/SEMP/v2/other/", 6),
        ("/", 6),
    ],
)
def test_what_is_not_there(client: Client, target: str, code: int) -> None:
    """Never something near it: an unescaped # must not become the whole collection."""
    assert client.refused("GET", target) == (400, code)


def test_a_plain_message_vpn_has_no_replication_queue(client: Client) -> None:
    """It is missing, which is not empty."""
    assert client.refused("GET", QUEUE.replace("/V/", "/plain/")) == (400, 6)
    assert "replicationQueueMaxMsgSpoolUsage" not in client.get(f"{MONITOR}msgVpns/plain")["data"]


def test_pages_lead_to_everything_once(client: Client) -> None:
    """By the URI they give, with what was selected; the default page has ten."""
    seen: list[str] = []
    target = f"{MONITOR}msgVpns?select=msgVpnName&count=50"
    while target:
        found = client.get(target)
        seen += [one["msgVpnName"] for one in found["data"]]
        assert all(one.keys() == {"msgVpnName"} for one in found["data"])
        paging = found["meta"].get("paging", {"nextPageUri": "http://lab:1"})
        target = paging["nextPageUri"].removeprefix("http://lab:1")
    assert len(seen) == len(set(seen)) == 122
    assert len(client.get(f"{MONITOR}msgVpns")["data"]) == 10


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ("msgVpnName==v00*", [f"v00{n}" for n in range(10)]),
        ("msgVpnName==v00*,msgVpnName!=v000", [f"v00{n}" for n in range(1, 10)]),
        ("replicationEnabled==false", ["plain"]),
        ("replicationRole%3D%3Dactive,msgVpnName==V", ["V"]),
        ("msgVpnName>v118", ["v119"]),
        ("replicationQueueMaxMsgSpoolUsage<1", []),
    ],
)
def test_conditions(client: Client, where: str, names: list[str]) -> None:
    """A comma is AND, * is any text, and an absent value fits nothing (docs/sources/solace.md, 1.1)."""
    found = client.get(f"{MONITOR}msgVpns?select=msgVpnName&where={where}&count=100")["data"]
    assert [one["msgVpnName"] for one in found] == names


def test_select_by_exclusion_and_pattern(client: Client) -> None:
    """``-a`` leaves out, ``*`` stands for any text."""
    everything = client.get(f"{CONFIG}msgVpns/V")["data"]
    without = client.get(f"{CONFIG}msgVpns/V?select=-replicationRole,-enabled")["data"]
    assert everything.keys() - without.keys() == {"replicationRole", "enabled"}
    assert client.get(f"{MONITOR}msgVpns/V?select=replicationRole*")["data"].keys() == {"replicationRole"}


def test_configuration_has_no_collections(client: Client) -> None:
    """They belong to monitoring; and what is only monitored is not configured."""
    found = client.get(f"{CONFIG}msgVpns/V")
    assert "collections" not in found
    assert "replicationQueueBound" not in found["data"]
    assert client.refused("GET", f"{CONFIG}msgVpns/V?select=replicationQueueBound") == (400, 11)
    assert client.get(CONFIG)["data"]["serviceMsgBackboneEnabled"] is True


def test_the_size_of_a_collection_two_ways(client: Client) -> None:
    """``msgs.count`` and ``meta.count`` agree, and neither is the life-time counter."""
    assert client.get(f"{QUEUE}/msgs?count=1")["meta"]["count"] == 60
    assert client.get(f"{QUEUE}?select=spooledMsgCount")["data"]["spooledMsgCount"] > 60


def test_who_one_is(client: Client) -> None:
    """``about``: the version, the account's level, and its level for each message VPN."""
    assert client.get(f"{MONITOR}about/api")["data"].keys() == {"platform", "sempVersion"}
    assert client.get(f"{MONITOR}about/user")["data"]["globalAccessLevel"] == "admin"
    assert client.get(f"{CONFIG}about/user/msgVpns/V")["data"] == {"msgVpnName": "V", "accessLevel": "read-write"}
    assert client.refused("GET", f"{MONITOR}about/weather") == (400, 6)


# Changing.

ROLE = {"replicationRole": "standby"}


@pytest.mark.parametrize(
    ("method", "target", "body", "code"),
    [
        ("PATCH", f"{CONFIG}msgVpns/V", {"replicationRole": "primary"}, 11),
        ("PATCH", f"{CONFIG}msgVpns/V", {"replicationRole": None}, 11),
        ("PATCH", f"{CONFIG}msgVpns/V", {"weather": 1}, 11),
        ("PATCH", f"{CONFIG}msgVpns/V", {**ROLE, "weather": 1}, 11),
        ("PATCH", f"{CONFIG}msgVpns/V", {"enabled": False}, 89),
        ("PATCH", f"{CONFIG}msgVpns/V", {"replicationQueueRejectMsgToSenderOnDiscardEnabled": "no"}, 11),
        ("PATCH", CONFIG, {"serviceMsgBackboneEnabled": 0}, 11),
        ("PATCH", CONFIG, {"serviceSmfEnabled": False}, 11),
        ("PATCH", f"{CONFIG}msgVpns/none", ROLE, 6),
        ("PATCH", f"{CONFIG}msgVpns", ROLE, 6),
        ("PATCH", f"{MONITOR}msgVpns/V", ROLE, 6),
        ("PATCH", f"{CONFIG}msgVpns/V", [], 27),
        ("PATCH", f"{CONFIG}msgVpns/V", b"{", 27),
        ("PATCH", f"{CONFIG}msgVpns/V", None, 228),
        ("PUT", f"{CONFIG}msgVpns/V", ROLE, 89),
        ("POST", f"{CONFIG}msgVpns", {"msgVpnName": "new"}, 89),
        ("DELETE", f"{CONFIG}msgVpns/V", {}, 27),
        ("DELETE", f"{CONFIG}msgVpns/V", None, 89),
        ("GET", f"{CONFIG}msgVpns/V", {}, 27),
        ("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/commit", None, 228),
        ("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/commit", {"why": 1}, 11),
        ("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/commit?count=1", {}, 11),
        ("PUT", f"{ACTION}msgVpns/V/transactions/1-2-3/commit", {}, 6),
        ("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/forget", {}, 6),
        ("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/delete", {}, 89),
        ("POST", f"{ACTION}msgVpns/V/transactions/{XID}/commit", {}, 6),
    ],
)
def test_changes_that_are_refused_change_nothing(
    client: Client, method: str, target: str, body: object, code: int
) -> None:
    """What is not understood whole is not done in part; what only a real broker could do is not pretended."""
    before = client.get(f"{MONITOR}msgVpns/V?select=replicationRole,enabled"), client.get(CONFIG)["data"]
    assert client.refused(method, target, body) == (400, code)
    assert (client.get(f"{MONITOR}msgVpns/V?select=replicationRole,enabled"), client.get(CONFIG)["data"]) == before


def test_a_role_is_changed_and_shown(client: Client) -> None:
    """The answer is the object as it then is."""
    assert client.ok("PATCH", f"{CONFIG}msgVpns/V", ROLE)["data"]["replicationRole"] == "standby"
    assert client.get(f"{MONITOR}msgVpns/V?select=replicationRole,state")["data"] == {
        "replicationRole": "standby",
        "state": "standby",
    }


def test_transactions_are_completed_and_deleted(client: Client) -> None:
    """With an empty body; a second time is refused."""
    assert client.get(f"{MONITOR}msgVpns/V/transactions/{XID}?select=state,consumerMsgs.count") == client.get(
        f"{MONITOR}msgVpns/V/transactions/{XID}?select=state,consumerMsgs.count"
    )
    client.ok("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/rollback", {})
    assert client.refused("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/commit", {}) == (400, 89)
    client.ok("PUT", f"{ACTION}msgVpns/V/transactions/{XID}/delete", {})
    assert client.get(f"{MONITOR}msgVpns/V/transactions")["data"] == []


def test_a_body_must_be_json(client: Client) -> None:
    """And say so."""
    assert client.refused("PATCH", f"{CONFIG}msgVpns/V", ROLE, kind="text/plain") == (400, 27)


def test_the_backbone_drops_clients(client: Client) -> None:
    """At once, and none comes back while it is down; reject-on-discard is one attribute further."""
    clients = f"{MONITOR}msgVpns/V/clients?select=clientName"
    assert [one for one in client.get(clients)["data"] if not one["clientName"].startswith("#")]
    client.ok("PATCH", CONFIG, {"serviceMsgBackboneEnabled": False})
    client.semp.clock.advance(60)
    assert [one for one in client.get(clients)["data"] if not one["clientName"].startswith("#")] == []
    assert client.get(f"{MONITOR}?select=serviceMsgBackboneEnabled")["data"] == {"serviceMsgBackboneEnabled": False}
    rejects = "replicationQueueRejectMsgToSenderOnDiscardEnabled"
    assert client.ok("PATCH", f"{CONFIG}msgVpns/V", {rejects: False})["data"][rejects] is False


# Who may.


def test_a_login_gets_a_session_and_sessions_are_few() -> None:
    """The cookie is enough from then on; logging out gives it back; without one left the answer is 529."""
    client = Client(Semp(sessions_max=2))
    about = f"{MONITOR}about/user"
    cookies = [client.ask("GET", about, authorization=BASIC).headers["Set-Cookie"].split(";")[0] for _ in range(2)]
    assert json.loads(client.ask("GET", about, authorization=BASIC).body)["meta"]["responseCode"] == 529
    kept = client.ask("GET", about, authorization="", cookie=cookies[0])
    assert (kept.status, "Set-Cookie" in kept.headers) == (200, False)
    assert json.loads(kept.body)["data"]["sessionActive"] is True
    assert client.ask("PUT", f"{ACTION}about/user/logout", {}, cookie=cookies[0], authorization=BASIC).status == 200
    assert client.ask("GET", about, authorization=BASIC).status == 200


@pytest.mark.parametrize(
    "proof",
    [
        "",
        "Basic",
        "Basic !!!",
        "Bearer",
        "Bearer wrong",
        "Basic " + base64.b64encode(b"operator:wrong").decode(),
        "Digest x",
    ],
)
def test_strangers_are_not_let_in(client: Client, proof: str) -> None:
    """401, in either protocol, and nothing is looked at."""
    assert client.refused("GET", f"{MONITOR}msgVpns", authorization=proof)[0] == 401
    assert client.ask("POST", "/SEMP", b"<rpc/>", "application/xml", authorization=proof).status == 401


def test_a_low_level_reads_and_does_not_change() -> None:
    """403 with code 72 over v2, a permission error with HTTP 200 over v1."""
    client = Client(Semp(level="read-only"))
    assert client.get(f"{MONITOR}about/user")["data"]["globalAccessLevel"] == "read-only"
    assert client.refused("PATCH", f"{CONFIG}msgVpns/V", ROLE) == (403, 72)
    assert "<permission-error>" in client.xml(v1(VPN.format("V", "<state><standby/></state>")))
    assert client.get(f"{MONITOR}msgVpns/V")["data"]["replicationRole"] == "active"


def test_everything_is_on_record(client: Client) -> None:
    """Before it is obeyed, and with what kind of thing it is: the witness of "a look ahead changed nothing"."""
    client.get(f"{MONITOR}about/api")
    client.refused("PATCH", f"{CONFIG}msgVpns/V", {"weather": 1})
    client.xml("<rpc><show><redundancy/></show></rpc>")
    client.xml("<rpc><show><weather/></show></rpc>")
    client.ok("PUT", f"{ACTION}about/user/logout", {})
    client.ask("GET", "/#")
    log = client.semp.logs["NY_Appliance1"]
    assert [record.kind for record in log.records] == ["show", "change", "show", "invalid", "mode", "invalid"]
    assert log.changes == (f'PATCH {CONFIG}msgVpns/V {{"weather": 1}}',)
    assert {record.user for record in log.records} == {"operator"}
