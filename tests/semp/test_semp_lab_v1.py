"""The lab answers SEMP v1 as a broker does."""

from __future__ import annotations

import pytest

from tests.semp.client import CONFIG, MONITOR, VPN, XID, Client, v1

OLDEST = "<queue><name>orders</name><vpn-name>V</vpn-name>{}</queue>"


@pytest.mark.parametrize(
    "body",
    [
        v1("<show><weather/></show>"),
        v1("<show><queue><vpn-name>V</vpn-name><name>q</name><detail/></queue></show>"),
        v1(
            "<show>"
            + OLDEST.format("<oldest/><messages/><detail/><count/><num-elements>1</num-elements>")
            + "</show>"
        ),
        v1(
            "<show>"
            + OLDEST.format("<messages/><oldest/><count/><detail/><num-elements>1</num-elements>")
            + "</show>"
        ),
        v1("<interface><shutdown/><phy-interface>1/1/lag1</phy-interface></interface>"),
        v1("<interface><no><phy-interface>1/1/lag1</phy-interface><shutdown/></no></interface>"),
        v1("<service><no><msg-backbone><shutdown/></msg-backbone></no></service>"),
        v1("<service><msg-backbone><shutdown/></msg-backbone></service><show><version/></show>"),
        v1("<message-vpn><replication><state><standby/></state></replication><vpn-name>V</vpn-name></message-vpn>"),
        "<show><redundancy/></show>",
        "<rpc/>",
        "{}",
        '<!DOCTYPE a [<!ENTITY b "c">]><rpc><show><redundancy/></show></rpc>',
    ],
)
def test_v1_takes_its_elements_in_order(client: Client, body: str) -> None:
    """Anything else is a parse error, with HTTP 200; nothing is done (docs/sources/solace.md, 2.1, 2.3)."""
    answer = client.xml(body)
    assert "<parse-error>invalid message: schema validation error</parse-error>" in answer
    assert "execute-result" not in answer
    assert client.get(CONFIG)["data"]["serviceMsgBackboneEnabled"] is True


def test_v1_answers_what_v2_does_not_offer(client: Client) -> None:
    """Redundancy, message spool, replication mate."""
    assert "<activity>Local Active</activity>" in client.xml(v1("<show><redundancy/></show>"))
    assert "<operational-status>AD-Active</operational-status>" in client.xml(v1("<show><message-spool/></show>"))
    assert "<router-name>NJ_Appliance1</router-name>" in client.xml(v1("<show><replication/></show>"))
    assert '<execute-result code="ok" />' in client.xml(v1("<show><version/></show>"))


def test_v1_shows_the_depth_and_no_queue_where_there_is_none(client: Client) -> None:
    """An unknown queue is an empty list with code ok: absent is not 0 (docs/sources/solace.md, 2.4)."""
    show = v1("<show><queue><name>{}</name><vpn-name>{}</vpn-name><detail/></queue></show>")
    assert "<num-messages-spooled>60</num-messages-spooled>" in client.xml(
        show.format("#MSGVPN_REPLICATION_DATA_QUEUE", "V")
    )
    for answer in (
        client.xml(show.format("none", "V")),
        client.xml(show.format("#MSGVPN_REPLICATION_DATA_QUEUE", "plain")),
    ):
        assert "<queues />" in answer
        assert 'code="ok"' in answer


def test_v1_changes_too(client: Client) -> None:
    """Role, discard behaviour, transactions, backbone; and fails with HTTP 200."""
    assert 'code="ok"' in client.xml(v1(VPN.format("V", "<state><standby/></state>")))
    assert client.get(f"{MONITOR}msgVpns/V")["data"]["replicationRole"] == "standby"
    assert 'code="fail"' in client.xml(v1(VPN.format("none", "<state><standby/></state>")))
    assert 'code="ok"' in client.xml(
        v1(VPN.format("V", "<queue><no><reject-msg-to-sender-on-discard/></no></queue>"))
    )
    commit = f"<commit-transaction><xid>{XID}</xid></commit-transaction>"
    spool = f"<admin><message-spool><vpn-name>V</vpn-name>{commit}</message-spool></admin>"
    assert ['code="ok"' in client.xml(v1(spool)) for _ in range(2)] == [True, False]
    assert 'code="ok"' in client.xml(v1("<service><msg-backbone><shutdown/></msg-backbone></service>"))
    assert client.get(CONFIG)["data"]["serviceMsgBackboneEnabled"] is False
    assert 'code="ok"' in client.xml(v1("<service><msg-backbone><no><shutdown/></no></msg-backbone></service>"))


def test_v1_shuts_an_interface(client: Client) -> None:
    """Clients are gone and none comes back, with the backbone up; one that is not there is refused, and not shown."""
    show, interface = "<show><interface><phy-interface>{}</phy-interface></interface></show>", "1/1/lag1"
    shut = "<interface><phy-interface>{}</phy-interface><shutdown/></interface>"
    assert "<enabled>Yes</enabled>" in client.xml(v1(show.format(interface)))
    assert 'code="ok"' in client.xml(v1(shut.format(interface)))
    client.semp.clock.sleep(5)
    assert "<enabled>No</enabled>" in client.xml(v1(show.format(interface)))
    assert client.get(CONFIG)["data"]["serviceMsgBackboneEnabled"] is True
    assert client.get(f"{MONITOR}msgVpns/V/clients")["data"] == []
    assert 'code="fail"' in client.xml(v1(shut.format("1/1/lag9")))
    assert "<interfaces />" in client.xml(v1(show.format("1/1/lag9")))


@pytest.mark.parametrize(
    ("method", "kind"), [("GET", "application/xml"), ("POST", "application/json"), ("PUT", "text/xml")]
)
def test_v1_is_posted_as_xml(client: Client, method: str, kind: str) -> None:
    """Or it is not SEMP v1."""
    assert client.ask(method, "/SEMP", b"<rpc><show><version/></show></rpc>", kind).status == 400
