"""`failover check --explain` where a broker prints what no parser knows: all of it is in the file, without names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import GROUP, Registry
from orchestrator.model.inventory import Site
from tests.cli.fixtures import shell as shell
from tests.cli.shell import Shell
from tests.solace import layouts
from tests.solace.replay import difference, play
from tests.ssh.scripted import ScriptedDevice, Shown

VPN = "prod_orders"
# A layout of its own: one state a line, quotes around a name, a host, an address, a serial number, a long name cut.
STRANGE = (
    f"Replication of Message VPN '{VPN}'\n  State ......... active (mate nj-broker-7 at 10.44.3.2)\n"
    f"  Bridge of {VPN.upper()} on v:ny-broker-1 is up; seen prod_ord from ops@bank.example.com\n"
    "  Log host: syslog-2.bank.example.com\nSerial Number: A00042117\n"
)
INVENTORY = {
    "sites": {
        name: {"adapter": "strange", "devices": [{"name": host, "address": f"{host}.bank.example.com"}]}
        for name, host in (("hudson", "ny-broker-1"), ("raritan", "nj-broker-7"))
    },
    "pairs": [{"name": "orders-pair", "sites": ["hudson", "raritan"], "services": [VPN]}],
}
# What a node calls itself is in its prompt, and not in the inventory.
ROUTER = "PRODROUTER"
NAMES = (ROUTER, "hudson", "raritan", "broker", "bank", "prod_ord", "10.44.3.2", "orders-pair", "A00042117")


class Strange(SolaceCliAdapter):
    """Speaks to a scripted node that shows its replication in a layout of its own, and its queue in a known one."""

    answers: Mapping[str, Shown] = {
        "show redundancy": layouts.redundancy(),
        f"show message-vpn {VPN} replication": STRANGE,
        f"show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn {VPN} detail": layouts.queues({VPN: 3}),
        f"show transaction message-vpn {VPN}": "Command Failed\n",
        f"show queue * message-vpn {VPN}": "",
    }

    def __init__(self, site: Site, setting: AdapterContext) -> None:
        assert isinstance(setting.clock, VirtualClock)
        node = ScriptedDevice(setting.clock, name=f"{ROUTER}{site.name[0]}", answers=dict(self.answers))
        super().__init__(site, setting, dial=lambda device: node.connect)


@pytest.fixture
def told(shell: Shell) -> dict[str, Any]:
    """What the file holds, and what the screen showed, under ``screen``."""
    shell.registry = Registry([EntryPoint("strange", f"{__name__}:Strange", GROUP)])
    inventory = shell.write("sites.json", json.dumps(INVENTORY))
    ended = shell("check", "--inventory", str(inventory), "--explain", "sent.json")
    assert ended.code == 4, ended.err
    found: dict[str, Any] = json.loads(Path("sent.json").read_text())
    return {**found, "screen": ended.out}


def test_an_answer_that_is_not_understood_is_sent_whole(told: dict[str, Any]) -> None:
    """Law: the reading is not understood and says why; every line of the answer is there, as long as it was, and of the
    names none, in whatever case, cut or quoted; what is understood beside it is."""
    readings = {one["reading"]: one for one in told["sites"][0]["readings"]}
    assert readings["replication"]["verdict"] == "not understood"
    assert readings["replication"]["answers"][0]["failure"]["kind"] == "UnreadableReply"
    lines = next(one["answer"] for one in readings["replication"]["exchanges"] if "replication" in one["sent"])
    plain = STRANGE.rstrip("\n").split("\n")
    assert [len(line) for line in lines if line] == [len(line) for line in plain]
    assert lines[0].startswith("Replication of Message VPN '") and "State ......... active (mate " in lines[1]
    text = json.dumps({key: value for key, value in told.items() if key != "screen"}).lower()
    assert [name for name in NAMES if name.lower() in text] == []
    assert readings["replication_queue"]["answers"][0]["understood"]["messages"] == 3
    assert readings["transactions"]["answers"][0]["failure"]["kind"] == "CommandRejected"


def test_the_operator_sees_what_is_unknown(told: dict[str, Any]) -> None:
    """Law: the table names each reading with its device and its verdict, and the reasons are in the device's words."""
    rows = {tuple(line.split()[:2]): line for line in told["screen"].splitlines() if "ny-broker-1" in line}
    assert rows["hudson", "replication"].endswith("not understood")
    assert rows["hudson", "replication_queue"].endswith("partly: rejects_on_discard unknown")
    assert "the table of replication states, or the line under its header, is missing" in told["screen"]


def test_what_was_not_understood_is_a_fixture_too(told: dict[str, Any]) -> None:
    """Law: played back, what is not understood is again not understood, so that a parser that learns it shows."""
    found = [text for site in told["sites"] for one, now in play(as_cli(site)) for text in difference(one, now)]
    assert found == []


def as_cli(site: dict[str, Any]) -> dict[str, Any]:
    """The site, under the name by which the adapter is registered."""
    plain: dict[str, Any] = json.loads(json.dumps(site).replace('"adapter": "strange"', '"adapter": "solace-cli"'))
    return plain
