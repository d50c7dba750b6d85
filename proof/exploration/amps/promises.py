"""The rules for a run between AMPS instances. It must never cause clients at both while one acknowledges too early. It
must never give up messages, or leave queue messages behind, without a decision. It must never cause clients at an
instance that is not recovered, or delivery by two instances.

Across sync links both may let clients in ("all nodes hot", docs/sources/amps.md, 9.7): a publisher is told that a message
is safe only after the mate has it. Across async or downgraded links, the mate is not a fail-over target
(docs/sources/amps.md, 9.2), and messages that arrive there too late are discarded (docs/sources/amps.md, 9.3). This
module must never use the code that decides.
"""

from __future__ import annotations

from typing import NamedTuple

from adapters.amps.reading_models import Clients, Links, Transports
from orchestrator.model import events as ev
from orchestrator.model.readings import ExternalFence, Reachability
from orchestrator.model.runbook import Runbook
from proof.exploration.amps.pair import Pair
from proof.exploration.family import SIDE_NAMES, SOURCE, TARGET, Change, change_of, with_side
from proof.exploration.vocabulary import dos_of


class Evidence(NamedTuple):
    """The run's readings and changes. Sides are as in ``pair``. None: unknown.

    ``shut``, ``gone``, ``sync``: transports (or the plan's fence), clients and links as last read. ``drained``: since the
    source was read as shut, one round showed its link as caught up and its clients as gone. ``linked``: a link was
    connected, as last read. ``lost``: the source did not answer, since the last change or decision. ``answered``: a
    person answers for the source being dead. ``accepted``: a person accepts that messages are missing, or delivered
    twice. ``closed``: this run shut the source; ``moved``: and then let the target continue alone. ``moves``: the runbook
    lets clients in somewhere. A runbook that only closes the source is for a source that was given up before. ``awaits``:
    the runbook is for a source that comes back. There, a person's attestation is not about the source being dead.
    """

    shut: tuple[bool | None, bool | None] = (None, None)
    gone: tuple[bool | None, bool | None] = (None, None)
    sync: tuple[bool | None, bool | None] = (None, None)
    drained: bool = False
    linked: bool = False
    lost: bool = False
    answered: bool = False
    accepted: bool = False
    closed: bool = False
    moved: bool = False
    moves: bool = True
    awaits: bool = False

    def noted(self, event: ev.Observed) -> Evidence:
        """See ``family.Evidence``."""
        shut, gone, sync, lost, linked = self.shut, self.gone, self.sync, self.lost, self.linked
        is_gone = is_caught_up = False
        for one in event.seen:
            side = SIDE_NAMES.index(one.on)
            if side == SOURCE and one.value is not None and not isinstance(one.value, ExternalFence):
                lost = isinstance(one.value, Reachability) and not one.value.answers
            match one.value:
                case Transports(closed=closed) | ExternalFence(closed=closed) if closed is not None:
                    shut = with_side(shut, side, closed)
                case Clients(gone=told) if told is not None:
                    gone = with_side(gone, side, told)
                    is_gone = is_gone or (told and side == SOURCE)
                case Links(connected=connected, sync=told, caught_up=caught_up):
                    linked = linked if connected is None else connected
                    sync = sync if told is None else with_side(sync, side, told)
                    is_caught_up = is_caught_up or (caught_up is True and side == SOURCE)
                case _:
                    pass
        stays = shut[SOURCE] is True and gone[SOURCE] is not False
        drained = stays and (self.drained or (is_gone and is_caught_up))
        return self._replace(shut=shut, gone=gone, sync=sync, lost=lost, linked=linked, drained=drained)

    def decided(self, event: ev.GateDecided) -> Evidence:
        """See ``family.Evidence``."""
        choice = event.ruling.choice
        asked = self._replace(lost=False)
        if choice == "waive" or (choice == "attest" and not self.awaits):
            return asked._replace(answered=True)
        return asked._replace(accepted=True) if choice in ("escalate", "accept") else asked

    def forbids(self, change: Change, *, undo: bool) -> list[str]:
        """See ``family.Family``."""
        broken = []
        if lets_in(change):
            is_dead = self.answered and change.side == TARGET
            is_confirmed = self.shut[1 - change.side] is True or all(self.sync) or is_dead
            if not is_confirmed:
                broken.append("promoted-unconfirmed")
            if change.side == TARGET and not undo and not (self.drained or self.lost or self.accepted):
                broken.append("promoted-undrained")
        is_proxy = change.action == "set_proxied_transfer" and change.arg("state") == "enabled"
        if is_proxy and not undo and not self.accepted:
            broken.append("undecided-proxy")
        return broken


