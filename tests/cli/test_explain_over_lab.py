"""`failover check --explain` against appliances on real ports: what is in the file, and what is not."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.model.readings import known_readings
from tests.cli.processes import PATIENCE_S, Bench
from tests.cli.test_lab_processes import MakeBench, lab_up
from tests.solace.replay import difference, play

pytestmark = pytest.mark.realtime

WAYS = {
    "cli pair": ("--adapter", "solace-cli", "--ha"),
    "semp": ("--adapter", "solace-semp"),
    "both, newer": ("--ha", "--edition", "newer", "--edition", "empty-header", "--edition", "standby-refuses"),
    "cli, otherwise": (
        *("--adapter", "solace-cli", "--edition", "other-labels", "--edition", "empty-nothing"),
        *("--edition", "software", "--edition", "mate-prefix"),
    ),
}


def explained(bench: Bench, name: str, inventory: str = "lab.yaml") -> dict[str, Any]:
    """What the file of that name holds."""
    ended = bench.run("check", "--inventory", inventory, "--explain", name)
    assert ended.code in (0, 4), ended.err
    found: dict[str, Any] = json.loads((bench.folder / name).read_text("utf-8"))
    return found


def names_in(inventory: Path) -> set[str]:
    """Every name, address and account that an inventory has, by reading it as a document."""
    plain = yaml.safe_load(inventory.read_text("utf-8"))
    found = {pair["name"] for pair in plain["pairs"]} | {name for pair in plain["pairs"] for name in pair["services"]}
    for name, site in plain["sites"].items():
        found |= {name, site["login"]["username"], *site["login"]["password"].values()}
        for device in site["devices"]:
            found |= {device["name"], device["address"], device.get("router_name", device["name"])}
    return found


def texts(value: object) -> list[str]:
    """Every text in a document, but its keys."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for one in value.values() for text in texts(one)]
        case list():
            return [text for one in value for text in texts(one)]
    return []


@pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))
def test_the_file_has_all_but_the_names(make_bench: MakeBench, options: tuple[str, ...]) -> None:
    """Law: nothing that the inventory names is in the file, nor a secret; and what is there, played back to the adapters,
    comes to the readings that are there. Numbers and states are those that were read."""
    bench = make_bench()
    lab_up(bench, *options)
    document = explained(bench, "sent.json")
    password = (bench.folder / "lab" / "password").read_text().strip()
    for name in {*names_in(bench.folder / "lab.yaml"), password}:
        alone = re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", re.IGNORECASE)
        assert [text for text in texts(document) if alone.search(text)] == [], name
    found = [text for site in document["sites"] for one, now in play(site) for text in difference(one, now)]
    assert found == []
    assert len(document["sites"]) == 2
    for site in document["sites"]:
        assert {one["reading"] for one in site["readings"]} < set(known_readings())
        assert {"fence", "endpoints", "platform", "replication"} <= {one["reading"] for one in site["readings"]}
        assert all(one["verdict"] in ("understood", "partly") for one in site["readings"])
        lines = [heard["sent"] for one in site["readings"] for heard in one["exchanges"]]
        assert all(line.startswith(("show ", "no paging", "GET ", "POST /SEMP <rpc><show>")) for line in lines)


def test_stopped_it_leaves_no_file(make_bench: MakeBench) -> None:
    """Law: Ctrl-C in the middle of the readings leaves neither the file nor a part of it."""
    bench = make_bench()
    lab_up(bench, "--adapter", "solace-cli", "--latency", "300")
    before = {one.name for one in bench.folder.iterdir()}
    check = bench.start("check", "--inventory", "lab.yaml", "--explain", "sent.json")
    heard = bench.folder / "lab/ny-NY_Appliance1.commands.jsonl"
    assert check.stderr is not None and check.poll() is None
    while "show " not in (heard.read_text("utf-8") if heard.exists() else ""):
        assert check.poll() is None, "it is still reading"
    check.send_signal(signal.SIGINT)
    check.communicate(timeout=PATIENCE_S)
    assert check.returncode not in (0, 4)
    assert {one.name for one in bench.folder.iterdir()} - before <= {"state"}


def test_a_device_that_is_away_is_in_the_file(make_bench: MakeBench) -> None:
    """Law: where one node cannot be reached the file says so, has what the others said, and ends as `check` does; a site
    that does not answer at all has its place in it."""
    bench = make_bench()
    lab_up(bench, "--adapter", "solace-cli", "--ha")
    plain = yaml.safe_load((bench.folder / "lab.yaml").read_text("utf-8"))
    plain["sites"]["ny"]["devices"][1]["port"] = 1
    for device in plain["sites"]["nj"]["devices"]:
        device["port"] = 1
    (bench.folder / "half.yaml").write_text(json.dumps(plain), "utf-8")
    document = explained(bench, "sent.json", "half.yaml")
    verdicts = [{one["reading"]: one["verdict"] for one in site["readings"]} for site in document["sites"]]
    assert sorted(set(one.values()) == {"not answered"} for one in verdicts) == [False, True]
    [here] = [one for one in verdicts if set(one.values()) != {"not answered"}]
    assert (here["replication"], here["fence"]) == ("understood", "partly")
    failed = [heard for site in document["sites"] for one in site["readings"] for heard in one["exchanges"]]
    assert {heard["failed"] for heard in failed if "failed" in heard} == {"Unreachable"}
    assert [text for site in document["sites"] for one, now in play(site) for text in difference(one, now)] == []
