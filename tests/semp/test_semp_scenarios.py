"""Every scenario over SEMP: same runbooks, same results, and no promise is broken.

The folders of tests/scenarios are played on virtual time with ``solace-semp`` against the lab's SEMP, its faults on
the wire included.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.mock.world import World
from adapters.solace.semp.adapter import SolaceSempAdapter
from orchestrator.clock import VirtualClock
from orchestrator.contract import Adapter, Setting
from orchestrator.registry import Registry
from orchestrator.site import Inventory, Pair, Site
from tests.scenarios.promises import broken
from tests.scenarios.script import Scenario, read_scenario, scenarios
from tests.scenarios.staging import Stage, fast_journal
from tests.scenarios.verdict import differences
from tests.semp.stage import Secrets, Semp


class OverSemp(Registry):
    """Hands out SEMP adapters whose devices are the wires of one world."""

    def __init__(self, semp: Semp) -> None:
        super().__init__()
        self._semp = semp

    def adapter_for(self, site: Site, setting: Setting) -> Adapter:
        return self._semp.of(site, setting)

    def get(self, name: str) -> Any:
        assert name == "solace-semp"
        return SolaceSempAdapter


@contextmanager
def staged(scenario: Scenario, folder: Path) -> Iterator[Stage]:
    clock = VirtualClock()
    world = World(scenario.scene.world.layout, clock)
    semp = Semp(world=world)
    pair = Pair(name="trading", sites=world.sites, services=world.vpn_names)
    inventory = Inventory(sites={name: semp.site(name) for name in world.sites}, pairs=(pair,))
    stage = Stage(
        scenario, clock, world, fast_journal(folder / "journal.sqlite"), inventory, OverSemp(semp), Secrets()
    )
    try:
        yield stage
    finally:
        stage.journal.close()


@pytest.mark.parametrize("name", scenarios())
def test_scenario_over_semp(name: str, tmp_path: Path) -> None:
    """It ends as its folder expects of any adapter."""
    scenario = read_scenario(name)
    with staged(scenario, tmp_path) as stage:
        for phase in scenario.phases:
            played = stage.play(phase)
            found = [one for one in (*differences(played), *broken(scenario, played)) if not _is_wording(one)]
            assert not found, f"{scenario.scene.about}\n{phase.name}: " + "\n".join(found)


def _is_wording(difference: str) -> bool:
    """A site that does not answer has another word for it over each protocol."""
    return "cannot be reached over HTTP" in difference and "expected 'no node of" in difference
