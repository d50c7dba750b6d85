"""The rules by which a step may ``compare`` both sites: what is read of each, and what keeps the step from being done.

Families bring them. A rule lists the reasons why something is not shown. It is shown if there are none.
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

# The gate of a rule that says whether it is safe to give activity back; options and evidence answer it in advance.
RISK_GATE = "unsafe-return"

_BOTH: tuple[Side, ...] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Rule:
    """``reading`` is read of both sites. ``reasons``: from the source's reading, the target's and what is known of the
    outage; None for readings of another kind. ``good``: the note when there are none. Otherwise ``gate`` asks, with
    ``why``. It does not offer ``attest`` of its ``choices`` if the readings ``is_refuted`` what would be attested.
    ``settles``: a difference may still go away, so the step waits its ``patience`` first. ``option``: what answers
    in advance, if ``why`` does not name it."""

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
    """By name, the rules of all installed families; of two with one name, that of the family that sorts first. A family
    in a file has none."""
    found: dict[str, Rule] = {}
    for _, family in sorted(distributed().families.items()):
        rules = cast("Mapping[str, Rule]", getattr(family, "comparisons", {}))
        found = {**rules, **found}
    return found


def comparison(name: str) -> Rule:
    """The rule of this name. Raises ``DefinitionError`` where no installed family brings it."""
    rule = known_comparisons().get(name)
    if rule is None:
        known = ", ".join(sorted(known_comparisons()))
        raise DefinitionError(f"no installed family has the comparison {name!r}", hint=f"known: {known or 'none'}")
    return rule


def compared_by(name: str | None) -> tuple[tuple[Side, str], ...]:
    """What a step reads, and of which site, to compare both; empty if it compares nothing, or by a rule that is not
    known."""
    rule = known_comparisons().get(name or "")
    return () if rule is None else tuple((side, rule.reading) for side in _BOTH)
