"""Faults for the simulated pair of a run: ``--fault``."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.operations.runtime import Tools
from simulator.world.injecting import inject


def script_faults(tools: Tools, plan: ev.Plan, texts: Sequence[str]) -> None:
    """Give the simulated world of ``plan`` these faults. Raises ``DefinitionError`` for real devices."""
    source = plan.inventory.sites[plan.source]
    if not isinstance(source.options.get("world"), str) or not plan.simulated:
        raise DefinitionError(
            "--fault is only for the simulated pair, but this process does not simulate these devices"
        )
    inject(source, tools.clock, texts)
