"""What a family may offer beyond its facets. A method that it does not override means: not offered, and the command that
needs it says so in a sentence.

A family of a plug-in inherits from ``Offering`` and overrides what it has. The imports of an override belong into the
method: a command loads every family, and uses few of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from orchestrator.family.guard import MakeGuard
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.readiness import ReadinessJudge
from orchestrator.family.status import StatusPart
from orchestrator.family.watch import WatchPart
from orchestrator.model.families import Family, known_families, needed_family
from orchestrator.model.inventory import Site


@dataclass(frozen=True, kw_only=True)
class Offering(Family):
    """See the module. A ``Family`` alone offers what its facets give."""

    def options(self, kind: Kind) -> Sequence[MoveOption]:
        """The options of its own on the command that does this kind of move."""
        return ()

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        """Which of its runbooks is meant, without the name of the family. ``site``: the one that gives up activity, is
        lost, or comes back; ``given``: its own options as typed, and ``--attest`` or ``--reason``."""
        del site, given
        return kind

    def instead(self, what: str) -> str:
        """What to do where it does not offer ``what``, such as ``repair``; empty: nothing to say."""
        del what
        return ""

    def readiness(self) -> ReadinessJudge | None:
        """Who judges whether a pair could be moved now; None: by facets alone."""
        return None

    def status(self) -> StatusPart | None:
        """What it adds to the table of ``failover status``; None: the facets alone are shown."""
        return None

    def guard(self) -> MakeGuard | None:
        """What makes the strategy that guards a failed site; None: a failed site cannot be guarded."""
        return None

    def watch(self) -> WatchPart | None:
        """What a watch reads and shows of it; None: it is watched by its facets."""
        return None


def offering(name: str) -> Offering:
    """What the installed family of this name offers. Raises ``DefinitionError`` where it is not installed."""
    family = needed_family(name)
    if isinstance(family, Offering):
        return family
    return Offering(**{one.name: getattr(family, one.name) for one in fields(Family)})


def options_of_all(kind: Kind) -> Mapping[str, Sequence[tuple[str, MoveOption]]]:
    """By flag, the options of every installed family on the command of this kind, each with its family."""
    found: dict[str, list[tuple[str, MoveOption]]] = {}
    for family in known_families():
        for option in offering(family).options(kind):
            found.setdefault(option.flag, []).append((family, option))
    return found
