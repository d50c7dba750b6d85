"""The CLI output for a node's services, clients, endpoints and platform: turns values into lines of text.

Source: docs/sources/solace-cli.md, by section. A layout or word without a source is marked as an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from simulator.lab.edition import Edition
from simulator.solace.appliance import (
    ClientView,
    EndpointKind,
    EndpointView,
    MessageView,
    PlatformView,
    RedundancyView,
    VpnReplication,
)
from simulator.solace.browsing import message_id

_SERVICE_WIDTHS = (10, 3, 5, 5, 15, 5, 3, 26)
_MESSAGING = (("SMF", "TCP", "N N N", "55555"), ("MQTT", "TCP", "N - -", "1883"), ("AMQP", "TCP", "N - -", "5672"))
_MANAGEMENT = (("SEMP", "TCP", "N - -", "8080"), ("MATELINK", "TCP", "Y N -", "8741"))
_CLIENT_WIDTHS = (27, 8, 16, 24)
_ENDPOINT_WIDTHS = (25, 11, 10, 10, 5, 13)
_VPN_LABEL = 37


def service_block(*, is_backbone_up: bool) -> list[str]:
    """``show service`` (section 3). Assumption: the word ``Shutdown`` for a closed backbone."""
    word = "Enabled" if is_backbone_up else "Shutdown"
    heads = [
        ("Msg-Backbone:", word),
        ("  VRF:", "management"),
        ("  SMF:", "Enabled"),
        ("    Web-Transport:", "Enabled"),
        ("  REST Incoming:", "Enabled"),
        ("  REST Outgoing:", "Enabled"),
        ("  MQTT:", "Enabled"),
        ("  AMQP:", "Enabled"),
        ("  Health-check:", "Enabled"),
        ("  Mate-link:", "Enabled"),
        ("  Redundancy:", "Enabled"),
    ]
    operates = "U" if is_backbone_up else "D"
    rows = [(*one, "U") for one in _MANAGEMENT] + [(*one, operates) for one in _MESSAGING]
    return [
        "",
        *(f"{label:<20}{value}" for label, value in heads),
        "",
        "Flags Legend:",
        "TP - Transport",
        "S - SSL (Y=Yes, N=No, -=not-applicable)",
        "C - Compressed (Y=Yes, N=No, -=not-applicable)",
        "R - Routing Ctrl (Y=Yes, N=No, -=not-applicable)",
        "A - Admin State (U=Up, D=Down, -=not-applicable)",
        "O - Oper State (U=Up, D=Down, -=not-applicable)",
        "",
        f"{'':46}Status",
        "Service    TP  S C R VRF   MsgVpn          Port  A O Failed Reason",
        _rule(_SERVICE_WIDTHS),
        *(f"{name:<10} {tp:<3} {flags} {'Mgmt':<5} {'':<15} {port:>5} U {up} " for name, tp, flags, port, up in rows),
        "",
    ]


def client_table(clients: Sequence[ClientView]) -> list[str]:
    """``show client *`` (section 16), with the internal virtual router's permanent client. Long names continue on the
    next line, after two blanks. Assumption: without clients the primary section has only its header."""
    rows = [line for one in clients for line in _client_rows(one.name, one.vpn, "")]
    internal = _client_rows("#client", clients[0].vpn if clients else "default", "Internal Message Bus")
    return ["", *_client_section("Primary", rows), *_client_section("Internal", internal)]


def _client_section(router: str, rows: Sequence[str]) -> list[str]:
    header = f"{'Client Name':<27} {'# Subs':>8} {'Message VPN':<16} Description"
    return [f"{router} Virtual Router:", "", header, _rule(_CLIENT_WIDTHS), *rows, ""]


def _client_rows(name: str, vpn: str, description: str) -> list[str]:
    names, vpns = _wrapped(name, 27), _wrapped(vpn, 16)
    first = f"{names[0]:<27} {1:>8} {vpns[0]:<16} {description:<24}"
    depth = max(len(names), len(vpns))
    more = [f"{_at(names, i):<27} {'':>8} {_at(vpns, i):<16} {'':<24}" for i in range(1, depth)]
    return [first, *more]


def _at(parts: Sequence[str], index: int) -> str:
    return parts[index] if index < len(parts) else ""


def _wrapped(text: str, width: int) -> list[str]:
    parts = [text[:width]]
    rest = text[width:]
    while rest:
        parts.append("  " + rest[: width - 2])
        rest = rest[width - 2 :]
    return parts


def endpoint_table(views: Sequence[EndpointView], kind: EndpointKind) -> list[str]:
    """``show queue *`` and ``show topic-endpoint *`` (sections 10 and 13): a line with the name, then a line with the
    message VPN and the numbers. Without endpoints nothing is printed. Assumption: topic endpoints have the same table
    as queues."""
    if not views:
        return []
    title = "Queue Name" if kind == "queue" else "Topic Endpoint Name"
    rows = []
    for view in views:
        flags = f"U U {'E' if view.name.startswith('#') else 'N'} N P D N"
        numbers = f"{view.messages:>11} {view.usage_mb:>10.2f} {view.usage_mb:>10.2f} {0:>5}"
        rows += [view.name, f"{view.vpn:<25} {numbers} {flags}"]
    return [
        "",
        "Flags Legend:",
        "I - Ingress Admin State (U=Up, D=Down)",
        "E - Egress  Admin State (U=Up, D=Down)",
        "A - Access-Type         (E=Exclusive, N=Non-Exclusive)",
        "S - Selector            (Y=Yes, N=No)",
        "R - Redundancy          (P=Primary, B=Backup)",
        "D - Durability          (D=Durable, N=Non-Durable)",
        "P - Priority            (Y=Yes, N=No)",
        "",
        f"{title:<25} {'Messages':>11} {'Spool':>10} {'':>10} Bind Status",
        f"{'Message VPN':<25} {'Spooled':>11} {'Usage(MB)':>10} {'HWM (MB)':>10} Count I E A S R D P",
        _rule(_ENDPOINT_WIDTHS),
        *rows,
        "",
    ]


def message_blocks(messages: Sequence[MessageView]) -> list[str]:
    """``show queue … messages … detail``. Assumption: the whole layout. SEMP v1's schema has these values in this order
    (section 12). Without messages nothing is printed."""
    lines: list[str] = []
    for one in messages:
        pairs = [
            ("Message Id", str(one.number)),
            ("Priority", "4"),
            ("Date", printed_time(one.spooled_at)),
            ("Replication Group Msg Id", message_id(one.number)),
            ("DMQ Eligible", "No"),
            ("Content Size", "0"),
            ("Attachment Size", str(one.size)),
            ("Replicated", _REPLICATED[one.state]),
            ("Redeliveries", "0"),
        ]
        lines += ["", *(f"{label:<37}: {value}" for label, value in pairs)]
    return [*lines, ""] if lines else []


_REPLICATED: Mapping[str, str] = {"replicated": "Yes", "not-replicated": "No", "pending-replication": "Pending"}


def replication_block(platform: PlatformView) -> list[str]:
    """``show replication`` of an appliance (section 4): the mate is a virtual router, ``v:NAME``."""
    pairs = [
        ("Replication Interface:", "1/6/lag1"),
        ("Replication Mate:", f"v:{platform.mate_router.removeprefix('v:')}"),
        ("  Connect-Via:", "192.0.2.9"),
        ("  Connect-Ports:", ""),
        ("    Plain Text:", "55555"),
        ("    SSL:", "55443"),
        ("ConfigSync:", ""),
        ("  Bridge:", ""),
        ("    Admin State:", "Enabled"),
        ("    State:", "up" if platform.config_sync_up else "down"),
    ]
    return ["", *(f"{label:<35}{value}".rstrip() for label, value in pairs), ""]


def config_sync_block(platform: PlatformView) -> list[str]:
    """``show config-sync`` (section 5), with the reason in brackets if it is down."""
    reason = "remote replication table has a problem:  (2,Router,'site') [Out-Of-Sync]"
    if platform.config_sync_group_up is False:
        reason = "local table has a problem:  (1,Router,'site') [Out-Of-Sync]"
    pairs = [
        ("Admin Status", "Enabled"),
        ("Oper Status", "Up" if platform.config_sync_up else f"Down ({reason})"),
        ("SSL Enabled", "No"),
    ]
    return ["", *(f"{label:<34}: {value}" for label, value in pairs), ""]


def clock_block(platform: PlatformView) -> list[str]:
    """``show clock``. Assumption: one line in the time format of other outputs (section 1)."""
    return ["", printed_time(platform.clock), ""]


def printed_time(at: float) -> str:
    """A time like ``Jun 17 2026 07:14:53 UTC``. A day of one digit has two blanks before it (section 1)."""
    moment = datetime.fromtimestamp(int(at), UTC)
    return f"{moment:%b} {moment.day:>2} {moment:%Y %H:%M:%S} UTC"


def spool_detail(redundancy: RedundancyView, platform: PlatformView) -> list[str]:
    """The additional lines of ``show message-spool detail`` (section 7). Assumption: the label of the mode."""
    is_active = redundancy.spool == "AD-Active"
    pairs = [
        ("Synchronization Status:", "Synced" if is_active else "Unknown"),
        ("Disk Contents:", "Ready"),
        ("Transaction Replication Compatibility Mode:", platform.transactions.capitalize()),
    ]
    return [*(f"{label:<42} {value}" for label, value in pairs), ""]


def version_block(edition: Edition) -> list[str]:
    """``show version`` (section 1)."""
    return [
        "",
        f"Solace PubSub+ {edition.product} Version {edition.version} (SIMULATED)",
        "",
        "Process         Release              Build date",
        "--------------- -------------------- ------------------------",
        f"{'CLI':<15} {edition.version:<20} Dec  5 2025 10:27:16 +08",
        "",
        f"Current load is: soltr_{edition.version}",
        "",
        "Backout load does not exist",
        "",
        "System uptime: 60d 0h 6m 39s",
        "",
    ]


def interface_block(name: str, *, is_enabled: bool) -> list[str]:
    """``show interface`` (section 18)."""
    return [
        f"Interface: {name}",
        f"  Enabled: {'yes' if is_enabled else 'no'}",
        f"  Operational State: {'Up' if is_enabled else 'Down'}",
        "  Last Failure Reason: N/A",
        "",
    ]


def vpn_detail_block(row: VpnReplication, clients: int, *, is_serving: bool) -> list[str]:
    """``show message-vpn V detail`` (section 8)."""
    is_standby = row.admin_up and row.role == "standby"
    status = "Down" if not is_serving else "Standby" if is_standby else "Up"
    pairs = [
        ("Message VPN:", row.vpn),
        ("Configuration Status:", "Enabled"),
        ("Local Status:", status),
        ("Active Incoming Connections:", str(clients)),
        ("  Service SMF:", str(clients)),
    ]
    return ["", *(f"{label:<{_VPN_LABEL}}{value}" for label, value in pairs), ""]


def _rule(widths: Sequence[int]) -> str:
    return " ".join("-" * width for width in widths)
