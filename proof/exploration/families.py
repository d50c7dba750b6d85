"""The models with which a runbook can be explored, and the choice among them.

Solace and AMPS each have their own model. Every other family that is installed is explored on the generic pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator.model.families import family_called, known_families, needed_family
from orchestrator.model.runbook import Runbook
from proof.exploration.amps.family import Amps
from proof.exploration.commands import Commanding, has_commands
from proof.exploration.family import Family
from proof.exploration.generic.family import Generic, can_be_modelled
from proof.exploration.solace.family import Solace

# Only a family itself knows the types of its pair and evidence.
OWN: tuple[Family[Any, Any], ...] = (Solace(), Amps())
_NAMES = frozenset(one.name for one in OWN)


def is_modelled(name: str) -> bool:
    """Is there a model for the runbooks of this family? A family that is not installed counts as modelled, because a
    model may know its words."""
    family = family_called(name)
    return family is None or name in _NAMES or can_be_modelled(family)


def _models(runbook: Runbook) -> Sequence[Family[Any, Any]]:
    """The model of the runbook's own family. All models for a runbook without a known family."""
    names = [runbook.family] if runbook.family in known_families() else known_families()
    others = [needed_family(name) for name in names if name not in _NAMES]
    own = [one for one in OWN if one.name in names]
    return [*own, *(Generic(one, runbook) for one in others if can_be_modelled(one))] or OWN


def fitting(runbook: Runbook) -> Family[Any, Any]:
    """The model that knows the most words of ``runbook``. If two know equally many, the first. If the runbook has the
    operator's own commands, the model includes them."""
    family = min(_models(runbook), key=lambda one: len(one.unexplored(runbook)))
    return Commanding(family, runbook) if has_commands(runbook) else family
