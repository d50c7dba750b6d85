"""Every scenario, in process, over the CLI and over SEMP: it ends as its folder expects, and no promise is broken.

The same runbooks with the same results, whatever speaks to the sites. All are on virtual time and without a port;
the real adapters speak to what the lab serves, and the faults of answers happen on their wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from simulator.world.worlds import WORLDS
from tests.scenarios.script import Scenario, Way, read_scenario, scenarios
from tests.scenarios.staging import Stage, in_process
from tests.scenarios.verdict import differences
from tests.scenarios.wires import Protocol, Wires, over
from tests.solace.only import may_change


@contextmanager
def staged(scenario: Scenario, folder: Path, way: Way) -> Iterator[Stage]:
    """The scenario's stage, and its world known by the folder for as long."""
    name = str(folder)
    stage = in_process(scenario, folder, name) if way == "mock" else over(way, scenario, folder)
    try:
        yield stage
    finally:
        stage.journal.close()
        WORLDS.forget(name)


@pytest.mark.parametrize(
    ("protocol", "scenario", "changes", "reads"),
    [
        ("solace-cli", "controlled-plain", {"cli"}, {"cli"}),
        ("solace-semp", "controlled-plain", {"semp"}, {"semp"}),
        ("solace-cli", "isolated-and-back", {"cli"}, {"cli"}),
        ("both", "isolated-and-back", {"semp"}, {"semp"}),
    ],
)
def test_what_goes_which_way(
    protocol: Protocol, scenario: str, changes: set[str], reads: set[str], tmp_path: Path
) -> None:
    """Each reading and each action goes to the site's first adapter that has it, and to no other."""
    stage = over(protocol, read_scenario(scenario), tmp_path)
    for phase in stage.scenario.phases:
        assert not differences(stage.play(phase))
    stage.journal.close()
    assert isinstance(stage.registry, Wires)
    heard = {"cli": stage.registry.terminals.logs, "semp": stage.registry.semp.logs}
    kinds = {way: {one.kind for log in logs.values() for one in log.records} for way, logs in heard.items()}
    assert {way for way, kind in kinds.items() if "change" in kind} == changes
    assert {way for way, kind in kinds.items() if "show" in kind} == reads


@pytest.mark.parametrize(
    ("name", "way"), [(name, way) for name in scenarios() for way in read_scenario(name).scene.ways]
)
def test_scenario(name: str, way: Way, tmp_path: Path) -> None:
    """The scenario's own law (see its ``about``), and the promises; a device hears no change but the few there are."""
    scenario = read_scenario(name)
    with staged(scenario, tmp_path, way) as stage:
        for phase in scenario.phases:
            played = stage.play(phase)
            found = [*differences(played), *played.broken]
            assert not found, f"{scenario.scene.about}\n{phase.name}: " + "\n".join(found)
        if isinstance(stage.registry, Wires):
            assert [line for line in stage.registry.changes if not may_change(line)] == []
