"""What a site tells over the CLI, in the layouts of docs/sources/solace-cli.md: services, clients, endpoints,
platform."""

from __future__ import annotations

import pytest

from adapters.solace.parse_doors import parse_backbone, parse_clients, parse_connections, parse_interface
from adapters.solace.parse_endpoints import Row, parse_endpoints, parse_messages
from adapters.solace.parse_platform import config_sync_in, mate_in, moment_in, transaction_mode_in, version_in
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, NotServing, UnreadableReply
from tests.solace.layouts import fixture

SERVICE = fixture("service")
CLIENTS = fixture("clients")
QUEUES = fixture("queues")
SHUT = SERVICE.replace("Msg-Backbone:       Enabled", "Msg-Backbone:       Shutdown")


def operating(text: str, services: str) -> str:
    """The table with these services operating, and no other but those of the management."""
    lines = []
    for line in text.split("\n"):
        name = line[:10].strip()
        if name in ("SMF", "AMQP", "MQTT", "REST", "WEB") and line[49:52] in ("U U", "U D", "D D"):
            line = f"{line[:51]}{'U' if name in services.split() else 'D'}{line[52:]}"
        lines.append(line)
    return "\n".join(lines)


def test_only_enabled_is_open() -> None:
    """Law: the word Enabled, and no other, is an open backbone."""
    assert parse_backbone(SERVICE) is True
    assert parse_backbone(SERVICE.replace("Msg-Backbone", "MSG-BACKBONE")) is True


@pytest.mark.parametrize("word", ["Shutdown", "Disabled", "Down", "Enabling"])
def test_any_other_word_is_closed_only_when_nothing_operates(word: str) -> None:
    """Law: another word is believed only where no messaging service operates; else it is unknown."""
    text = SERVICE.replace("Msg-Backbone:       Enabled", f"Msg-Backbone:       {word}")
    assert parse_backbone(operating(text, "")) is False
    assert parse_backbone(operating(text, "MQTT")) is None
    assert parse_backbone(operating(text, "SMF AMQP")) is None


def test_a_closed_word_without_the_services_is_unknown() -> None:
    """Law: where the services are not shown, or a flag is not known, a closed word shows nothing."""
    assert parse_backbone(SHUT[: SHUT.index("Flags Legend")]) is None
    assert (
        parse_backbone(operating(SHUT, "").replace("5672 D D", "5672 D ?").replace(" U D No Cert", " U ? No")) is None
    )
    with pytest.raises(UnreadableReply):
        parse_backbone("\n")
    with pytest.raises(CommandRejected):
        parse_backbone("Error: no such thing\nCommand Failed\n")


def test_clients_of_all_virtual_routers_but_the_internal_one() -> None:
    """Law: a wrapped name is one client; names with ``#`` and the internal router's are the node's own."""
    assert parse_clients(CLIENTS) == 2
    assert parse_clients(CLIENTS.replace("#config-sync/ny-a ", "someone/else      ")) == 3


def test_no_client_is_a_bare_header_or_no_section() -> None:
    """Law: a table without a client of the primary router is none; no table at all is no answer."""
    internal = CLIENTS[CLIENTS.index("Internal") :]
    assert parse_clients(internal) == 0
    bare = "Primary Virtual Router:\n\n" + "\n".join(internal.split("\n")[2:4]) + "\n\n" + internal
    assert parse_clients(bare) == 0
    for text in ("", "\n", "Error: not now\nCommand Failed\n", CLIENTS + "ERROR: something broke\n"):
        with pytest.raises(AdapterError):
            parse_clients(text)


def test_connections_of_all_message_vpns() -> None:
    """Law: connections count only if each message VPN tells them."""
    block = "Message VPN:                         {}\nLocal Status:    Up\nActive Incoming Connections:         {}\n"
    assert parse_connections(block.format("a", 0) + block.format("b", 2)) == 2
    assert parse_connections(block.format("a", 0) + "Message VPN:      b\n") is None
    assert parse_connections("\n") is None


def test_an_interface() -> None:
    """Law: an interface is enabled by its own word, and another one's does not count."""
    text = "Interface: intf0\n  Enabled: yes\nInterface: 1/1/lag1\n  Enabled: no\n  Operational State: Down\n"
    assert (parse_interface(text, "intf0"), parse_interface(text, "1/1/lag1")) == (True, False)
    assert parse_interface(text, "1/1/lag2") is None
    assert parse_interface("Interface: a\n  Enabled: perhaps\n", "a") is None


