"""The lab of an AMPS world on real ports."""

from __future__ import annotations

import http.client
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.documents.loader import load_inventory
from simulator.amps.embedded import amps_layout
from simulator.amps.world import AmpsWorld
from simulator.lab.amps.server import AmpsLab, AmpsLogin

pytestmark = pytest.mark.realtime


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[AmpsLab]:
    world = AmpsWorld(amps_layout(), VirtualClock())
    world.clock.sleep(5)
    with AmpsLab(world, directory=tmp_path, service="orders", login=AmpsLogin()) as running:
        yield running


def get(lab: AmpsLab, instance: str, target: str, *, proof: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(*lab.address(instance), timeout=5)
    own = "Basic " + b64encode(f"admin:{lab.password_file.read_text().strip()}".encode()).decode()
    try:
        connection.request("GET", target, headers={"Authorization": proof or own})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_each_lab_has_a_password_of_its_own(lab: AmpsLab) -> None:
    """No other account knows it: it is made up at each start, is long, and no text of the lab's has it."""
    others = {AmpsLogin().password for _ in range(20)}
    assert len(others) == 20
    assert all(len(password) >= 24 for password in others)
    assert lab.password_file.read_text().strip() not in others
    assert AmpsLogin().password not in repr(AmpsLogin())
    first = AmpsLogin()
    assert first.password not in repr(first)


def test_each_instance_has_a_port_of_its_own(lab: AmpsLab) -> None:
    """And says its own name there, in the configuration too."""
    for name in ("orders-ny", "orders-ldn"):
        status, body = get(lab, name, "/amps/instance/name.json")
        assert (status, json.loads(body)) == (200, {"amps": {"instance": {"name": name}}})
        assert lab.origin(name).encode() in get(lab, name, "/amps/instance/config.xml")[1]


def test_actions_reach_the_world(lab: AmpsLab) -> None:
    """What was done over HTTP is in the account, and in the log of requests."""
    assert get(lab, "orders-ny", "/amps/administrator/transports/1/disable", proof="Basic eDp5")[0] == 401
    assert get(lab, "orders-ny", "/amps/administrator/transports/1/disable")[0] == 200
    assert lab.world.tally().commands == (("orders-ny", "disable", "transports/1"),)
    assert lab.log("orders-ny").changes == ("GET /amps/administrator/transports/1/disable",) * 2


def test_an_instance_that_is_down_has_nobody_at_its_port(lab: AmpsLab) -> None:
    """Connections end without a word; after a start the port answers again."""
    lab.world.kill("orders-ny")
    with pytest.raises((http.client.HTTPException, OSError)):
        get(lab, "orders-ny", "/amps/instance/name.json")
    assert get(lab, "orders-ldn", "/amps/instance/name.json")[0] == 200
    lab.world.start("orders-ny")
    assert get(lab, "orders-ny", "/amps")[0] == 200


def test_it_writes_an_inventory_that_says_simulated(lab: AmpsLab) -> None:
    """With the ports and the password file, readable by its owner only."""
    inventory, _ = load_inventory(lab.inventory_path)
    assert {name: site.simulated for name, site in inventory.sites.items()} == {"ny": True, "ldn": True}
    assert inventory.sites["ldn"].devices[0].port == lab.address("orders-ldn")[1]
    assert lab.inventory_path.stat().st_mode & 0o077 == 0
