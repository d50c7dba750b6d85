"""The Solace family for the walk: binds the pair's functions to the protocol."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.model import events as ev
from orchestrator.model.runbook import Runbook
from proof.exploration.family import ANOTHER_OPERATOR, Change, Words, complete_pending
from proof.exploration.solace import looking, pair, promises, slices, starts
from proof.exploration.solace.pair import Pair, repaired
from proof.exploration.solace.promises import Evidence
from proof.exploration.solace.sharing import Sharing
from proof.exploration.vocabulary import unexplored

# Readings and actions outside the appliances work even if the site does not answer.
_OUTSIDE = frozenset({"external_fence", "set_external_fence"})


class Solace:
    """See ``proof.exploration.family.Family``."""

    name = "solace"
    adapter = "mock"
    half = "one node of two obeyed"
    sharing = Sharing()
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

    starts = staticmethod(starts.starts)
    live = staticmethod(slices.live)
    read = staticmethod(looking.read)
    blank = staticmethod(looking.blank)
    obey = staticmethod(pair.obey)
    obey_half = staticmethod(pair.obey_half)
    is_so = staticmethod(pair.is_so)
    drifts = staticmethod(pair.drifts)
    claims = staticmethod(pair.claims)
    harms = staticmethod(promises.harms)

    def evidence(self, runbook: Runbook) -> Evidence:
        return Evidence(by_depth=not starts.demotes(runbook))

    def repaired(self, pair: Pair) -> Iterable[Pair]:
        return repaired(complete_pending(self, pair))

    def is_by_hand(self, what: str) -> bool:
        return what.startswith(ANOTHER_OPERATOR)

    def unexplored(self, runbook: Runbook) -> list[str]:
        return unexplored(runbook, self.words)

    def harmless(self, runbook: Runbook) -> list[str]:
        """The effects of every action are known."""
        return []

    def reaches(self, pair: Pair, side: int, word: str) -> bool:
        return word in _OUTSIDE or not pair.is_dark(side)

    def delays(self, change: Change) -> bool:
        return True

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        return evidence.forbids(change, undo=undo)

    def booked(self, evidence: Evidence, before: Pair, after: Pair, change: Change) -> Evidence:
        """The promises need no past changes."""
        return evidence

    def leaves(self, evidence: Evidence, pair: Pair, outcome: ev.Outcome) -> list[str]:
        """An end is judged only by its changes."""
        return []
