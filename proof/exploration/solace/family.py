"""The pair for Solace as the walk wants it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator import events as ev
from orchestrator.readings import Reading
from orchestrator.runbook import Runbook
from orchestrator.state import Lane
from proof.exploration.family import SOURCE, Change, Move, Words
from proof.exploration.solace import looking, pair, promises, slices, starts
from proof.exploration.solace.pair import Pair
from proof.exploration.solace.promises import Evidence
from proof.exploration.solace.slices import Live
from proof.exploration.vocabulary import unexplored

# What is asked outside of the appliances answers however dark the site is.
_OUTSIDE = frozenset({"external_fence", "set_external_fence"})


class Solace:
    """See ``proof.exploration.family.Family``."""

    name = "solace"
    adapter = "mock"
    half = "one node of two obeyed"
    words = Words(
        fields=looking.FIELDS,
        items=looking.ITEM_FIELDS,
        compares=frozenset({"failback-safe"}),
        actions={
            "set_role": {"role": ("active", "standby")},
            "set_backbone": {"state": ("up", "down")},
            "set_external_fence": {"state": ("closed", "open")},
            "set_reject_on_discard": {"enabled": ("yes", "no")},
            "complete_transaction": {},
            "delete_transaction": {},
        },
    )
    shown: Mapping[str, tuple[str, ...]] = {
        "replication": ("role", "bridge", "queue_bound"),
        "replication_queue": ("messages", "rejects_on_discard"),
        "health": ("spool_active",),
        "fence": ("closed", "open", "idle"),
        "external_fence": ("closed",),
        "reachability": ("role",),
    }

    def unexplored(self, runbook: Runbook) -> list[str]:
        return unexplored(runbook, self.words)

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, Pair]]:
        return starts.starts(runbook)

    def evidence(self) -> Evidence:
        return Evidence()

    def live(self, runbook: Runbook, lane: Lane) -> Live:
        return slices.live(runbook, lane)

    def reaches(self, pair: Pair, side: int, word: str) -> bool:
        return not (pair.dark and side == SOURCE) or word in _OUTSIDE

    def read(self, pair: Pair, side: int, reading: str) -> Reading:
        return looking.read(pair, side, reading)

    def blank(self, reading: str) -> Reading | None:
        return looking.blank(reading)

    def obey(self, moment: Pair, change: Change) -> Pair | None:
        return pair.obey(moment, change)

    def obey_half(self, moment: Pair, change: Change) -> Pair | None:
        return pair.obey_half(moment, change)

    def delays(self, change: Change) -> bool:
        return True

    def is_so(self, moment: Pair, change: Change) -> bool:
        return pair.is_so(moment, change)

    def drifts(self, moment: Pair, asked: frozenset[str], looks: frozenset[str]) -> Iterable[Move[Pair]]:
        return pair.drifts(moment, asked, looks)

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        return evidence.forbids(change, undo=undo)

    def harms(self, evidence: Evidence, before: Pair, after: Pair, change: Change, *, undo: bool) -> list[str]:
        return promises.harms(evidence, before, after, change)

    def booked(self, evidence: Evidence, before: Pair, after: Pair, change: Change) -> Evidence:
        """Nothing that was done is asked for later."""
        return evidence

    def leaves(self, evidence: Evidence, pair: Pair, outcome: ev.Outcome) -> list[str]:
        """An end is judged by what was changed alone."""
        return []
