"""``failover lab reset``: simulated sites begin anew, and nothing else is touched."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from simulator.amps.embedded import amps_world
from simulator.amps.faults import parse_amps_faults
from simulator.amps.world import AmpsWorld
from simulator.embedded import embedded_layout
from simulator.solace.world import World
from tests.cli.shell import Shell, roles_of
from tests.snapshot.amps import write_inventory


@pytest.fixture
def lab(shell: Shell) -> Path:
    folder = shell.folder / "lab"
    folder.mkdir()
    return folder


def test_the_embedded_pair(shell: Shell) -> None:
    """It has moved, and is where it was."""
    assert shell.move().code == 0
    assert shell.roles() == ("standby", "active")
    ended = shell("lab", "reset")
    assert (ended.code, ended.out) == (0, "SIMULATED  the embedded pair was reset: ny active, nj standby\n")
    assert shell.roles() == ("active", "standby")


def test_instances_of_a_lab_that_is_up(shell: Shell, lab: Path) -> None:
    """What clients did, what an administrator did and what was to go wrong is forgotten, by the lab's process too; what
    the instances are made of is not."""
    serving = amps_world(lab / "amps-world.json", shell.clock, {"leases_kept": 30})
    serving.inject(parse_amps_faults(["at 60s: kill orders-ldn"]))
    shell.clock.advance(30)
    with serving.request():
        serving.console("orders-ny").obey("disable", "transports/1")
        serving.console("orders-ldn").obey("downgrade", "replication/orders-ny")
    shell.clock.advance(10)
    assert serving.tally().acknowledged > 500
    serving.save()
    ended = shell("lab", "reset", "--directory", "lab")
    assert (ended.code, ended.out) == (
        0,
        "SIMULATED  lab/amps-world.json was reset: orders-ny, orders-ldn, with empty journals and nothing downgraded\n",
    )
    assert serving.tally().acknowledged < 100
    assert serving.layout.assume.leases_kept == 30
    shell.clock.advance(100)
    with serving.request():
        assert serving.console("orders-ldn").answers
        assert serving.fabric.takes_clients("orders-ny")
    serving.close()
    assert AmpsWorld.load(lab / "amps-world.json", VirtualClock()).layout == serving.layout


def test_appliances_of_a_lab(shell: Shell, lab: Path) -> None:
    """They keep their shape, which is not that of the embedded pair."""
    world = World(embedded_layout(ha=True), shell.clock, path=lab / "world.json")
    with world.request():
        world.appliance("ny", "NY_Appliance1").set_role("Risk_VPN", "standby")
    world.save()
    assert roles_of(world, "Risk_VPN") == ("standby", "standby")
    assert shell("lab", "reset", "-d", "lab").out == "SIMULATED  lab/world.json was reset: ny active, nj standby\n"
    fresh = World.load(lab / "world.json", shell.clock)
    assert roles_of(fresh, "Risk_VPN") == ("active", "standby")
    assert [len(site.nodes) for site in fresh.layout.sites] == [2, 2]


def test_a_directory_without_a_lab(shell: Shell, lab: Path) -> None:
    """Nothing is made there."""
    ended = shell("lab", "reset", "--directory", "lab")
    assert (ended.code, ended.complaint) == (2, "lab has no simulated sites")
    assert list(lab.iterdir()) == []


def test_assumptions_are_for_new_instances(shell: Shell, lab: Path) -> None:
    """Those of instances that are there cannot be changed any more, nor can their links; the same may be given again."""
    made = partial(amps_world, lab / "amps-world.json", shell.clock, {"grants": "left_over"})
    made(sync=False).close()
    for other in (("--assume", "grants=unattended"), ("--link", "sync")):
        ended = shell("lab", "up", "--amps", *other, "-d", "lab")
        assert (ended.code, ended.complaint) == (2, "the instances in lab were made with other assumptions or links")
    made(sync=False).close()
    made().close()


def test_a_pair_across_async_links(shell: Shell, lab: Path) -> None:
    """Law: it begins as the procedure for such links needs it: New York lets clients in, London does not, whose clients
    would go on before it has everything. It can be moved, and an instance that comes back empty fetches its state."""
    world = amps_world(lab / "amps-world.json", shell.clock, sync=False)
    service = ("--service", "orders", "-i", write_inventory(shell.folder / "pair.yaml", lab), "--yes")
    moved = shell("controlled", *service)
    assert "amps/controlled-async" in moved.out
    assert (moved.code, world.tally().lost) == (0, 0)
    world.kill("orders-ny")
    world.lose("orders-ny")
    world.start("orders-ny")
    back = shell("restore", *service, "--site", "ny", "--bootstrap", "--attest", "journal and SOW moved to /save")
    assert (back.code, shell("failback", *service, "--site", "ny").code) == (0, 0)
    world.close()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("grants", "--assume grants: write NAME=VALUE, as in grants=left_over"),
        ("grant=left_over", "assume.grant: Extra inputs are not permitted"),
        ("bootstrap_order=txlog,log", "assume.bootstrap_order.1: Input should be 'sow' or 'txlog'"),
    ],
)
def test_assumptions_that_are_none(shell: Shell, given: str, says: str) -> None:
    """Refused before anything is made."""
    ended = shell("lab", "up", "--amps", "--assume", given)
    assert (ended.code, ended.complaint) == (2, says)
    assert not (shell.folder / "lab" / "amps-world.json").exists()


def test_assumptions_are_not_for_appliances(shell: Shell) -> None:
    """An option that would do nothing is refused."""
    assert shell("lab", "up", "--assume", "grants=left_over").code == 2
