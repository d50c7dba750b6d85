"""The CLI output for the node's redundancy and message spool.

Sources: docs/sources/solace-procedure.md, uncontrolled 4.2 (the appliance's ``show redundancy``), the captured login
on a software broker (``detail`` and blank cells), and docs/sources/solace.md, 3.5 and 3.6. If the appliance does not
give a value, its line is left out or its cell is blank.
"""

from __future__ import annotations

from simulator.lab.edition import Edition
from simulator.solace.appliance import RedundancyView

_CELL = 31  # columns of the label in the two-column table
_RULE = "-" * 22
_REDUNDANCY_LABEL = 25


def redundancy_block(view: RedundancyView, edition: Edition) -> list[str]:
    """``show redundancy``."""
    rows = [
        ("Activity Status", view.activity),
        ("Routing Interface", ""),
        ("VRRP VRID", ""),
        ("Routing Interface Status", ""),
        ("VRRP Status", ""),
        ("VRRP Priority", ""),
        ("Message Spool Status", view.spool),
        ("Priority Reported By Mate", ""),
    ]
    head = _redundancy_head(view, tells_status=edition.redundancy_tells_status)
    return [*head, "", *_virtual_routers(view, rows), ""]


def redundancy_detail_block(view: RedundancyView) -> list[str]:
    """``show redundancy detail``. Some labels occur twice, as a row and as a section, as in the capture."""
    spool = "NotReady" if view.spool in ("AD-NotReady", "AD-Disabled") else "Ready"
    first = [
        ("Activity Status", view.activity),
        ("Redundancy Interface Status", ""),
        ("VRRP Status", ""),
        ("VRRP Priority", ""),
        ("Message Spool Status", view.spool),
    ]
    activity = [
        ("Activity Status:", view.activity),
        ("  Operational Status", ""),
        ("    Message Spool Status", spool),
        ("  Internal Activity Status", view.activity),
    ]
    spooling = [
        ("Message Spool Status:", spool),
        ("  Internal Redundancy State", view.spool),
    ]
    head = _redundancy_head(view, tells_status=True)
    return [
        *head,
        "",
        *_virtual_routers(view, first),
        "",
        *_cells(view, activity),
        "",
        *_cells(view, spooling),
        "",
    ]


def _redundancy_head(view: RedundancyView, *, tells_status: bool) -> list[str]:
    link = "Up" if view.mate_link_up else "Down"
    pairs = [("Configuration Status", view.config_status)]
    if tells_status:
        pairs += [("Redundancy Status", "Up" if view.up else "Down")]
    pairs += [
        ("Auto Revert", "No"),
        ("Redundancy Mode", "Active/Standby" if view.configured else "N/A"),
    ]
    if tells_status:
        pairs += [("Active-Standby Role", view.role)]
    pairs += [
        ("Mate Router Name", view.mate_router_name),
        ("ADB Link To Mate", link),
        ("ADB Hello To Mate", link),
    ]
    return [f"{label:<{_REDUNDANCY_LABEL}}: {value}" for label, value in pairs]


def _virtual_routers(view: RedundancyView, rows: list[tuple[str, str]]) -> list[str]:
    return [
        f"{'':<{_CELL}}Primary Virtual Router  Backup Virtual Router",
        f"{'':<{_CELL}}{_RULE}  {_RULE}",
        *_cells(view, rows),
    ]


def _cells(view: RedundancyView, rows: list[tuple[str, str]]) -> list[str]:
    # In an active/standby group a node has one of the two virtual routers. For the other it shows one "Shutdown".
    lines = []
    for label, own in rows:
        other = "Shutdown" if label == "Activity Status" else ""
        primary, backup = (own, other) if view.role == "Primary" else (other, own)
        lines.append(f"{label:<{_CELL}}{primary:<24}{backup}")
    return lines


def message_spool_block(view: RedundancyView) -> list[str]:
    """``show message-spool [detail]``. Only lines with a source and a value that the node knows (docs/sources/solace.md,
    3.6)."""
    is_disabled = view.spool == "AD-Disabled"
    pairs = [
        ("Config Status:", "Disabled" if is_disabled else f"Enabled ({view.role})"),
        ("Operational Status:", view.spool),
        ("Datapath Status:", "Up" if view.spool == "AD-Active" else "Down"),
    ]
    return ["", *(f"{label:<42}{value}" for label, value in pairs), ""]
