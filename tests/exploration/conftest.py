"""What the tests of the exploration share: the declarations of the built-in adapters, and a small runbook to break."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.loader import read_runbook
from orchestrator.family.composite import compose
from orchestrator.family.contract import ActionSpec
from orchestrator.family.registry import Registry
from proof.exploration.search import Counterexample, Exploration, explore

Walk = Callable[..., Exploration]


@pytest.fixture(scope="session")
def actions() -> Mapping[str, ActionSpec]:
    """Of sites with the simulated adapters and an operator's own commands."""
    registry = Registry()
    return compose([registry.get(name) for name in ("mock", "mock-amps", "local")]).actions


@pytest.fixture
def walk(tmp_path: Path, actions: Mapping[str, ActionSpec]) -> Walk:
    """Explores a text, with one disturbance unless told otherwise."""

    def explored(text: str, disturbances: int = 1, **bounds: Any) -> Exploration:
        file = tmp_path / "broken.yaml"
        file.write_text(text, encoding="utf-8")
        runbook = read_runbook(file).result()
        return explore(runbook, actions, disturbances_max=disturbances, **{"states_max": 100_000, **bounds})

    return explored


def breaks(walk: Walk, text: str, rule: str) -> dict[str, Counterexample]:
    """What is found, ``rule`` among it: without a disturbance, or early, where that is enough, which costs little. The
    first counter-example is the shortest, so it is the same one."""
    found: dict[str, Counterexample] = {}
    for disturbances, states_max in ((0, 100_000), (1, 3_000), (1, 100_000)):
        found = {one.rule: one for one in walk(text, disturbances, states_max=states_max).found}
        if rule in found:
            return found
    pytest.fail(f"{rule} is not found, but {sorted(found)}")
