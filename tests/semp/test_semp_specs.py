"""Every request of the adapter and every reply of the lab, against the published specifications of SEMP v2."""

from __future__ import annotations

import json

import pytest
from jsonschema import ValidationError

from adapters.solace.semp.actions import ACTIONS, GLOBAL_NEEDS
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.family.contract import Call
from simulator.lab.semp.reads import CONFIG_OF_BROKER, CONFIG_OF_VPN
from simulator.solace.layout import TransactionLayout, VpnLayout
from tests.seam import apply
from tests.semp.client import Client
from tests.semp.specs import FOLDER, book, check_reply, check_request, missing, operation
from tests.semp.stage import Semp
from tests.semp.wire import Wire

pytestmark = pytest.mark.skipif(missing(), reason=f"the specifications are not at {FOLDER.name}/ beside the project")

XID = "0021B028-00-01"
CALLS = [
    ("set_reject_on_discard", {"enabled": "no"}),
    ("set_role", {"role": "standby"}),
    ("complete_transaction", {"xid": XID, "outcome": "commit"}),
    ("complete_transaction", {"xid": XID, "outcome": "rollback"}),
    ("delete_transaction", {"xid": XID}),
    ("set_role", {"role": "active"}),
    ("set_backbone", {"state": "down"}),
    ("set_backbone", {"state": "up"}),
]


@pytest.fixture
def semp() -> Semp:
    vpn = VpnLayout(
        "A #1", backlog=500, unconsumed=300, sync_every=2, transactions=(TransactionLayout(XID, consumed=(1,)),)
    )
    others = [VpnLayout(f"v{number:03}") for number in range(110)]
    return Semp(vpn, *others, VpnLayout("plain", replicated=False), ha=True)


def traffic(wire: Wire) -> list[tuple[str, str, bytes, int, bytes]]:
    """What went over a wire, SEMP v1 left out."""
    return [
        (sent.method, sent.target, sent.body, answer.status, answer.body)
        for sent, answer in zip(wire.sent, wire.answers, strict=True)
        if sent.target != "/SEMP"
    ]


def test_a_whole_life_is_as_specified(semp: Semp) -> None:
    """All readings of one and of many services at both sites, all actions, logging in and out: each request is one
    that a broker offers, and each reply one that it could give."""
    adapters = {site: semp.adapter(site) for site in ("ny", "nj")}
    for adapter in adapters.values():
        adapter.open()
    for action, args in CALLS:
        for adapter in adapters.values():
            for reading in adapter.readings:
                adapter.probe(reading, ["A #1"])
        apply(adapters["ny"], action, Call("A #1", args))
        semp.clock.sleep(1)
    for adapter in adapters.values():
        for reading in adapter.readings:
            adapter.probe(reading, ["A #1", "v001", "plain", "gone"])
        adapter.close()
    seen = [one for wire in semp.wires.values() for one in traffic(wire)]
    for method, target, body, status, answer in seen:
        check_request(method, target, body)
        check_reply(method, target, status, answer)
    kinds = {(method, target.partition("?")[0].count("/")) for method, target, *_ in seen}
    assert len(seen) > 200
    assert len(kinds) >= 8


@pytest.mark.parametrize("action", ACTIONS)
def test_declared_changes_are_as_specified(action: str) -> None:
    """What a plan shows is what a broker takes."""
    args = {name: spec.choices[0] if spec.choices else XID for name, spec in ACTIONS[action].arguments.items()}
    for line in ACTIONS[action].commands(Call("A #1", args)):
        method, target, body = line.split(" ", 2)
        check_request(method, target, body.encode())


def test_declared_readings_are_as_specified() -> None:
    """The same for what a probe would ask."""
    for spec in SolaceSempAdapter.readings.values():
        for line in (*spec.commands(["A #1"]), *spec.commands(["A #1", "b"])):
            method, _, target = line.partition(" ")
            if target != "/SEMP" and not target.startswith("/SEMP "):
                check_request(method, target, b"")


