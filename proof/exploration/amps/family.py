"""The pair for AMPS as the walk wants it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from orchestrator import events as ev
from orchestrator.readings import Reading
from orchestrator.runbook import Runbook
from orchestrator.state import Lane
from proof.exploration.amps import drifting, looking, pair, promises, slices, starts
from proof.exploration.amps.pair import Pair
from proof.exploration.amps.promises import Evidence
from proof.exploration.amps.slices import Live
from proof.exploration.family import TARGET, Change, Move, Words
from proof.exploration.vocabulary import unexplored

_OUTSIDE = frozenset({"external_fence", "set_external_fence"})


class Amps:
    """See ``proof.exploration.family.Family``."""

    name = "amps"
    adapter = "mock-amps"
    half = "one transport or queue of two obeyed"
    words = Words(
        fields=looking.FIELDS,
        items={},
        compares=frozenset(),
        actions={
            "set_client_transports": {"state": ("enabled", "disabled")},
            "set_link_mode": {"mode": ("sync", "async")},
            "set_proxied_transfer": {"state": ("enabled", "disabled")},
            "set_external_fence": {"state": ("closed", "open")},
        },
    )
    shown: Mapping[str, tuple[str, ...]] = {
        "instance": ("recovered",),
        "transports": ("open", "closed"),
        "clients": ("count",),
        "links": ("connected", "sync", "configured_sync", "behind_s", "keeping_up"),
        "queues": ("owned", "proxied"),
        "transaction_log": ("empty",),
        "bootstrap": ("configured", "empty"),
        "permissions": ("granted",),
        "reachability": ("answers",),
        "external_fence": ("closed",),
    }

    def unexplored(self, runbook: Runbook) -> list[str]:
        return unexplored(runbook, self.words)

    def starts(self, runbook: Runbook) -> Iterator[tuple[str, Pair]]:
        return starts.starts(runbook)

    def evidence(self) -> Evidence:
        return Evidence()

    def live(self, runbook: Runbook, lane: Lane) -> Live:
        return slices.live(lane)

    def reaches(self, pair: Pair, side: int, word: str) -> bool:
        """The fence of the plan is asked and told from here."""
        return word in _OUTSIDE or side == TARGET or pair.life not in ("cut-off", "dead")

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
        return drifting.drifts(moment, asked, looks)

    def forbids(self, evidence: Evidence, change: Change, *, undo: bool) -> list[str]:
        return evidence.forbids(change, undo=undo)

    def harms(self, evidence: Evidence, before: Pair, after: Pair, change: Change, *, undo: bool) -> list[str]:
        return promises.harms(evidence, before, after, change, undo=undo)

    def booked(self, evidence: Evidence, before: Pair, after: Pair, change: Change) -> Evidence:
        return promises.booked(evidence, change)

    def leaves(self, evidence: Evidence, pair: Pair, outcome: ev.Outcome) -> list[str]:
        return promises.leaves(evidence, pair, outcome)
