"""The rules by which a step may ``compare`` both sites: the reading of each site, and the reasons against the step.

Families define these rules. A rule lists the reasons why a property is not proven. Without reasons, the property is
proven.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from orchestrator.errors import DefinitionError
from orchestrator.model.installed import distributed
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Choice, Side

if TYPE_CHECKING:
    from orchestrator.model.plan import Outage

# The gate of a rule on whether it is safe to give activity back. Options and evidence answer the gate in advance.
RISK_GATE = "unsafe-return"

_BOTH: tuple[Side, ...] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``reading``: the reading that is taken of both sites. ``noun``: the name of its items, for counting.
    ``reasons``: computes the reasons from the reading of the source, the reading of the target and the known outage; None
    for readings of another kind. ``good``: the note if there are no reasons. Otherwise ``gate`` asks, with ``why``. The
    gate offers its ``choices``, but not ``attest`` if ``is_refuted`` says that the readings refute the attestation.
    ``settles``: a difference may still disappear, so the step first waits for its ``patience``. ``option``: the option
    that answers in advance, if ``why`` does not name it."""

    reading: str
    noun: str
    good: str
    gate: str
    why: str
    reasons: Callable[[Reading, Reading, Outage | None], list[str] | None]
    is_refuted: Callable[[Reading, Reading, Outage | None], bool]
    choices: tuple[Choice, ...]
    settles: bool = False
    option: str = ""


@cache
def known_comparisons() -> Mapping[str, Rule]:
    """By name, the rules of all installed families. If two rules have the same name, the rule of the family that sorts
    first counts. A family that a file declares has no rules."""
    found: dict[str, Rule] = {}
    for _, family in sorted(distributed().families.items()):
        rules = cast("Mapping[str, Rule]", getattr(family, "comparisons", {}))
        found = {**rules, **found}
    return found


def comparison(name: str) -> Rule:
    """The rule of this name. Raises ``DefinitionError`` if no installed family defines it."""
    rule = known_comparisons().get(name)
    if rule is None:
        known = ", ".join(sorted(known_comparisons()))
        raise DefinitionError(f"no installed family has the comparison {name!r}", hint=f"known: {known or 'none'}")
    return rule


def compared_by(name: str | None) -> tuple[tuple[Side, str], ...]:
    """The readings, with their sides, that a step with ``compare: name`` takes. Empty if ``name`` is None or unknown."""
    rule = known_comparisons().get(name or "")
    return () if rule is None else tuple((side, rule.reading) for side in _BOTH)
