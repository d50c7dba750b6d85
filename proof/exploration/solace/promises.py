"""The promises of a run of message VPNs: one active site, nothing left in a queue, transactions only by decision.

A change is judged twice: by the run's readings when it is decided, and by the state of the model when it takes effect.
This module must never use the code that decides.
"""

from __future__ import annotations

from typing import NamedTuple

from adapters.solace.reading_models import Bridge, Fence, QueueDepth, ReplicationStatus
from orchestrator.model import events as ev
from orchestrator.model.readings import ExternalFence, Reachability, Role
from proof.exploration.family import SIDE_NAMES, SOURCE, TARGET, Change, with_side
from proof.exploration.solace.pair import XID, Pair


class Evidence(NamedTuple):
    """The run's readings. Sides are as in ``pair``. None: unknown.

    ``standby``, ``fenced``: as last read. ``gone``: the side's role could not be read. ``drained``: the queue was read as
    drained since the source gave up activity. ``answered``: a person answers for the fence. ``accepted``: a person
    accepts the leftovers. ``ruled``: the decision on the transaction. ``by_depth``: the run finds the source as standby.
    No publisher can reach it, so a depth of 0 there is enough. A run that makes the source standby itself needs the
    bridge bound too.
    """

    standby: tuple[bool | None, bool | None] = (None, None)
    gone: tuple[bool, bool] = (False, False)
    fenced: tuple[bool | None, bool | None] = (None, None)
    drained: bool = False
    answered: bool = False
    accepted: bool = False
    ruled: str = ""
    by_depth: bool = False

    @property
    def is_given_up(self) -> bool:
        """Is the move no longer controlled? Either a person accepted the leftovers, or the source was read as gone."""
        return self.accepted or self.gone[SOURCE]

    def noted(self, event: ev.Observed) -> Evidence:
        """See ``family.Evidence``."""
        standby, gone, fenced, drained = self.standby, self.gone, self.fenced, self.drained
        empty = bound = False
        for one in event.seen:
            side = SIDE_NAMES.index(one.on)
            match one.value:
                case ReplicationStatus(role=role) if role is not None:
                    standby, gone = with_side(standby, side, role is Role.STANDBY), with_side(gone, side, False)
                    bound = bound or (side == TARGET and one.value.bridge is Bridge.BOUND)
                case Reachability(role=None):
                    standby, gone = with_side(standby, side, None), with_side(gone, side, True)
                case Fence(closed=closed) | ExternalFence(closed=closed) if closed is not None:
                    fenced = with_side(fenced, side, closed)
                case QueueDepth(messages=0):
                    empty = empty or side == SOURCE
                case _:
                    pass
        if standby[SOURCE] is not True:
            drained = False
        drained = drained or (empty and (bound or self.by_depth) and standby[SOURCE] is True)
        return self._replace(standby=standby, gone=gone, fenced=fenced, drained=drained)

    def decided(self, event: ev.GateDecided) -> Evidence:
        """See ``family.Evidence``."""
        choice = event.ruling.choice
        if event.item == XID:
            return self._replace(ruled=choice) if choice != "stop" else self
        if choice in ("attest", "waive"):
            return self._replace(answered=True, accepted=True)
        return self._replace(accepted=True) if choice in ("escalate", "accept") else self

    def forbids(self, change: Change, *, undo: bool) -> list[str]:
        """See ``family.Family``."""
        broken = self._promotion(change.side, undo=undo) if activates(change) else []
        if change.action in ("complete_transaction", "delete_transaction"):
            wanted = change.arg("outcome") or self.ruled
            if not self.ruled or wanted != self.ruled:
                broken.append("undecided-transaction")
        return broken

    def _promotion(self, side: int, *, undo: bool) -> list[str]:
        broken, mate = [], 1 - side
        is_fenced = self.answered or self.fenced[mate] is True
        if self.standby[mate] is not True and not is_fenced:
            broken.append("promoted-unconfirmed")
        if side == TARGET and not undo and not self.drained and not self.is_given_up:
            broken.append("promoted-undrained")
        return broken


def harms(evidence: Evidence, before: Pair, after: Pair, change: Change, *, undo: bool) -> list[str]:
    """See ``family.Family``."""
    broken = []
    gained = [side for side in (SOURCE, TARGET) if after.serves(side) and not before.serves(side)]
    if any(after.serves(1 - side) for side in gained) and not evidence.answered:
        broken.append("two-active")
    if after.others and before.others and after.active[TARGET] and _opens(before, after):
        broken.append("two-active")
    if before.neighbour != "none" and _unshuts(before, after):
        broken.append("opened-behind-another")
    takes_over = activates(change) and change.side == TARGET and not before.active[TARGET]
    if takes_over and (before.depth[SOURCE] or before.bypassed) and not evidence.is_given_up:
        broken.append("messages-left")
    if change.action == "complete_transaction" and (change.side != SOURCE or before.active[change.side]):
        broken.append("transaction-elsewhere")
    return broken


def activates(change: Change) -> bool:
    """Does the change make a site active?"""
    return change.action == "set_role" and change.arg("role") == "active"


def _opens(before: Pair, after: Pair) -> bool:
    return after.connects(SOURCE) and not before.connects(SOURCE)


def _unshuts(before: Pair, after: Pair) -> bool:
    """Is a door of the source no longer shut?"""
    door = before.door[SOURCE] == "shut" and after.door[SOURCE] != "shut"
    return door or (before.outside[SOURCE] and not after.outside[SOURCE])
