"""A site is fenced by shutting the interfaces of its network blades, over the CLI and over SEMP v1."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.solace.fencing import shut_interface
from adapters.solace.reading_models import Fence
from orchestrator.clock import VirtualClock
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.model.inventory import Also, Device, FenceOption, Login, SecretRef, Site
from orchestrator.model.outcome import Effect
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.scenarios.script import read_scenario
from tests.scenarios.verdict import differences
from tests.scenarios.wires import Protocol, Wires, over
from tests.seam import Permits
from tests.semp.stage import Secrets
from tests.solace.only import may_change

NODES = ("NY_Appliance1", "NY_Appliance2")
LINES = {
    "solace-cli": ["configure", "interface 1/1/lag1", "{no}shutdown"],
    "solace-semp": [
        "POST /SEMP <rpc><interface><phy-interface>1/1/lag1</phy-interface>{shut}</interface></rpc>",
    ],
}


def a_world() -> World:
    sites = (SiteLayout("ny", NODES), SiteLayout("nj", ("NJ_Appliance1",)))
    return World(WorldLayout(sites, (VpnLayout("V", publish_rate=20),)), VirtualClock())


def a_site(adapter: str, *fence: FenceOption) -> Site:
    """New York, whose ``fence`` reading comes over SEMP."""
    semp = {"scheme": "http"}
    return Site(
        name="ny",
        adapter=adapter,
        devices=tuple(Device(name=node, address="127.0.0.1", port=8080, router_name=node) for node in NODES),
        login=Login(username="operator", password=SecretRef(env="PASSWORD")),
        options=semp if adapter == "solace-semp" else {},
        also=(Also(adapter="solace-semp", options=semp),) if adapter == "solace-cli" else (),
        fence=fence,
    )


def adapter_of(world: World, site: Site) -> Adapter:
    return Wires(world).adapter_for(site, AdapterContext(world.clock, Secrets()))


def fence(adapter: Adapter) -> Fence:
    found = adapter.probe("fence", ["V"])["V"]
    assert isinstance(found, Fence), found
    return found


def lines(adapter: str, state: str) -> list[str]:
    shut = "<no><shutdown /></no>" if state == "up" else "<shutdown />"
    return [line.format(no="no " if state == "up" else "", shut=shut) for line in LINES[adapter]]


@pytest.mark.parametrize("adapter", LINES)
def test_shut_and_opened_on_every_node(adapter: str) -> None:
    """Both nodes of a pair, the primary last and first; the proof is a reading of each; the backbone is left alone."""
    world = a_world()
    here = adapter_of(world, a_site(adapter, FenceOption(interface="1/1/lag1")))
    declared = here.actions["set_backbone"]
    for state, closed in (("down", True), ("up", False)):
        call = Call("V", {"state": state})
        [result] = list(here.apply("set_backbone", [call], Permits()))
        assert (result.effect, list(result.sent)) == (Effect.ACCEPTED, lines(adapter, state) * 2)
        assert list(declared.commands(call)) == lines(adapter, state), "what a plan shows is what is sent"
        world.clock.sleep(5)
        assert (fence(here).closed, fence(here).open) == (closed, not closed)
        nodes = world.centre("ny").nodes.values()
        assert {(node.interface, node.backbone) for node in nodes} == {(not closed, True)}
    change = " | ".join(lines(adapter, "down")[-2:])
    assert may_change(change)
    here.close()


@pytest.mark.parametrize("adapter", LINES)
def test_an_interface_that_is_not_there(adapter: str) -> None:
    """The device says no, nothing is shut, and the fence is unknown: never closed because nothing was told."""
    world = a_world()
    here = adapter_of(world, a_site(adapter, FenceOption(interface="1/1/lag9")))
    [result] = list(here.apply("set_backbone", [Call("V", {"state": "down"})], Permits()))
    assert (result.effect, "does not exist" in result.detail) == (Effect.REJECTED, True)
    assert (fence(here).closed, fence(here).open) == (None, None)
    assert all(node.interface and node.backbone for node in world.centre("ny").nodes.values())
    here.close()


def test_an_interface_that_is_shut_with_clients_left_is_no_fence() -> None:
    """Both are wanted: shut, and nobody there. One node that is still open opens the site."""
    world = a_world()
    here = adapter_of(world, a_site("solace-semp", FenceOption(interface="1/1/lag1")))
    with world.request():
        world.centre("ny").node(NODES[1]).interface = False
    assert [node.backbone_up for node in fence(here).nodes] == [True, False]
    assert fence(here).closed is False
    here.close()


@pytest.mark.parametrize(
    ("plan", "interface"),
    [
        ((FenceOption(interface="1/1/lag1"), FenceOption(backbone=True)), "1/1/lag1"),
        ((FenceOption(backbone=True), FenceOption(interface="1/1/lag1")), None),
        ((FenceOption(attest="cables"), FenceOption(interface="1/1/lag1")), "1/1/lag1"),
        ((FenceOption(backbone=True),), None),
        ((), None),
    ],
)
def test_the_preferred_door_is_the_one(plan: tuple[FenceOption, ...], interface: str | None) -> None:
    """The order of the fence plan decides."""
    assert shut_interface(a_site("solace-semp", *plan)) == interface


@pytest.mark.parametrize("protocol", ["solace-cli", "solace-semp"])
def test_a_night_with_it(protocol: Protocol, tmp_path: Path) -> None:
    """Isolated, fenced by its interfaces, restored and failed back: as with the backbone, and the backbone unasked."""
    stage = over(protocol, read_scenario("isolated-and-back"), tmp_path)
    option = (FenceOption(interface="1/1/lag1"),)
    sites = {name: site.model_copy(update={"fence": option}) for name, site in stage.inventory.sites.items()}
    stage.inventory = stage.inventory.model_copy(update={"sites": sites})
    for phase in stage.scenario.phases:
        found = [one for one in differences(stage.play(phase)) if "effects" not in one]
        assert found == []
    stage.journal.close()
    actions = {key.action for tally in stage.world.tallies().values() for key in tally.commands}
    assert ("set_interface" in actions, "set_backbone" in actions) == (True, False)
