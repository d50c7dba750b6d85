"""Fence, endpoints, platform and snapshots over the CLI: what each node is asked, and what its answers come to."""

from __future__ import annotations

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import Endpoints, Fence, NodeFence, Platform
from orchestrator.clock import VirtualClock
from orchestrator.errors import UnreadableReply
from orchestrator.family.composite import browser_of, compose
from orchestrator.family.contract import Adapter, Browser, Endpoint
from orchestrator.family.registry import Registry
from orchestrator.model.outcome import Failure
from tests.solace import layouts
from tests.solace.stage import adapter_of, node

SERVICE, CLIENTS = layouts.fixture("service"), layouts.fixture("clients")
SHUT = (
    SERVICE.replace("Msg-Backbone:       Enabled", "Msg-Backbone:       Shutdown")
    .replace("55555 U U", "55555 U D")
    .replace("U D No Cert", "U D        ")
)
NOBODY = CLIENTS[CLIENTS.index("Internal") :]
QUEUES = layouts.fixture("queues").replace("Trading_VPN", "a          ")
MESSAGE = (
    "Message Id : {}\nDate : Jun 17 2026 07:14:53 UTC\nReplication Group Msg Id : rmid1:1-2-3-{}\nReplicated : Yes\n"
)
OLDEST = "show queue {} message-vpn a messages oldest detail count num-elements 1"


def fence_of(*answers: dict[str, str]) -> Fence | Failure:
    """The fence of a site whose nodes answer so."""
    clock = VirtualClock()
    nodes = [node(f"ny{number}", clock, answers=dict(one)) for number, one in enumerate(answers, start=1)]
    found = adapter_of(*nodes).probe("fence", ["a"])["a"]
    assert isinstance(found, Fence | Failure)
    return found


def test_a_closed_and_an_open_door() -> None:
    """Law: closed is a closed backbone without clients, on each node; activity is counted from the roles."""
    shut = {"show service": SHUT, "show client *": NOBODY}
    assert fence_of(shut) == Fence(nodes=(NodeFence(node="ny1", backbone_up=False, clients=0, active=1),))
    found = fence_of(shut, {"show service": SERVICE, "show client *": CLIENTS})
    assert isinstance(found, Fence)
    assert (found.nodes[1].backbone_up, found.nodes[1].clients) == (True, 2)
    assert (found.closed, found.open, found.idle) == (False, False, False)


def test_what_is_not_told_is_unknown_and_never_closed() -> None:
    """Law: an error or a missing table leaves its own value unknown; the others are read all the same."""
    found = fence_of({"show service": SHUT, "show client *": "Command Failed\n"})
    assert found == Fence(nodes=(NodeFence(node="ny1", backbone_up=False, clients=None, active=1),))
    assert isinstance(found, Fence)
    assert found.closed is None
    found = fence_of({"show service": "Command Failed\n", "show client *": NOBODY})
    assert isinstance(found, Fence)
    assert (found.nodes[0].backbone_up, found.nodes[0].clients) == (None, 0)


@pytest.mark.parametrize(("connections", "clients"), [("0", 0), ("2", None), ("", None)])
def test_no_table_of_clients_is_confirmed_by_connections(connections: str, clients: int | None) -> None:
    """Law: where nothing is printed of clients, only message VPNs without a connection show that there are none."""
    detail = f"Message VPN:     a\nActive Incoming Connections:    {connections}\n"
    answers = {"show service": SHUT, "show client *": "\n", "show message-vpn * detail": detail}
    found = fence_of(answers)
    assert isinstance(found, Fence)
    assert found.nodes[0].clients == clients


def endpoints_of(answers: dict[str, str]) -> Endpoints | Failure:
    """The endpoints of message VPN a, of a node that answers so."""
    found = adapter_of(node(answers=answers)).probe("endpoints", ["a"])["a"]
    assert isinstance(found, Endpoints | Failure)
    return found


def test_endpoints_with_depth_and_age() -> None:
    """Law: the replication queue and what is not durable are left out; an age that is not shown is unknown."""
    found = endpoints_of(
        {
            "show queue * message-vpn a": QUEUES,
            "show topic-endpoint * message-vpn a": "\n",
            "show topic-endpoint *": "\n",
            OLDEST.format('"a name with blanks 7"'): MESSAGE.format(7, 7),
        }
    )
    assert isinstance(found, Endpoints)
    assert [(one.name, one.messages, one.oldest_at) for one in found.items] == [
        ("orders", 0, None),
        ("a name with blanks 7", 12345, 1781680493.0),
    ]


