"""What can still matter of the pair for AMPS: all of it, as long as the lane continues. It is small enough as it is."""

from __future__ import annotations

from typing import NamedTuple

from orchestrator.core.run import Lane
from orchestrator.model.runbook import Runbook
from proof.exploration.amps.pair import Pair
from proof.exploration.amps.promises import Evidence


class Live(NamedTuple):
    """See ``family.Live``. ``reverts``: the lane can still roll back. Nothing is decided on one by one."""

    reverts: bool
    rulings: bool = False

    def pair(self, pair: Pair) -> Pair:
        """See ``family.Live``."""
        return pair

    def evidence(self, evidence: Evidence) -> Evidence:
        """See ``family.Live``."""
        return evidence


def live(runbook: Runbook, lane: Lane) -> Live:
    """What can still matter to ``lane``."""
    is_open = lane.status in ("ready", "running", "reverting") or lane.came_from in ("running", "reverting")
    return Live(reverts=is_open and not lane.settled)
