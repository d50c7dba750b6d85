"""The administration interface of a simulated AMPS instance: paths, formats, actions (docs/sources/amps.md, 6)."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from adapters.http.xmldoc import parse_xml
from orchestrator.clock import VirtualClock
from simulator.amps.embedded import amps_layout
from simulator.amps.faults import parse_amps_faults
from simulator.amps.world import AmpsWorld
from simulator.http.server import Incoming, Outgoing
from simulator.lab.amps.admin import AmpsAdmin, Gate
from simulator.lab.command_log import CommandLog

NY = "/amps/instance"
ACT = "/amps/administrator"


class Desk:
    """Somebody who asks one instance."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.clock = VirtualClock()
        self.world = AmpsWorld(amps_layout(), self.clock)
        self.log = CommandLog(self.clock)
        self.admin = AmpsAdmin(self.world, "orders-ny", self.log, gate=gate)
        self.clock.advance(20)

    def ask(self, target: str, method: str = "GET", **headers: str) -> Outgoing:
        return self.admin(Incoming(method, target, headers, b""))

    def tree(self, target: str) -> Any:
        answer = self.ask(target)
        assert answer.status == 200, answer.body
        return json.loads(answer.body)["amps"]["instance"]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_node_comes_with_its_children_inside_amps_and_instance(desk: Desk) -> None:
    """Objects amps > instance > node; a collection is a list of objects with id; every value is a text."""
    row = desk.tree(f"{NY}/transports.json")["transports"][0]
    assert (row["id"], row["name"], row["type"], row["is_enabled"]) == ("1", "amps-tcp", "tcp", "1")
    assert desk.tree(f"{NY}/name.json") == {"name": "orders-ny"}
    assert desk.tree(f"{NY}/transports/2/type.json") == {"transports": [{"id": "2", "type": "amps-replication"}]}
    link = desk.tree(f"{NY}/replication/orders-ldn.json")["replication"][0]
    assert (link["replication_type"], link["is_connected"], link["client_type"]) == ("sync", "1", "destination")


def test_everything_can_be_had_at_once(desk: Desk) -> None:
    """/amps.json and /amps/instance.json return the same whole tree, all leaves texts."""

    def leaves(node: Any) -> Any:
        if isinstance(node, dict):
            return [leaf for value in node.values() for leaf in leaves(value)]
        return [leaf for value in node for leaf in leaves(value)] if isinstance(node, list) else [node]

    whole = desk.tree("/amps.json")
    assert whole == desk.tree("/amps/instance.json")
    assert {"clients", "queues", "replication", "sow", "transaction_log", "transports"} <= set(whole)
    assert {type(leaf) for leaf in leaves(whole)} == {str}


def test_xml_has_members_with_an_id(desk: Desk) -> None:
    """The same node as XML; the id of a member is an attribute, as in the documented sample."""
    root = parse_xml(desk.ask(f"{NY}/queues.xml").body)
    queue = root.find("instance/queues/queue")
    assert queue is not None
    assert queue.get("id") == "jobs-queue!json"
    assert queue.findtext("proxied_transfer") == "disabled"


def test_csv_is_the_history_of_a_leaf(desk: Desk) -> None:
    """Lines ts,value; of a node with children it is not found; t0 and t1 bound it."""
    target = f"{NY}/queues/jobs-queue!json/owned.csv"
    stamps = [f"20270115T0800{second:02d}" for second in range(10, 20)]
    lines = desk.ask(f"{target}?t0={stamps[2]}&t1={stamps[5]}").body.decode().splitlines()
    assert [line.partition(".")[0] for line in lines] == stamps[2:6]
    assert desk.ask(f"{NY}/queues.csv").status == 404
    assert desk.ask(f"{target}?t0={stamps[0]}").status == 400


def test_a_node_of_the_past_is_had_by_its_timestamp(desk: Desk) -> None:
    """Of a node that is no leaf, t0 and t1 are one existing timestamp."""
    past = f"{NY}/uptime.json?t0=20270115T080015&t1=20270115T080015"
    assert desk.tree(past) == {"uptime": "00:00:15.000000"}
    assert desk.ask(f"{NY}/uptime.json?t0=20270115T080011&t1=20270115T080015").status == 400


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/amps/instance/nothing.json", 404),
        ("/amps/instance/transports/9.json", 404),
        ("/amps/instance/transports", 404),
        ("/amps/instance//transports.json", 404),
        ("/amps/host.json", 404),
        ("/other", 404),
        (f"{ACT}/transports/9/disable", 404),
        (f"{ACT}/transports/1/destroy", 404),
        (f"{ACT}/transports/1", 404),
        (f"{ACT}/replication/nobody/downgrade", 404),
        (f"{ACT}/transports/1/disable?now=1", 400),
        (f"{ACT}/queues/jobs-queue!json/disable", 404),
        (f"{ACT}/transaction_log/journals/2/remove", 403),
        ("/amps/instance/name.json?t0", 400),
    ],
)
def test_it_is_strict(desk: Desk, target: str, status: int) -> None:
    """What is not documented is not there, and changes nothing."""
    assert desk.ask(target).status == status
    assert desk.world.tally().commands == ()


