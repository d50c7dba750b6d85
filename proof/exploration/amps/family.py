"""The AMPS family for the walk: binds the pair's functions to the protocol."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.model.runbook import Runbook
from proof.exploration.amps import drifting, looking, pair, promises, slices, starts
from proof.exploration.amps.pair import Pair, repaired
from proof.exploration.amps.promises import Evidence
from proof.exploration.family import ANOTHER_OPERATOR, Change, Words, complete_pending
from proof.exploration.vocabulary import unexplored

_OUTSIDE = frozenset({"external_fence", "set_external_fence"})


class Amps:
    """See ``proof.exploration.family.Family``."""

    name = "amps"
    adapter = "mock-amps"
    half = "one transport or queue of two obeyed"
    sharing = None
    words = Words(
        fields=looking.FIELDS,
        items={},
        compares=frozenset({"sow-complete"}),
        actions={
            "set_client_transports": {"state": ("enabled", "disabled")},
            "set_link_mode": {"mode": ("sync", "async")},
            "set_proxied_transfer": {"state": ("enabled", "disabled")},
            "set_external_fence": {"state": ("closed", "open")},
        },
    )

    starts = staticmethod(starts.starts)
    evidence = staticmethod(promises.evidence)
    live = staticmethod(slices.live)
    read = staticmethod(looking.read)
    blank = staticmethod(looking.blank)
    obey = staticmethod(pair.obey)
    obey_half = staticmethod(pair.obey_half)
    is_so = staticmethod(pair.is_so)
    drifts = staticmethod(drifting.drifts)
    harms = staticmethod(promises.harms)
    booked = staticmethod(promises.booked)
    leaves = staticmethod(promises.leaves)

    def repaired(self, pair: Pair) -> Iterable[Pair]:
        return repaired(complete_pending(self, pair))

    def is_by_hand(self, what: str) -> bool:
        """A restart sets the transports as they are configured. A lost instance that is reached again serves."""
        return what.startswith(ANOTHER_OPERATOR) or what.endswith((drifting.STARTED, drifting.BACK))

    def unexplored(self, runbook: Runbook) -> list[str]:
        return unexplored(runbook, self.words)

    def harmless(self, runbook: Runbook) -> list[str]:
        """The effects of every action are known."""
        return []

    def reaches(self, pair: Pair, side: int, word: str) -> bool:
        """The plan's fence is read and set from this machine, not from the instance."""
        return word in _OUTSIDE or not pair.is_dark(side)

    def delays(self, change: Change) -> bool:
        return True

    def claims(self, pair: Pair, side: int, wish: str) -> tuple[bool, bool, Pair]:
        """An instance belongs to one service alone, so every claim is granted."""
        return True, False, pair

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        return evidence.forbids(change, undo=undo)
