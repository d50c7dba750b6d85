"""Where names are in what Solace prints and answers, also those that no inventory has."""

from __future__ import annotations

import pytest

from adapters.solace import explaining
from adapters.solace.semp import explaining as semp_explaining
from orchestrator.model.exchanges import Exchange
from tests.solace import layouts


def told(answer: str = "", *, sent: str = "show x", prompt: str = "", why: str = "") -> Exchange:
    """An exchange with this answer."""
    return Exchange("ny1", sent, 0.0, 0.0, prompt=prompt, answer=answer, why=why, failed="Unreachable" if why else "")


@pytest.mark.parametrize(
    ("fixture", "names"),
    [
        ("clients", {"host/2638/00000001/", "r4Im1MyB9P", "gateway", "Trading_VPN", "a-message-vpn-", "with-a-name"}),
        ("queues", {"Trading_VPN", "orders", "a name with blanks 7", "volatile"}),
        ("redundancy_group", {"dev1backup", "dev1monitor", "dev1primary", "dev1-b.51080", "le.com"}),
        ("redundancy_not_ready", {"solaceBackup"}),
        ("replication_appliance", {"ny-b"}),
        ("replication_source", {"Trading_VPN"}),
        ("transactions_detail", {"0021B028-00-01", "blue_02", "username/15848/#000c0001"}),
        ("transactions_table", {"0021ABC4-00-01", "blue_02"}),
    ],
)
def test_the_printed_samples(fixture: str, names: set[str]) -> None:
    """Law: every name of a printed sample is found, and what is found is not a state or a label of it."""
    found = set(explaining.names_in(told(layouts.fixture(fixture))))
    assert names <= found
    states = {"up", "down", "local active", "ad-active", "shutdown", "enabled", "standby", "master"}
    assert not states & {
        name.lower() for name in found - {name for name in found if name.lower() in explaining.WORDS}
    }


def test_names_outside_of_the_answer() -> None:
    """Law: what a node calls itself is told by its prompt, and in the errors of a log-in, and is a name there too."""
    assert "PROD_A" in explaining.names_in(told(prompt="PROD_A>"))
    assert "PROD_A" in explaining.names_in(told(prompt="PROD_A(configure)#"))
    assert "prod9" in explaining.names_in(told(why="ny1 calls itself prod9; the inventory says ny1"))
    last = "ny1 shows no known prompt within 5 s; last: 'host7 login:'"
    assert "host7 login:" in explaining.names_in(told(why=last))


def test_columns_and_labels_of_other_spelling() -> None:
    """Law: MsgVpn, Client-Username and the like head names; "conversion" may be a name, a version is not."""
    table = "Service   MsgVpn           Port\n--------- ---------------- ----\nMQTT      conversion-vpn   1883\n"
    assert "conversion-vpn" in explaining.names_in(told(table))
    assert "inversion" in explaining.names_in(told("Client-Username: inversion\n"))
    assert list(explaining.names_in(told("Product Name: Solace PubSub+ Version 10.25.0.1\n"))) == []


def test_over_semp() -> None:
    """Law: names in attributes, elements, paths and the hosts of links are found; flags and numbers are none."""
    body = (
        '{"data":[{"msgVpnName":"prod","enabled":true,"clientUsername":"desk 7","msgSpoolUsage":5}],'
        '"links":[{"uri":"https://ny-broker-1.bank.example:943/SEMP/v2/monitor/msgVpns/prod/queues/a%2Fb"}]}'
    )
    found = set(semp_explaining.names_in(told(body, sent="GET /SEMP/v2/monitor/msgVpns/other%20vpn?select=x")))
    assert {"prod", "desk 7", "other vpn", "ny-broker-1.bank.example"} <= found
    xml = "<rpc-reply><x><router-name>v:rt7</router-name><up>true</up><serial-number>A1B2</serial-number></x></rpc-reply>"
    assert set(semp_explaining.names_in(told(xml))) == {"rt7", "A1B2"}