def test_actions_fire_on_get_and_on_nothing_else(desk: Desk) -> None:
    """A plain GET acts; POST is refused. Ids are URL-encoded."""
    assert desk.ask(f"{ACT}/transports/1/disable", "POST").status == 405
    assert desk.world.tally().commands == ()
    queue = "queues/jobs-queue%21json/enable_proxied_transfer"
    for path in ("transports/1/disable", "replication/orders-ldn/downgrade", queue):
        assert desk.ask(f"{ACT}/{path}").status == 200
    assert [(action, target) for _, action, target in desk.world.tally().commands] == [
        ("disable", "transports/1"),
        ("downgrade", "replication/orders-ldn"),
        ("enable_proxied_transfer", "queues/jobs-queue!json"),
    ]
    desk.clock.advance(2)
    assert desk.tree(f"{NY}/transports/1/is_enabled.json")["transports"] == [{"id": "1", "is_enabled": "0"}]
    assert desk.tree(f"{NY}/queues.json")["queues"][0]["proxied_transfer"] == "enabled"
    assert desk.log.changes[-1] == f"GET {ACT}/{queue}"


def test_a_client_is_disconnected_by_its_number(desk: Desk) -> None:
    """It loses its connection, and comes back under another number."""
    before = desk.tree(f"{NY}/clients.json")["clients"][0]
    assert desk.ask(f"{ACT}/clients/{before['id']}/disconnect").status == 200
    desk.clock.advance(3)
    after = {row["client_name"]: row["id"] for row in desk.tree(f"{NY}/clients.json")["clients"]}
    assert after[before["client_name"]] != before["id"]


@pytest.mark.parametrize("spelled", ["transport", "transports"])
def test_the_check_asks_and_does_nothing(spelled: str) -> None:
    """True or false for the path of an action, in both documented spellings."""
    desk = Desk(Gate(denied="^/amps/administrator/transports"))
    check = f"{ACT}/authorization/entitlement/{spelled}/amps-admin/check.json?path="
    assert desk.ask(f"{check}{ACT}/transports/1/disable").body == b"false"
    assert desk.ask(f"{check}{ACT}/replication/orders-ldn/downgrade").body == b"true"
    assert desk.ask(f"{ACT}/transports/1/disable").status == 403
    assert desk.world.tally().commands == ()


def test_basic_authentication_keeps_strangers_out() -> None:
    """401 with a challenge for everything but the anonymous path."""
    desk = Desk(Gate(login="admin:secret"))
    assert desk.ask("/amps").status == 200
    stranger = desk.ask(f"{NY}/name.json")
    assert stranger.status == 401
    assert stranger.headers["WWW-Authenticate"].startswith("Basic")
    proof = base64.b64encode(b"admin:secret").decode()
    assert desk.ask(f"{NY}/name.json", authorization=f"Basic {proof}").status == 200
    assert desk.ask(f"{NY}/name.json", authorization=f"Basic {proof[:-4]}").status == 401


def test_the_configuration_is_served(desk: Desk) -> None:
    """Always at config.xml; its elements are those of the documentation."""
    root = parse_xml(desk.ask(f"{NY}/config.xml").body)
    assert root.findtext("Name") == "orders-ny"
    assert root.findtext("Replication/Destination/SyncType") == "sync"
    assert [one.findtext("Name") for one in root.findall("TransactionLog/Topic")] == ["orders", "jobs", "jobs-queue"]


def test_details_of_a_queue_are_live(desk: Desk) -> None:
    """Not sampled: they change within the interval."""
    target = f"{NY}/queues/jobs-queue!json/details.json"
    before = desk.tree(target)["queues"][0]["details"]["insert_count"]
    desk.clock.advance(0.4)
    assert desk.tree(target)["queues"][0]["details"]["insert_count"] > before


Fate = Callable[[Outgoing], bool]


@pytest.mark.parametrize(
    ("fault", "fate", "obeyed"),
    [
        ("disable: lose reply", lambda answer: answer.mishap == "drop", True),
        ("disable: lose request", lambda answer: answer.mishap == "freeze", False),
        ("disable: refuse", lambda answer: answer.status == 403, False),
        ("disable: garbage reply", lambda answer: b"garbage" in answer.body, True),
        ("any orders-ny: wrong password", lambda answer: answer.status == 401, False),
    ],
)
def test_answers_go_wrong_as_scripted(desk: Desk, fault: str, fate: Fate, obeyed: bool) -> None:
    """An answer that is lost after the effect, and one whose request never arrived, look alike from outside."""
    desk.world.inject(parse_amps_faults([fault]))
    assert fate(desk.ask(f"{ACT}/transports/1/disable"))
    assert bool(desk.world.tally().commands) is obeyed


def test_a_late_request_is_obeyed_later(desk: Desk) -> None:
    """No answer now, the effect then."""
    desk.world.inject(parse_amps_faults(["disable: late 3s"]))
    assert desk.ask(f"{ACT}/transports/1/disable").mishap == "freeze"
    desk.clock.advance(2)
    assert desk.world.tally().commands == ()
    desk.clock.advance(2)
    assert desk.world.tally().commands == (("orders-ny", "disable", "transports/1"),)


def test_silence_is_of_the_administration_alone(desk: Desk) -> None:
    """No answer at all, while the instance goes on serving its clients."""
    desk.world.inject(parse_amps_faults(["at 0s: silent orders-ny 5s"]))
    desk.clock.advance(0.5)
    before = desk.world.tally().acknowledged
    assert desk.ask(f"{NY}/name.json").mishap == "freeze"
    desk.clock.advance(6)
    assert desk.ask(f"{NY}/name.json").status == 200
    assert desk.world.tally().acknowledged > before + 100


def test_a_stale_sample_shows_what_was(desk: Desk) -> None:
    """Statistics stand still; the instance does not."""
    desk.world.inject(parse_amps_faults(["at 0s: stale orders-ny"]))
    desk.clock.advance(1)
    before = desk.tree("/amps.json")
    assert desk.ask(f"{ACT}/transports/1/disable").status == 200
    desk.clock.advance(30)
    assert desk.tree("/amps.json") == before
