"""The optional parts of a family beyond its facets. A method that the family does not override means: not offered. The
command that needs it says so in a sentence.

A family of a plug-in inherits from ``Offering`` and overrides the methods that it offers. The imports of an override
belong into the method: a command loads every family, and uses few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import get_args

from orchestrator.family.guard import MakeGuard
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.next_steps import NextSteps
from orchestrator.family.readiness import ReadinessJudge
from orchestrator.family.rehearsal import MakeScene
from orchestrator.family.status import StatusPart
from orchestrator.family.watch import WatchPart
from orchestrator.model.families import Family, known_families, needed_family
from orchestrator.model.inventory import Site


@dataclass(frozen=True, kw_only=True)
class Offering(Family):
    """See the module. A ``Family`` that is no ``Offering`` offers only its facets."""

    def options(self, kind: Kind) -> Sequence[MoveOption]:
        """The family's own options on the command for this kind of move."""
        return ()

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        """The runbook to use, without the name of the family. ``site``: the site that gives up activity, is lost, or
        comes back. ``given``: the family's own options as typed, and ``--attest`` or ``--reason``."""
        del site, given
        return kind

    def instead(self, what: str) -> str:
        """The alternative if the family does not offer ``what``, such as ``repair`` or ``snapshot``; empty: none."""
        del what
        return ""

    def reads_dumps(self) -> bool:
        """Can a snapshot of its messages be made of dumps that were copied here?"""
        return False

    def next_steps(self) -> NextSteps | None:
        """Its additions to the advice at the end of a run; None: none."""
        return None

    def readiness(self) -> ReadinessJudge | None:
        """The judge of whether a pair could be moved now; None: only the facets are judged."""
        return None

    def status(self) -> StatusPart | None:
        """Its additions to the table of ``failover status``; None: only the facets are shown."""
        return None

    def rehearsal(self) -> MakeScene | None:
        """The maker of simulated copies of its pairs; None: they cannot be rehearsed."""
        return None

    def guard(self) -> MakeGuard | None:
        """The maker of the strategy that guards a failed site; None: a failed site cannot be guarded."""
        return None

    def watch(self) -> WatchPart | None:
        """The readings and the display of a watch; None: the watch uses its facets."""
        return None


def offering(name: str) -> Offering:
    """The offering of the installed family of this name. Raises ``DefinitionError`` if the family is not installed."""
    family = needed_family(name)
    if isinstance(family, Offering):
        return family
    return Offering(**{one.name: getattr(family, one.name) for one in fields(Family)})


Offered = Mapping[str, Sequence[tuple[str, MoveOption]]]


def options_of_all(kind: Kind) -> Offered:
    """By flag, the options of all installed families on the command of this kind, each with its family."""
    return _by_flag((kind,))


def answers_of_all() -> Offered:
    """By flag, the options of all kinds that answer questions of a started run. ``resume`` takes these."""
    found = _by_flag(get_args(Kind))
    answers = {
        flag: [one for one in offered if one[1].chooses or one[1].decides or one[1].answers]
        for flag, offered in found.items()
    }
    return {flag: offered for flag, offered in answers.items() if offered}


def _by_flag(kinds: Iterable[Kind]) -> Offered:
    found: dict[str, dict[str, MoveOption]] = {}
    for family in known_families():
        for option in (option for kind in kinds for option in offering(family).options(kind)):
            found.setdefault(option.flag, {}).setdefault(family, option)
    return {flag: list(offered.items()) for flag, offered in found.items()}
