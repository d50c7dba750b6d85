"""One service of two: its half of a state, its steps, and the part of the pair that still matters to it."""

from __future__ import annotations

from typing import Generic, NamedTuple

from orchestrator.model import events as ev
from proof.exploration.claiming import Rows
from proof.exploration.family import E, Live, P, Sharing
from proof.exploration.ways import Kind, Node


class Half(NamedTuple, Generic[P, E]):
    """One service. ``rows``: the journal's rows about it. ``relied``: the service relies on doors that an earlier run
    shut, and has not asked to give that up. ``left``: it has asked to give up the things that it holds, and has not
    claimed them again."""

    node: Node[P, E]
    rows: Rows = ()
    relied: bool = False
    left: bool = False


# Two numbers of halves, in the order of the services.
Both = tuple[int, int]


class Step(NamedTuple):
    """A step of one service, independent of the other service: the way, and the half afterwards. ``is_world``: the world
    caused the step, not the lane."""

    what: str
    by: Kind
    half: int
    events: tuple[ev.Event, ...]
    broken: tuple[str, ...]
    is_world: bool = False


class SharedLive(NamedTuple, Generic[P, E]):
    """The parts that matter to a lane. The shared part of the sites matters to both lanes."""

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
        """The parts that matter to one lane alone."""
        return live.inner if isinstance(live, SharedLive) else live
