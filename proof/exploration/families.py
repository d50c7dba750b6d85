"""The families that can be explored, and which of them a runbook speaks of."""

from __future__ import annotations

from typing import Any

from orchestrator.model.runbook import Runbook
from proof.exploration.amps.family import Amps
from proof.exploration.commands import Commanding, has_commands
from proof.exploration.family import Family
from proof.exploration.solace.family import Solace

# A family's pair and evidence are known to itself alone.
FAMILIES: tuple[Family[Any, Any], ...] = (Solace(), Amps())
# By the first word of a runbook's name.
MODELLED = frozenset({"solace", "amps"})


def fitting(runbook: Runbook) -> Family[Any, Any]:
    """The family that knows the most words of ``runbook``; of two that know as many, the first. With it, commands of
    the operator's own."""
    family = min(FAMILIES, key=lambda one: len(one.unexplored(runbook)))
    return Commanding(family, runbook) if has_commands(runbook) else family
