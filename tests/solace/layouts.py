"""Builders of what a Solace CLI prints, with sane defaults: written after the documents' samples, not by the product.

Each returns text with ``\\n`` ends, as ``ScriptedDevice`` wants its answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"

LEGEND = "Flags Legend:\nA - Admin State (U=Up, D=Down)\nC - Config State (A=Active, S=Standby)\n"
ACTIVE = "U A - U U Y N A"
STANDBY = "U S U - - - N A"


def fixture(name: str) -> str:
    """One of the printed samples."""
    return (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")


def replication(rows: Mapping[str, str], letters: str = "A C B R Q S M T", columns: int = 9) -> str:
    """``show message-vpn … replication``; ``rows`` maps a message VPN to its flags."""
    head = f"{'Message VPN':<32} {letters}\n{'-' * 32}{' -' * columns}\n"
    return f"\n{LEGEND}\n{head}" + "".join(f"{vpn:<32} {flags}\n" for vpn, flags in rows.items()) + "\n"


def queues(depths: Mapping[str, int]) -> str:
    """``show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn … detail``."""
    text = ""
    for vpn, depth in depths.items():
        pairs = [
            ("Name", "#MSGVPN_REPLICATION_DATA_QUEUE"),
            ("Message VPN", vpn),
            ("Durability", "Durable"),
            ("Current Messages Spooled", str(depth)),
            ("Current Spool Usage (MB)", f"{depth * 0.0006:.4f}"),
            ("Max Spool Usage (MB)", "60000"),
        ]
        text += "\n" + "".join(f"{label:<37}: {value}\n" for label, value in pairs) + "\n"
    return text


def transactions(rows: Iterable[tuple[str, str, str]]) -> str:
    """``show transaction …``; each row is (XID, message VPN, flags such as ``X P Y``)."""
    head = (
        f"Flags Legend\nR - Replicated (Y=Yes N=No)\n{'XID':<70}{'Messages':>8}\n"
        f"{'Message VPN':<45} T S R Last State Change  Spooled\n{'-' * 45} - - - {'-' * 17} {'-' * 8}\n"
    )
    return head + "".join(f"{xid}\n{vpn:<45} {flags} {'1s':>17} {'0':>8}\n" for xid, vpn, flags in rows)


def transaction_details(rows: Iterable[tuple[str, str, str]]) -> str:
    """The ``detail`` form; each row is (XID, message VPN, client)."""
    return "".join(
        f"XID: {xid}\nMessage VPN: {vpn}\nClient: {client}\nType: XA\nState: PREPARED\nReplicated: Yes\n"
        "Last State Change: 0d 0h 1m 1s\nMessages: 10\nMessages Published: 3\nMessages Consumed: 7\n"
        "Publisher Messages:\nMessage Id           Topic\n-------------------- -----\n"
        "Consumer Messages:\nMessage Id           Type  Endpoint Name\n-------------------- ----- -----\n\n"
        for xid, vpn, client in rows
    )


def redundancy(
    activity: str = "Local Active",
    spool: str = "AD-Active",
    *,
    backup: tuple[str, str] = ("Shutdown", ""),
    configuration: str = "Enabled",
    status: str | None = "Up",
    hello: str = "Up",
    spool_row: bool = True,
) -> str:
    """``show redundancy``; ``activity`` and ``spool`` are the primary virtual router's cells."""
    head = f"{'Configuration Status':<25}: {configuration}\n"
    head += f"{'Redundancy Status':<25}: {status}\n" if status else ""
    head += f"{'Mate Router Name':<25}: mate\n{'ADB Link To Mate':<25}: Up\n{'ADB Hello To Mate':<25}: {hello}\n"
    rule = "-" * 22
    table = f"{'':31}Primary Virtual Router  Backup Virtual Router\n{'':31}{rule}  {rule}\n"
    rows = [("Activity Status", activity, backup[0]), ("VRRP Priority", "250", "")]
    rows += [("Message Spool Status", spool, backup[1])] if spool_row else []
    return f"{head}\n{table}" + "".join(f"{label:<31}{one:<24}{two}\n" for label, one, two in rows) + "\n"


STANDING_BY = redundancy("Mate Active", "AD-Standby")
BACKUP_SERVES = redundancy("Shutdown", "", backup=("Local Active", "AD-Active"))
STANDALONE = redundancy(configuration="Shutdown", status="Down", hello="Down")


def message_spool(state: str) -> str:
    """``show message-spool``."""
    return f"\n{'Config Status:':<42}Enabled (Primary)\n{'Operational Status:':<42}{state}\n\n"
