"""Every shipped runbook of the family that the model speaks for is explored, and nothing is found."""

from __future__ import annotations

import pytest

from orchestrator.events import Outcome
from orchestrator.loader import load_runbook, shipped_runbooks
from proof.exploration.search import explore
from proof.exploration.story import story

SOLACE = [name for name in shipped_runbooks() if name.startswith("solace/")]
# With two disturbances these still take a second or two; for the others see docs/exploration.md.
SMALL = {name: 2 for name in SOLACE if not name.endswith(("/controlled", "/failback")) and "restore" not in name}


def test_there_are_runbooks_to_explore() -> None:
    """The family has its ten runbooks, and six of them are small."""
    assert len(SOLACE) >= 10
    assert len(SMALL) >= 6


@pytest.mark.parametrize("name", SOLACE)
def test_a_shipped_runbook_is_explored_clean(name, actions) -> None:
    """No promise broken, no dead end, every end named, with every outcome, decision, abort and kill up to the bound."""
    bound = SMALL.get(name, 1)
    found = explore(load_runbook(name), actions, states_max=200_000, disturbances_max=bound)
    assert [story(one) for one in found.found] == []
    assert (found.unexplored, found.disturbances) == ([], bound)
    assert set(found.ends) <= {str(outcome) for outcome in Outcome}
    assert {"refused", "needs-operator", "done"} <= set(found.ends)
