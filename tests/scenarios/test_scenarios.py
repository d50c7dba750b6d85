"""Every scenario, in process and on virtual time: it ends as its folder expects, and no promise is broken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.mock.worlds import WORLDS
from tests.scenarios.promises import broken
from tests.scenarios.script import Scenario, read_scenario, scenarios
from tests.scenarios.staging import Stage, in_process
from tests.scenarios.verdict import differences


@contextmanager
def staged(scenario: Scenario, folder: Path) -> Iterator[Stage]:
    """The scenario's stage, and its world known by the folder for as long."""
    name = str(folder)
    stage = in_process(scenario, folder, name)
    try:
        yield stage
    finally:
        stage.journal.close()
        WORLDS.forget(name)


@pytest.mark.parametrize("name", scenarios())
def test_scenario(name: str, tmp_path: Path) -> None:
    """The scenario's own law (see its ``about``), and the promises."""
    scenario = read_scenario(name)
    with staged(scenario, tmp_path) as stage:
        for phase in scenario.phases:
            played = stage.play(phase)
            found = [*differences(played), *broken(scenario, played)]
            assert not found, f"{scenario.scene.about}\n{phase.name}: " + "\n".join(found)
