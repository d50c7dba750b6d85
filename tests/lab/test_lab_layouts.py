"""The tables of the lab's CLI, against the examples that the procedure and the captures print."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from simulator.lab.cli import layouts, node_layouts
from simulator.lab.edition import NEWER, SEED, SEED_WITH_W
from simulator.solace.appliance import QueueView, RedundancyView, RoleName, TransactionView, VpnReplication
from tests.lab.bench import ACTIVE, STANDBY, golden

PREPARED = TransactionView(
    xid="0021B028-00-01",
    vpn="blue_02",
    type="XA",
    state="PREPARED",
    replicated=True,
    client="username/15848/#000c0001",
    client_username="default",
    in_state_s=0.4,
    messages_published=0,
    messages_consumed=150,
    spooled=10,
    consumed=((3118727406, "queue", "test"), (3118727407, "queue", "test")),
)


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def row(vpn: str, **values: Any) -> VpnReplication:
    base = VpnReplication(vpn, True, "standby", None, None, None, None, False, "async")
    return replace(base, **values)


@pytest.mark.parametrize("row", [ACTIVE, STANDBY])
def test_replication_of_the_seed(row: VpnReplication) -> None:
    """Both halves of the procedure's step 1 come out as printed, the rule one column longer than the header."""
    assert text(layouts.replication_table([row], SEED)) == golden(f"replication_{row.role}")


def test_replication_with_the_unexplained_letter() -> None:
    """The procedure's later form has a W between C and B, and no legend for it."""
    assert text(layouts.replication_table([ACTIVE], SEED_WITH_W)) == golden("replication_with_w")


def test_replication_of_newer_versions() -> None:
    """Every flag has its letter; blanks in names survive; a name alone has dashes."""
    rows: list[VpnReplication | str] = [
        "#config-sync",
        row("A name that holds four blanks", admin_up=False),
        row(
            "all_is_well",
            role="active",
            remote_bridge_up=True,
            queue_bound=True,
            sync_eligible=True,
            transaction_mode="sync",
        ),
        row("bridge_down", local_bridge="down"),
        row(
            "ineligible_and_unbound",
            role="active",
            remote_bridge_up=False,
            queue_bound=False,
            sync_eligible=False,
            reject_when_ineligible=True,
        ),
        row("queue_unbound", local_bridge="queue-unbound"),
    ]
    assert text(layouts.replication_table(rows, NEWER)) == golden("replication_newer_wildcard")


def test_long_tables_repeat_header_and_rule() -> None:
    """After every so many rows the header and its rule come again, whatever the pager does."""
    lines = layouts.replication_table([row(f"vpn-{number:04}") for number in range(45)], SEED)
    headers = [index for index, line in enumerate(lines) if line.startswith("Message VPN")]
    rules = [index for index, line in enumerate(lines) if line.startswith("-----")]
    assert rules == [index + 1 for index in headers]
    assert [lines[index - 1] for index in headers] == ["", "", ""]
    assert sum(line.startswith("vpn-") for line in lines) == 45
    assert headers[1] - rules[0] - 2 == 20


def test_queue_of_the_seed() -> None:
    """The procedure's labels stand with their colons in column 38, and usage has four decimals."""
    view = QueueView("Trading_VPN", 1, 0.0006, 0.0012, 60000, True)
    assert text(layouts.queue_block(view, detail=False)) == golden("queue")
    detail = text(layouts.queue_block(view, detail=True))
    assert detail.startswith(golden("queue").rstrip("\n"))
    assert "Max Spool Usage (MB)                 : 60000\n" in detail


def test_transactions_of_the_seed() -> None:
    """Two lines a row: the XID alone, then VPN, flags, age and messages under their headings."""
    one = replace(PREPARED, xid="0021ABC4-00-01", in_state_s=1.2, spooled=0)
    assert text(layouts.transaction_table([one], SEED)) == golden("transactions")


def test_transaction_detail_of_the_seed() -> None:
    """The detail has the procedure's lines; the procedure's page lost runs of blanks, so both are compared
    without."""
    printed = text(layouts.transaction_blocks([PREPARED])).rstrip("\n") + "\n"
    assert re.sub(r" +", " ", printed) == re.sub(r" +", " ", golden("transaction_detail_collapsed"))
    assert "3118727406           queue test\n" in printed


@pytest.mark.parametrize(
    ("seconds", "short", "long"),
    [
        (0.0, "0s", "0d 0h 0m 0s"),
        (61.9, "1m 1s", "0d 0h 1m 1s"),
        (90_000.0, "1d 1h 0m 0s", "1d 1h 0m 0s"),
    ],
)
def test_ages(seconds: float, short: str, long: str) -> None:
    """Ages are whole seconds, never more than have passed."""
    one = replace(PREPARED, in_state_s=seconds)
    assert f" {short}" in layouts.transaction_table([one], SEED)[-2]
    assert f"Last State Change: {long}" in layouts.transaction_blocks([one])


def test_redundancy_of_the_seed() -> None:
    """The unhealthy node of the procedure: its own column filled, cells nobody knows blank but there."""
    view = RedundancyView(True, False, "Primary", "solaceBackup", False, "Local Inactive", "AD-NotReady")
    assert text(node_layouts.redundancy_block(view, SEED)) == golden("redundancy_unhealthy")


def test_redundancy_detail_of_a_serving_backup() -> None:
    """A backup that serves fills the right column; section labels repeat the names of rows, as captured."""
    view = RedundancyView(True, True, "Backup", "dev1primary", True, "Local Active", "AD-Active")
    assert text(node_layouts.redundancy_detail_block(view)) == golden("redundancy_detail_backup")


def test_a_node_without_a_mate() -> None:
    """Alone means Shutdown and N/A, which is no fault (sample of a standalone broker)."""
    view = RedundancyView(False, False, "Primary", "", False, "Local Active", "AD-Active")
    lines = node_layouts.redundancy_block(view, NEWER)
    assert lines[:5] == [
        "Configuration Status     : Shutdown",
        "Redundancy Status        : Down",
        "Auto Revert              : No",
        "Redundancy Mode          : N/A",
        "Active-Standby Role      : Primary",
    ]


def test_message_spool() -> None:
    """Role and state of the spool are the node's own."""
    view = RedundancyView(False, False, "Primary", "", False, "Local Active", "AD-Active")
    assert text(node_layouts.message_spool_block(view)) == golden("message_spool")
    resting = replace(view, spool="AD-Disabled", activity="Local Inactive")
    assert node_layouts.message_spool_block(resting)[1] == "Config Status:                            Disabled"


@pytest.mark.parametrize(
    ("role", "admin_up", "is_serving", "status"),
    [
        ("active", True, True, "Up"),
        ("standby", True, True, "Standby"),
        ("standby", False, True, "Up"),
        ("active", True, False, "Down"),
    ],
)
def test_local_status(role: RoleName, admin_up: bool, is_serving: bool, status: str) -> None:
    """A VPN is up, standby where its replication is, and down on a node that does not serve."""
    lines = layouts.vpn_block(row("V", role=role, admin_up=admin_up), is_serving=is_serving)
    assert f"{'Local Status':<37}: {status}" in lines
