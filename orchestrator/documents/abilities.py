"""Which procedures are possible at a site, from what its adapters declare that they read and do.

Each procedure that comes with the product is compared with the declarations of both ends, so no list is maintained by
hand. It must never connect to a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from orchestrator.documents.lint.vocabulary import lint_words
from orchestrator.documents.loader import load_runbook
from orchestrator.documents.shipped import shipped_of
from orchestrator.family.composite import browses
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import with_made_readings
from orchestrator.model.findings import Level
from orchestrator.model.runbook import Runbook, Side

Verdict = Literal["possible", "with attestation", "not"]
_SNAPSHOT = "snapshot"
# The command of a fence plan brings this reading, and the action with this name.
_FENCE = "external_fence"
_NO_COMMAND = "the fence plan of the site has no command (sites.NAME.fence)"
# What a runbook needs and an adapter may lack. Other findings are faults of the runbook.
_MISSING = frozenset({"unknown-reading", "unknown-action"})


@dataclass(frozen=True, slots=True)
class Ability:
    """One procedure at one pair of ends. ``why``: what is missing, or what a person answers for."""

    procedure: str
    verdict: Verdict
    why: tuple[str, ...] = ()


def procedures_of(family: str) -> list[Runbook]:
    """Every procedure of ``family`` that comes with the product."""
    return [load_runbook(name) for name in shipped_of(family)]


def all_abilities(procedures: Iterable[Runbook], source: type[Adapter], target: type[Adapter]) -> list[Ability]:
    """Each of the ``procedures``, and a snapshot of the source."""
    snapshot = (
        Ability(_SNAPSHOT, "possible")
        if browses(source)
        else Ability(_SNAPSHOT, "not", ("no adapter of it shows the messages of endpoints",))
    )
    return [*abilities(procedures, source, target), snapshot]


def abilities(runbooks: Iterable[Runbook], source: type[Adapter], target: type[Adapter]) -> Iterator[Ability]:
    """Each of ``runbooks``, by the declarations of the site that is left (``source``) and of its mate (``target``)."""
    for runbook in runbooks:
        yield _ability(runbook, {"source": source, "target": target})


def _ability(runbook: Runbook, ends: dict[Side, type[Adapter]]) -> Ability:
    name = runbook.runbook.rpartition("/")[2]
    found = [
        (one, side)
        for side, kind in ends.items()
        for one in lint_words(runbook, with_made_readings(kind.readings), kind.actions, side=side)
    ]
    missing = [
        f"{side}: {_NO_COMMAND if _FENCE in one.message else one.message}"
        for one, side in found
        if one.code in _MISSING and one.level is Level.ERROR
    ]
    if missing:
        return Ability(name, "not", tuple(dict.fromkeys(missing)))
    answered = [one.message for one, _ in found if one.code == "comparison-unread"]
    answered += [step.title for step in runbook.steps if step.ask is not None and "attest" in step.ask.choices]
    return Ability(name, "with attestation" if answered else "possible", tuple(dict.fromkeys(answered)))
