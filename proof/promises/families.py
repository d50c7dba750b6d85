"""Which rules a run is judged by: those of its runbook's family."""

from __future__ import annotations

from collections.abc import Mapping

from proof.promises.amps import AMPS
from proof.promises.rules import Rules
from proof.promises.solace import SOLACE

_FAMILIES: Mapping[str, Rules] = {"solace": SOLACE, "amps": AMPS}


def rules_of(runbook: str) -> Rules:
    """The rules of the family that a runbook is for. Raises ``KeyError`` for one that the judge does not know."""
    return _FAMILIES[runbook.partition("/")[0]]