def test_the_table_of_queues() -> None:
    """Law: a name is alone on its line, with blanks or longer than its column; the numbers are its message VPN's."""
    assert parse_endpoints(QUEUES) == [
        Row("#MSGVPN_REPLICATION_DATA_QUEUE", "Trading_VPN", 10, True),
        Row("orders", "Trading_VPN", 0, True),
        Row("a name with blanks 7", "Trading_VPN", 12345, True),
        Row("volatile", "Trading_VPN", 1, False),
    ]
    assert [row.vpn for row in parse_endpoints(QUEUES.replace("Trading_VPN", "VPN 12 x 34"))] == ["VPN 12 x 34"] * 4
    assert len(parse_endpoints(QUEUES.replace("Queue Name ", "Topic Endpoint Name "))) == 4


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("\n", UnreadableReply),
        ("ERROR: message-spool operational status is not AD-ACTIVE\nCommand Failed\n", NotServing),
        ("message-spool operational status is not AD-ACTIVE\n", NotServing),
        ("SolOS startup in progress, status: 'Starting daemon'\nPlease try again later...\n", NotServing),
        ("ERROR: Message VPN 'x' not found.\nCommand Failed\n", NoSuchService),
        ("Command Failed\n", CommandRejected),
        (QUEUES.rstrip() + "\nERROR: out of memory\n", CommandRejected),
        (QUEUES[: QUEUES.rindex("Trading_VPN")], UnreadableReply),
    ],
)
def test_what_is_no_table_is_no_depth(text: str, error: type[AdapterError]) -> None:
    """Law: an error, nothing, or half a table is never 0 messages; a node whose spool is not active does not serve."""
    with pytest.raises(error):
        parse_endpoints(text)


def test_messages_by_labels() -> None:
    """Law: labels are read in any case; what is not shown is unknown, and without an id there is no message."""
    text = (
        "MESSAGE ID     : 12\nDate           : Jun 17 2026 07:14:53 UTC\nReplication Group Msg ID : rmid1:1-2-3-4\n"
        "Content Size : 0\nAttachment Size : 10\nReplicated : yes\n\nMsg Id : 13\nDate : Jun 17 2026 07:14:53 CET\n"
    )
    first, second = parse_messages(text)
    assert (first.number, first.spooled_at, first.group_id, first.size) == (12, 1781680493.0, "rmid1:1-2-3-4", 10)
    assert (second.number, second.spooled_at) == (13, None), "the offset of that zone is not known"
    with pytest.raises(UnreadableReply):
        parse_messages("Number Time\n------ ----\n12     today\n")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("\nSolace PubSub+ Enterprise Version 10.25.0.99\n\nProcess   Release\n", "10.25.0.99"),
        ("\nSolace PubSub+ 3560 Version 9.13.1.0\n", "9.13.1.0"),
        ("Current load is: soltr_7.2.1.51\n", "7.2.1.51"),
        ("Invalid command input\n", None),
    ],
)
def test_versions(text: str, version: str | None) -> None:
    """Law: the version is that of the title, else that of the load."""
    assert version_in(text) == version


@pytest.mark.parametrize("name", ["replication_appliance", "replication_software"])
def test_the_replication_mate(name: str) -> None:
    """Law: software and appliance name the mate as a virtual router; its own name is compared."""
    assert mate_in(fixture(name)) == "ny-b"


def test_no_mate_is_configured() -> None:
    """Law: an empty label is no mate."""
    assert mate_in("Replication Interface:\nReplication Mate:\n    Plain Text:\n") is None


@pytest.mark.parametrize(
    ("admin", "state", "of_pair", "alone"),
    [
        ("Enabled", "Up", True, True),
        ("Enabled", "Down (local table has a problem:  (1,Vpn,'default') [Out-Of-Sync])", False, False),
        ("Enabled", "Down (remote replication table has a problem: (2,Vpn,'v') [Out-Of-Sync])", None, False),
        ("Shutdown", "Down (config-sync shutdown)", False, False),
        ("Enabled", "Shutting Down", None, None),
    ],
)
def test_config_sync(admin: str, state: str, of_pair: bool | None, alone: bool | None) -> None:
    """Law: within a pair the other site's table tells nothing; a word that is not known is unknown."""
    text = f"\nAdmin Status                      : {admin}\nOper Status                       : {state}\n"
    assert (config_sync_in(text, is_pair=True), config_sync_in(text, is_pair=False)) == (of_pair, alone)
    assert config_sync_in("\n", is_pair=True) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Jun 17 2026 07:14:53 UTC", 1781680493.0),
        ("Time: Jun  7 2026 07:14:53 UTC", 1780816493.0),
        ("Jun 17 2026 15:14:53 +08", 1781680493.0),
        ("2026-06-17T07:14:53Z", 1781680493.0),
        ("RFC 3339: 2026-06-17T09:14:53.5+02:00", 1781680493.5),
        ("Jun 17 2026 07:14:53 EST", None),
        ("Foo 17 2026 07:14:53 UTC", None),
        ("Jun 31 2026 07:14:53 UTC", None),
        ("07:14:53", None),
    ],
)
def test_moments(text: str, at: float | None) -> None:
    """Law: a time counts only where its zone is known."""
    assert moment_in(text) == at


def test_the_mode_of_transactions() -> None:
    """Law: a label that a version does not print leaves the mode unknown."""
    assert transaction_mode_in("Transaction Replication Compatibility Mode:    Legacy\n") == "legacy"
    assert transaction_mode_in("Operational Status:    AD-Active\n") is None