@pytest.mark.parametrize(
    "target",
    [
        "monitor/",
        "config/",
        "config/about/api",
        "config/about/user",
        "config/msgVpns?count=3",
        "config/msgVpns/v001",
        "monitor/msgVpns?count=3",
        "monitor/about/user/msgVpns?count=2",
        "monitor/msgVpns/A%20%231/bridges",
        "monitor/msgVpns/A%20%231/bridges/%23MSGVPN_REPLICATION_BRIDGE,primary",
        "monitor/msgVpns/A%20%231/queues?select=*",
        "monitor/msgVpns/A%20%231/queues/orders/msgs",
        "monitor/msgVpns/A%20%231/topicEndpoints",
        "monitor/msgVpns/A%20%231/clients",
        "monitor/msgVpns/A%20%231/transactions?where=state==prepared,replicated==true",
        f"monitor/msgVpns/A%20%231/transactions/{XID}/consumerMsgs",
        "monitor/msgVpns/gone",
        "monitor/msgVpns?select=weather",
    ],
)
def test_what_the_lab_shows_by_hand_is_as_specified(semp: Semp, target: str) -> None:
    """Also where no adapter asks for it; refusals have their own shape."""
    semp.clock.sleep(1)
    for node in semp.wires:
        answer = Client(semp, node).ask("GET", f"/SEMP/v2/{target}")
        check_reply("GET", f"/SEMP/v2/{target}", answer.status, answer.body)


def test_the_levels_are_those_of_the_specification() -> None:
    """What an account needs for each change, and where the change is carried to."""
    vpn = book("config")["definitions"]["MsgVpn"]["properties"]
    broker = book("config")["definitions"]["Broker"]["properties"]
    assert vpn["replicationRole"]["x-accessLevels"]["patch"] == f"global/{GLOBAL_NEEDS['set_role']}"
    assert broker["serviceMsgBackboneEnabled"]["x-accessLevels"]["patch"] == f"global/{GLOBAL_NEEDS['set_backbone']}"
    assert "x-configSyncTableType" not in broker["serviceMsgBackboneEnabled"], "each node has to be told"
    rejects = vpn["replicationQueueRejectMsgToSenderOnDiscardEnabled"]
    assert (rejects["x-accessLevels"]["patch"], rejects["x-configSyncTableType"]) == ("vpn/read-write", "vpn")
    assert vpn["replicationRole"]["x-configSyncTableType"] == "router", "roles are not carried to the other site"


def test_configuration_attributes_are_configuration() -> None:
    """The lab's list of what the configuration API has is a part of the real one."""
    definitions = book("config")["definitions"]
    assert set(CONFIG_OF_VPN) <= definitions["MsgVpn"]["properties"].keys()
    assert set(CONFIG_OF_BROKER) <= definitions["Broker"]["properties"].keys()


def test_control_the_checks_can_fail() -> None:
    """An attribute, a value, a type, a path, a parameter and a body that no broker has."""
    target = "/SEMP/v2/monitor/msgVpns/a"
    good = {"meta": {"request": {"method": "GET"}, "responseCode": 200}, "data": {"replicationRole": "active"}}
    check_reply("GET", target, 200, json.dumps(good).encode())
    for wrong in ({"weather": 1}, {"replicationRole": "primary"}, {"replicationEnabled": "yes"}, {"state": "fine"}):
        with pytest.raises(ValidationError):
            check_reply("GET", target, 200, json.dumps({**good, "data": wrong}).encode())
    for method, path, body in [
        ("GET", target + "/weather", b""),
        ("GET", target + "?colour=red", b""),
        ("GET", target + "?select=weather", b""),
        ("GET", target, b"{}"),
        ("PATCH", target, b"{}"),
    ]:
        with pytest.raises(AssertionError):
            check_request(method, path, body)
    with pytest.raises(ValidationError):
        check_request("PATCH", "/SEMP/v2/config/msgVpns/a", b'{"replicationRole": "primary"}')
    assert "replicationQueueBound" in operation("GET", target).selectable
