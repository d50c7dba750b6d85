"""One service of two: its half of a state, a step of it, and what of the pair still matters to it."""

from __future__ import annotations

from typing import Generic, NamedTuple

from orchestrator.model import events as ev
from proof.exploration.claiming import Rows
from proof.exploration.family import E, Live, P, Sharing
from proof.exploration.ways import Kind, Node


class Half(NamedTuple, Generic[P, E]):
    """One service. ``rows``: what the journal keeps of it. ``relied``: it relies on what an earlier run shut, and has
    not asked to give that up. ``left``: it has asked to give up what it holds, and has not claimed it since."""

    node: Node[P, E]
    rows: Rows = ()
    relied: bool = False
    left: bool = False


# Two numbers of halves, in the order of the services.
Both = tuple[int, int]


class Step(NamedTuple):
    """What one service may do, whatever the other one does: the way, and the half it leads to. ``is_world``: it is
    none of the lane's own doing."""

    what: str
    by: Kind
    half: int
    events: tuple[ev.Event, ...]
    broken: tuple[str, ...]
    is_world: bool = False


class SharedLive(NamedTuple, Generic[P, E]):
    """What matters to a lane; but what belongs to the sites matters to both."""

    inner: Live[P, E]
    sharing: Sharing[P]

    @property
    def reverts(self) -> bool:
        return self.inner.reverts

    @property
    def rulings(self) -> bool:
        return self.inner.rulings

    def pair(self, pair: P) -> P:
        return self.sharing.beside(self.inner.pair(pair), self.sharing.around(pair))

    def evidence(self, evidence: E) -> E:
        return self.inner.evidence(evidence)

    @staticmethod
    def plain(live: Live[P, E]) -> Live[P, E]:
        """What matters to one lane alone."""
        return live.inner if isinstance(live, SharedLive) else live
