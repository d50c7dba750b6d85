"""Every shipped runbook is explored, and nothing is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from orchestrator.core.decide import Next, decide
from orchestrator.documents.loader import load_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.family.contract import ActionSpec
from orchestrator.model.events import Outcome, StepFailed
from proof.exploration.search import explore
from proof.exploration.story import story

SHIPPED = shipped_runbooks()
# With two disturbances these still take seconds, one of them many; for the others see docs/explanation/exploration.md.
SMALL = (
    "solace/suspend",
    "solace/guard-standby",
    "solace/guard",
    "solace/uncontrolled",
    "solace/uncontrolled-commanded",
    "solace/uncontrolled-isolated",
    "solace/repair-active",
)
# Explored as far as the other small ones by `make proof`; by default with one disturbance less.
LARGE = ("solace/uncontrolled-isolated",)
PLANNED = ("/controlled", "/failback", "/controlled-async", "/failback-async")


def test_there_are_runbooks_to_explore() -> None:
    """Ten for Solace, nine for AMPS, and those that are small are among them."""
    assert (len([name for name in SHIPPED if name.startswith("solace/")]), len(SHIPPED)) >= (10, 19)
    assert {*SMALL, *LARGE} < set(SHIPPED)


def bounds(name: str) -> list[ParameterSet]:
    """How many disturbances are tried of a runbook: by default, and in the long form where there is one."""
    whole = 2 if name in SMALL else 1
    long = pytest.param(name, whole, id=f"{name}-whole", marks=pytest.mark.long)
    return [pytest.param(name, whole - 1, id=name), long] if name in LARGE else [pytest.param(name, whole, id=name)]


@pytest.mark.parametrize(("name", "bound"), [one for name in SHIPPED for one in bounds(name)])
def test_a_shipped_runbook_is_explored_clean(name: str, bound: int, actions: Mapping[str, ActionSpec]) -> None:
    """No promise broken, no dead end, every end named, with every outcome, decision, abort and kill up to the bound."""
    found = explore(load_runbook(name), actions, states_max=200_000, disturbances_max=bound)
    assert [story(one) for one in found.found] == []
    assert (found.unexplored, found.disturbances) == ([], bound)
    assert set(found.ends) <= {str(outcome) for outcome in Outcome}
    assert {"refused", "needs-operator", "done"} <= set(found.ends)
    assert name.startswith(found.family)
    if name.endswith(PLANNED):
        assert {"reverted", "escalated", "stuck"} <= set(found.ends)


def without_remedies(*given: Any, **more: Any) -> Next:
    """The real decisions, with no remedy in any event."""
    move = decide(*given, **more)
    events = [one.model_copy(update={"remedy": ""}) if isinstance(one, StepFailed) else one for one in move.events]
    return replace(move, events=tuple(events))


def test_a_remedy_makes_no_more_states(actions: Mapping[str, ActionSpec]) -> None:
    """Law: no decision depends on a remedy, so two states that differ in it only count as one."""
    runbook = load_runbook("solace/repair-active")
    found = explore(runbook, actions, states_max=10_000, disturbances_max=1)
    bare = explore(runbook, actions, states_max=10_000, disturbances_max=1, decide=without_remedies)
    assert (found.states, found.transitions) == (bare.states, bare.transitions)
