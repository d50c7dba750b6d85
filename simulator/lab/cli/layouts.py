"""The tables of the CLI: turns values of an appliance into lines of text.

Sources: docs/sources/solace-procedure.md (its printed examples), docs/sources/solace.md, 3.2 to 3.4 for newer versions.
No output is invented for a value that the appliance does not give. A layout without a source is marked as an
assumption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from simulator.lab.edition import Edition
from simulator.solace.appliance import QueueView, TransactionView, VpnReplication

REPLICATION_QUEUE = "#MSGVPN_REPLICATION_DATA_QUEUE"
CONFIG_SYNC_VPN = "#config-sync"  # listed by every wildcard, without values (docs/sources/solace.md, 2.4)
NAME_WIDTH = 32
LABEL_WIDTH = 37


def replication_table(rows: Sequence[VpnReplication | str], edition: Edition) -> list[str]:
    """``show message-vpn … replication``. A row with only a name has dashes in every column."""
    letters = " ".join(edition.replication_letters)
    header = [
        f"{'Message VPN':<{NAME_WIDTH}} {letters}",
        " ".join(["-" * NAME_WIDTH, *"-" * edition.replication_rule]),
    ]
    lines = ["", *_replication_legend(edition), "", *header]
    for number, row in enumerate(rows):
        if number and number % edition.header_every == 0:
            lines += ["", *header]
        name = row if isinstance(row, str) else row.vpn
        flags = " ".join(_flag(row, letter) for letter in edition.replication_letters)
        lines.append(f"{name:<{NAME_WIDTH}} {flags}")
    return [*lines, ""]


def _replication_legend(edition: Edition) -> list[str]:
    also = ", -=N/A" if edition.legend_says_not_applicable else ""
    return [
        "Flags Legend:",
        f"A - Admin State (U=Up, D=Down{also})",
        f"C - Config State (A=Active, S=Standby{also})",
        "B - Local Bridge State (U=Up, Q=Queue Unbound, D=Down, -=N/A)",
        "R - Remote Bridge State (U=Up, D=Down, -=N/A)",
        "Q - Queue State (U=Up, D=Down, -=N/A)",
        "S - Sync Replication Eligible (Y=Yes, N=No, -=N/A)",
        f"M - Reject Msg When Sync Ineligible (Y=Yes, N=No{also})",
        "T - Transaction Replication Mode (A=Async, S=Sync, -=N/A)",
    ]


def _flag(row: VpnReplication | str, letter: str) -> str:
    if isinstance(row, str):
        return "-"
    match letter:
        case "A":
            return "U" if row.admin_up else "D"
        case "C":
            return "A" if row.role == "active" else "S"
        case "B":
            return {"up": "U", "queue-unbound": "Q", "down": "D", None: "-"}[row.local_bridge]
        case "R":
            return _either(row.remote_bridge_up, "U", "D")
        case "Q":
            return _either(row.queue_bound, "U", "D")
        case "S":
            return _either(row.sync_eligible, "Y", "N")
        case "M":
            return _either(row.reject_when_ineligible, "Y", "N")
        case "T":
            return "A" if row.transaction_mode == "async" else "S"
        case _:
            return "N"  # the procedure's W is in no legend, and its only row has an N


def _either(value: bool | None, yes: str, no: str) -> str:
    return "-" if value is None else yes if value else no


def vpn_block(row: VpnReplication, *, is_serving: bool) -> list[str]:
    """``show message-vpn V``, with the fields that this appliance knows.

    Assumption: a VPN is Standby if its replication is standby, and Down on a node that does not serve. Only the label
    ``Local Status`` and its three values have a source (docs/sources/solace.md, 3.7).
    """
    is_standby = row.admin_up and row.role == "standby"
    status = "Down" if not is_serving else "Standby" if is_standby else "Up"
    return [
        "",
        *labelled(
            [
                ("Message VPN", row.vpn),
                ("Local Status", status),
                ("Replication Admin State", "Enabled" if row.admin_up else "Shutdown"),
                ("Replication Config State", row.role.capitalize()),
            ]
        ),
        "",
    ]


def queue_block(view: QueueView, *, detail: bool) -> list[str]:
    """``show queue … message-vpn V [detail]``, with the procedure's labels.

    Assumption: the labels of quota and discard behaviour, which come with ``detail``.
    """
    pairs = [
        ("Name", REPLICATION_QUEUE),
        ("Message VPN", view.vpn),
        ("Current Messages Spooled", str(view.messages)),
        ("Current Spool Usage (MB)", f"{view.usage_mb:.4f}"),
        ("High Water Mark (MB)", f"{view.high_water_mb:.4f}"),
    ]
    if detail:
        pairs += [
            ("Max Spool Usage (MB)", str(view.quota_mb)),
            ("Reject Msg To Sender On Discard", "Yes" if view.reject_on_discard else "No"),
        ]
    return ["", *labelled(pairs), ""]


def labelled(pairs: Iterable[tuple[str, str]], width: int = LABEL_WIDTH) -> list[str]:
    """Lines ``Label   : value`` with aligned colons."""
    return [f"{label:<{width}}: {value}".rstrip() for label, value in pairs]


def transaction_table(rows: Sequence[TransactionView], edition: Edition) -> list[str]:
    """``show transaction``: two lines per row, the first with only the XID (docs/sources/solace-procedure.md,
    controlled 4)."""
    header = [
        f"{'XID':<70}{'Messages':>8}",
        f"{'Message VPN':<45} T S R {'Last State Change':<17} {'Spooled':>8}",
        " ".join(["-" * 45, "-", "-", "-", "-" * 17, "-" * 8]),
    ]
    lines = [
        "Flags Legend",
        "T - Transaction Type (X=XA L=Local)",
        "S - Transaction State (A=Active S=Suspended I=Idle P=Prepared C=Complete)",
        "R - Replicated (Y=Yes N=No)",
        *header,
    ]
    for number, row in enumerate(rows):
        if number and number % edition.header_every == 0:
            lines += ["", *header]
        flags = f"{row.type[0]} {row.state[0]} {'Y' if row.replicated else 'N'}"
        lines += [row.xid, f"{row.vpn:<45} {flags} {_short_age(row.in_state_s):>17} {row.spooled:>8}"]
    return [*lines, ""]


def transaction_blocks(rows: Sequence[TransactionView]) -> list[str]:
    """``show transaction … detail``. The source (docs/sources/solace-procedure.md, controlled 4) lost its repeated
    blanks, but its rules show the widths."""
    lines: list[str] = []
    for row in rows:
        lines += [
            f"XID: {row.xid}",
            f"Message VPN: {row.vpn}",
            f"Client: {row.client}",
            f"Client Username: {row.client_username}",
            "Session: N/A",
            "Idle Timeout: 0",
            f"Type: {row.type}",
            f"State: {row.state}",
            f"Replicated: {'Yes' if row.replicated else 'No'}",
            f"Last State Change: {_long_age(row.in_state_s)}",
            f"Messages: {row.spooled}",
            f"Messages Published: {row.messages_published}",
            f"Messages Consumed: {row.messages_consumed}",
            "Publisher Messages:",
            f"{'Message Id':<20} Topic",
            f"{'-' * 20} {'-' * 59}",
            "Consumer Messages:",
            f"{'Message Id':<20} {'Type':<5} Endpoint Name",
            f"{'-' * 20} {'-' * 5} {'-' * 53}",
            *(f"{number:<20} {kind:<5} {name}" for number, kind, name in row.consumed),
            "",
        ]
    return lines


def _parts(seconds: float) -> tuple[int, int, int, int]:
    minutes, s = divmod(max(0, int(seconds)), 60)
    hours, m = divmod(minutes, 60)
    d, h = divmod(hours, 24)
    return d, h, m, s


def _long_age(seconds: float) -> str:
    return "{}d {}h {}m {}s".format(*_parts(seconds))


def _short_age(seconds: float) -> str:
    # The procedure shows "1s". Assumption: longer ages drop the leading parts that are zero.
    named = list(zip(_parts(seconds), "dhms", strict=True))
    while len(named) > 1 and named[0][0] == 0:
        del named[0]
    return " ".join(f"{number}{unit}" for number, unit in named)