def evidence(runbook: Runbook) -> Evidence:
    """See ``family.Family``."""
    demanded = {
        check.where.get("answers")
        for step in runbook.steps
        for check in (*step.require, *step.until)
        if (check.on, check.reading) == ("source", "reachability")
    }
    return Evidence(moves=any(lets_in(change_of(do)) for do in dos_of(runbook)), awaits=demanded == {True})


def harms(evidence: Evidence, before: Pair, after: Pair, change: Change, *, undo: bool) -> list[str]:
    """See ``family.Family``."""
    broken = []
    side = change.side
    # An answer that the source is dead covers only an unreadable source, and no change made at the source.
    is_silent = before.is_dark(SOURCE) or evidence.lost
    is_dead = evidence.answered and side == TARGET and is_silent
    if after.is_apart and not before.is_apart and not is_dead:
        broken.append("two-active")
    # A sync link leaves messages behind only if it was downgraded before the loss. The person's answer covers that case.
    is_accepted = evidence.accepted or (is_dead and before.configured)
    if _moves_on(before, after, drives=evidence.moves) and not is_accepted:
        broken.append("messages-left")
    # Only replication shows that a recovery is over: a link was read as connected. Without an available mate, no proof is
    # required.
    is_shown = evidence.linked or evidence.accepted or is_dead or not (before.link and before.runs(1 - side))
    if lets_in(change) and not undo and not before.runs(side) and not is_shown:
        broken.append("opened-unrecovered")
    is_approved = evidence.accepted and change.action == "set_proxied_transfer" and is_silent
    if _delivers_twice(after) and not _delivers_twice(before) and not is_approved:
        broken.append("delivered-twice")
    return broken


def _moves_on(before: Pair, after: Pair, *, drives: bool) -> bool:
    """Do clients move to a side that lacks messages which they were told are safe? Either that side is opened to them or,
    in a runbook that ``drives`` them from one side to the other, the other side is closed."""
    for side in (SOURCE, TARGET):
        mate = 1 - side
        is_opened = after.takes(side) and not before.takes(side)
        is_driven = drives and after.takes(side) and before.takes(mate) and not after.takes(mate)
        if (is_opened or is_driven) and before.told[mate]:
            return True
    return False


def _delivers_twice(pair: Pair) -> bool:
    """Does one instance deliver by proxy the messages that the other one owns, while the other one has clients?"""
    return any(
        pair.proxied[side] != "off" and pair.clients[1 - side] and pair.owned[1 - side] for side in (SOURCE, TARGET)
    )


def booked(evidence: Evidence, before: Pair, after: Pair, change: Change) -> Evidence:
    """See ``family.Family``."""
    evidence = evidence._replace(lost=False)
    if change.side == SOURCE and change.action == "set_client_transports":
        return evidence._replace(closed=not lets_in(change), moved=False)
    goes_on = lets_in(change) or (change.action == "set_link_mode" and change.arg("mode") == "async")
    if change.side == TARGET and goes_on and evidence.closed:
        return evidence._replace(moved=True)
    return evidence


def leaves(evidence: Evidence, pair: Pair, outcome: ev.Outcome) -> list[str]:
    """See ``family.Family``: after a move the source may be stopped, and its queue messages would stop with it. After a
    loss, no publisher may have to wait for the source."""
    if outcome is not ev.Outcome.DONE:
        return []
    broken = []
    # Messages that arrived after another person had opened the source again do not belong to the move.
    if evidence.moved and pair.owned[SOURCE] and not pair.clients[SOURCE] and pair.door[SOURCE] == "off":
        broken.append("queues-left")
    if evidence.answered and pair.is_dark(SOURCE) and pair.runs(TARGET) and pair.sync[TARGET]:
        broken.append("left-waiting")
    if not any(pair.takes(side) for side in (SOURCE, TARGET)):
        broken.append("nobody-serves")
    return broken


def lets_in(change: Change) -> bool:
    """Does the change let clients in?"""
    return change.action == "set_client_transports" and change.arg("state") == "enabled"
