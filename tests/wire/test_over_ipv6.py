"""A whole run to devices with addresses of IPv6: over SSH, over SEMP with TLS, and over SEMP without."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.clock import SystemClock
from simulator.lab.of_world import serve_world
from simulator.lab.semp.server import Scheme
from simulator.lab.server import LabSettings
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.cli.fixtures import make_bench as make_bench
from tests.cli.processes import Bench
from tests.cli.shell import roles_of


def why_not() -> str:
    """Why nothing can listen on ``::1`` here; empty if something can."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        return f"this machine has no IPv6 on loopback: {error}"
    return ""


@pytest.mark.realtime
@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize(
    ("semp", "inventory"), [(None, "lab.yaml"), ("https", "lab-semp.yaml"), ("http", "lab-semp.yaml")]
)
def test_a_service_moves(
    make_bench: Callable[..., Bench], tmp_path: Path, semp: Scheme | None, inventory: str
) -> None:
    """Law: the status is read and the service moves, with host keys and certificates checked as always."""
    sites = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
    world = World(WorldLayout(sites, (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=300),)), SystemClock())
    with serve_world(world, directory=tmp_path / "lab", host="::1", settings=LabSettings(semp=semp)):
        bench = make_bench(environment={"FAILOVER_INVENTORY": f"lab/{inventory}"})
        status = bench.run("status")
        assert (status.code, status.err) == (0, "")
        moved = bench.run("controlled", "--vpn", "V", "--yes", "--xa", "stop", "--on-bridge-loss", "revert")
    assert moved.code == 0, moved.err
    assert "::1" in (tmp_path / "lab" / inventory).read_text()
    assert roles_of(world, "V") == ("standby", "active")
    assert world.tally("V").lost == 0
