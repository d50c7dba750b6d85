"""Which procedures are possible at a site, according to the readings and actions that its adapters declare.

Each procedure that comes with the product is compared with the declarations of both ends, so no list is maintained by
hand. This module must never connect to a device.
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
# A command in a fence plan brings the reading and the action of this name.
_FENCE = "external_fence"
_NO_COMMAND = "the fence plan of the site has no command (sites.NAME.fence)"
# Findings that show what the adapter lacks. Other findings are faults of the runbook.
_MISSING = frozenset({"unknown-reading", "unknown-action"})


@dataclass(frozen=True, slots=True)
class Ability:
    """One procedure at one pair of ends. ``why`` names the missing parts, or the facts that a person has to attest."""

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
        else Ability(_SNAPSHOT, "not", ("no adapter of the source shows the messages of endpoints",))
    )
    return [*abilities(procedures, source, target), snapshot]


def abilities(runbooks: Iterable[Runbook], source: type[Adapter], target: type[Adapter]) -> Iterator[Ability]:
    """The ability for each of ``runbooks``. ``source`` and ``target`` are the declarations of the site that the service
    leaves and of its mate."""
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
