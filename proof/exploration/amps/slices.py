"""The parts of the AMPS pair that can still matter: all of it while the lane continues. The pair is small enough."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.core.run import Lane
from orchestrator.model.runbook import Runbook
from proof.exploration.amps.pair import Pair
from proof.exploration.amps.promises import Evidence


class Live(NamedTuple):
    """See ``family.Live``. ``reverts``: the lane can still roll back. No decision concerns a single item."""

    reverts: bool
    rulings: bool = False

    def pair(self, pair: Pair) -> Pair:
        """See ``family.Live``."""
        return pair

    def evidence(self, evidence: Evidence) -> Evidence:
        """See ``family.Live``."""
        return evidence


def live(runbook: Runbook, lane: Lane) -> Live:
    """The parts that can still matter to ``lane``."""
    is_open = lane.status in ("ready", "running", "reverting") or lane.came_from in ("running", "reverting")
    return Live(reverts=is_open and not lane.settled)
