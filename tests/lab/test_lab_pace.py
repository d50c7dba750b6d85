"""Editions of the pace, over real ports: a slow login, one slow line, and connections that fall silent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from adapters.solace.adapter import SolaceCliAdapter
from adapters.solace.reading_models import QueueDepth
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import load_inventory
from orchestrator.errors import PerhapsObeyed
from orchestrator.family.contract import AdapterContext
from orchestrator.family.secrets import SecretStore
from simulator.embedded import embedded_layout
from simulator.lab.edition import SEED
from simulator.lab.editions import with_editions
from simulator.lab.of_world import serve_world
from simulator.lab.server import Lab, LabSettings
from simulator.solace.world import World

pytestmark = pytest.mark.realtime
Way = Literal["cli", "semp"]
WAYS: tuple[Way, ...] = ("cli", "semp")


@contextmanager
def lab_with(folder: Path, *editions: str) -> Iterator[Lab]:
    """The embedded pair on ports, at this pace."""
    settings = LabSettings(edition=with_editions(SEED, editions), semp="http")
    with serve_world(World(embedded_layout(), SystemClock()), directory=folder / "lab", settings=settings) as lab:
        yield lab


def adapter_of(lab: Lab, way: Way, command_timeout: float = 20.0) -> SolaceCliAdapter | SolaceSempAdapter:
    """The real adapter of New York."""
    path = lab.inventory_path if way == "cli" else lab.semp_inventory_path
    inventory, _ = load_inventory(path)
    site = inventory.sites["ny"].model_copy(update={"command_timeout": command_timeout})
    setting = AdapterContext(SystemClock(), SecretStore(None))
    return SolaceCliAdapter(site, setting) if way == "cli" else SolaceSempAdapter(site, setting)


def depth(adapter: SolaceCliAdapter | SolaceSempAdapter) -> QueueDepth | None:
    """The replication queue of Risk_VPN; None where it could not be read."""
    try:
        found = adapter.probe("replication_queue", ["Risk_VPN"])["Risk_VPN"]
    except PerhapsObeyed:  # a time limit passed
        return None
    return found if isinstance(found, QueueDepth) else None


@pytest.mark.parametrize("way", WAYS)
def test_a_slow_login(tmp_path: Path, way: Way) -> None:
    """Law: the first session takes as long as the login does, and then the site is read."""
    with lab_with(tmp_path, "slow-login=1") as lab:
        adapter, begun = adapter_of(lab, way), time.monotonic()
        assert depth(adapter) is not None
        took = time.monotonic() - begun
        adapter.close()
    assert took >= 1.0


@pytest.mark.parametrize("way", WAYS)
def test_one_slow_line(tmp_path: Path, way: Way) -> None:
    """Law: one answer that comes after the time limit is no reading, and is not taken for the next one's; the queue can
    be read again."""
    with lab_with(tmp_path, "slow-line=3") as lab:
        adapter = adapter_of(lab, way, command_timeout=1.0)
        begun = time.monotonic()
        depths = [depth(adapter) for _ in range(8)]
        took = time.monotonic() - begun
        adapter.close()
    assert (depths[0], depths[-1] is None) == (None, False), depths
    assert took >= 1.0, "the slow line was waited for, as long as the limit lets it"


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_that_falls_silent(tmp_path: Path, way: Way) -> None:
    """Law: a connection that says nothing more, and is not closed, costs one time limit; another one is made."""
    with lab_with(tmp_path, "half-open=12") as lab:
        adapter = adapter_of(lab, way, command_timeout=1.5)
        found = [depth(adapter) for _ in range(12)]
        adapter.close()
        sessions = {one.session for one in lab.log("ny", "NY_Appliance1").records}
    read_well = [one is not None for one in found]
    assert (read_well[0], sum(read_well) >= 6, all(read_well)) == (True, True, False), found
    assert way == "semp" or len(sessions) > 1


def test_a_lab_that_stops_waits_for_nobody(tmp_path: Path) -> None:
    """Law: a slow line ends with the lab."""
    with lab_with(tmp_path, "slow-line=600") as lab:
        adapter = adapter_of(lab, "semp", command_timeout=0.5)
        assert depth(adapter) is None
        begun = time.monotonic()
        lab.stop()
        assert time.monotonic() - begun < 10
        adapter.close()
