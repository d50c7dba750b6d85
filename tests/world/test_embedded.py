"""The embedded pair: what a first try meets, kept in a file that both sites of a process share."""

from __future__ import annotations

from pathlib import Path

from adapters.mock.adapter import MockAdapter
from adapters.solace.reading_models import ReplicationStatus, Transactions
from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.model.readings import Role
from simulator.embedded import AWAY, HOME, embedded_inventory, embedded_layout, embedded_world
from simulator.solace.faults import parse_faults
from simulator.solace.world import World
from simulator.world.worlds import WORLDS, Worlds
from tests.seam import Permits, Secretless, read, told


def sites(path: Path, clock: VirtualClock) -> tuple[MockAdapter, MockAdapter]:
    inventory = embedded_inventory(path)
    context = AdapterContext(clock, Secretless())
    return MockAdapter(inventory.sites[HOME], context), MockAdapter(inventory.sites[AWAY], context)


def test_the_inventory_fits_the_world() -> None:
    """Every site, node and service of the one is in the other."""
    inventory, layout = embedded_inventory(), embedded_layout()
    assert {name: tuple(d.name for d in site.devices) for name, site in inventory.sites.items()} == {
        site.name: site.nodes for site in layout.sites
    }
    assert inventory.pairs[0].services == tuple(vpn.name for vpn in layout.vpns)
    assert inventory.pairs[0].sites == (HOME, AWAY)
    assert {site.title for site in inventory.sites.values()} == {"New York", "New Jersey"}


def test_the_backlog_stands_and_drains_in_seconds(tmp_path: Path, clock: VirtualClock) -> None:
    """About 4,000 messages whenever one begins, about three seconds to move, and nothing lost."""
    path = tmp_path / "world.json"
    world = embedded_world(path, clock)
    clock.advance(3_600)
    node = world.appliance(HOME, "NY_Appliance1")
    assert node.replication_queue("Trading_VPN").messages == 4_000
    node.set_role("Trading_VPN", "standby")
    clock.advance(3.2)
    assert 0 < node.replication_queue("Trading_VPN").messages < 400
    clock.advance(0.3)
    assert node.replication_queue("Trading_VPN").messages == 0
    world.appliance(AWAY, "NJ_Appliance1").set_role("Trading_VPN", "active")
    clock.advance(60)
    tallies = world.tallies()
    assert {tally.lost for tally in tallies.values()} == {0}
    assert tallies["Trading_VPN"].both_active == ()


def test_a_restored_site_catches_up(tmp_path: Path, clock: VirtualClock) -> None:
    """What piled up at New Jersey while New York was down reaches it under load: a fail-back becomes possible."""
    world = embedded_world(tmp_path / "world.json", clock)
    world.inject(parse_faults(["at 0s: node ny/NY_Appliance1 down 15s"]))
    clock.advance(5)
    away = world.appliance(AWAY, "NJ_Appliance1")
    away.set_role("Trading_VPN", "active")
    clock.advance(15)
    assert away.replication_queue("Trading_VPN").messages > 4_000
    world.appliance(HOME, "NY_Appliance1").set_role("Trading_VPN", "standby")
    clock.advance(30)
    assert away.replication_queue("Trading_VPN").messages < 100
    assert away.replication("Trading_VPN").sync_eligible


def test_two_prepared_transactions_wait_for_a_decision(tmp_path: Path, clock: VirtualClock) -> None:
    """Prepared and replicated at both sites; the others can be ignored; only Trading_VPN has any."""
    ny, nj = sites(tmp_path / "world.json", clock)
    embedded_world(tmp_path / "world.json", clock)
    for adapter in (ny, nj):
        answers = adapter.probe("transactions", ["Trading_VPN", "Risk_VPN", "Settlement_VPN"])
        prepared = {
            vpn: [
                item.xid for item in told(Transactions, found).items if item.state == "prepared" and item.replicated
            ]
            for vpn, found in answers.items()
        }
        assert prepared == {
            "Trading_VPN": ["0021B028-00-01", "0021ABC4-00-01"],
            "Risk_VPN": [],
            "Settlement_VPN": [],
        }
    assert len(read(ny, Transactions, "Trading_VPN").items) == 5
    ny.close()
    nj.close()


def test_both_adapters_of_a_process_share_one_world(tmp_path: Path, clock: VirtualClock, permit: Permits) -> None:
    """A role changed through one is seen through the other, and the file has it after both are closed."""
    path = tmp_path / "world.json"
    embedded_world(path, clock)
    ny, nj = sites(path, clock)
    ny.open()
    nj.open()
    list(ny.apply("set_role", [Call("Trading_VPN", {"role": "standby"})], permit))
    clock.advance(4)
    list(nj.apply("set_role", [Call("Trading_VPN", {"role": "active"})], permit))
    ny.close()
    clock.advance(2)
    found = read(nj, ReplicationStatus, "Trading_VPN")
    assert (found.role, found.queue_bound) == (Role.ACTIVE, True)
    nj.close()
    again = World.load(path, clock)
    assert again.appliance(AWAY, "NJ_Appliance1").replication("Trading_VPN").role == "active"


def test_the_default_names_a_world_in_memory(clock: VirtualClock) -> None:
    """Without a file the world is whatever was registered under that name."""
    assert embedded_inventory().sites[HOME].options == {"world": "memory:embedded"}
    reference = WORLDS.register("embedded", World(embedded_layout(), clock))
    try:
        assert reference == "memory:embedded"
        adapter = MockAdapter(embedded_inventory().sites[HOME], AdapterContext(clock, Secretless()))
        adapter.open()
        adapter.close()
    finally:
        WORLDS.forget("embedded")


def test_a_name_is_registered_once(clock: VirtualClock) -> None:
    """Two worlds under one name would be two truths."""
    worlds = Worlds(World.load)
    worlds.register("x", World(embedded_layout(), clock))
    try:
        worlds.register("x", World(embedded_layout(), clock))
    except DefinitionError as error:
        assert "already registered" in str(error)
    else:
        raise AssertionError("the second was taken")
