"""A simulated copy has the pair's names, and rates from its seed; nothing in it leads to a device or a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.mock.solace.scene import copied_inventory
from orchestrator.clock import VirtualClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import DefinitionError
from orchestrator.family.rehearsal import Rehearsal
from orchestrator.model.inventory import Device, FenceOption, Hook, Inventory, Login, Pair, SecretRef, Site
from orchestrator.operations.rehearsal.rehearse import inventory_text
from simulator.solace.copies import copied_layout, darken, shut
from simulator.solace.world import World

NODES = {"ny": ("NY_Appliance1", "NY_Appliance2"), "nj": ("NJ_Appliance1",)}
PAIR = Pair(name="trading", sites=("ny", "nj"), services=("Trading_VPN", "Risk VPN"))


def real() -> Inventory:
    """An inventory with everything in it that must not get into a rehearsal."""
    login = Login(username="admin", password=SecretRef(inline="hunter2"), key_file="/etc/keys/failover")
    sites = {
        name: Site(
            title=f"Site {name}",
            adapter="solace-cli",
            devices=tuple(Device(name=node, address=f"{node}.example.com", port=2222) for node in nodes),
            login=login,
            known_hosts="/etc/ssh/known_hosts",
            options={"secret": "x"},
            fence=(FenceOption(backbone=True), FenceOption(command="drop-vlan"), FenceOption(attest="pull cables")),
        )
        for name, nodes in NODES.items()
    }
    return Inventory(sites=sites, pairs=(PAIR,), hooks=(Hook(name="page", on=("*",), command=("/usr/bin/page",)),))


def rehearsal(*services: str) -> Rehearsal:
    return Rehearsal("controlled", real(), PAIR, services, source="ny", seed=7)


def sites() -> tuple[Site, Site]:
    found = real().sites
    return found["ny"], found["nj"]


def test_names_are_kept() -> None:
    """Law: sites, nodes, services and titles are those of the inventory; the first node serves."""
    layout = copied_layout(sites(), PAIR.services, seed=7, active="nj", catches_up=False)
    assert {site.name: site.nodes for site in layout.sites} == NODES
    assert tuple(vpn.name for vpn in layout.vpns) == PAIR.services
    assert layout.first_active == "nj"


def test_a_seed_gives_the_same_pair_again() -> None:
    """Law: the same seed draws the same world, another seed another one; a service's rates are its own."""
    one = copied_layout(sites(), PAIR.services, seed=7, active="ny", catches_up=False)
    assert one == copied_layout(sites(), PAIR.services, seed=7, active="ny", catches_up=False)
    assert one.vpns != copied_layout(sites(), PAIR.services, seed=8, active="ny", catches_up=False).vpns
    alone = copied_layout(sites(), PAIR.services[1:], seed=7, active="ny", catches_up=False)
    assert alone.vpns[0] == one.vpns[1]


@pytest.mark.parametrize("seed", range(30))
def test_rates_are_plausible(seed: int) -> None:
    """Law: every drawn pair works: bridges and consumers keep up, and a drain takes seconds, not hours."""
    for catches_up in (True, False):
        for vpn in copied_layout(sites(), PAIR.services, seed=seed, active="ny", catches_up=catches_up).vpns:
            assert 20 <= vpn.publish_rate <= 800
            assert vpn.drain_rate >= vpn.publish_rate
            assert vpn.consume_rate >= vpn.publish_rate
            assert (vpn.drain_rate > vpn.publish_rate) is catches_up
            assert 0.4 < vpn.backlog / vpn.drain_rate < 8
            assert vpn.unconsumed <= vpn.backlog


def test_three_nodes_are_not_a_pair() -> None:
    """Law: what cannot be simulated is said, with what can."""
    three = sites()[0].model_copy(update={"devices": tuple(Device(name=f"N{number}") for number in range(3))})
    with pytest.raises(DefinitionError, match="one or two nodes"):
        copied_layout((three, sites()[1]), PAIR.services, seed=1, active="ny", catches_up=False)


def test_nothing_leads_out() -> None:
    """Law: no address, account, key, known_hosts, option, adapter or hook of the real inventory is in the copy."""
    text = inventory_text(copied_inventory(rehearsal(*PAIR.services), "memory:x"))
    for word in (
        "example.com",
        "2222",
        "admin",
        "hunter2",
        "keys",
        "known_hosts",
        "secret",
        "solace",
        "page",
        "drop",
    ):
        assert word not in text.replace("drop-vlan of the fence plan", ""), word
    plain = json.loads(text)
    assert {site["adapter"] for site in plain["sites"].values()} == {"mock"}
    assert plain["sites"]["ny"]["title"] == "Site ny"


def test_fence_plans_are_acted() -> None:
    """Law: a command of the operator's own is not run: it is attested in its place."""
    copy = copied_inventory(rehearsal(*PAIR.services), "memory:x").sites["ny"]
    assert [option.kind for option in copy.fence] == ["backbone", "attest"]
    assert copy.fence[1].attest == "the command drop-vlan of the fence plan would be run here"


def test_the_copy_is_an_inventory(tmp_path: Path) -> None:
    """Law: what is written is read back as it was, without an error."""
    copy = copied_inventory(rehearsal("Trading_VPN"), "memory:x")
    path = tmp_path / "inventory.yaml"
    path.write_text(inventory_text(copy))
    loaded, findings = load_inventory(path)
    assert loaded == copy
    assert [finding for finding in findings if finding.level != "note"] == []
    assert loaded.pairs[0].services == ("Trading_VPN",)


def test_darkness_and_a_shut_door() -> None:
    """Law: a darkened site answers nobody, comes back after its time, and stays shut if it was shut meanwhile."""
    clock = VirtualClock()
    world = World(copied_layout(sites(), PAIR.services, seed=7, active="ny", catches_up=True), clock)
    darken(world, "ny", 30.0)
    assert not any(world.reachable("ny", node) for node in NODES["ny"])
    shut(world, "ny")
    clock.advance(40.0)
    assert all(world.reachable("ny", node) for node in NODES["ny"])
    with world.request():
        assert [node.backbone for node in world.centre("ny").nodes.values()] == [False, False]
        assert world.centre("ny").serving is not None
    darken(world, "ny")
    clock.advance(3_600.0)
    assert not world.reachable("ny", "NY_Appliance1")