@pytest.mark.parametrize(
    "shown", ["\n", "Invalid command input\n", "Id  Time\n--- ----\n7   now\n", "Message Id : 7\n"]
)
def test_an_age_of_no_known_layout_is_unknown(shown: str) -> None:
    """Law: where the oldest message is not shown, its age is unknown, never young."""
    answers = {
        "show queue * message-vpn a": QUEUES,
        "show topic-endpoint * message-vpn a": "\n",
        "show topic-endpoint *": "\n",
        OLDEST.format('"a name with blanks 7"'): shown,
    }
    found = endpoints_of(answers)
    assert isinstance(found, Endpoints)
    assert (found.items[1].messages, found.items[1].oldest_at) == (12345, None)


@pytest.mark.parametrize(
    "answers",
    [
        {"show queue * message-vpn a": "\n"},
        {"show queue * message-vpn a": QUEUES, "show topic-endpoint * message-vpn a": "Command Failed\n"},
        {"show queue * message-vpn a": layouts.fixture("queues"), "show topic-endpoint * message-vpn a": "\n"},
    ],
)
def test_a_listing_that_cannot_be_had_is_a_failure(answers: dict[str, str]) -> None:
    """Law: no queue at all, an error, or another message VPN's queues are no answer."""
    assert isinstance(endpoints_of(answers), Failure)


def test_the_platform() -> None:
    """Law: what is printed is reported, what is not is unknown; the account's level has no command."""
    clock = VirtualClock()
    device = node(
        clock=clock,
        answers={
            "show version": "\nSolace PubSub+ 3560 Version 9.13.1.0\n",
            "show message-spool detail": "Transaction Replication Compatibility Mode:  Transacted\n",
            "show config-sync": "Admin Status : Enabled\nOper Status : Up\n",
            "show replication": layouts.fixture("replication_appliance"),
            "show clock": "who knows\n",
        },
    )
    assert adapter_of(device).probe("platform", ["a"])["a"] == Platform(
        node="ny1", version="9.13.1.0", transactions="transacted", config_sync_up=True, mate="ny-b"
    )
    silent = node(answers={})
    assert adapter_of(silent).probe("platform", ["a"])["a"] == Platform(node="ny1")


def test_a_snapshot_by_labels() -> None:
    """Law: messages are browsed in the order of their ids, after the last one that is known."""
    answers = {
        "show queue * message-vpn a": QUEUES,
        "show topic-endpoint * message-vpn a": "\n",
        "show topic-endpoint *": "\n",
        'show queue "a name with blanks 7" message-vpn a messages detail': MESSAGE.format(7, 7)
        + MESSAGE.format(9, 9),
    }
    adapter = adapter_of(node(answers=answers))
    assert isinstance(adapter, Browser)
    assert [one.name for one in adapter.durable_endpoints("a")] == ["a name with blanks 7", "orders"]
    endpoint = Endpoint("a", "a name with blanks 7", "queue")
    assert adapter.count(endpoint).messages == 12345
    held = list(adapter.browse(endpoint, None))
    assert [one.number for one in held] == [7, 9]
    assert [one.number for one in adapter.browse(endpoint, held[0])] == [9]
    assert list(adapter.browse(Endpoint("a", "orders", "queue"), None)) == []


@pytest.mark.parametrize("shown", [MESSAGE.format(9, 9) + MESSAGE.format(7, 7), "Message Id : 7\n", "\n"])
def test_messages_that_cannot_be_told_apart_are_refused(shown: str) -> None:
    """Law: out of order, or without time and group id, an endpoint is not browsed."""
    command = 'show queue "a name with blanks 7" message-vpn a messages detail'
    answers = {
        "show queue * message-vpn a": QUEUES,
        "show topic-endpoint * message-vpn a": "\n",
        "show topic-endpoint *": "\n",
        command: shown,
    }
    with pytest.raises(UnreadableReply):
        list(adapter_of(node(answers=answers)).browse(Endpoint("a", "a name with blanks 7", "queue"), None))


def test_of_two_adapters_the_one_that_tells_more_is_asked() -> None:
    """Law: where SEMP is beside the CLI, it reads fence, endpoints and platform; moves stay with the first."""
    kinds: list[type[Adapter]] = [SolaceCliAdapter, Registry().get("solace-semp")]
    both = compose(kinds)
    assert both.readings["platform"] is kinds[1].readings["platform"]
    assert both.readings["replication"] is SolaceCliAdapter.readings["replication"]
    assert both.actions["set_role"] is SolaceCliAdapter.actions["set_role"]
    assert browser_of(adapter_of(node())) is not None
