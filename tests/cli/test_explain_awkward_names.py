"""`failover check --explain` where things are called like words of the device: what is written can still be read."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path

from adapters.solace.adapter import SolaceCliAdapter
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import GROUP, Registry
from orchestrator.model.inventory import Site
from tests.cli.fixtures import shell as shell
from tests.cli.shell import Shell
from tests.solace import layouts
from tests.solace.replay import difference, play
from tests.ssh.scripted import ScriptedDevice

VPNS = ("spool", "A B", "Message VPN", "up", "x", "12", "prod.orders_v2$eu")
NOT_LISTED, XID = "other one", "0021B028-00-01"
INVENTORY = {
    "sites": {
        name: {"adapter": "awkward", "login": {"username": "admin"}, "devices": [{"name": device}]}
        for name, device in (("primary", "backup"), ("standby", "local"))
    },
    "pairs": [{"name": "replication", "sites": ["primary", "standby"], "services": VPNS}],
}


class Awkward(SolaceCliAdapter):
    """Speaks to a scripted node that has them all, and one message VPN that the inventory does not have."""

    def __init__(self, site: Site, setting: AdapterContext) -> None:
        assert isinstance(setting.clock, VirtualClock)
        answers = {
            "show redundancy": layouts.redundancy(),
            "show message-vpn * replication": layouts.replication(dict.fromkeys((*VPNS, NOT_LISTED), layouts.ACTIVE)),
            "show queue #MSGVPN_REPLICATION_DATA_QUEUE message-vpn * detail": layouts.queues(dict.fromkeys(VPNS, 3)),
            "show transaction": layouts.transactions([(XID, "A B", "X P Y"), (XID[:-1] + "2", NOT_LISTED, "X P Y")]),
            'show transaction message-vpn "A B" state PREPARED detail': layouts.transaction_details(
                [(XID, "A B", "up")]
            ),
            "show service": layouts.fixture("service"),
            "show client *": layouts.fixture("clients"),
        }
        node = ScriptedDevice(setting.clock, name="solace", answers=dict(answers))
        super().__init__(site, setting, dial=lambda device: node.connect)


def test_names_that_are_words_stay_and_are_told_of(shell: Shell) -> None:
    """Law: what cannot be told from a word of the device stays, is listed, and spoils nothing: played back, every reading
    is what it was. Every other name is replaced, also of what the inventory does not have, and keeps its blanks."""
    shell.registry = Registry([EntryPoint("awkward", f"{__name__}:Awkward", GROUP)])
    inventory = shell.write("sites.json", json.dumps(INVENTORY))
    ended = shell("check", "--inventory", str(inventory), "--explain", "sent.json")
    text = Path("sent.json").read_text()
    document = json.loads(text)
    words = {"primary", "backup", "standby", "local", "replication", "admin", "spool", "Message VPN", "up", "x", "12"}
    assert set(document["kept"]) == words
    assert f"words of the devices: {', '.join(sorted(words))}" in ended.out
    assert [
        name for name in ("A B ", '\\"A B\\"', "prod.orders", NOT_LISTED, XID[:-1], "host/2638") if name in text
    ] == []
    for site in json.loads(text.replace('"adapter": "awkward"', '"adapter": "solace-cli"'))["sites"]:
        verdicts = {one["reading"]: one["verdict"] for one in site["readings"]}
        assert {verdicts[name] for name in ("replication", "transactions", "fence")} == {"understood"}
        assert [text for one, now in play(site) for text in difference(one, now)] == []
