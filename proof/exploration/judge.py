"""What may never happen, checked at each step of the walk: the promises of the product, over plain facts.

Two kinds of facts: what was *read* in this run (evidence), and how the model *is* (truth). A change is judged twice,
when it is decided upon, by the evidence, and when it takes effect, by the truth. Must never ask a decision anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from orchestrator import events as ev
from orchestrator.contract import ActionSpec
from orchestrator.readings import (
    Bridge,
    ExternalFence,
    Fence,
    QueueDepth,
    Reachability,
    ReplicationStatus,
    Role,
)
from orchestrator.runbook import Do, Runbook
from proof.exploration.pair import SIDE_NAMES, SOURCE, TARGET, XID, Change, Pair, is_so, land, with_side

# What is told of a broken rule: its name is stable for machines.
RULES: Mapping[str, str] = {
    "two-active": "an action of this run makes a second site serve",
    "promoted-unconfirmed": "a site is made active, and its mate was neither read as standby nor shown to be fenced",
    "promoted-undrained": "the target is made active, and the queue was not read as empty with the bridge bound",
    "messages-left": "the target is made active while the source holds messages, and nobody accepted that",
    "sent-twice": "an action that must not be repeated is sent again after it was obeyed",
    "undo-order": "a change is taken back before a later one",
    "not-reverted": "the lane ends reverted, and a change of it is still there",
    "not-refused": "the lane ends refused, as if nothing was changed, and something was",
    "not-done": "a step counts as done, and what it does is not so",
    "undecided-transaction": "a transaction is completed or deleted without a decision on it",
    "transaction-elsewhere": "a transaction is completed at a site that is not the formerly active one",
    "escalated-unattended": "the guarantee is given up, and nobody decided that",
    "unnamed-end": "the lane ends in no way that has a name",
    "core-error": "the decisions break off",
    "dead-end": "from here no answer, no decision and no passing of time leads to an end",
    "waits-unattended": "with nobody there to decide, this never ends",
}


class Account(NamedTuple):
    """What the run has seen and done so far. Sides as in ``pair``; None is not known.

    ``standby``, ``fenced``: as last read. ``gone``: the mate's role was read as not to be had. ``drained``: since the
    source gave up activity. ``answered``: somebody answers for the fence. ``accepted``: somebody accepts what is left.
    ``changes``: steps that changed what can be taken back. ``obeyed``: changes in force that must not be sent twice.
    ``changed``: something that nothing takes back. ``ruled``: the decision on the transaction.
    """

    standby: tuple[bool | None, bool | None] = (None, None)
    gone: tuple[bool, bool] = (False, False)
    fenced: tuple[bool | None, bool | None] = (None, None)
    drained: bool = False
    answered: bool = False
    accepted: bool = False
    changes: tuple[str, ...] = ()
    obeyed: tuple[Change, ...] = ()
    changed: bool = False
    ruled: str = ""


class Act(NamedTuple):
    """An intended action: the change, the step it belongs to, and whether it takes that step back."""

    change: Change
    step: str
    undo: bool


class Judge:
    """The rules for one runbook."""

    def __init__(self, runbook: Runbook, actions: Mapping[str, ActionSpec]) -> None:
        self._steps = {step.id: step for step in runbook.steps}
        self._actions = actions

    # --- by the evidence ------------------------------------------------------------------------------------------

    def recorded(
        self, account: Account, pair: Pair, events: Iterable[ev.Event], *, unattended: bool
    ) -> tuple[Account, list[str]]:
        """The account after ``events``, and the rules they break. ``unattended``: nobody was there to decide."""
        broken: list[str] = []
        for event in events:
            match event:
                case ev.Observed():
                    account = _noted(account, event)
                case ev.ActionIntended():
                    broken += self._intended(account, pair, act_of(event))
                case ev.GateDecided():
                    account = _decided(account, event)
                case ev.Escalated() if unattended:
                    broken.append("escalated-unattended")
                case ev.StepDone():
                    broken += self._done(account, pair, event)
                case ev.UndoDone():
                    account, found = self._undone(account, pair, event)
                    broken += found
                case ev.LaneEnded():
                    broken += self._ended(account, pair, event)
                case _:
                    pass
        return account, broken

    def _intended(self, account: Account, pair: Pair, act: Act) -> list[str]:
        change, broken = act.change, []
        if _activates(change):
            broken += _promotion(account, change.side, undo=act.undo)
        if change.action in ("complete_transaction", "delete_transaction"):
            wanted = change.arg("outcome") or account.ruled
            if not account.ruled or wanted != account.ruled:
                broken.append("undecided-transaction")
        if change in account.obeyed:
            broken.append("sent-twice")
        in_force = self._in_force(account, pair)
        if act.undo and act.step in in_force and in_force[-1] != act.step:
            broken.append("undo-order")
        return broken

    def _in_force(self, account: Account, pair: Pair) -> list[str]:
        """The changes that nobody else has undone meanwhile, and those that are yet to land."""
        return [step for step in account.changes if is_so(land(pair), _change_of(self._steps[step].do))]

    def _ended(self, account: Account, pair: Pair, event: ev.LaneEnded) -> list[str]:
        in_force = self._in_force(account, pair)
        if event.outcome is ev.Outcome.REFUSED and (account.changed or in_force):
            return ["not-refused"]
        if event.outcome is ev.Outcome.REVERTED and in_force:
            return ["not-reverted"]
        return [] if event.outcome in tuple(ev.Outcome) else ["unnamed-end"]

    def _done(self, account: Account, pair: Pair, event: ev.StepDone) -> list[str]:
        step = self._steps[event.step]
        if step.do is None or step.for_each is not None:
            return []
        return [] if is_so(pair, _change_of(step.do)) else ["not-done"]

    def _undone(self, account: Account, pair: Pair, event: ev.UndoDone) -> tuple[Account, list[str]]:
        undo = self._steps[event.step].undo
        if event.skipped or undo is None:
            return account, []
        kept = tuple(step for step in account.changes if step != event.step)
        return account._replace(changes=kept), [] if is_so(pair, _change_of(undo.do)) else ["not-done"]

    # --- by the truth ---------------------------------------------------------------------------------------------

    def took_effect(self, account: Account, before: Pair, after: Pair, act: Act) -> tuple[Account, list[str]]:
        """The account after ``act`` was obeyed, and the rules that this breaks."""
        change, broken = act.change, []
        spec = self._actions[change.action]
        gained = [side for side in (SOURCE, TARGET) if after.serves(side) and not before.serves(side)]
        if any(after.serves(1 - side) for side in gained) and not account.answered:
            broken.append("two-active")
        if after.others and before.others and after.active[TARGET] and _opens(before, after):
            broken.append("two-active")
        takes_over = _activates(change) and change.side == TARGET and before.last == SOURCE
        if takes_over and (before.depth[SOURCE] or before.bypassed) and not _is_accepted(account):
            broken.append("messages-left")
        if change.action == "complete_transaction" and (change.side != SOURCE or before.active[change.side]):
            broken.append("transaction-elsewhere")
        return self._booked(account, before, after, act, spec), broken

    def _booked(self, account: Account, before: Pair, after: Pair, act: Act, spec: ActionSpec) -> Account:
        changes, obeyed, changed = account.changes, account.obeyed, account.changed
        if act.undo:
            changes = tuple(step for step in changes if step != act.step)
        elif after != before and spec.inverse is None:
            changed = True
        elif after != before and act.step not in changes:
            changes = (*changes, act.step)
        if not spec.idempotent:
            # The opposite was sent since: then the same once more is no repetition.
            kept = [one for one in obeyed if (one.side, one.action) != (act.change.side, act.change.action)]
            obeyed = (*kept, act.change)
        return account._replace(changes=changes, obeyed=obeyed, changed=changed)


def act_of(event: ev.ActionIntended) -> Act:
    """The action an event intends."""
    change = Change(SIDE_NAMES.index(event.on), event.action, tuple(sorted(event.args.items())))
    return Act(change, event.step, event.undo)


def _change_of(do: Do | None) -> Change:
    assert do is not None  # only a step with one changes anything
    return Change(SIDE_NAMES.index(do.on), do.action, tuple(sorted(do.args.items())))


def _activates(change: Change) -> bool:
    return change.action == "set_role" and change.arg("role") == "active"


def _opens(before: Pair, after: Pair) -> bool:
    return after.connects(SOURCE) and not before.connects(SOURCE)


def _is_accepted(account: Account) -> bool:
    """Is it no controlled move any more: somebody accepted what is left, or the source was read as gone?"""
    return account.accepted or account.gone[SOURCE]


def _promotion(account: Account, side: int, *, undo: bool) -> list[str]:
    broken, mate = [], 1 - side
    is_fenced = account.answered or account.fenced[mate] is True
    if account.standby[mate] is not True and not is_fenced:
        broken.append("promoted-unconfirmed")
    if side == TARGET and not undo and not account.drained and not _is_accepted(account):
        broken.append("promoted-undrained")
    return broken


def _noted(account: Account, event: ev.Observed) -> Account:
    """What a round of readings shows."""
    standby, gone, fenced, drained = account.standby, account.gone, account.fenced, account.drained
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
    return account._replace(
        standby=standby, gone=gone, fenced=fenced, drained=drained or (empty and bound and standby[SOURCE] is True)
    )


def _decided(account: Account, event: ev.GateDecided) -> Account:
    choice = event.ruling.choice
    if event.item == XID:
        return account._replace(ruled=choice) if choice != "stop" else account
    if choice in ("attest", "waive"):
        return account._replace(answered=True, accepted=True)
    return account._replace(accepted=True) if choice in ("escalate", "accept") else account
